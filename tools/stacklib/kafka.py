"""
The broker: Apache Kafka (one node, KRaft) from the jars that tools/setup downloads. Without the jars it is the embedded
broker, which keeps everything in memory.
"""

import asyncio
import base64
import glob
import os
import secrets
import shutil
import time

from . import paths, probe, tool
from .errors import StackError
from .kafka_security import KafkaSecurity
from .member import Member
from .state import TIMEOUT_S

JAVA = ["java", "-Xms256m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-XX:+UseTransparentHugePages"]


def choose(wanted, state, build, authority, report):
    """wanted is "kafka", "embedded" or None. None prefers Kafka and reports why if it is not available."""
    if wanted not in (None, "kafka", "embedded"):
        raise StackError(f"BROKER={wanted}: must be kafka or embedded")
    if wanted == "embedded" and authority:
        raise StackError("the embedded broker supports neither TLS nor passwords: --secure needs BROKER=kafka")
    if wanted == "embedded":
        return EmbeddedBroker(state, build)
    missing = missing_parts()
    if not missing:
        return Kafka(state, build, authority)
    if wanted == "kafka" or authority:
        raise StackError(f"{missing}: run tools/setup")
    report(f"Apache Kafka is not available ({missing}): using the embedded broker, which keeps everything in memory")
    return EmbeddedBroker(state, build)


def missing_parts():
    if shutil.which("java") is None:
        return "java is not installed"
    if not paths.kafka_is_verified():
        return f"no verified jars in {paths.kafka_jars()}"
    return None


class Kafka(Member):
    kind = "kafka"
    port_names = ("broker", "controller", "certificates", "tokens")

    def __init__(self, state, build, authority):
        super().__init__("kafka", state)
        self.build = build
        self.folder = state.path("kafka")
        self.authority = authority
        self.security = KafkaSecurity(state, authority) if authority else None

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.ports[0]}"

    def settings(self):
        broker, controller, *_ = self.ports
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"BROKER://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"BROKER://127.0.0.1:{broker}",
            "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "BROKER",
            "log.dirs": os.path.join(self.folder, "data"),
            # Only deploy/topics.conf defines topics. A misspelt name must not create one.
            "auto.create.topics.enable": "false",
            # One node: every internal topic has one replica and few partitions.
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            # Small and quick to start: this broker serves tests and one developer.
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 1000,
            # After a SIGKILL the node can register again only when its previous session has expired.
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            "log.cleaner.dedupe.buffer.size": 16777216,
            "num.network.threads": 2,
            "num.io.threads": 4,
        }

    async def prepare(self):
        os.makedirs(os.path.join(self.folder, "tmp"), exist_ok=True)
        self._write("server.properties", self.settings() | (await self.security.settings(*self.ports) if self.security else {}))
        if os.path.exists(os.path.join(self.folder, "data", "meta.properties")):
            return
        os.makedirs(os.path.join(self.folder, "data"), exist_ok=True)
        if self.security:
            properties = os.path.join(self.folder, "server.properties")
            await self.security.format(self.java(), properties, self._cluster_id(), self.state.log("kafka-format"))
        else:
            # The result of Kafka's "storage format", which would start another JVM.
            identity = {"version": 1, "cluster.id": self._cluster_id(), "node.id": self.settings()["node.id"]}
            self._write(os.path.join("data", "meta.properties"), identity)

    def _write(self, name, properties):
        lines = (f"{name}={value}\n" for name, value in properties.items())
        self.state.write_secret(os.path.join(self.folder, name), "".join(lines))

    @staticmethod
    def _cluster_id():
        # The format of Kafka's random-uuid: 16 bytes in base64url that do not begin with a dash.
        return "W" + base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")[1:]

    def command(self):
        return self.java() + ["kafka.Kafka", os.path.join(self.folder, "server.properties")]

    def java(self):
        """The JVM with its options. The class archive that tools/setup creates halves its start-up time."""
        logging = "-Dlog4j.configuration=file:" + os.path.join(paths.TREE, "tools", "kafka", "log4j.properties")
        jars = ":".join(sorted(glob.glob(os.path.join(paths.kafka_jars(), "*.jar"))))
        # Kafka's libraries unpack native code into this folder and do not remove it.
        temporary = "-Djava.io.tmpdir=" + os.path.join(self.folder, "tmp")
        return JAVA + self.class_archive() + [temporary, logging, "-cp", jars]

    def class_archive(self):
        archive = paths.kafka_class_archive()
        return [f"-XX:SharedArchiveFile={archive}"] if os.path.exists(archive) else []

    def variables(self, user):
        """The environment variables of a client that logs in as this user."""
        return {"KAFKA_BROKERS": self.bootstrap} | (self.security.variables(user) if self.security else {})

    async def probe(self):
        tls = self.authority.context() if self.authority else None
        return None if await probe.kafka_answers(self.ports[0], tls) else "no response to ApiVersions"

    async def initialize(self):
        if self.security:
            await self.security.grant_rights(self.bootstrap)
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                await self._create_topics()
                return
            except StackError as error:
                # New ACLs take effect in the parts of a broker one after the other.
                if "authorization failed" not in str(error).lower() or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.1)

    async def _create_topics(self):
        topics = paths.program(self.build, "waymark-topics")
        timeout_ms = str(TIMEOUT_S * 1000)
        environment = {**os.environ, **self.variables("topics"), "TOPICS_FILE": paths.TOPICS, "TOPICS_TIMEOUT_MS": timeout_ms}
        await tool.run([topics], environment=environment, log=self.state.log("topics"))


class EmbeddedBroker(Member):
    """Chooses its own port and loses its data when it ends. It cannot be restarted while clients use it."""

    kind = "embedded"
    port_names = ()

    def __init__(self, state, build):
        super().__init__("kafka", state)
        self.build = build
        self.bootstrap_file = state.path("kafka", "bootstrap")

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.ports[0]}"

    def variables(self, _user):
        return {"KAFKA_BROKERS": self.bootstrap}

    async def prepare(self):
        if self.process is not None:
            raise StackError("the embedded broker keeps all data in memory and cannot be restarted: use BROKER=kafka")
        os.makedirs(self.state.path("kafka"), exist_ok=True)
        if os.path.exists(self.bootstrap_file):
            os.remove(self.bootstrap_file)

    def command(self):
        return [paths.program(self.build, "embedded-broker"), paths.TOPICS, self.bootstrap_file]

    async def probe(self):
        if not os.path.exists(self.bootstrap_file):
            return "the port is not known yet"
        with open(self.bootstrap_file, encoding="utf-8") as file:
            self.ports = (int(file.read().strip().rpartition(":")[2]),)
        return None if await probe.kafka_answers(self.ports[0]) else "no response to ApiVersions"
