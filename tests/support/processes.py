"""Child processes of a test that die with it, also when the test is killed with SIGKILL."""

import subprocess
import threading

DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def popen(command, identity=(), **options):
    """subprocess.Popen of a command that the kernel kills when this process ends.

    identity: further options of setpriv, such as --reuid. Linux sends the signal when the thread that called fork
    ends, so only the main thread may start such a process.
    """
    assert threading.current_thread() is threading.main_thread(), "a child dies with the thread that started it"
    return subprocess.Popen([*DIE_WITH_PARENT, *identity, *map(str, command)], **options)
