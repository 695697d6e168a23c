"""The private stack of the demo."""

import os
import shlex
import shutil
import subprocess
import tempfile

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STACK = os.path.join(TOOLS, "stack")
BUILD = os.environ.get("DEMO_BUILD") or os.path.join(os.path.dirname(TOOLS), "build", "release")


class DemoStackError(Exception):
    pass


class DemoStack:
    """Context manager: the stack runs inside the context. Its folder is kept if something fails."""

    def __init__(self, console):
        self.console = console
        self.folder = tempfile.mkdtemp(prefix="waymark-demo.")
        self.addresses = {}

    def __enter__(self):
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, kind, *_):
        problem = self._down()
        if problem:
            self.console.failure(problem)
        if kind in (None, KeyboardInterrupt) and not problem:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.console.failure(f"the demo failed; logs and data are in {self.folder}")
        if kind is None and problem:
            raise DemoStackError("the stack did not stop cleanly")

    def _up(self):
        # The stack ends with this process, however that ends.
        argv = [STACK, "up", "--state", self.folder, "--build", BUILD, "--tied-to", str(os.getpid())]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
            for line in up.stdout:
                self.console.line(line.rstrip())
        if up.returncode != 0:
            raise DemoStackError("the stack did not start")
        argv = [STACK, "env", "--state", self.folder]
        lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
        pairs = (shlex.split(line)[-1].partition("=") for line in lines)
        self.addresses = {name: value for name, _, value in pairs}

    def _down(self):
        """Stops the stack. Returns the problem, or ""."""
        down = subprocess.run([STACK, "down", "--state", self.folder], capture_output=True, text=True, check=False)
        return down.stderr.strip() if down.returncode != 0 else ""
