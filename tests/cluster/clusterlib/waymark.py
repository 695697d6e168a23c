"""Waymark on a cluster: overlay local as it is, and an edge that does what its Ingresses say."""

import json

from manifestlib import tree

from . import images
from .node import TIMEOUT_S

OVERLAY = tree.MANIFESTS / "overlays/local"
NAMESPACE = "waymark"
EDGE = "ingress"
# A proxy of the pods' network is trusted in overlay local.
SERVER = """\
server {{
  listen 8080;
  server_name {host};
  location / {{
    proxy_pass http://{service}.{namespace}.svc.cluster.local;
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_connect_timeout 5s;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_buffering off;
    proxy_buffer_size 16k;
    proxy_buffers 4 16k;
  }}
}}
"""
NGINX = """\
pid /tmp/nginx.pid;
error_log stderr;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  client_max_body_size 2m;
  server_names_hash_bucket_size 128;
{servers}}}
"""


class Waymark:
    def __init__(self, node):
        self.node = node

    def kubectl(self, *arguments, **options):
        return self.node.kubectl("-n", NAMESPACE, *arguments, **options)

    def apply(self, overlay=OVERLAY):
        """Applies the overlay without a change, and waits as docs/operations.md says."""
        self.node.kubectl("apply", "-k", overlay)
        self.wait()
        self.apply_edge()

    def wait(self):
        self.kubectl("wait", "--for=condition=Available", "deployment", "--all", f"--timeout={TIMEOUT_S}s")
        self.kubectl("rollout", "status", "statefulset/redirector", f"--timeout={TIMEOUT_S}s")

    def ingresses(self):
        """(host, service) of each rule."""
        for ingress in json.loads(self.kubectl("get", "ingress", "--output=json").stdout)["items"]:
            for rule in ingress["spec"]["rules"]:
                (path,) = rule["http"]["paths"]
                yield rule["host"], path["backend"]["service"]["name"]

    def apply_edge(self):
        """In the place of an Ingress controller: nginx in a namespace with the label that the NetworkPolicies want."""
        servers = "".join(SERVER.format(host=host, service=service, namespace=NAMESPACE) for host, service in self.ingresses())
        self.node.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": edge_objects(NGINX.format(servers=servers))}))
        self.node.kubectl("-n", EDGE, "wait", "--for=condition=Available", "deployment", "--all", f"--timeout={TIMEOUT_S}s")

    def edge_address(self):
        return self.node.kubectl("-n", EDGE, "get", "service", "edge", "--output=jsonpath={.spec.clusterIP}").stdout


def edge_objects(configuration):
    labels = {"app.kubernetes.io/name": "edge"}
    container = {
        "name": "nginx", "image": images.STORES["tools"], "imagePullPolicy": "Never", "command": ["nginx", "-c", "/etc/edge/nginx.conf", "-g", "daemon off;"],
        "ports": [{"name": "http", "containerPort": 8080}], "readinessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}, "volumeMounts": [{"name": "configuration", "mountPath": "/etc/edge"}],
    }  # fmt: skip
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": [{"name": "configuration", "configMap": {"name": "edge"}}]}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": EDGE, "labels": {"waymark.dev/role": "ingress"}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "edge", "namespace": EDGE}, "data": {"nginx.conf": configuration}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "edge", "namespace": EDGE}, "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "edge", "namespace": EDGE}, "spec": {"selector": {"matchLabels": labels}, "template": template}},
    ]  # fmt: skip
