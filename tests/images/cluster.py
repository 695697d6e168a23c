"""The overlay's pods on a network of containers. Services and jobs start together, as with `kubectl apply`."""

import asyncio
import pathlib

from engine import EngineError
from manifestlib import rendering, tree
from manifestlib.programs import SERVICES
from pods import Pod, replicas_of

OVERLAY = tree.ROOT / "tests/deploy/variants/e2e"
PRODUCTION = tree.MANIFESTS / "overlays/production"
# The names of tools/stack.
SHORT = {"analytics-consumer": "consumer"}
READY_TIMEOUT_S = 600


def group(version):
    """The files with the peak memory of a control group and its limit, in version 1 or 2 of cgroups."""
    return (("memory.max_usage_in_bytes", "memory.limit_in_bytes"), ("memory.peak", "memory.max"))[version - 1]


def memory_of(pid):
    """(peak, limit) in bytes of the container of a process."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        version = 1 if controllers == "memory" else 2 if (number, controllers) == ("0", "") else 0
        folder = pathlib.Path("/sys/fs/cgroup") / ("memory" if version == 1 else "") / path.lstrip("/")
        if version and (folder / group(version)[1]).exists():
            return tuple(int((folder / name).read_text()) if (folder / name).exists() else 0 for name in group(version))
    raise EngineError(f"no control group limits the memory of process {pid}")


async def http_status(address, port, path):
    """Returns None without an answer."""
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
            line = await reader.readline()
            writer.close()
            return int(line.split()[1])
    except (OSError, TimeoutError, IndexError, ValueError):
        return None


class Service:
    """A running pod of a service."""

    def __init__(self, workload, name, container):
        self.workload = workload
        self.name = name
        self.container = container
        self.ports = {port["name"]: port["containerPort"] for port in workload.pod["containers"][0]["ports"]}
        self.ready = workload.pod["containers"][0]["readinessProbe"]["httpGet"]["path"]

    def url(self, port):
        return f"http://{self.container.address}:{self.ports[port]}"

    async def probe(self):
        status = await http_status(self.container.address, self.ports["ops"], self.ready)
        return None if status == 200 else f"{self.ready} answers {status or 'nothing'}"


class Cluster:
    def __init__(self, state, network):
        self.state = state
        self.network = network
        self.rendering = rendering.render(OVERLAY)
        self.services = []

    def _pod(self, overlay, workload, name, given=None):
        pod = Pod(overlay, workload, self.state.path("volumes", name), given)
        pod.make_volumes(self.state.path("journal", name))
        return pod

    async def start_services(self):
        for workload in self.rendering.workloads:
            if workload.app in SERVICES:
                self.services += [self._service(workload, n) for n in range(1, replicas_of(self.rendering, workload) + 1)]
        await asyncio.gather(*(service.container.start(self.network.name) for service in self.services))

    def _service(self, workload, number):
        name = f"{SHORT.get(workload.name, workload.name)}-{number}"
        arguments = self._pod(self.rendering, workload, name).arguments(workload.pod["containers"][0])
        return Service(workload, name, self.network.container(name, [workload.name], arguments, self.state.log(name)))

    async def run_jobs(self):
        """Runs all jobs together and waits for their end."""
        await asyncio.gather(*(self._run_job(job) for job in self.rendering.workloads if job.thing["kind"] == "Job"))

    async def _run_job(self, job):
        arguments = self._pod(self.rendering, job, job.app).arguments(job.pod["containers"][0])
        container = self.network.container(job.app, [], arguments, self.state.log(job.app))
        await container.start(self.network.name)
        async with asyncio.timeout(READY_TIMEOUT_S):
            status = await container.process.wait()
        if status != 0:
            raise EngineError(f"the job {job.app} ended with {status}\n{container.tail()}")

    async def wait_until_ready(self):
        async with asyncio.timeout(READY_TIMEOUT_S):
            await asyncio.gather(*map(self._wait_for, self.services))

    async def _wait_for(self, service):
        while problem := await service.probe():
            if service.container.process.returncode is not None:
                raise EngineError(f"{service.name} ended: {problem}\n{service.container.tail()}")
            await asyncio.sleep(0.1)

    async def start_sidecar(self, authority):
        """Starts the stunnel of production exactly as in the manifests, with the operator's authority."""
        production = rendering.render(PRODUCTION)
        workload = next(each for each in production.workloads if each.name == "redirector")
        sidecar = dict(workload.pod["initContainers"][0])
        sidecar["image"] = f"localhost/waymark/stunnel:{tree.version()}"
        given = {"authorities": {"redis.pem": pathlib.Path(authority).read_bytes()}, "redirector": {"none": b""}}
        arguments = self._pod(production, workload, "redis-tls", given).arguments(sidecar)
        container = self.network.container("redis-tls", [], arguments, self.state.log("redis-tls"))
        await container.start(self.network.name)
        return container

    def first(self, name):
        return next(service for service in self.services if service.workload.name == name)

    def environment(self):
        """The same variables as tools/stack env."""
        values = {"REDIRECTOR_URL": self.first("redirector").url("http"), "LINKS_API_URL": self.first("links-api").url("http")}
        for name in ("redirector", "links-api", "analytics-consumer", "janitor"):
            urls = [service.url("ops") for service in self.services if service.workload.name == name]
            word = SHORT.get(name, name).upper().replace("-", "_")
            values |= {f"{word}_OPS_URL": urls[0], f"{word}_OPS_URLS": " ".join(urls)}
        return values

    def memory(self):
        """(name, peak, limit) of each service."""
        return [(service.name, *memory_of(service.container.pid)) for service in self.services]

    async def stop_services(self):
        """Stops all services; returns a line for each that did not end with 0."""
        statuses = await asyncio.gather(*(service.container.stop() for service in self.services))
        return [f"{service.name} ended with {status}" for service, status in zip(self.services, statuses) if status != 0]

    def description(self):
        """The facts for tests/images/test_containers.py."""
        facts = [
            {"name": each.name, "pid": each.container.pid, "workload": each.workload.name, "spec": each.workload.pod["containers"][0]}
            for each in self.services
        ]
        return {"services": facts}
