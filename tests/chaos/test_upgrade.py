"""Version N serves under load, the database is migrated, N+1 takes over replica by replica; then back to N, and on again.

No version has been released yet, so N is this tree, and N+1 is this tree with one more migration, in a tree of its own below the
build folder.
"""

import os
import pathlib
import subprocess

import next_tree
import pytest
from harness import BUILD, size, wait_until
from rolling_harness import KINDS, REPLICAS, Fleet
from stacklib import paths

NEXT = BUILD / "upgrade/next"
PROGRAMS = ("redirector", "links-api", "analytics-consumer", "janitor", "migrate", "waymark-topics")
ANSWERS = size(1000, 10_000)  # at each stage


def build_next():
    """Builds N+1; returns its build folder."""
    next_tree.make(NEXT)
    build = NEXT / "build/release"
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", str(build), "--target", *PROGRAMS]):
        done = subprocess.run(command, cwd=NEXT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return build


@pytest.fixture
def fleet(request):
    made = Fleet("upgrade")
    try:
        made.up()
        yield made
    finally:
        made.down(getattr(request.node, "passed", False))


def schema(fleet):
    return fleet.ledger.ask("SELECT max(version) FROM schema_migrations")


def migrate(fleet):
    environment = {**os.environ, "PG_URL": fleet.env["ADMIN_PG_URL"], "MIGRATIONS_DIR": str(NEXT / "db/migrations")}
    done = subprocess.run([paths.program(BUILD, "migrate")], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def replace(fleet, name, build):
    """Replaces a replica as Kubernetes does: no new connections, then the end of the open ones, and only then SIGTERM."""
    fleet.proxy.take_out(name)
    wait_until(lambda: fleet.proxy.sessions(name) == 0, f"{name} to have no session left")
    fleet.restart(name, build)
    fleet.proxy.let_in(name)
    fleet.wait_until_whole()


def roll(fleet, build):
    """Replaces one replica after the other. Between the rounds both versions serve side by side."""
    for n in range(1, REPLICAS + 1):
        for kind in KINDS:
            replace(fleet, f"{kind}-{n}", build)
        fleet.wait_for_answers(ANSWERS)


def programs(fleet):
    """The build folders of the running services."""
    pids = [line.split()[1] for line in fleet.run("ps").splitlines() if line.startswith(tuple(f"{kind}-" for kind in KINDS))]
    return {pathlib.Path(os.readlink(f"/proc/{pid}/exe")).parents[1] for pid in pids}


def test_versions_take_over_from_each_other_under_load(fleet, record_property):
    old, new = BUILD, build_next()
    old_schema = schema(fleet)
    fleet.ask_everywhere(("http",))
    fleet.wait_for_answers(ANSWERS)

    migrate(fleet)
    assert int(schema(fleet)) == int(old_schema) + 1
    fleet.wait_for_answers(ANSWERS)
    for build in (new, old, new):
        roll(fleet, build)
        assert programs(fleet) == {build}

    outcome = fleet.stop_asking()
    outcome.assert_none_failed()
    clicks = outcome.redirects()
    fleet.assert_counted(clicks)
    assert fleet.ledger.ask("SELECT count(*) FROM links WHERE workspace_id IS NOT NULL") == len(outcome.links)

    record_property("did", f"schema {old_schema} → {schema(fleet)} → N → N+1, replica by replica, under load")
    record_property("requests", outcome.requests())
    record_property("failed", outcome.failed())
    record_property("redirects", clicks)
    record_property("lost", 0)
    record_property("counted twice", 0)
