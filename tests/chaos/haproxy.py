"""HAProxy in front of replicas, as in front of pods: it follows their /readyz and repeats no request."""

import csv
import io
import socket
import subprocess

from harness import wait_until
from processes import popen

# A pool is balanced by request (each may go to another replica) and by connection (each stays with one, as behind a Service).
MODES = ("http", "tcp")
HEAD = """\
global
  maxconn 4096
  log stdout format raw local0
  stats socket {socket} mode 600 level admin
defaults
  log global
  option httplog
  option dontlog-normal
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout check 10s
  retries 0
  option httpchk GET /readyz
  http-check expect status 200
  # A replica that refuses two checks or is not ready at two gets no more requests. One that is slow to answer still does.
  # `inter` is also the time to connect, and is reached when HAProxy itself waits for a busy CPU.
  errorfile 503 {folder}/no-replica.http
  default-server check inter 500ms fall 2 rise 1
"""
POOL = """\
listen {name}
  bind 127.0.0.1:{port}
  mode {mode}
{servers}
"""


class HAProxy:
    """pools: name → [(replica's name, its port, its operations port)]; ports: how to get a free one."""

    def __init__(self, folder, pools, ports):
        self.socket = str(folder / "haproxy.sock")
        self.ports = {(name, mode): ports.take() for name in pools for mode in MODES}
        text = HEAD.format(socket=self.socket, folder=folder)
        # A status of its own, which no redirector answers.
        (folder / "no-replica.http").write_bytes(b"HTTP/1.1 599 No Replica\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        for (name, mode), port in self.ports.items():
            lines = (f"  server {replica} 127.0.0.1:{at} port {ops}" for replica, at, ops in pools[name])
            text += POOL.format(name=f"{name}-{mode}", port=port, mode=mode, servers="\n".join(lines))
        (folder / "haproxy.cfg").write_text(text)
        self.log = open(folder / "logs/haproxy.log", "ab")
        self.process = popen(
            ["haproxy", "-db", "-f", folder / "haproxy.cfg"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL
        )
        wait_until(self.is_whole, "HAProxy to find all replicas ready")

    def url(self, pool, mode):
        return f"http://127.0.0.1:{self.ports[pool, mode]}"

    def command(self, words):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            connection.sendall(words.encode() + b"\n")
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def servers(self):
        """HAProxy's statistics of each replica in each pool."""
        rows = csv.DictReader(io.StringIO(self.command("show stat").lstrip("# ")))
        return [row for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]

    def sessions(self, replica):
        return sum(int(row["scur"]) for row in self.servers() if row["svname"] == replica)

    def is_whole(self):
        try:
            return all(row["status"] == "UP" for row in self.servers())
        except OSError:
            return False

    def take_out(self, replica):
        """Sends no new connection there, as to a pod that was deleted."""
        self.set_state(replica, "drain")

    def let_in(self, replica):
        self.set_state(replica, "ready")

    def set_state(self, replica, state):
        for row in self.servers():
            if row["svname"] == replica:
                assert not self.command(f"set server {row['pxname']}/{replica} state {state}").strip()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
