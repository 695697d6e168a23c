"""Where things are: in the tree, and in the cache that tools/setup fills."""

import os

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOPICS = os.path.join(TREE, "deploy", "topics.conf")
UA_REGEXES = "/usr/share/uap-core/regexes.yaml"


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("WAYMARK_CACHE") or os.path.join(base, "waymark")


def kafka_jars():
    return os.path.join(cache(), "kafka")


def kafka_jars_verified():
    """Exists when the checksums of all jars were right; written by tools/setup."""
    return os.path.join(kafka_jars(), "verified")


def geoip_database():
    return os.path.join(cache(), "geoip", "country.mmdb")
