"""Waiting for a condition: the one way in which tests wait."""

import time

POLL_S = 0.05


def wait_until(condition, what, seconds=300):
    """Returns the first truthy value of condition(). Fails after so many seconds and says what it waited for.

    The bound guards against a hang. It is far from what is typical, so that a slow machine does not reach it.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}; last seen: {value!r}"
        time.sleep(POLL_S)
    return value
