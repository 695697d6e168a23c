"""Hundreds of addresses, passwords and tokens are sent, and none is in a store, topic, journal or log afterwards."""

import base64
import ipaddress
import json
import os
import pathlib
import random
import re
import secrets
import subprocess

import pytest
import redis
from clients import Api, Topic, kafka_settings, postgres_environment, unique_email
from waiting import wait_until

ADDRESSES = 1000
USERS = 3
KEYS = 60
CLAIMS = 200
ODD_REQUESTS = 300
SERVICES = ("redirector", "links-api", "consumer", "janitor")


def addresses(count):
    """Half are IPv4. None ends with 0, because the network of an address is written so."""
    for i in range(count):
        if i % 2:
            yield str(ipaddress.IPv6Address(secrets.token_bytes(16)[1:].rjust(16, b"\x2a")))
        else:
            yield ".".join(map(str, (random.randint(11, 99), *secrets.token_bytes(2), random.randint(1, 254))))


class Kafka:
    """All topics, read from their present ends."""

    def __init__(self, env):
        import confluent_kafka

        self.kafka = confluent_kafka
        own = {"group.id": secrets.token_hex(6), "enable.auto.commit": False}
        self.consumer = confluent_kafka.Consumer(kafka_settings(env) | own)
        topics = self.consumer.list_topics(timeout=300).topics
        places = [(name, p) for name, topic in topics.items() if not name.startswith("__") for p in topic.partitions]
        self.places = [confluent_kafka.TopicPartition(name, p, self.end(name, p)) for name, p in places]
        assert len({place.topic for place in self.places}) >= 4
        self.consumer.assign(self.places)

    def end(self, name, partition):
        return self.consumer.get_watermark_offsets(self.kafka.TopicPartition(name, partition), timeout=300)[1]

    def read_all(self):
        """Key, headers and value of each record up to the present ends."""
        ends = {(place.topic, place.partition): self.end(place.topic, place.partition) for place in self.places}

        def missing():
            at = self.consumer.position(self.places)
            begun = {(p.topic, p.partition): p.offset for p in self.places}
            now = {(p.topic, p.partition): p.offset if p.offset >= 0 else begun[p.topic, p.partition] for p in at}
            return any(now[place] < end for place, end in ends.items())

        records = []
        while missing():
            for message in self.consumer.consume(5000, timeout=0.5):
                assert message.error() is None
                parts = [message.key(), message.value(), *(value for _, value in message.headers() or [])]
                records.append(b"\n".join(part for part in parts if part))
        self.consumer.close()
        return records


def redis_contents(url):
    client = redis.Redis.from_url(url)
    readers = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
    }
    for key in client.scan_iter(count=10000):
        kind = client.type(key)
        if kind != b"none":  # it has just expired
            yield key + b" " + flat(readers[kind](key))


def flat(value):
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, (list, set, tuple)):
        return b" ".join(map(flat, value))
    return value if isinstance(value, bytes) else str(value).encode()


class Planting:
    """The secrets, which must be nowhere, and the slugs, which must be found, or the wrong places were searched."""

    def __init__(self, env):
        self.env = env
        self.needles = set()
        self.slugs = []

    def plant(self, *texts):
        self.needles.update(texts)

    def users(self):
        for _ in range(USERS):
            api, password, wrong = Api(self.env["LINKS_API_URL"]), secrets.token_urlsafe(18), secrets.token_urlsafe(18)
            email = unique_email()
            api.register_and_login(email, password)
            api.call("POST", "/api/auth/login", {"email": email, "password": wrong})
            api.call("POST", "/api/auth/login", f'{{"password": "{wrong}", "email": ')
            api.call("POST", "/api/auth/register", {"email": wrong, "password": password, wrong: wrong})
            self.plant(password, wrong, api.token, *api.token.split(".")[1:])
            self.slugs.append(api.create()["slug"])
            yield api

    def keys(self, api):
        for i in range(KEYS // USERS):
            answer = api.call("POST", "/api/keys", {"name": f"key {i}", "scopes": ["links:read"]})
            assert answer.status == 201, answer
            key = answer.json["secret"]
            used = Api(self.env["LINKS_API_URL"])
            used.token = key
            assert used.call("GET", "/api/links").status == 200
            used.token = changed = key[:-4] + secrets.token_hex(8)
            assert used.call("GET", "/api/links").status == 401
            self.plant(key, changed)

    def claims(self):
        anonymous = Api(self.env["LINKS_API_URL"])
        for i, address in zip(range(CLAIMS), addresses(CLAIMS)):
            headers = {"X-Forwarded-For": address, "Idempotency-Key": secrets.token_hex(8)}
            answer = anonymous.call("POST", "/api/links/public", {"original_url": f"https://example.com/{i}"}, headers)
            assert answer.status == 201, answer
            self.plant(address, answer.json["claim_token"])
            self.slugs.append(answer.json["link"]["slug"])

    def visits(self, visitor):
        for i, address in enumerate(addresses(ADDRESSES)):
            other = {"X_Real_IP": address, "Forwarded": f"for={address}"} if i % 3 == 0 else {}
            slug = self.slugs[i % len(self.slugs)] if i % 10 else secrets.token_hex(8)
            assert visitor.follow(slug, address=address, **other).status in (302, 404, 429)
            self.plant(address)

    def pages(self, visitor):
        """Secrets in the address of the page that a visitor came from, and in the query of the short link."""
        for slug in self.slugs[:20]:
            user, session, token, fragment, code = (secrets.token_hex(12) for _ in range(5))
            referrer = f"https://{user}:{user}@news.example/today;s={session}?token={token}#{fragment}"
            path = f"/{slug}?code={code}&utm_source=letter&state={code}"
            assert visitor.follow(slug, path=path, Referer=referrer).status == 302
            self.plant(user, session, token, fragment, code)

    def dead_letter(self, visitor):
        """The record of such a click becomes a dead letter, whose value is the record."""
        import confluent_kafka

        token, slug = secrets.token_hex(12), self.slugs[0]
        events, letters = Topic(self.env, "waymark.redirects.v1"), Topic(self.env, "waymark.redirects.dlq.v1")
        visitor.follow(slug, path=f"/{slug}?token={token}", Referer=f"https://news.example/?token={token}")
        (event,) = events.wait_for(lambda m: slug.encode() in m.value())
        producer = confluent_kafka.Producer(kafka_settings(self.env))
        producer.produce(event.topic(), value=event.value() + b"\x07")
        producer.flush()
        letters.wait_for(lambda m: event.value() in m.value())
        self.plant(token)


@pytest.fixture(scope="module")
def searched(env, tmp_path_factory):
    """A folder with everything that is stored anywhere, one file per place, and what was sent before."""
    from clients import Visitor

    kafka, planting = Kafka(env), Planting(env)
    for api in planting.users():
        planting.keys(api)
        last = api
    planting.claims()
    visitor = Visitor(env["REDIRECTOR_URL"])
    planting.visits(visitor)
    planting.pages(visitor)
    planting.dead_letter(visitor)
    final = last.create()
    visitor.follow(final["slug"])
    last.wait_for_visits(final["id"], 1)

    folder = tmp_path_factory.mktemp("searched")
    state = pathlib.Path(env["STACK_STATE"])
    with open(folder / "postgres", "wb") as out:
        subprocess.run(["pg_dump", "--inserts"], env={**os.environ, **postgres_environment(env["PG_URL"])}, stdout=out, check=True, timeout=300)
    (folder / "redis").write_bytes(b"\n".join(redis_contents(env["REDIS_URL"])))
    (folder / "kafka").write_bytes(b"\n".join(kafka.read_all()))
    (folder / "journals").write_bytes(b"".join(p.read_bytes() for p in sorted(state.glob("journal/**/*")) if p.is_file()))
    (folder / "logs").write_bytes(b"".join(p.read_bytes() for p in sorted((state / "logs").iterdir())))
    return folder, planting


def found_in(path, needles):
    """Finds whole words in text: 11.2.3.4 is not in 11.2.3.45. In a message a letter may follow, the tag of the next field."""
    word = () if path.name in ("kafka", "journals") else ("-w",)
    command = ["grep", "-a", "-o", *word, "-F", "-f", "-", str(path)]
    done = subprocess.run(command, input="\n".join(needles), capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("place", ["postgres", "redis", "kafka", "journals", "logs"])
def test_no_address_password_or_token_stands_anywhere(searched, place):
    folder, planting = searched
    assert len(planting.needles) > ADDRESSES + CLAIMS
    assert found_in(folder / place, planting.needles) == set()


@pytest.mark.parametrize("place", ["postgres", "redis", "kafka", "journals"])
def test_the_search_finds_what_does_stand_there(searched, place):
    folder, planting = searched
    # Redis has the keys under which links are looked up.
    slugs = [slug.lower() if place == "redis" else slug for slug in planting.slugs]
    assert len(found_in(folder / place, slugs)) > len(slugs) / 2


# --- what a link decides by ---

PRIVATE_LINKS = 20
HASH = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")


def deciding_link(word, number):
    """Each word is a secret: of a condition, of where a rule or a variant leads, or a password."""
    condition = {"query": [{"name": word(), "values": [word()]}], "referrer_host": [f"{word()}.example"], "city": [word()]}
    rules = [
        {"name": f"closed-{number}", "when": condition, "then": "redirect", "url": f"https://example.com/{word()}"},
        {"name": f"open-{number}", "when": {"visitor": "human"}, "then": "redirect", "url": f"https://example.com/{word()}"},
    ]
    variants = [{"name": f"{name}-{number}", "url": f"https://example.com/{word()}", "weight": 1} for name in "ab"]
    link = {"split": {"variants": variants}, "password": word()}
    return link | ({"rules": rules} if number % 2 else {})


def stored_hashes(env, links):
    query = f"SELECT encode(extras, 'escape') FROM links WHERE id IN ({','.join(str(link['id']) for link in links)})"
    done = subprocess.run(["psql", "-qAtX", "-c", query], env={**os.environ, **postgres_environment(env["PG_URL"])}, capture_output=True, text=True, check=True)
    return HASH.findall(done.stdout)


@pytest.fixture(scope="module")
def published(env, tmp_path_factory):
    """A file with all that was published about links that decide and their visits; the secrets; what may be known."""
    from clients import Visitor

    kafka, api, visitor, needles = Kafka(env), Api(env["LINKS_API_URL"]), Visitor(env["REDIRECTOR_URL"]), []

    def word():
        needles.append(secrets.token_hex(12))
        return needles[-1]

    api.register_and_login(unique_email())
    links = []
    for number in range(PRIVATE_LINKS):
        wanted = deciding_link(word, number)
        links.append(api.create(**wanted))
        changed = api.call("PATCH", f"/api/links/{links[-1]['id']}", {"password": word()})
        assert changed.status == 200, changed
        credentials = base64.b64encode(f":{needles[-1]}".encode()).decode()
        assert visitor.follow(links[-1]["slug"], Authorization=f"Basic {credentials}").status == 302
        needles.append(credentials)
    for link in links:
        api.wait_for_visits(link["id"], 1)
    hashes = stored_hashes(env, links)
    assert len(hashes) == PRIVATE_LINKS
    records = tmp_path_factory.mktemp("published") / "kafka"
    records.write_bytes(b"\n".join(kafka.read_all()))
    known = [link["slug"] for link in links] + [f"open-{number}" for number in range(1, PRIVATE_LINKS, 2)]
    return records, needles + hashes, known


def test_no_topic_has_a_password_a_condition_or_a_destination_of_a_rule_or_variant(published):
    records, needles, _ = published
    assert len(needles) > 5 * PRIVATE_LINKS
    assert found_in(records, needles) == set()


def test_topics_have_the_links_and_the_rules_that_visitors_met(published):
    records, _, known = published
    assert found_in(records, known) == set(known)


def odd_text():
    """Text with bytes that end a line, move a cursor or end a string."""
    pieces = ["\n", "\r\n", "\x1b[2J", "\x00", '"}', "\\", "\u0085", "\u2028", "\x7f", "é", "{", secrets.token_hex(3)]
    return "".join(random.choices(pieces, k=random.randint(1, 12)))


def send_odd_requests(env, visitor):
    api = Api(env["LINKS_API_URL"])
    for i in range(ODD_REQUESTS):
        text = odd_text()
        api.call("POST", "/api/auth/login", {"email": text, "password": text})
        api.call("POST", "/api/links/public", {"original_url": text, text: text})
        quoted = "".join(f"%{byte:02x}" for byte in text.encode())
        printable = "".join(c for c in text if 0x20 <= ord(c) < 0x7F) or "x"
        visitor.follow(None, path=f"/{quoted}?{quoted}", agent=printable, X_Request_Id=printable, traceparent=printable)
        api.call("GET", f"/api/links/{quoted}", headers={"X-Request-Id": printable, "Idempotency-Key": printable})


def test_logs_stay_one_json_object_per_line_without_control_bytes_for_any_request(env, visitor):
    logs = [p for p in sorted((pathlib.Path(env["STACK_STATE"]) / "logs").iterdir()) if p.name.startswith(SERVICES)]
    began = {path: path.stat().st_size for path in logs}
    send_odd_requests(env, visitor)
    mark = secrets.token_hex(12)
    Api(env["LINKS_API_URL"]).call("GET", "/api/stats", headers={"X-Request-Id": mark})
    api_log = next(path for path in logs if path.name.startswith("links-api"))
    wait_until(lambda: mark in api_log.read_text(), "the line of the last request")
    for path in logs:
        new = path.read_bytes()[began[path] :]
        assert {byte for byte in new if byte < 0x20 or byte == 0x7F} <= {0x0A}, path.name
        text = new.decode()  # fails if it is not UTF-8
        assert not {"\u0085", "\u2028", "\u2029"} & set(text), path.name
        for line in text.split("\n")[:-1]:
            assert json.loads(line)["event"]
