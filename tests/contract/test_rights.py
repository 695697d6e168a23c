"""The Redis user of docs/operations.md and of tools/stack --secure may run the commands that the services use, and no others."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A connection may always authenticate. LOAD is an argument of SCRIPT, and EX one of SET.
NOT_GRANTED = {"auth", "load", "ex"}


def used():
    """The commands in the C sources and in the Lua scripts that they contain."""
    found = set()
    for folder in ("lib", "services"):
        for path in (ROOT / folder).rglob("*.c"):
            text = path.read_text()
            found |= {name.lower() for name in re.findall(r"REDIS_TEXT\(\"([A-Z]+)\"\)", text)}
            found |= {name.lower() for name in re.findall(r"redis\.call\('([a-zA-Z]+)'", text)}
    return {"script|load" if name == "script" else name for name in found} - NOT_GRANTED


def granted(text):
    """The commands of the first ACL in a text."""
    rules = text[text.index("resetchannels") :]
    return set(re.findall(r"\+([a-z|]+)", rules[: rules.index("+info") + 5]))


def test_the_sources_name_commands():
    assert {"get", "evalsha", "zadd", "pexpire"} <= used()


def test_the_local_stack_grants_what_is_used():
    assert granted((ROOT / "tools/stacklib/redis.py").read_text()) == used()


def test_the_operations_guide_grants_what_is_used():
    assert granted((ROOT / "docs/operations.md").read_text()) == used()
