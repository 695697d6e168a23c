"""Makes a failed assertion in a helper module show its values, as one in a test does."""

import pathlib

import pytest

helpers = (path.stem for path in pathlib.Path(__file__).parent.rglob("*.py") if not path.stem.startswith("test_"))
pytest.register_assert_rewrite(*sorted(set(helpers)))
