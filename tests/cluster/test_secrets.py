"""Passwords and keys are changed as docs/stores.md says, while users and visitors go on."""

import pytest

from api_clients import ApiClients
from cluster_under_test import TIMEOUT_S
from overlays import changed, merged
from visitors import Visitors
from waiting import wait_until

CLICKS = 100
OLD_KEY = "a key that is good for nothing but a laptop"
NEW_KEY = "another key that is good for nothing but a test"
# The login of each service, and its Secret.
LOGINS = {"redirector": "redirector", "links_api": "links-api", "consumer": "analytics-consumer", "janitor": "janitor"}
REDIS = "redis://waymark:rotated@redis:6379"


def make_logins(cluster, suffix, password):
    for login in LOGINS:
        cluster.sql(f"CREATE ROLE {login}{suffix} LOGIN PASSWORD '{password}' IN ROLE waymark_{login}")


def drop_logins(cluster, suffix):
    for login in LOGINS:
        cluster.sql(f"DROP ROLE IF EXISTS {login}{suffix}")


def redis(cluster, *command):
    """As the user of this test, if there is one, or else as the default user."""
    cluster.kubectl("exec", "redis-0", "--", "redis-cli", "-e", "--user", "waymark", "--pass", "rotated", *command)


@pytest.fixture
def rotated(cluster):
    """Undoes what the test does."""
    yield
    drop_logins(cluster, "")
    make_logins(cluster, "", "local")
    redis(cluster, "ACL", "SETUSER", "default", "on")
    cluster.apply()
    drop_logins(cluster, "_new")
    redis(cluster, "ACL", "DELUSER", "waymark")


def secrets_with(key, new=False):
    """The Secrets with this JWT_SECRET, and with new logins or the old ones."""
    found = {secret: {"pg_url": f"postgresql://{login}_new:rotated@postgres/waymark"} for login, secret in LOGINS.items()} if new else {"links-api": {}}
    for secret in ("redirector", "links-api") if new else ():
        found[secret]["redis_url"] = REDIS
    found["links-api"]["jwt_secret"] = key
    return [merged(name, **values) for name, values in found.items()]


def logins_in_use(cluster):
    return {name for (name,) in cluster.sql("SELECT DISTINCT usename FROM pg_stat_activity WHERE usename IS NOT NULL AND usename <> 'postgres'")}


def test_secrets_are_rotated_without_a_failed_request(cluster, user, link, rotated, tmp_path):
    with Visitors(cluster, link) as visitors, ApiClients(user) as clients:
        visitors.wait_for_clicks(CLICKS)
        make_logins(cluster, "_new", "rotated")
        redis(cluster, "ACL", "SETUSER", "waymark", "on", ">rotated", "~*", "+@all")
        cluster.apply(changed(tmp_path, secretGenerator=secrets_with(f"{OLD_KEY},{NEW_KEY}")))
        cluster.apply(changed(tmp_path, secretGenerator=secrets_with(f"{NEW_KEY},{OLD_KEY}", new=True)))
        wait_until(lambda: logins_in_use(cluster) <= {f"{login}_new" for login in LOGINS}, "only new logins in PostgreSQL")
        drop_logins(cluster, "")
        redis(cluster, "ACL", "SETUSER", "default", "off")
        visitors.wait_for_clicks(CLICKS)
    print(f"\nsecrets rotated: {clients}; clicks {visitors.expect_each_counted_once()}")
    assert (clients.failed, dict(visitors.unclear)) == ([], {})

    assert user.call("GET", "/api/links?limit=1").status == 200
    cluster.apply(changed(tmp_path, secretGenerator=secrets_with(NEW_KEY, new=True)))
    assert user.call("GET", "/api/links?limit=1").status == 401
