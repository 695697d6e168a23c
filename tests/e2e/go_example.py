"""The example in Go, built as its users build it."""

import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "examples/go"


def build(folder):
    """(the program, None), or (None, why it cannot be built)."""
    if not shutil.which("go"):
        return None, "no go for the example in Go: https://go.dev/dl"
    download = subprocess.run(["go", "mod", "download"], cwd=SOURCE, capture_output=True, text=True, check=False)
    if download.returncode != 0:
        return None, f"no Go modules for the example in Go: {download.stderr.strip()[-200:]}"
    program = folder / "visits"
    subprocess.run(["go", "build", "-buildvcs=false", "-o", program, "."], cwd=SOURCE, check=True)
    return program, None
