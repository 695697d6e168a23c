"""The subscribers of examples/, built and run as outside their repository: they get only Kafka and the .proto files."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
import uuid

import confluent_kafka
import pytest
import python_example
from built_examples import BUILDERS, EXAMPLES, ROOT
from clients import CHROME, FIREFOX, GOOGLEBOT, IPHONE, kafka_settings
from processes import popen
from waiting import wait_until

TOPIC = "waymark.visits.v1"
# The first join of a consumer group is slow, and so is a sanitizer build of Waymark.
SECONDS = 180


class Subscriber:
    """One run of an example; lines holds its output, one dict a line."""

    def __init__(self, argv, environment):
        self.lines = []
        self.process = popen(argv, env=environment, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):  # make writes its commands before
                self.lines.append(json.loads(line))

    def of(self, slug):
        return [line for line in list(self.lines) if line["slug"] == slug]

    def stop(self):
        """Ends it and returns its exit status; lines is then complete."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=SECONDS)
        self.reader.join()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Per language: how to start it, and what it needs in its environment; or a text: why it cannot be built."""
    built = {}
    for language, build in BUILDERS.items():
        try:
            built[language] = build(tmp_path_factory.mktemp(language))
        except pytest.skip.Exception as reason:
            built[language] = str(reason)
    return built


@pytest.fixture
def start_one(env):
    """start_one(language, argv, own): starts a program with its own consumer group and nothing of Waymark."""
    group = f"examples-{secrets.token_hex(4)}"
    started = []

    def start_program(language, argv, own):
        kafka = {name: value for name, value in env.items() if name.startswith("KAFKA_")}
        settings = {**kafka, "KAFKA_GROUP": f"{group}-{language}", "PATH": os.environ["PATH"]}
        started.append(Subscriber(argv, {**settings, **own}))
        return started[-1]

    yield start_program
    for each in started:
        each.kill()


@pytest.fixture
def start(start_one, programs):
    return lambda: {language: start_one(language, *program) for language, program in programs.items() if not isinstance(program, str)}


@pytest.mark.parametrize("language", BUILDERS)
def test_an_example_can_be_built(programs, language):
    if isinstance(programs[language], str):
        pytest.skip(programs[language])


def click(user, visitor, link, agents):
    """Clicks once per user agent and waits until all clicks are counted."""
    before = user.stats(link["id"])
    bots = sum(agent == GOOGLEBOT for agent in agents)
    for agent in agents:
        path = f"/{link['slug']}?utm_source=letter&utm_medium=mail"
        headers = {"Referer": "https://news.example/today", "Accept_Language": "de-DE,de;q=0.8"}
        assert visitor.follow(link["slug"], path=path, agent=agent, **headers).status == 302
    user.wait_for_visits(link["id"], before["humans"] + len(agents) - bots, before["bots"] + bots)


def wait_for(subscribers, slug, count):
    for language, each in subscribers.items():
        wait_until(lambda each=each: len(each.of(slug)) >= count, f"{count} visits by {language}")


def as_printed(visit):
    fields = {field.name: getattr(visit, field.name) for field in visit.DESCRIPTOR.fields}
    return {**fields, "event_id": str(uuid.UUID(bytes=visit.event_id)), "tags": list(visit.tags)}


def publish_again(env, records, foreign):
    """Repeats records as after a crash of the consumer, with records of other types and undecodable ones between them."""
    producer = confluent_kafka.Producer(kafka_settings(env) | {"partitioner": "murmur2_random"})
    key = records[0].key()
    for record in records:
        producer.produce(TOPIC, key=key, value=record.value(), headers=record.headers())
        producer.produce(TOPIC, key=key, value=foreign, headers={"ce_type": "waymark.visit.v9"})
        for undecodable in (b"\xff\xff", None):
            producer.produce(TOPIC, key=key, value=undecodable, headers={"ce_type": "waymark.visit.v1"})
    assert producer.flush(30) == 0


def test_each_example_prints_each_visit_once(env, user, visitor, topic, messages, start):
    link = user.create()
    slug = link["slug"]
    visits = topic(TOPIC)
    click(user, visitor, link, [CHROME, FIREFOX, IPHONE, GOOGLEBOT] * 3)
    records = visits.wait_for(lambda record: record.key() == slug.encode(), count=12)
    running = start()
    wait_for(running, slug, 12)

    foreign = messages.VisitEvent.FromString(records[0].value())
    foreign.event_id = secrets.token_bytes(16)
    publish_again(env, records[:5], foreign.SerializeToString())
    click(user, visitor, link, [CHROME] * 3)
    wait_for(running, slug, 15)
    for language, each in running.items():
        assert each.stop() == 0, language
    click(user, visitor, link, [FIREFOX] * 4)
    again = start()
    wait_for(again, slug, 4)
    records += visits.wait_for(lambda record: record.key() == slug.encode(), count=5 * 4 + 3 + 4)[20:]
    expected = [as_printed(messages.VisitEvent.FromString(record.value())) for record in records]
    for language, each in again.items():
        assert each.stop() == 0, language
        # In the order of the topic, without repeats, and nothing that was printed before the stop.
        assert running[language].of(slug) + each.of(slug) == expected, language


def commands_of_the_page():
    """Language → the command of docs/integrations.md that builds and starts its example."""
    page = (ROOT / "docs/integrations.md").read_text()
    block = page.partition("Then any of these.")[2].split("```")[1].strip()
    commands = (command.strip("()").replace("\n", " ") for command in block.split("\n\n"))
    return {command.split()[1].removeprefix("examples/"): command for command in commands}


def test_the_page_starts_every_example():
    commands = commands_of_the_page()
    assert set(commands) == {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()}
    for language, command in commands.items():
        named = [word for word in command.split() if word.startswith("visits.") or word.endswith(".txt") or word.startswith("../../")]
        assert all(list((EXAMPLES / language).glob(word)) for word in named), command


def test_the_command_of_the_page_prints_visits(user, visitor, start_one, tmp_path):
    """In C, which downloads nothing. The others were run by hand: their packages come from registries."""
    for folder in ("examples", "proto"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    build, _, start = commands_of_the_page()["c"].rpartition(" && ")
    running = start_one("page", ["bash", "-c", f"cd {tmp_path} && {build} && exec {start}"], {})
    link = user.create()
    click(user, visitor, link, [CHROME])
    wait_for({"c": running}, link["slug"], 1)
    assert running.stop() == 0


def publish_states(env, purged, messages):
    """After the purge of a link: its first state again, as a sender that was frozen would, and then a newer one."""
    producer = confluent_kafka.Producer(kafka_settings(env) | {"partitioner": "murmur2_random"})
    event = messages.LinkEvent.FromString(purged.value())
    event.change = messages.LinkChange.LINK_CHANGE_UPDATED
    for version in (1, event.link.version + 5):
        event.link.version = version
        producer.produce(purged.topic(), key=purged.key(), value=event.SerializeToString(), headers=purged.headers())
    assert producer.flush(30) == 0
    return event.link.version


def test_the_example_of_links_follows_each_link_to_its_purge(env, user, start_one, tmp_path, topic, messages):
    environment = python_example.environment(tmp_path)
    records = topic("waymark.links.v1")
    kept, gone, renamed = user.create(tags=["a"]), user.create(), user.create()
    argv = python_example.command("links.py")
    links, second = (start_one("links", argv, environment) for _ in range(2))
    for link in (kept, gone):
        for each in (links, second):  # they do not share the partitions
            wait_until(lambda link=link, each=each: each.of(link["slug"]), "both links")
    assert links.of(kept["slug"])[0]["tags"] == ["a"] and links.of(kept["slug"])[0]["alias_of"] == ""
    slug = f"{renamed['slug']}-2"
    assert user.call("PATCH", f"/api/links/{renamed['id']}", {"slug": slug}).status == 200
    wait_until(lambda: links.of(renamed["slug"]) and links.of(renamed["slug"])[-1]["alias_of"] == slug, "the earlier name")
    assert user.call("PATCH", f"/api/links/{kept['id']}", {"state": "disabled"}).status == 200
    assert user.call("DELETE", f"/api/links/{gone['id']}?hard=true").status == 204
    wait_until(lambda: len(links.of(kept["slug"])) == 2, "the disabled link")
    wait_until(lambda: len(links.of(gone["slug"])) > 1, "the purge")
    assert [line["state"] for line in links.of(kept["slug"])] == ["ACTIVE", "DISABLED"]
    assert links.of(gone["slug"])[-1] == {"slug": gone["slug"], "purged": True}
    purge = records.wait_for(lambda record: record.key() == gone["slug"].encode() and record.value(), count=2)[1]
    newest = publish_states(env, purge, messages)
    wait_until(lambda: links.of(gone["slug"])[-1].get("version") == newest, "the newer version")
    assert links.stop() == 0
    assert len(links.of(gone["slug"])) == 3, "neither the tombstone nor the late version changes anything"
    again = start_one("links", argv, environment)  # reads the topic from its beginning
    wait_until(lambda: again.of(kept["slug"]), "the link again")
    wait_until(lambda: again.of(kept["slug"])[-1]["state"] == "DISABLED", "its last state")
    assert again.stop() == 0
