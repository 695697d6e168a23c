"""The next version of Waymark: this tree with another version number and one more migration, so its services wait for a newer schema."""

import pathlib
import re
import shutil
import subprocess

from clusterlib import images
from manifestlib import tree

VERSION = tree.version()
MAJOR, MINOR, _ = map(int, VERSION.split("."))
NEXT = f"{MAJOR}.{MINOR + 1}.0"
NAMES = [image.rpartition("/")[2].partition(":")[0] for image in images.WAYMARK]
# Where docs/operations.md says that a version number is.
NUMBERS = {
    "CMakeLists.txt": (f"VERSION {VERSION}", f"VERSION {NEXT}"),
    "deploy/k8s/base/kustomization.yaml": (f"newTag: {VERSION}", f"newTag: {NEXT}"),
    "deploy/k8s/components/tls/kustomization.yaml": (f"newTag: {VERSION}", f"newTag: {NEXT}"),
    "deploy/k8s/base/jobs/kustomization.yaml": (f"nameSuffix: -{VERSION.replace('.', '-')}", f"nameSuffix: -{NEXT.replace('.', '-')}"),
}
MIGRATION = "ALTER TABLE links ADD COLUMN only_in_the_next_version text;\n"


def make(folder):
    """Writes its tree into folder, builds its images and returns their archive."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=tree.ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if (tree.ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree.ROOT / name, folder / name)
    for name, (old, new) in NUMBERS.items():
        text = (folder / name).read_text()
        assert old in text, f"{name} has no {old}"
        (folder / name).write_text(text.replace(old, new))
    (folder / f"db/migrations/{newest_migration() + 1:04}_next_version.sql").write_text(MIGRATION)
    done = subprocess.run([folder / "tools/images", *NAMES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return images.archive("next", [f"localhost/waymark/{name}:{NEXT}" for name in NAMES])


def newest_migration(root=tree.ROOT):
    return max(int(re.match(r"\d+", path.name)[0]) for path in pathlib.Path(root, "db/migrations").glob("*.sql"))
