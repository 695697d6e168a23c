"""A promise of speed: a figure that a chaos test measures, and the bound that docs/reliability.md gives for it.

The long form (CHAOS_FULL) fails a test that misses a bound. The short form only records the figure: it runs on
sanitizer builds beside other tests, where a figure of time says nothing about Waymark.
"""

import os

FULL = bool(os.environ.get("CHAOS_FULL"))


class Promises:
    def __init__(self):
        self.rows = []

    def __call__(self, name, figure, bound, unit="", at_most=True):
        is_kept = figure <= bound if at_most else figure >= bound
        verdict = ("holds" if is_kept else "MISSED") if FULL else "not judged"
        shown = f"{figure:.3g}" if isinstance(figure, float) else f"{figure:,}"
        row = {"promise": name, "figure": f"{shown} {unit}".strip(), "verdict": verdict}
        row["bound"] = f"{'≤' if at_most else '≥'} {bound:g} {unit}".strip()
        self.rows.append(row)
        print(f"{name}: {row['figure']}, bound {row['bound']}: {verdict}")

    def missed(self):
        """Returns a line per missed bound."""
        return [f"{row['promise']}: {row['figure']}, bound {row['bound']}" for row in self.rows if row["verdict"] == "MISSED"]
