"""The tree of a next version: this tree with its uncommitted changes and one more migration, so its services wait for a newer schema."""

import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIGRATION = "ALTER TABLE links ADD COLUMN only_in_the_next_version text;\n"


def make(folder):
    """Writes the tree into folder, which may have an older one and its build; files that are the same stay untouched."""
    for old in folder.glob("db/migrations/*.sql"):
        old.unlink()
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        source, copy = ROOT / name, folder / name
        if source.is_file() and not (copy.is_file() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    (folder / f"db/migrations/{newest_migration() + 1:04}_next_version.sql").write_text(MIGRATION)


def newest_migration():
    return max(int(re.match(r"\d+", path.name)[0]) for path in (ROOT / "db/migrations").glob("*.sql"))
