"""PostgreSQL, Redis and Kafka of tools/stack on this machine, which the containers reach by the cluster's names."""

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
# Redis as in production: overlays/production/stunnel.conf requires this name and its certificate.
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


# Makes an authority and a certificate with its key in one file, as stunnel reads them.
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
    """Advertises its cluster name to containers, and its port to clients on this machine."""

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
    """The stores, which run within the context. The database has only the logins of the overlay, and there are no topics."""

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
        """Makes the logins of the Secret postgres, as the overlay's own PostgreSQL does at its first start."""
        password, logins = (base64.b64decode(secret["data"][key]).decode() for key in ("password", "logins.sql"))
        await self.postgres._sql(f"CREATE ROLE postgres SUPERUSER LOGIN PASSWORD '{password}'", "postgres")
        await self.postgres._sql("CREATE DATABASE waymark OWNER postgres", "postgres")
        await self.postgres._sql(logins, "postgres")

    def gateway(self, network, version):
        """The container with the names of the stores. Its program is the TLS server in front of Redis."""
        folder = self.state.path("gateway")
        os.makedirs(folder)
        make_certificate(folder)
        with open(os.path.join(folder, "stunnel.conf"), "w", encoding="utf-8") as file:
            file.write(STUNNEL)
        arguments = ["--pull=never", "--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
        arguments += ["--volume", f"{folder}:/run/stores:ro", f"localhost/waymark/stunnel:{version}", "/run/stores/stunnel.conf"]
        return network.container("stores", NAMES, arguments, self.state.log("stores"))

    async def open(self, pid):
        """Opens the stores' ports in the network of the gateway."""
        ports = ((POSTGRES_PORT, self.postgres.ports[0]), (REDIS_PORT, self.redis.ports[0]), (KAFKA_PORT, self.kafka.cluster_port))
        self.servers = [await forward(pid, port, target) for port, target in ports]

    def environment(self):
        """The variables of clients on this machine."""
        return {"PG_URL": self.postgres.url(), "REDIS_URL": self.redis.url(), "KAFKA_BROKERS": self.kafka.bootstrap, "BROKER": self.kafka.kind}
