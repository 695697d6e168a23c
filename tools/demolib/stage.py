"""The private stack that the demo plays on."""

import os
import shlex
import shutil
import subprocess
import tempfile

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STACK = os.path.join(TOOLS, "stack")
BUILD = os.environ.get("DEMO_BUILD") or os.path.join(os.path.dirname(TOOLS), "build", "release")


class StageError(Exception):
    pass


class Stage:
    """A context: the stack is up inside and gone outside. Its folder stays behind when something went wrong."""

    def __init__(self, page):
        self.page = page
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
        wrong = self._down()
        if wrong:
            self.page.bad(wrong)
        if kind in (None, KeyboardInterrupt) and not wrong:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.page.bad(f"that was not as it should be; logs and data are in {self.folder}")
        if kind is None and wrong:
            raise StageError("the stack did not end as it should")

    def _up(self):
        # Tied to this process: whatever ends the demo ends the stack.
        argv = [STACK, "up", "--state", self.folder, "--build", BUILD, "--tied-to", str(os.getpid())]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
            for line in up.stdout:
                self.page.line(line.rstrip())
        if up.returncode != 0:
            raise StageError("the stack did not start")
        argv = [STACK, "env", "--state", self.folder]
        lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
        pairs = (shlex.split(line)[0].partition("=") for line in lines)
        self.addresses = {name: value for name, _, value in pairs}

    def _down(self):
        """What went wrong with it, or ""."""
        down = subprocess.run([STACK, "down", "--state", self.folder], capture_output=True, text=True, check=False)
        return down.stderr.strip() if down.returncode != 0 else ""
