"""tests/all has a folder to itself, and leaves no test running when it is ended from outside."""

import fcntl
import os
import pathlib
import signal
import subprocess

import pytest
from waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


def processes_in(folder):
    """{pid: command line} of the processes that run in the folder, as every test of the tree below does."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if pathlib.Path(os.readlink(entry / "cwd")) == folder:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().decode()
        except OSError:  # it has just ended
            continue
    return found


@pytest.fixture
def run(tmp_path, request):
    """make with tests/all on a test that sleeps, and whose child sleeps in a session of its own.

    The parameter is what SIGINT does at first. It is ignored in what a script starts in the background.
    """
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "CTestTestfile.cmake").write_text('add_test(sleeps sh -c "setsid sleep 600 & sleep 600")\n')
    (tmp_path / "Makefile").write_text(f"test:\n\t@{ROOT}/tests/all {tree}\n")
    with subprocess.Popen(
        ["make", "-C", tmp_path, "test"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, request.param),
    ) as make:
        try:
            wait_until(lambda: len([c for c in processes_in(tree).values() if c.startswith("sleep")]) == 2, "both sleepers")
            yield make.pid, tree
        finally:
            make.kill()
            for pid in processes_in(tree):
                os.kill(pid, signal.SIGKILL)


def kill_runner(make, number):
    os.kill(int(pathlib.Path(f"/proc/{make}/task/{make}/children").read_text().split()[0]), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    "run, send",
    [(signal.SIG_DFL, os.kill), (signal.SIG_IGN, kill_runner), (signal.SIG_IGN, os.killpg)],
    ids=["make", "tests/all", "the_process_group"],
    indirect=["run"],
)
def test_leaves_no_test_running_when_a_signal_ends(run, send, number):
    make, tree = run
    send(make, number)
    wait_until(lambda: not processes_in(tree), "the end of every test")


def test_refuses_a_folder_that_another_run_uses(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    done = subprocess.run([ROOT / "tests/all", tmp_path], capture_output=True, text=True, check=False)
    os.close(folder)
    assert (done.returncode, "another run uses" in done.stderr) == (1, True), done.stderr
