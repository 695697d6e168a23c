"""The rules of the Pod Security Standards, profile "restricted" (kubernetes.io/docs/concepts/security/pod-security-standards), that
kube-score does not know, and no token of the API server."""

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def problems_of_pod(pod):
    context = pod.get("securityContext", {})
    yield from (f"{name} is set" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name))
    yield from (f"volume {volume['name']} is a {kind}" for volume in pod.get("volumes", []) for kind in set(volume) - {"name"} - VOLUMES)
    if context.get("sysctls"):
        yield "sets sysctls"
    if pod.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken is not false"


def problems_of_container(container, of_pod):
    context = of_pod | container.get("securityContext", {})
    capabilities = context.get("capabilities", {})
    if context.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "does not drop ALL capabilities, or adds one"
    if context.get("runAsNonRoot") is not True:
        yield "runAsNonRoot is not true"
    for name in ("seccompProfile", "appArmorProfile"):
        if context.get(name, {}).get("type") == "Unconfined":
            yield f"{name} is Unconfined"
    for name in ("procMount", "seLinuxOptions", "windowsOptions"):
        if name in context:
            yield f"sets {name}"
    if any(port.get("hostPort") for port in container.get("ports", [])):
        yield "has a hostPort"


def check(rendering):
    for workload in rendering.workloads:
        yield from (f"{workload.where}: {problem}" for problem in problems_of_pod(workload.pod))
        for container in workload.containers:
            found = problems_of_container(container, workload.pod.get("securityContext", {}))
            yield from (f"{workload.where}: container {container['name']}: {problem}" for problem in found)
    for namespace in rendering.all("Namespace"):
        if namespace["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
            yield f"Namespace/{namespace['metadata']['name']}: does not enforce the profile restricted"
