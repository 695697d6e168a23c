"""Runs podman: single commands, containers and networks, all of which it removes."""

import asyncio
import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LABEL = "dev.waymark.run"
os.environ["CONTAINERS_CONF"] = str(ROOT / "deploy/images/containers.conf")


class EngineError(Exception):
    pass


async def podman(*arguments, check=True):
    """Runs a command of podman; returns its output."""
    process = await asyncio.create_subprocess_exec(
        "podman", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await process.communicate()
    if check and process.returncode != 0:
        raise EngineError(f"podman {' '.join(arguments[:2])}: {errors.decode().strip()}")
    return out.decode()


async def sweep():
    """Removes containers and networks of earlier runs whose process was killed."""
    for kind in ("container", "network"):
        for thing in json.loads(await podman(kind, "ls", *(["--all"] if kind == "container" else []), "--format=json", f"--filter=label={LABEL}")):
            labels = {name.lower(): value for name, value in thing.items()}["labels"]
            if not os.path.exists(f"/proc/{labels[LABEL]}"):
                await podman(kind, "rm", "--force", thing["Id"] if kind == "container" else thing["name"])


class Container:
    """A container whose output goes to a file."""

    def __init__(self, name, arguments, log):
        self.name = name
        self.arguments = arguments
        self.log = log
        self.process = None
        self.pid = None
        self.address = None

    async def start(self, network):
        """Creates and connects the container first, so that podman's own messages stay out of the log."""
        await podman("create", *self.arguments)
        await podman("init", self.name)
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                "podman", "start", "--attach", self.name, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        async with asyncio.timeout(300):
            while not await self._look(network):
                if self.process.returncode == 0:
                    return  # a short job that ended before it was seen running
                if self.process.returncode is not None:
                    raise EngineError(f"{self.name} ended with {self.process.returncode}\n{self.tail()}")
                await asyncio.sleep(0.05)

    async def _look(self, network):
        text = await podman("container", "inspect", self.name)
        found = json.loads(text)[0]
        self.pid = found["State"]["Pid"]
        self.address = found["NetworkSettings"]["Networks"][network]["IPAddress"]
        return found["State"]["Running"]

    def tail(self):
        return "".join(pathlib.Path(self.log).read_text(errors="replace").splitlines(keepends=True)[-15:])

    async def stop(self):
        """Stops the container; returns its exit status, which is above 128 if it was killed."""
        if self.process is None:
            return None
        if self.process.returncode is None:
            await podman("stop", self.name, check=False)
        return await self.process.wait()

    async def remove(self):
        await podman("rm", "--force", "--ignore", "--time=0", self.name, check=False)
        if self.process is not None:
            await self.process.wait()


class Network:
    """A network of containers with DNS, which exists within its context. Overlay local trusts proxies in its subnet."""

    def __init__(self, name):
        self.name = name
        self.containers = []

    async def __aenter__(self):
        await podman("network", "create", "--subnet", "10.244.0.0/24", "--label", f"{LABEL}={os.getpid()}", self.name)
        return self

    async def __aexit__(self, *error):
        await asyncio.gather(*(each.remove() for each in self.containers))
        await podman("network", "rm", "--force", self.name)

    def container(self, name, aliases, arguments, log):
        """arguments: options of `podman create`, without name and network."""
        options = [f"--network={self.name}", "--hostname", name, "--label", f"{LABEL}={os.getpid()}", "--log-driver=none"]
        options += [f"--network-alias={alias}" for alias in aliases]
        # While containers end, the network's DNS server may be away. By default, a lookup would then outlast the stop of a service.
        options += ["--dns-option=timeout:1", "--dns-option=attempts:2"]
        self.containers.append(Container(f"{self.name}-{name}", [*options, "--name", f"{self.name}-{name}", *arguments], log))
        return self.containers[-1]
