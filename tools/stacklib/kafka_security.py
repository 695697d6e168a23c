"""
Kafka with TLS and passwords. Clients use one listener (SASL_SSL, SCRAM-SHA-512). Two others authenticate by certificate: that of
the controller, and one for clients whose certificate names their user. A fourth takes tokens (OAUTHBEARER), whose signatures it
does not check. Each user has the rights of deploy/kafka-rights.conf.
"""

import asyncio
import base64
import hashlib
import os
import secrets

from . import paths, tool
from .errors import StackError
from .librdkafka import Client

MECHANISM = "SCRAM-SHA-512"
ADMIN = "admin"
BROKER = "kafka"
ITERATIONS = 4096


def rights():
    """(user, operation, kind, name, pattern) of each line."""
    with open(paths.KAFKA_RIGHTS, encoding="utf-8") as file:
        lines = (line.partition("#")[0].split() for line in file)
        return [tuple(words) for words in lines if words]


class KafkaSecurity:
    def __init__(self, state, authority):
        self.state = state
        self.authority = authority
        self.users = [ADMIN, BROKER, *dict.fromkeys(right[0] for right in rights())]

    def password(self, user):
        return self.state.secret(f"kafka {user}")

    def variables(self, user):
        """The environment variables of a client."""
        if user not in self.users:
            raise StackError(f"no Kafka user {user} in deploy/kafka-rights.conf")
        return {
            "KAFKA_SECURITY_PROTOCOL": "sasl_ssl",
            "KAFKA_SASL_MECHANISM": MECHANISM,
            "KAFKA_SASL_USERNAME": user,
            "KAFKA_SASL_PASSWORD": self.password(user),
            "KAFKA_SSL_CA_FILE": self.authority.certificate,
        }

    async def settings(self, broker, controller, certificates, tokens):
        """The broker settings that differ from a stack without --secure. The arguments are ports."""
        others = f"CERTIFICATES://127.0.0.1:{certificates},TOKENS://127.0.0.1:{tokens}"
        login = f'username="{BROKER}" password="{self.password(BROKER)}"'
        return {
            "listeners": f"BROKER://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller},{others}",
            "advertised.listeners": f"BROKER://127.0.0.1:{broker},{others}",
            "listener.security.protocol.map": "BROKER:SASL_SSL,CONTROLLER:SSL,CERTIFICATES:SSL,TOKENS:SASL_SSL",
            "sasl.enabled.mechanisms": MECHANISM,
            "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.tokens.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            "listener.name.broker.scram-sha-512.sasl.jaas.config": f"org.apache.kafka.common.security.scram.ScramLoginModule required {login};",
            "listener.name.controller.ssl.client.auth": "required",
            "listener.name.certificates.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([a-z-]+)$/$1/",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": await self._key_store(),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.certificate,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{BROKER};User:{ADMIN}",
        }

    async def _key_store(self):
        """Java reads key and certificate from one file."""
        path = self.authority.path(f"{BROKER}.keystore.pem")
        text = ""
        for part in reversed(await self.authority.sign(BROKER)):
            with open(part, encoding="utf-8") as file:
                text += file.read()
        self.state.write_secret(path, text)
        return path

    async def format(self, java, properties, cluster_id, log):
        """Formats the storage with the first users, who must exist before the broker starts."""
        arguments = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", properties]
        for user in self.users:
            arguments += ["--add-scram", self._credential(user)]
        # Not on the command line, which every user of this machine can read.
        file = self.state.path("kafka", "format.arguments")
        self.state.write_secret(file, "".join(f"{self._quoted(word)}\n" for word in [*java[1:], *arguments]))
        try:
            await tool.run([java[0], f"@{file}"], log=log)
        finally:
            os.remove(file)

    @staticmethod
    def _quoted(word):
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def _credential(self, user):
        salt = secrets.token_bytes(24)
        salted = hashlib.pbkdf2_hmac("sha512", self.password(user).encode(), salt, ITERATIONS)
        shown = [base64.b64encode(part).decode() for part in (salt, salted)]
        return f'{MECHANISM}=[name="{user}",iterations={ITERATIONS},salt="{shown[0]}",saltedpassword="{shown[1]}"]'

    async def grant_rights(self, bootstrap):
        settings = {
            "bootstrap.servers": bootstrap,
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": MECHANISM,
            "sasl.username": ADMIN,
            "sasl.password": self.password(ADMIN),
            "ssl.ca.location": self.authority.certificate,
        }
        await asyncio.to_thread(self._grant, settings)

    @staticmethod
    def _grant(settings):
        client = Client(settings)
        try:
            client.create_acls(rights())
        finally:
            client.close()
