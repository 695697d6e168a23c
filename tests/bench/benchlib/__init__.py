"""The parts of tests/bench/run, which share helpers with the Python tests."""

import pathlib
import sys

# tests/bench/run is no test of pytest, so tests/pytest.ini does not name these folders for it.
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / room) for room in ("chaos", "support")]
