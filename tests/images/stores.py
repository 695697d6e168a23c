"""PostgreSQL, Redis and Kafka on this machine, as tools/stack has them, reached from the containers under the cluster's names."""

import asyncio
import base64
import os
import pathlib
import subprocess

from namespace import forward
from pods import USER
from stacklib.kafka import Kafka
from stacklib.ports import Ports
from stacklib.postgres import Postgres
from stacklib.redis import Redis

KAFKA_PORT, POSTGRES_PORT, REDIS_PORT, REDIS_TLS_PORT = 9092, 5432, 6379, 6380
# Redis as production has it, where its name and its certificate are what overlays/production/stunnel.conf wants.
REDIS_TLS_NAME = "redis.example.com"
NAMES = ("postgres", "redis", "kafka", REDIS_TLS_NAME)
STUNNEL = """\
foreground = yes
pid =
debug = warning
[redis]
accept = 6380
connect = 127.0.0.1:6379
cert = /run/stores/redis.pem
"""


# An authority, and a certificate by it; the key beside it, as stunnel reads both.
CERTIFICATE = f"""
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={REDIS_TLS_NAME} -keyout redis.key -out redis.csr
openssl x509 -req -in redis.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out redis.crt
cat redis.key redis.crt >redis.pem
chmod 0640 redis.pem && chown 0:{USER} redis.pem
"""


def make_certificate(folder):
    (pathlib.Path(folder) / "names").write_text(f"subjectAltName=DNS:{REDIS_TLS_NAME}\n")
    subprocess.run(["bash", "-euc", CERTIFICATE], cwd=folder, check=True, capture_output=True)


class ClusterKafka(Kafka):
    """Tells those who come from the containers its name there, and those on this machine its port."""

    def take_ports(self, ports):
        super().take_ports(ports)
        self.cluster_port = ports.take()

    def settings(self):
        settings = super().settings()
        settings["listeners"] += f",CLUSTER://127.0.0.1:{self.cluster_port}"
        settings["advertised.listeners"] += f",CLUSTER://kafka:{KAFKA_PORT}"
        settings["listener.security.protocol.map"] += ",CLUSTER:PLAINTEXT"
        return settings


class Stores:
    """As long as the block lasts. The database is empty, but for the logins of the overlay; there are no topics."""

    def __init__(self, state):
        self.state = state
        self.postgres, self.redis, self.kafka = Postgres(state, None, None), Redis(state, None), ClusterKafka(state, None, None)
        self.members = (self.postgres, self.redis, self.kafka)
        self.servers = []

    async def __aenter__(self):
        self.ports = Ports()
        for member in self.members:
            member.take_ports(self.ports)
        try:
            await asyncio.gather(*(member.start() for member in self.members))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *error):
        for server in self.servers:
            server.close()
        await asyncio.gather(*(member.stop() for member in self.members))

    async def make_logins(self, secret):
        """What the overlay's own PostgreSQL does at its first start with the Secret postgres."""
        password, logins = (base64.b64decode(secret["data"][key]).decode() for key in ("password", "logins.sql"))
        await self.postgres._sql(f"CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '{password}'", "postgres")
        await self.postgres._sql("CREATE DATABASE waymark OWNER postgres", "postgres")
        await self.postgres._sql(logins, "postgres")

    def door(self, network, version):
        """The container whose names are the stores'. Its program is the server's end of TLS in front of Redis."""
        folder = self.state.path("door")
        os.makedirs(folder)
        make_certificate(folder)
        with open(os.path.join(folder, "stunnel.conf"), "w", encoding="utf-8") as file:
            file.write(STUNNEL)
        arguments = ["--pull=never", "--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
        arguments += ["--volume", f"{folder}:/run/stores:ro", f"localhost/waymark/stunnel:{version}", "/run/stores/stunnel.conf"]
        return network.container("stores", NAMES, arguments, self.state.log("stores"))

    async def open(self, pid):
        """Opens the stores' ports in the network of the door."""
        ways = ((POSTGRES_PORT, self.postgres.ports[0]), (REDIS_PORT, self.redis.ports[0]), (KAFKA_PORT, self.kafka.cluster_port))
        self.servers = [await forward(pid, port, target) for port, target in ways]

    def environment(self):
        """How those on this machine reach them."""
        return {"PG_URL": self.postgres.url(), "REDIS_URL": self.redis.url(), "KAFKA_BROKERS": self.kafka.bootstrap, "BROKER": self.kafka.kind}
