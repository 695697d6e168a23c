"""Translates a container of a manifest into arguments of podman, as the kubelet would. Refuses any field that it does not know."""

import base64
import json
import os
import shutil

from manifestlib import programs
from manifestlib.description import bytes_of

# The owner of a pod's files and processes, the same in all of deploy/k8s.
USER = 65532
# Fields for the kubelet alone (probes, restarts), or without a meaning on one machine.
LEFT_TO_OTHERS = {
    "container": {"name", "ports", "imagePullPolicy", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"},
    "pod": {"serviceAccountName", "automountServiceAccountToken", "enableServiceLinks", "affinity", "topologySpreadConstraints", "restartPolicy"},
}
TRANSLATED = {
    "container": {"image", "command", "args", "env", "envFrom", "volumeMounts", "resources", "securityContext"},
    "pod": {"containers", "initContainers", "volumes", "securityContext", "terminationGracePeriodSeconds"},
}


class Unknown(Exception):
    """The manifest has a field that this module cannot translate."""


def refuse_unknown(kind, thing):
    unknown = set(thing) - TRANSLATED[kind] - LEFT_TO_OTHERS[kind]
    if unknown:
        raise Unknown(f"{kind}: unknown fields {', '.join(sorted(unknown))}")


def write_files(folder, data, mode):
    """Writes the files of a Secret or a ConfigMap, as the kubelet does for a pod with this fsGroup."""
    os.makedirs(folder, mode=0o750)
    os.chown(folder, 0, USER)
    for name, content in data.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        os.chown(path, 0, USER)


class Pod:
    """One pod of a workload, with its volumes in a folder."""

    def __init__(self, rendering, workload, folder, given=None):
        refuse_unknown("pod", workload.pod)
        self.rendering = rendering
        self.workload = workload
        self.folder = folder
        self.given = given or {}  # contents of Secrets and ConfigMaps that the overlay leaves to the operator
        self.grace_s = workload.pod.get("terminationGracePeriodSeconds", 30)

    def make_volumes(self, empty):
        """Makes the folders of all volumes; a claim or an emptyDir becomes a link to the folder empty."""
        shutil.rmtree(self.folder, ignore_errors=True)
        claims = [{"name": name, "emptyDir": {}} for name in self.workload.claims]
        for volume in self.workload.pod.get("volumes", []) + claims:
            if "emptyDir" in volume:
                os.makedirs(empty, exist_ok=True)
                os.chown(empty, USER, USER)
                os.makedirs(self.folder, exist_ok=True)
                os.symlink(empty, os.path.join(self.folder, volume["name"]))
            else:
                write_files(os.path.join(self.folder, volume["name"]), self._contents(volume), volume.get("secret", {}).get("defaultMode", 0o644))

    def _contents(self, volume):
        if "secret" in volume:
            name = volume["secret"]["secretName"]
            thing = self.rendering.find("Secret", name) or {}
            plain = {key: text.encode() for key, text in thing.get("stringData", {}).items()}
            found = plain | {key: base64.b64decode(text) for key, text in thing.get("data", {}).items()}
        elif "configMap" in volume:
            name = volume["configMap"]["name"]
            thing = self.rendering.find("ConfigMap", name) or {}
            found = {key: text.encode() for key, text in thing.get("data", {}).items()}
        else:
            raise Unknown(f"volume {volume['name']} must be a Secret, a ConfigMap or an emptyDir")
        found = found or self.given.get(name)
        if not found:
            raise Unknown(f"{name} has no contents")
        return found

    def arguments(self, container):
        """The arguments of `podman create` for one of its containers, without name and network."""
        refuse_unknown("container", container)
        arguments = ["--pull=never", f"--stop-timeout={self.grace_s}"]
        arguments += self._rights(container) + self._resources(container) + self._mounts(container)
        values, problems = programs.environment(self.rendering, container)
        if problems:
            raise Unknown(problems[0])
        arguments += [word for name, value in sorted(values.items()) for word in ("--env", f"{name}={value}")]
        if "command" in container:
            arguments += ["--entrypoint", json.dumps(container["command"])]
        return [*arguments, container["image"], *container.get("args", [])]

    def _rights(self, container):
        context = self.workload.pod.get("securityContext", {}) | container.get("securityContext", {})
        known = {"runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "seccompProfile", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"}
        if set(context) - known or context["seccompProfile"] != {"type": "RuntimeDefault"} or context["fsGroup"] != USER:
            raise Unknown(f"securityContext: {context}")
        arguments = ["--user", f"{context['runAsUser']}:{context['runAsGroup']}"]
        arguments += [f"--cap-drop={name}" for name in context.get("capabilities", {}).get("drop", [])]
        if context.get("allowPrivilegeEscalation") is False:
            arguments.append("--security-opt=no-new-privileges")
        if context.get("readOnlyRootFilesystem"):
            # Without the second option podman adds writable folders at /tmp, /run and /var/tmp.
            arguments += ["--read-only", "--read-only-tmpfs=false"]
        return arguments

    @staticmethod
    def _resources(container):
        limits, requests = container["resources"].get("limits", {}), container["resources"].get("requests", {})
        if set(limits) - {"memory"} or set(requests) - {"cpu", "memory"}:
            raise Unknown(f"resources: {container['resources']}")
        memory = bytes_of(limits["memory"])
        return [f"--memory={memory}", f"--memory-swap={memory}", f"--cpu-shares={max(2, int(cores_of(requests['cpu']) * 1024))}"]

    def _mounts(self, container):
        arguments = []
        for mount in container.get("volumeMounts", []):
            if set(mount) - {"name", "mountPath", "readOnly"}:
                raise Unknown(f"volumeMounts: {mount}")
            source = os.path.realpath(os.path.join(self.folder, mount["name"]))
            arguments += ["--volume", f"{source}:{mount['mountPath']}:{'ro' if mount.get('readOnly') else 'rw'}"]
        return arguments


def cores_of(quantity):
    text = str(quantity)
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def replicas_of(rendering, workload):
    """The least number of pods: the autoscaler's minimum, or the replicas of the workload."""
    for scaler in rendering.all("HorizontalPodAutoscaler"):
        if scaler["spec"]["scaleTargetRef"]["name"] == workload.name:
            return scaler["spec"]["minReplicas"]
    return workload.thing["spec"].get("replicas", 1)
