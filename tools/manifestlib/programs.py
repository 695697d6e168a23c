"""The variables of the programs (--help), and their validation of a configuration (--check-config)."""

import functools
import os
import pathlib
import re
import subprocess
import tempfile

from . import tree

SERVICES = ("redirector", "links-api", "analytics-consumer", "janitor")
# By the name of the container.
PROGRAMS = {name: name for name in (*SERVICES, "migrate")} | {"topics": "waymark-topics"}
# What the Jobs of components/day-two run, by the name of the container: image and program.
DAY_TWO = {
    **{name: ("tools", "backup") for name in ("backup", "restore", "kafka-lost")},
    "rebuild-stats": ("tools", "rebuild-stats"), "republish-links": ("links-api", "links-api"),
}  # fmt: skip
# Read by libraries, not by the programs.
OF_LIBRARIES = {"PGSSLMODE", "PGSSLROOTCERT"}
# Files and folders of a pod that this machine may not have, by the variable that names them, and what
# takes their place. A pod always has the country database.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# Sample values for the files of a Secret.
SAMPLES = {
    "pg-url": "postgresql://name:word@postgres.example.com/waymark",
    "redis-url": "redis://127.0.0.1:6379",
    "jwt-secret": "0123456789abcdef0123456789abcdef",
    "kafka-password": "a password",
    "smtp-url": "smtps://name:word@mail.example.com",
    "oidc.json": '{"providers": []}',
}


@functools.cache
def sample_certificate():
    """A certificate and its key, which a program reads before it starts."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=sample", "-keyout", "-", "-out", "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@functools.cache
def table(name):
    """{variable: default} of a program; the default is None where there is none."""
    run = subprocess.run([tree.program(name), "--help"], capture_output=True, text=True, check=True)
    rows = re.findall(r"^  ([A-Z][A-Z0-9_]*)  +(\S.*?)(?:  |$)", run.stdout, re.M)
    return {variable: None if default == "required" else default for variable, default in rows}


def missing():
    """The programs that are not built."""
    return [path for path in map(tree.program, PROGRAMS.values()) if not path.exists()]


def variable_of(name):
    return name.removesuffix("_FILE")


def known(program):
    """The names that the program or its libraries read, without NAME_FILE for each of them."""
    return OF_LIBRARIES | set(table(program))


def is_known(program, name):
    return name in known(program) or (name.endswith("_FILE") and variable_of(name) in table(program))


def environment(rendering, container):
    """The variables of a container as {name: value}, and a list of problems with their sources."""
    values, problems = {}, []
    for source in container.get("envFrom") or []:
        config = rendering.find("ConfigMap", source.get("configMapRef", {}).get("name"))
        values |= config.get("data", {}) if config else {}
    for each in container.get("env", []):
        if "value" in each:
            values[each["name"]] = each["value"]
        elif reference := each.get("valueFrom", {}).get("configMapKeyRef"):
            config = rendering.find("ConfigMap", reference["name"]) or {}
            if reference["key"] in config.get("data", {}):
                values[each["name"]] = config["data"][reference["key"]]
            else:
                problems.append(f"{each['name']}: there is no {reference['key']} in ConfigMap {reference['name']}")
        elif "valueFrom" not in each:
            problems.append(f"{each['name']} has no value")
    return values, problems


def check_config(program, values):
    """The problems that the program reports about these values."""
    # A file of authorities is for TLS only.
    samples = SAMPLES | ({"redis-url": "rediss://redis.example.com:6380"} if "REDIS_SSL_CA_FILE" in values else {})
    if "KAFKA_SSL_CERTIFICATE_FILE" in values:
        samples |= dict.fromkeys(("kafka.crt", "kafka.key"), sample_certificate())
    with tempfile.TemporaryDirectory(prefix="manifests-") as folder:
        run = subprocess.run(
            [tree.program(program), "--check-config"], capture_output=True, text=True, cwd=tree.ROOT,
            env={name: substitute(name, value, folder, samples) for name, value in values.items()} | sanitizers(),
        )  # fmt: skip
    return [] if run.returncode == 0 else [line.replace(folder, "") for line in run.stderr.splitlines()[1:]]


def substitute(name, value, folder, samples):
    """Replaces the path of a file of the pod by the path of a sample."""
    path = pathlib.Path(folder) / pathlib.PurePath(value).name
    if name == "JOURNAL_DIR":
        return str(path)
    if name == "GEOIP_DB":
        return ""
    if name in ("KAFKA_SSL_CA_FILE", "REDIS_SSL_CA_FILE", "PGSSLROOTCERT"):
        return AUTHORITIES
    sample = samples.get(path.name) if value.startswith("/run/secrets/") else None
    if sample is None:
        return value
    path.write_text(sample)
    return str(path)


def sanitizers():
    return {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
