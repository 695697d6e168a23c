"""The images of the next version of Waymark: next_tree with another version number."""

import shutil
import subprocess

import next_tree
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
    "deploy/k8s/components/day-two/kustomization.yaml": (f"newTag: {VERSION}", f"newTag: {NEXT}"),
    "deploy/k8s/components/tls/kustomization.yaml": (f"newTag: {VERSION}", f"newTag: {NEXT}"),
    "deploy/k8s/base/jobs/kustomization.yaml": (f"nameSuffix: -{VERSION.replace('.', '-')}", f"nameSuffix: -{NEXT.replace('.', '-')}"),
}


def make(folder):
    """Writes its tree into folder, builds its images and returns their archive."""
    shutil.rmtree(folder, ignore_errors=True)
    next_tree.make(folder)
    for name, (old, new) in NUMBERS.items():
        text = (folder / name).read_text()
        assert old in text, f"{name} has no {old}"
        (folder / name).write_text(text.replace(old, new))
    done = subprocess.run([folder / "tools/images", *NAMES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return images.archive("next", [f"localhost/waymark/{name}:{NEXT}" for name in NAMES])
