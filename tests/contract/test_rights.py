"""The users of the stores that the documents name may do what the programs do, and nothing else: Redis, PostgreSQL, Kafka."""

import functools
import pathlib
import re

import pytest
from sources import Program

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A connection may always authenticate, and EX is an argument of SET.
NOT_GRANTED = {"auth", "ex"}


def used():
    """The commands in the C sources and in the Lua scripts that they contain."""
    found = set()
    for folder in ("lib", "services"):
        for path in (ROOT / folder).rglob("*.c"):
            text = path.read_text()
            found |= {name.lower() for name in re.findall(r"REDIS_TEXT\(\"([A-Z]+)\"\)", text)}
            found |= {name.lower() for name in re.findall(r"redis\.call\('([a-zA-Z]+)'", text)}
    return found - NOT_GRANTED


def granted(text):
    """The commands of the first ACL in a text."""
    rules = text[text.index("resetchannels") :]
    return set(re.findall(r"\+([a-z|]+)", rules[: rules.index("+info") + 5]))


def test_the_sources_name_commands():
    assert {"get", "eval", "zadd", "pexpire"} <= used()


def test_the_local_stack_grants_what_is_used():
    assert granted((ROOT / "tools/stacklib/redis.py").read_text()) == used()


def test_the_operations_guide_grants_what_is_used():
    assert granted((ROOT / "docs/stores.md").read_text()) == used()


# --- PostgreSQL: the rights that the migrations grant, and the SQL that each program can reach from main() ---

ROLES = {
    "redirector": "waymark_redirector",
    "links-api": "waymark_links_api",
    "analytics-consumer": "waymark_consumer",
    "janitor": "waymark_janitor",
}
# Statements that a program contains and never runs.
NEVER_RUN = {
    # Only urgent events overtake the waiting marks of expired links, and the janitor writes no urgent events.
    "janitor": {("SELECT", "outbox"), ("UPDATE", "outbox")},
}
MIGRATIONS = "\n".join(path.read_text() for path in sorted((ROOT / "db/migrations").glob("*.sql")))
DDL = re.sub(r"--[^\n]*", "", MIGRATIONS)
TABLES = set(re.findall(r"^CREATE TABLE (\w+)", DDL, re.M))
FUNCTIONS = set(re.findall(r"(\w+)\(", " ".join(re.findall(r"^GRANT EXECUTE ON FUNCTION (.*?) TO ", DDL, re.M | re.S))))


def granted_rights():
    """{role: {(right, table or function)}} after all statements GRANT … TO and REVOKE … FROM. Columns count as their table."""
    rights = {}
    for verb, what, roles in re.findall(r"^(GRANT|REVOKE) (.*?) (?:TO|FROM) ([\w, ]+);", DDL, re.M | re.S):
        kinds, _, names = what.partition(" ON ")
        if names.startswith("SCHEMA"):
            continue
        if names.startswith("FUNCTION"):
            names = ",".join(re.findall(r"(\w+)\(", names))
        pairs = {(kind, name.strip()) for kind in re.findall(r"(\w+)(?: \([^)]*\))?", re.sub(r"\([^)]*\)", "", kinds)) for name in names.split(",")}
        for role in re.split(r",\s*", roles):
            of_role = rights.setdefault(role, set())
            (of_role.update if verb == "GRANT" else of_role.difference_update)(pairs)
    return rights


GRANTED = granted_rights()


@functools.cache
def program(name):
    return Program("lib", f"services/{name}")


def tables_after(words, text):
    return {name for name in re.findall(rf"(?:{words}) (?:ONLY )?(\w+)", text) if name in TABLES}


def locked(text):
    """The tables of SELECT … FOR UPDATE or FOR SHARE, which needs the right to update them."""
    lock = re.search(r"FOR (?:UPDATE|SHARE)(?: OF (\w+))?", text)
    if not lock:
        return set()
    if lock[1]:
        return {lock[1]} & TABLES or set(re.findall(rf"(\w+) (?:AS )?{lock[1]}\b", text)) & TABLES
    without_subqueries = re.sub(r"\((?:(?!FOR (?:UPDATE|SHARE))[^()])*\)", "", text)
    return tables_after("FROM|JOIN", without_subqueries)


def rights_for(text):
    """What one statement, or the part of one, needs."""
    text = re.sub(r"\s+", " ", text)
    read = tables_after(r"(?<!DELETE )FROM|JOIN|,", text)
    inserted = tables_after("INSERT INTO|COPY", text)
    updated = tables_after("(?<!FOR )UPDATE", text)
    deleted = tables_after("DELETE FROM", text)
    if "WHERE" in text or "RETURNING" in text:
        read |= updated | deleted
    if "ON CONFLICT" in text or "RETURNING" in text:
        read |= inserted
    if "DO UPDATE" in text:
        updated |= inserted
    updated |= locked(text)
    rights = {("EXECUTE", name) for name in FUNCTIONS if re.search(rf"\b{name}\(", text)}
    rights |= {("USAGE", "SEQUENCE users_id_seq")} if "workspaces" in inserted else set()  # the default of its id
    for right, tables in (("SELECT", read), ("INSERT", inserted), ("UPDATE", updated), ("DELETE", deleted)):
        rights |= {(right, table) for table in tables}
    return rights


def rights_by_argument(definition, texts):
    """A macro of a statement may get the name of its table as an argument."""
    kinds = set()
    for text in texts:
        kinds |= {"DELETE", "SELECT"} if "DELETE FROM  " in text else set()
        kinds |= {"INSERT", "SELECT"} if "INSERT INTO  " in text else set()
        kinds |= {"UPDATE"} if "INSERT INTO  " in text and "DO UPDATE" in text else set()
    return {(kind, name) for kind in kinds for name in definition.literals & TABLES}


def rights_perhaps_used(name):
    """A function may get the name of a table that it reads as an argument."""
    return {("SELECT", literal) for _, definition in program(name).reached for literal in definition.literals & TABLES}


@functools.cache
def rights_used(name):
    rights = set()
    for path, definition in program(name).reached:
        texts = list(program(name).strings_of(path, definition))
        rights.update(*map(rights_for, texts), rights_by_argument(definition, texts))
    return rights - NEVER_RUN.get(name, set())


def test_the_sources_contain_sql():
    assert {("SELECT", "links"), ("SELECT", "visitor_salts")} <= rights_used("redirector")
    assert ("DELETE", "links") in rights_used("janitor")
    assert ("INSERT", "visit_log") in rights_used("analytics-consumer")


@pytest.mark.parametrize("name", ROLES)
def test_a_role_of_postgresql_has_the_rights_that_its_program_uses_and_no_others(name):
    role = ROLES[name]
    granted = GRANTED[role]
    used = rights_used(name)
    assert sorted(used - granted) == [], "missing"
    assert sorted(granted - used - rights_perhaps_used(name)) == [], "granted without use"


# --- Kafka: deploy/kafka-rights.conf, and the topics and groups that each program names ---

KAFKA_RIGHTS = [line.split() for line in (ROOT / "deploy/kafka-rights.conf").read_text().splitlines() if line and line[0] != "#"]
HEADERS = "\n".join(path.read_text() for path in (ROOT / "lib").rglob("*.h"))
TOPICS = dict(re.findall(r'#define (\w+_TOPIC) "(waymark\.[\w.-]+)"', HEADERS))
# No program of this repository: an example for integrations.
OTHER_USERS = {"subscriber"}
ADMIN_CALLS = {"rd_kafka_CreateTopics": "create", "rd_kafka_metadata": "describe", "rd_kafka_DescribeConfigs": "describeconfigs"}


def kafka_rights_of(text):
    """The topics of a producer, of a record, of a shipper and of members named …_topic are written; those of readers and all others are read."""
    is_record = "struct kafka_record" in text or "struct event_shipper_config" in text
    is_reader = "struct kafka_topic_reader_config" in text
    for member, name in re.findall(r"\.(\w*topics?) = (?:\{ )?(\w+_TOPIC)\b", text):
        if name in TOPICS:
            is_read = is_reader or member == "topic" and not is_record
            yield ("read" if is_read else "write", "topic", TOPICS[name])
    for name in re.findall(r'ENV_(?:CONSTANT_)?TEXT\([^"]*?(?:"\w+_TOPIC"[^"]*?)?\b(\w+_TOPIC)\b', text):
        yield ("read", "topic", TOPICS[name])


def groups_of(texts):
    """The default of CONSUMER_GROUP, and the groups whose names are made from it."""
    group = next((found[1] for found in (re.search(r'ENV_TEXT\(\s*"CONSUMER_GROUP"[^"]*"([\w-]+)"', text) for text in texts) if found), None)
    made = {name for text in texts for name in re.findall(r'"%s(-\w+)", config->group', text)}
    return {("read", "group", group + suffix) for suffix in ("", *made)} if group else set()


def kafka_rights(user):
    return {(operation, kind, name) for who, operation, kind, name, _ in KAFKA_RIGHTS if who == user}


def test_kafka_rights_are_granted_to_programs_only():
    assert {right[0] for right in KAFKA_RIGHTS} - OTHER_USERS == {"redirector", "links-api", "analytics-consumer", "topics"}


@pytest.mark.parametrize("name", ROLES)
def test_a_user_of_kafka_has_the_rights_that_its_program_uses_and_no_others(name):
    texts = [definition.text for _, definition in program(name).reached]
    used = {right for text in texts for right in kafka_rights_of(text)} | groups_of(texts)
    assert used == kafka_rights(name)


def test_the_user_that_creates_topics_has_the_rights_that_it_uses_and_no_others():
    names = {name for _, definition in Program("lib", "tools/topics").reached for name in definition.names}
    used = {(operation, "topic", "waymark.") for call, operation in ADMIN_CALLS.items() if call in names}
    assert used == kafka_rights("topics")
    assert all(topic.startswith("waymark.") for topic in TOPICS.values())
