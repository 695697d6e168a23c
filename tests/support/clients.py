"""Clients of Waymark's public interfaces (the API, the redirector, Kafka topics), and how to reach PostgreSQL."""

import gzip
import hashlib
import hmac
import http.client
import json
import secrets
import struct
import subprocess
import time
import urllib.parse

from waiting import wait_until

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Mobile/15E148 Safari/604.1"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

DECOMPRESS = {
    "gzip": gzip.decompress,
    "br": lambda data: subprocess.run(
        ["node", "-e", "process.stdout.write(zlib.brotliDecompressSync(fs.readFileSync(0)))"], input=data, capture_output=True, check=True
    ).stdout,
}  # fmt: skip


def totp(secret, step):
    """The code of a step of 30 seconds (RFC 6238), without the library that the service uses."""
    mac = hmac.new(secret, struct.pack(">Q", step), hashlib.sha1).digest()
    at = mac[19] & 15
    return f"{(int.from_bytes(mac[at : at + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


def unique_email():
    return f"user-{secrets.token_hex(6)}@example.com"


def postgres_environment(url):
    """The variables by which PostgreSQL's programs connect. Every user of this machine can read arguments."""
    parts = urllib.parse.urlsplit(url)
    return {
        "PGHOST": parts.hostname, "PGPORT": str(parts.port), "PGDATABASE": parts.path[1:],
        "PGUSER": parts.username, "PGPASSWORD": urllib.parse.unquote(parts.password),
    }  # fmt: skip


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.cookies = response.headers.get_all("Set-Cookie") or []
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"


def ask(base, method, path, headers=None, body=None):
    """Sends one request on a new connection. Does not follow redirects."""
    url = urllib.parse.urlsplit(base)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return Answer(response, response.read())
    finally:
        connection.close()


class Api:
    def __init__(self, base):
        self.base = base
        self.token = None
        self.email = None

    def call(self, method, path, body=None, headers=None):
        sent = {"Accept": "application/json", **(headers or {})}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return self.send(method, path, sent, data)

    def send(self, method, path, headers, body):
        return ask(self.base, method, path, headers, body)

    def register_and_login(self, email, password="correct horse battery"):
        self.email = email
        registered = self.call("POST", "/api/auth/register", {"email": email, "password": password})
        assert registered.status == 201, registered
        answer = self.call("POST", "/api/auth/login", {"email": email, "password": password})
        assert answer.status == 200, answer
        self.token = answer.json["access_token"]

    def create(self, original_url="https://example.com/landing", **fields):
        answer = self.call("POST", "/api/links", {"original_url": original_url, **fields})
        assert answer.status == 201, answer
        return answer.json["link"]

    def stats(self, link_id):
        answer = self.call("GET", f"/api/links/{link_id}/stats")
        assert answer.status == 200, answer
        return answer.json

    def wait_for_visits(self, link_id, visits, bots=0):
        def counted():
            stats = self.stats(link_id)
            return stats if stats["humans"] >= visits and stats["bots"] >= bots else None

        stats = wait_until(counted, f"{visits} visits and {bots} bots of link {link_id}")
        assert (stats["humans"], stats["bots"]) == (visits, bots), stats
        return stats


class Visitor:
    def __init__(self, base):
        self.base = base

    def follow(self, slug, method="GET", address="198.51.100.7", agent=CHROME, path=None, **headers):
        sent = {"X-Forwarded-For": address, "Accept": "text/html", "User-Agent": agent}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        return ask(self.base, method, path or f"/{slug}", {k: v for k, v in sent.items() if v is not None})


def kafka_settings(env):
    """The librdkafka settings for the Kafka of a stack, with or without --secure."""
    names = {
        "bootstrap.servers": "KAFKA_BROKERS",
        "security.protocol": "KAFKA_SECURITY_PROTOCOL",
        "sasl.mechanism": "KAFKA_SASL_MECHANISM",
        "sasl.username": "KAFKA_SASL_USERNAME",
        "sasl.password": "KAFKA_SASL_PASSWORD",
        "ssl.ca.location": "KAFKA_SSL_CA_FILE",
    }
    return {name: env[variable] for name, variable in names.items() if variable in env}


class Topic:
    """Reads a topic from its current end with an independent client."""

    def __init__(self, env, name):
        import confluent_kafka

        self.kafka = confluent_kafka
        settings = {"group.id": f"e2e-{secrets.token_hex(6)}", "enable.auto.commit": False}
        self.consumer = confluent_kafka.Consumer(kafka_settings(env) | settings)
        partitions = self.consumer.list_topics(name, timeout=300).topics[name].partitions
        self.consumer.assign(
            [
                confluent_kafka.TopicPartition(
                    name, p, self.consumer.get_watermark_offsets(confluent_kafka.TopicPartition(name, p), timeout=300)[1]
                )
                for p in partitions
            ]
        )
        self.partition_count = len(partitions)

    def wait_for(self, wanted, count=1, seconds=300):
        """Returns the first count messages for which wanted(message) is true."""
        found = []
        deadline = time.monotonic() + seconds
        while len(found) < count:
            assert time.monotonic() < deadline, f"not within {seconds} s: {count} messages, got {len(found)}"
            message = self.consumer.poll(0.2)
            if message is not None and message.error() is None and wanted(message):
                found.append(message)
        return found

    def close(self):
        self.consumer.close()


def murmur2(data):
    """The hash of Kafka's default partitioner, as the Java client computes it."""
    mask = 0xFFFFFFFF
    m, h = 0x5BD1E995, (0x9747B28C ^ len(data)) & mask
    for i in range(0, len(data) - len(data) % 4, 4):
        k = int.from_bytes(data[i : i + 4], "little")
        k = (k * m) & mask
        k ^= k >> 24
        k = (k * m) & mask
        h = ((h * m) & mask) ^ k
    tail = data[len(data) - len(data) % 4 :]
    if len(tail) == 3:
        h ^= tail[2] << 16
    if len(tail) >= 2:
        h ^= tail[1] << 8
    if len(tail) >= 1:
        h ^= tail[0]
        h = (h * m) & mask
    h ^= h >> 13
    h = (h * m) & mask
    h ^= h >> 15
    return h & mask
