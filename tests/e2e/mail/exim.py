"""A real mail server, Debian's Exim: STARTTLS, implicit TLS and a login; mailboxes in a folder."""

import email
import email.policy
import os
import pathlib
import pwd
import signal
import socket

import processes
from mail_server import make_authority
from stacklib.ports import Ports
from waiting import wait_until

USER, PASSWORD = "links@short.example", "pass word/1"
CONFIG = """
primary_hostname = mail.example
spool_directory = {folder}/spool
log_file_path = {folder}/%slog
pid_file_path = {folder}/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port} : {tls_port}
tls_on_connect_ports = {tls_port}
tls_advertise_hosts = {advertise}
tls_certificate = {folder}/authority/mail.pem
tls_privatekey = {folder}/authority/mail.key
auth_advertise_hosts = ${{if def:tls_in_cipher {{*}}{{}}}}
acl_smtp_mail = mail
acl_smtp_rcpt = recipient
acl_smtp_data = accept
deliver_drop_privilege = true
smtp_accept_queue_per_connection = 0
keep_environment =
host_lookup =
rfc1413_hosts =
begin acl
mail:
  deny message = 5.7.0 log in first
       condition = ${{if def:tls_in_cipher {{yes}}{{no}}}}
       !authenticated = *
  accept
recipient:
  deny message = 5.1.1 no such user here
       local_parts = nobody
  defer message = 4.7.1 greylisted, come back later
       condition = ${{if exists{{{folder}/greylisting}}}}
       local_parts = later
  accept
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = {folder}/box
  maildir_format
  user = Debian-exim
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_set_id = $auth2
  server_condition = ${{if and{{{{eq{{$auth2}}{{{user}}}}}{{eq{{$auth3}}{{{password}}}}}}}}}
"""


class Exim:
    def __init__(self, folder, advertises_tls=True):
        self.folder = pathlib.Path(folder)
        ports = self.ports = Ports()
        self.port, self.tls_port = ports.take(), ports.take()
        self.authority, _ = make_authority(self.folder / "authority")
        for name in ("spool", "box"):
            (self.folder / name).mkdir()
        owner = pwd.getpwnam("Debian-exim")
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        config = CONFIG.format(folder=folder, port=self.port, tls_port=self.tls_port, advertise="*" if advertises_tls else "", user=USER, password=PASSWORD)
        (self.folder / "exim.conf").write_text(config)
        self.process = None

    def start(self):
        self.process = processes.popen(["/usr/sbin/exim4", "-C", self.folder / "exim.conf", "-bdf"])
        wait_until(self.listens, "Exim to listen")
        return self

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(300)
            self.process = None

    def mails(self):
        """What the mailbox has. Exim may still be delivering."""
        paths = sorted((self.folder / "box/new").glob("*")) if (self.folder / "box/new").exists() else []
        return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in paths]

    def to(self, address):
        return [mail for mail in self.mails() if mail["To"].addresses[0].addr_spec == address]

    def log(self):
        path = self.folder / "mainlog"
        return path.read_text() if path.exists() else ""
