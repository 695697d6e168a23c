"""What the tests ask of the cluster, and do to it."""

import contextlib
import json
import os
import pathlib
import re
import secrets
import signal

from clusterlib.errors import ClusterError
from clusterlib.waymark import EDGE, NAMESPACE, OVERLAY
from network_namespace import ask
from waiting import wait_until

# A guard against a hang. Pods start within seconds on an idle machine.
TIMEOUT_S = 900
REDIRECTOR = "redirector"
SERVICES = (REDIRECTOR, "links-api", "analytics-consumer", "janitor")
WORKLOADS = ("statefulset/redirector", "deployment/links-api", "deployment/analytics-consumer", "deployment/janitor")
NAME = "app.kubernetes.io/name"
# What the kubelet wants to be free (settings/kubelet.yaml), and more than any node has.
ENOUGH, TOO_LITTLE = "memory.available: 200Mi", "memory.available: 99%"
# The program that holds a pod.
PAUSE = "pause"


class Cluster:
    def __init__(self, node, waymark):
        self.node = node
        self.waymark = waymark
        self.edge = waymark.edge_address()
        hosts = {service: host for host, service in waymark.ingresses()}
        self.redirect_host, self.api_host = hosts[REDIRECTOR], hosts["links-api"]

    def kubectl(self, *arguments, **options):
        return self.waymark.kubectl(*arguments, **options)

    def get(self, *arguments, namespace=NAMESPACE):
        return json.loads(self.node.kubectl("-n", namespace, "get", *arguments, "--output=json").stdout)

    def pods(self, app, namespace=NAMESPACE):
        """The pods of a service that are not ending, by name. The kubelet leaves a failed pod for each that it evicted."""
        found = self.get("pods", f"--selector={NAME}={app}", "--field-selector=status.phase!=Failed", namespace=namespace)["items"]
        return sorted((pod for pod in found if "deletionTimestamp" not in pod["metadata"]), key=lambda pod: pod["metadata"]["name"])

    def ready_pods(self, app):
        def is_ready(pod):
            return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))

        return [pod for pod in self.pods(app) if is_ready(pod)]

    def wait_until_ready(self):
        """Waits until every workload has all its pods, of its newest revision, ready."""
        wait_until(lambda: not self.problems(), "all pods ready")

    def replicas(self, app):
        """How many pods a service should have."""
        (workload,) = self.get("deployment,statefulset", f"--selector={NAME}={app}")["items"]
        return workload["spec"]["replicas"]

    def wait_until_replaced(self, old):
        """Waits until the service has all its pods ready, and these are not among them."""
        app, uids = old[0]["metadata"]["labels"][NAME], {pod["metadata"]["uid"] for pod in old}

        def is_done():
            ready = {pod["metadata"]["uid"] for pod in self.ready_pods(app)}
            return len(ready) == self.replicas(app) and not ready & uids

        wait_until(is_done, f"other pods than {sorted(pod['metadata']['name'] for pod in old)}")

    def wait_until_restarted(self, old):
        """Waits until the containers of these pods have been started again and are ready. Returns their pods."""
        app, before = old[0]["metadata"]["labels"][NAME], {pod["metadata"]["uid"]: restarts(pod) for pod in old}

        def done():
            found = [pod for pod in self.ready_pods(app) if restarts(pod) > before.get(pod["metadata"]["uid"], restarts(pod))]
            return found if len(found) == len(before) else None

        return wait_until(done, f"restarted containers of {sorted(pod['metadata']['name'] for pod in old)}")

    def problems(self):
        found = []
        for thing in self.get("deployment,statefulset")["items"]:
            wanted, status = thing["spec"].get("replicas", 1), thing["status"]
            is_current = status.get("observedGeneration") == thing["metadata"]["generation"]
            if not is_current or (wanted, wanted) != (status.get("readyReplicas", 0), status.get("updatedReplicas", 0)) or status.get("replicas", 0) != wanted:
                found.append(thing["metadata"]["name"])
        return found

    def apply(self, overlay=OVERLAY):
        """As docs/operations.md says: delete the Jobs, apply the overlay. Waits for Jobs and pods."""
        self.kubectl("delete", "job", "--selector=app.kubernetes.io/part-of=waymark", "--ignore-not-found")
        self.node.kubectl("apply", "-k", overlay)
        self.kubectl("wait", "--for=condition=Complete", "job", "--all", f"--timeout={TIMEOUT_S}s")
        self.wait_until_ready()

    def run_job(self, name, namespace=NAMESPACE):
        """Makes a Job of a CronJob, waits for its end and returns what it printed."""
        job = f"{name}-{secrets.token_hex(3)}"
        self.node.kubectl("-n", namespace, "create", "job", f"--from=cronjob/{name}", job)

        def end():
            status = self.get("job", job, namespace=namespace)["status"]
            return [each["type"] for each in status.get("conditions", []) if each["status"] == "True" and each["type"] in ("Complete", "Failed")]

        ended = wait_until(end, f"the end of the Job {job}")
        printed = self.node.kubectl("-n", namespace, "logs", f"job/{job}").stdout
        assert ended == ["Complete"], printed
        return printed

    def repair(self):
        """Brings back what a test that failed may have taken away."""
        for name in (self.node.folder / "stopped").iterdir():
            name.unlink()
        self.node.kubectl("uncordon", *(node["metadata"]["name"] for node in self.get("nodes")["items"]))
        self.kubectl("scale", "--replicas=1", *(f"statefulset/{name}" for name in ("kafka", "postgres", "redis")))
        self.node.kubectl("-n", "kube-system", "scale", "--replicas=1", "deployment/coredns")
        self.kubectl("delete", "pods", "--field-selector=status.phase=Failed")

    def forget_lost_pods(self):
        """Linux sends a new connection to the pod, alive or not, to which one with the same port went that has not ended."""
        alive = {pod["status"].get("podIP") for pod in self.get("pods", "--all-namespaces")["items"]}
        known = set(re.findall(r"src=.* src=(10\.244\.\S+) ", self.node.run("conntrack", "--dump", "--protonum", "tcp").stdout))
        for address in known - alive:
            self.node.run("conntrack", "--delete", "--reply-src", address, check=False)

    # --- Kafka ---

    def stop_kafka(self):
        self.kubectl("scale", "statefulset", "kafka", "--replicas=0")
        wait_until(lambda: not self.get("pods", "--selector=app.kubernetes.io/name=kafka")["items"], "the end of Kafka")

    def start_kafka(self):
        self.kubectl("scale", "statefulset", "kafka", "--replicas=1")

    def metric(self, pod, name):
        """The sum of a metric of a pod, asked from its own network; None: it does not answer."""
        try:
            answer = ask(next(iter(self.processes(pod))), pod["status"]["podIP"], "GET", "/metrics", {}, port=9090)
        except (OSError, KeyError, StopIteration):
            return None
        values = [float(line.rsplit(" ", 1)[1]) for line in answer.body.decode().splitlines() if line.split("{")[0].split(" ")[0] == name]
        return sum(values) if values else None

    def queued(self):
        """Clicks in the journals of all redirectors that answer."""
        return [self.metric(pod, "waymark_events_queued") for pod in self.pods(REDIRECTOR)]

    def wait_until_shipped(self):
        wait_until(lambda: not any(value != 0 for value in self.queued()), "journals that are empty")

    # --- PostgreSQL ---

    def sql(self, statement):
        """The rows of a statement: lists of texts."""
        command = ["psql", "-h", "/tmp", "-U", "postgres", "-AtF", "\t", "-v", "ON_ERROR_STOP=1", "-d", "waymark", "-c", statement]
        out = self.kubectl("exec", "postgres-0", "--", *command).stdout
        return [line.split("\t") for line in out.splitlines()]

    # --- processes ---

    def processes(self, pod):
        """The processes of a pod, seen from this machine, by their number."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if pod["metadata"]["uid"] in (folder / "cgroup").read_text():
                    found[int(folder.name)] = (folder / "comm").read_text().strip()
            except OSError:
                continue  # it has ended
        return found

    def process(self, pod):
        """The process of a pod with one container; None: it does not run."""
        return next((pid for pid, name in self.processes(pod).items() if name != PAUSE), None)

    def kill(self, pod, number=signal.SIGKILL):
        pid = wait_until(lambda: self.process(pod), f"the process of {pod['metadata']['name']}")
        os.kill(pid, number)

    @contextlib.contextmanager
    def memory_pressure(self):
        """The kubelet finds that the node has too little memory, within the context."""
        settings = self.node.folder / "settings/kubelet.yaml"
        before = settings.read_text()
        assert ENOUGH in before
        try:
            settings.write_text(before.replace(ENOUGH, TOO_LITTLE))
            self.restart_kubelet()
            yield
        finally:
            settings.write_text(before)
            self.restart_kubelet()

    def restart_kubelet(self):
        """Its parent starts it again."""
        argument = f"--root-dir={self.node.path('kubelet')}".encode()
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if argument in (folder / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)

    def evict(self, pod):
        """Asks for an eviction; False: a disruption budget refuses it for now."""
        name = pod["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
        try:
            self.node.kubectl("create", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", "-f", "-", input=json.dumps(body))
        except ClusterError as error:
            if "disruption budget" not in str(error):
                raise
            return False
        return True

    def edge_pod(self):
        return self.pods("edge", namespace=EDGE)[0]


def restarts(pod):
    return pod["status"]["containerStatuses"][0]["restartCount"]
