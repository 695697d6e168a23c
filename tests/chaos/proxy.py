"""HAProxy in front of replicas, as in front of pods: it follows their /readyz, and tries nothing twice."""

import csv
import io
import socket
import subprocess

from rig import wait_until

# A pool is asked by requests (each may go to another replica) and by connections (each stays with one, as behind a Service).
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
  # Refused or told that it is not ready, a replica gets nothing more; one that is slow to say so is no reason.
  errorfile 503 {folder}/nobody.http
  default-server check inter 100ms fall 1 rise 1
"""
POOL = """\
listen {name}
  bind 127.0.0.1:{port}
  mode {mode}
{servers}
"""


class Proxy:
    """pools: name → [(replica's name, its port, its operations port)]; ports: how to get a free one."""

    def __init__(self, folder, pools, ports):
        self.socket = str(folder / "haproxy.sock")
        self.doors = {(name, mode): ports.take() for name in pools for mode in MODES}
        text = HEAD.format(socket=self.socket, folder=folder)
        # Its own, so that it cannot be taken for a redirector's.
        (folder / "nobody.http").write_bytes(b"HTTP/1.1 599 Nobody\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        for (name, mode), port in self.doors.items():
            lines = (f"  server {replica} 127.0.0.1:{at} port {ops}" for replica, at, ops in pools[name])
            text += POOL.format(name=f"{name}-{mode}", port=port, mode=mode, servers="\n".join(lines))
        (folder / "haproxy.cfg").write_text(text)
        self.log = open(folder / "logs/haproxy.log", "ab")
        self.process = subprocess.Popen(
            ["haproxy", "-db", "-f", folder / "haproxy.cfg"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL
        )
        wait_until(self.is_whole, 60, "HAProxy to find all replicas ready")

    def url(self, pool, mode):
        return f"http://127.0.0.1:{self.doors[pool, mode]}"

    def command(self, words):
        with socket.socket(socket.AF_UNIX) as way:
            way.connect(self.socket)
            way.sendall(words.encode() + b"\n")
            return b"".join(iter(lambda: way.recv(65536), b"")).decode()

    def servers(self):
        """What HAProxy says of each replica in each pool."""
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
        """As a pod that was deleted: nobody new is sent there, whatever it says."""
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
