"""What the programs say of themselves: their tables of variables (--help), and what they think of a configuration (--check-config)."""

import functools
import os
import pathlib
import re
import subprocess
import tempfile

from . import tree

# By the name of the container.
PROGRAMS = {name: name for name in ("redirector", "links-api", "analytics-consumer", "janitor", "migrate")} | {"topics": "waymark-topics"}
# Read by libraries, not by us.
OF_LIBRARIES = {"PGSSLMODE", "PGSSLROOTCERT"}
# What is in the images, and not here.
OF_IMAGES = {"/usr/share/waymark/country.mmdb", "/usr/share/uap-core/regexes.yaml"}
# What stands in a Secret, for who has not the real one.
SAMPLES = {
    "pg-url": "postgresql://name:word@postgres.example.com/waymark",
    "redis-url": "redis://127.0.0.1:6379",
    "jwt-secret": "0123456789abcdef0123456789abcdef",
    "kafka-password": "a password",
}


@functools.cache
def table(name):
    """{variable: default} of a program; the default is None where there is none."""
    run = subprocess.run([tree.program(name), "--help"], capture_output=True, text=True, check=True)
    rows = re.findall(r"^  ([A-Z][A-Z0-9_]*)  +(\S.*?)(?:  |$)", run.stdout, re.M)
    return {variable: None if default == "required" else default for variable, default in rows}


def variable_of(name):
    return name.removesuffix("_FILE")


def is_known(program, name):
    known = table(program)
    return name in known or (name.endswith("_FILE") and variable_of(name) in known) or name in OF_LIBRARIES


def environment(rendering, container):
    """{name: value} that a container gets, and what is wrong with where they are from."""
    values, problems = {}, []
    for source in container.get("envFrom") or []:
        config = rendering.find("ConfigMap", source.get("configMapRef", {}).get("name"))
        values |= config.get("data", {}) if config else {}
    for each in container.get("env", []):
        if "value" not in each:
            problems.append(f"{each['name']} has no value")
        else:
            values[each["name"]] = each["value"]
    return values, problems


def check_config(program, values):
    """What the program itself says against these values; nothing if they are right."""
    with tempfile.TemporaryDirectory(prefix="manifests-") as folder:
        run = subprocess.run(
            [tree.program(program), "--check-config"], capture_output=True, text=True, cwd=tree.ROOT,
            env={name: stand_in(value, folder) for name, value in values.items()} | sanitizers(),
        )  # fmt: skip
    return [] if run.returncode == 0 else [line.replace(folder, "") for line in run.stderr.splitlines()[1:]]


def stand_in(value, folder):
    """The path of a sample where the value is a file of the image or of a Secret."""
    sample = SAMPLES.get(pathlib.PurePath(value).name) if value.startswith("/run/secrets/") else None
    if sample is None and value not in OF_IMAGES:
        return value
    path = pathlib.Path(folder) / pathlib.PurePath(value).name
    path.write_text(sample or "")
    return str(path)


def sanitizers():
    return {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
