"""The rules of the Pod Security Standards, profile "restricted" (kubernetes.io/docs/concepts/security/pod-security-standards).
Waymark's own pods also need a read-only root, no API server token, and a memory limit."""

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}  # fmt: skip
APPARMOR = {None, "RuntimeDefault", "Localhost"}
SELINUX = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SECCOMP = {"RuntimeDefault", "Localhost"}


def check_pod(pod):
    context = pod.get("securityContext", {})
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield f"{name} is set"
    for volume in pod.get("volumes", []):
        for kind in set(volume) - {"name"} - VOLUMES:
            yield f"volume {volume['name']} is a {kind}"
    for sysctl in context.get("sysctls", []):
        if sysctl["name"] not in SAFE_SYSCTLS:
            yield f"sysctl {sysctl['name']} is not safe"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield "hostProcess is set"
    yield from check_shared(context, "pod")


def check_shared(context, where):
    """Fields of the contexts of both pods and containers."""
    if context.get("runAsUser") == 0:
        yield f"{where}: runAsUser is 0"
    if context.get("runAsNonRoot") is False:
        yield f"{where}: runAsNonRoot is false"
    if context.get("seccompProfile", {}).get("type", "RuntimeDefault") not in SECCOMP:
        yield f"{where}: seccompProfile is {context['seccompProfile']['type']}"
    if context.get("appArmorProfile", {}).get("type") not in APPARMOR:
        yield f"{where}: appArmorProfile is {context['appArmorProfile']['type']}"
    options = context.get("seLinuxOptions", {})
    if options.get("type") not in SELINUX or options.get("user") or options.get("role"):
        yield f"{where}: seLinuxOptions are not allowed"


def check_container(container, of_pod):
    context = container.get("securityContext", {})
    where = f"container {container['name']}"
    capabilities = context.get("capabilities", {})
    if context.get("privileged"):
        yield f"{where}: is privileged"
    if context.get("allowPrivilegeEscalation") is not False:
        yield f"{where}: allowPrivilegeEscalation is not false"
    if "ALL" not in capabilities.get("drop", []):
        yield f"{where}: does not drop ALL capabilities"
    for name in capabilities.get("add", []):
        if name != "NET_BIND_SERVICE":
            yield f"{where}: adds the capability {name}"
    if context.get("runAsNonRoot", of_pod.get("runAsNonRoot")) is not True:
        yield f"{where}: runAsNonRoot is not true"
    if "seccompProfile" not in context and "seccompProfile" not in of_pod:
        yield f"{where}: has no seccompProfile"
    if context.get("procMount", "Default") != "Default":
        yield f"{where}: procMount is {context['procMount']}"
    for port in container.get("ports", []):
        if port.get("hostPort"):
            yield f"{where}: hostPort {port['hostPort']}"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield f"{where}: hostProcess is set"
    yield from check_shared(context, where)


def check_ours(workload):
    """Rules beyond the profile. Only the images of stores may write to their root."""
    if workload.pod.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken is not false"
    if workload.pod.get("enableServiceLinks") is not False:
        yield "enableServiceLinks is not false"
    for container in workload.containers:
        where = f"container {container['name']}"
        if not container.get("resources", {}).get("limits", {}).get("memory"):
            yield f"{where}: its memory has no limit"
        if not container.get("resources", {}).get("requests", {}).get("cpu"):
            yield f"{where}: it requests no CPU"
        if "waymark.dev/store" not in workload.labels and not container.get("securityContext", {}).get("readOnlyRootFilesystem"):
            yield f"{where}: its root is not read-only"


def check(rendering):
    for workload in rendering.workloads:
        context = workload.pod.get("securityContext", {})
        problems = [*check_pod(workload.pod), *check_ours(workload)]
        for container in workload.containers:
            problems += check_container(container, context)
        yield from (f"{workload.where}: {problem}" for problem in problems)
    for namespace in rendering.all("Namespace"):
        labels = namespace["metadata"].get("labels", {})
        if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
            yield f"Namespace/{namespace['metadata']['name']}: does not enforce the profile restricted"
