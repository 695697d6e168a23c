"""Paths in the tree and in the cache that tools/setup fills."""

import filecmp
import glob
import os

from .errors import StackError

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOPICS = os.path.join(TREE, "deploy", "topics.conf")
KAFKA_RIGHTS = os.path.join(TREE, "deploy", "kafka-rights.conf")
STUNNEL_CONF = os.path.join(TREE, "deploy", "k8s", "overlays", "production", "stunnel.conf")
KAFKA_CHECKSUMS = os.path.join(TREE, "tools", "kafka", "jars.sha256")


def postgres_programs():
    """The folder of initdb, pg_dump and their like, of the newest PostgreSQL on this machine: 17 on Debian 13, 15 on Debian 12."""
    found = glob.glob("/usr/lib/postgresql/*/bin")
    return max(found, key=lambda folder: float(folder.split("/")[4]), default="/usr/lib/postgresql/bin")


def program(build, name):
    path = os.path.join(build, "bin", name)
    if not os.path.exists(path):
        raise StackError(f"{path} is missing: run make build")
    return path


def settings_of(build):
    """The lines NAME:TYPE=VALUE of CMake's cache; none if CMake did not configure the folder."""
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as settings:
            return settings.read().splitlines()
    except FileNotFoundError:
        return []


def has_thread_sanitizer(build):
    return any(line.startswith("WAYMARK_SANITIZE:") and "thread" in line for line in settings_of(build))


def source_tree(build):
    """The source tree of the build. Programs of another version need the schema of their own tree."""
    trees = [line.partition("=")[2] for line in settings_of(build) if line.startswith("CMAKE_HOME_DIRECTORY:")]
    return trees[0] if trees and os.path.isdir(trees[0]) else TREE


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("WAYMARK_CACHE") or os.path.join(base, "waymark")


def kafka_jars():
    return os.path.join(cache(), "kafka")


def kafka_class_archive():
    return os.path.join(kafka_jars(), "classes.jsa")


def kafka_is_verified():
    """True if tools/setup verified the jars. It then leaves a copy of jars.sha256 beside them."""
    try:
        return filecmp.cmp(KAFKA_CHECKSUMS, os.path.join(kafka_jars(), "verified"), shallow=False)
    except FileNotFoundError:
        return False


def geoip_database():
    return os.path.join(cache(), "geoip", "country.mmdb")
