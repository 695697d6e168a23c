"""A mail server that keeps what it gets, and refuses it as a test wants; and a janitor that sends mail to it."""

import asyncio
import email
import email.policy
import json
import os
import pathlib
import signal
import ssl
import subprocess
import tempfile

import processes
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from stacklib.authority import Authority
from stacklib.ports import Ports
from waiting import wait_until

BUILD = pathlib.Path(os.environ.get("WAYMARK_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build/dev"))


class MailServer:
    """Listens on 127.0.0.1 while it is started. Options are those of aiosmtpd's SMTP."""

    def __init__(self, **options):
        self.ports = Ports()
        self.port = self.ports.take()
        self.options = options
        self.controller = None
        self.mails = []
        # The reply to a command, RCPT or DATA: a text, or a function of the address.
        self.replies = {}
        # Takes a mail and closes the connection without a reply.
        self.drops = False

    def start(self):
        self.controller = Controller(self, hostname="127.0.0.1", port=self.port, **self.options)
        self.controller.start()
        return self

    def stop(self):
        if self.controller:
            self.controller.stop()
            self.controller = None

    def reply(self, command, address):
        reply = self.replies.get(command, "250 OK")
        return reply(address) if callable(reply) else reply

    async def handle_MAIL(self, server, session, envelope, address, options):
        reply = self.reply("MAIL", address)
        if reply.startswith("2"):
            envelope.mail_from = address
        return reply

    async def handle_RCPT(self, server, session, envelope, address, options):
        reply = self.reply("RCPT", address)
        if reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server, session, envelope):
        reply = self.reply("DATA", envelope.rcpt_tos[0])
        if reply.startswith("2"):
            message = email.message_from_bytes(envelope.content, policy=email.policy.default)
            self.mails.append(Mail(envelope, message, session))
        if self.drops:
            server.transport.abort()
        return reply

    def to(self, address):
        return [mail for mail in self.mails if mail.to == [address]]

    def wait_for(self, count, seconds=300):
        wait_until(lambda: len(self.mails) >= count, f"{count} mails", seconds=seconds)
        return self.mails


class Mail:
    def __init__(self, envelope, message, session):
        self.sender, self.to = envelope.mail_from, envelope.rcpt_tos
        self.message, self.raw = message, envelope.content
        self.login = session.auth_data
        self.is_encrypted = session.ssl is not None
        self.host = session.host_name

    @property
    def id(self):
        return self.message["Message-ID"]

    @property
    def subject(self):
        return str(self.message["Subject"])

    def form(self, kind):
        """The text/plain or text/html form."""
        return self.message.get_body(preferencelist=(kind,)).get_content()


def login_of(user, password):
    """An authenticator of aiosmtpd that knows one login."""
    return lambda server, session, envelope, mechanism, data: AuthResult(
        success=(data.login, data.password) == (user.encode(), password.encode()), handled=False, auth_data=data.login
    )


def make_authority(folder, names="IP:127.0.0.1"):
    """The file of a new authority, and the context of a server whose certificate it signed."""
    authority = Authority(str(folder))
    asyncio.run(authority.make())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*asyncio.run(authority.sign("mail", names)))
    return authority.certificate, context


class Janitor:
    """A janitor that sends mail; its log is a file."""

    def __init__(self, pg_url, smtp_url, *wrapper, **variables):
        self.log = tempfile.NamedTemporaryFile(prefix="janitor-", suffix=".log")
        environment = {
            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS") or name == "PATH"},
            "PG_URL": pg_url, "OPS_PORT": "0", "SMTP_URL": smtp_url, "MAIL_FROM": "Kürzer & Co <links@short.example>",
            "DASHBOARD_URL": "https://short.example/app/", "PG_STATEMENT_TIMEOUT_MS": "60000",
        } | variables  # fmt: skip
        self.process = processes.popen([*wrapper, BUILD / "bin/janitor"], env=environment, stderr=self.log, stdout=subprocess.DEVNULL)
        started = wait_until(lambda: self.events("started"), "the janitor to start")[0]
        self.ops_url = f"http://127.0.0.1:{started['ops_port']}"

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def events(self, name):
        lines = [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    def wait_for(self, name, count=1):
        return wait_until(lambda: (found := self.events(name)) and len(found) >= count and found, f"{count} lines {name}")

    def wait_for_failure(self, reason):
        """Of the mail server. A slow machine may time out first; the janitor tries again after a minute."""
        wait_until(lambda: any(reason.lower() in each["reason"].lower() for each in self.events("mail_server_failed")), f"a failure: {reason}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(300) == 0, self.text()
        text = self.text()
        assert "Sanitizer" not in text and "runtime error" not in text, text
