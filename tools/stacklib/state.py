"""The state folder of a stack. state.json keeps what must not change between starts."""

import contextlib
import json
import os
import secrets

from .errors import StackError

CONTROL = "control"  # relative: the path of a Unix socket has at most 107 bytes
TIMEOUT_S = 300  # a guard against a hang only: waits end as soon as their condition holds


class State:
    """
    STATE/state.json   ports, passwords and options (readable by the owner only)
    STATE/control      socket of the supervisor
    STATE/logs/NAME.log
    STATE/<member>/    data of the member
    """

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self._file = self.path("state.json")
        self._values = {}
        self._require_own_folder()
        if os.path.exists(self._file):
            with open(self._file, encoding="utf-8") as file:
                self._values = json.load(file)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def log(self, name):
        return self.path("logs", f"{name}.log")

    def _require_own_folder(self):
        """In a folder of somebody else, a link could stand where a file is written, or an answer be false."""
        with contextlib.suppress(FileNotFoundError):
            if {os.lstat(self.folder).st_uid, os.stat(self.folder).st_uid} != {os.geteuid()}:
                raise StackError(f"{self.folder} belongs to another user: choose another folder")

    def make(self):
        os.makedirs(self.folder, exist_ok=True)
        self._require_own_folder()
        os.makedirs(self.path("logs"), exist_ok=True)
        # Other users may pass through, because the user postgres must reach its own folder.
        os.chmod(self.folder, 0o711)

    def get(self, section, name=None):
        values = self._values.get(section, {})
        return values if name is None else values.get(name)

    def set(self, section, name, value):
        self._values.setdefault(section, {})[name] = value
        self.save()

    def replace(self, section, values):
        self._values[section] = values
        self.save()

    def secret(self, name):
        """A random text, created at the first call and the same in all later ones."""
        if self.get("secrets", name) is None:
            self.set("secrets", name, secrets.token_urlsafe(33))
        return self.get("secrets", name)

    def save(self):
        self.write_secret(self._file, json.dumps(self._values, indent=1))

    @staticmethod
    def write_secret(path, text):
        """Writes a file that only the owner can read."""
        temporary = path + ".new"
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)  # the last writer was killed
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)

    def require_same_security(self, secure):
        """Raises StackError if the stack was created with another choice of --secure: its data would not fit."""
        before = self.get("made", "secure")
        if before is None:
            before = secure if not self.get("ports") else False
            self.set("made", "secure", before)
        if before != secure:
            raise StackError(f"the stack in {self.folder} was made {'with' if before else 'without'} --secure: so it stays")
