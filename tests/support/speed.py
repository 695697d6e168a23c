"""Bounds on how fast something is. They depend on the machine, so a test only prints its figure; make chaos judges it."""

import json


def at_most(promise, figure, bound, unit):
    """Prints a line that tests/chaos/test_speed.py reads."""
    print("speed: " + json.dumps({"promise": promise, "figure": round(figure, 3), "bound": bound, "unit": unit}))
