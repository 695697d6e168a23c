"""The subscribers of examples/, built as their users build them. What cannot be downloaded skips a test and says why."""

import os
import pathlib
import shutil
import subprocess

import pytest
import python_example

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROTO = {"WAYMARK_PROTO": str(ROOT / "proto")}
CACHE = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark")


def needs(program, origin):
    if not shutil.which(program):
        pytest.skip(f"no {program}: {origin}")


def downloads(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{' '.join(command[:2])}: {(done.stderr or done.stdout).strip()[-300:]}")


def in_c(folder):
    subprocess.run(["make", "-s", "-C", EXAMPLES / "c", f"OUT={folder}", f"PROTO={ROOT}/proto", "CFLAGS=-O1 -Wall -Wextra -Werror"], check=True)
    return [folder / "visits"], {}


def in_go(folder):
    needs("go", "https://go.dev/dl")
    downloads("go", "mod", "download", folder=EXAMPLES / "go")
    subprocess.run(["go", "build", "-buildvcs=false", "-o", folder / "visits", "."], cwd=EXAMPLES / "go", check=True)
    return [folder / "visits"], PROTO


def in_java(folder):
    needs("javac", "tools/setup installs it")
    shutil.copytree(EXAMPLES / "java", folder, dirs_exist_ok=True)
    maven = ["mvn", "-q", "-B", f"-Dproto={ROOT}/proto"]
    downloads(*maven, "generate-sources", "dependency:build-classpath", "-Dmdep.outputFile=libraries", folder=folder)
    subprocess.run([*maven, "compile"], cwd=folder, check=True)
    return ["java", "-cp", f"{folder}/target/classes:{(folder / 'libraries').read_text()}", "Visits"], {}


def installed(language, lock):
    """What tools/setup has made of the packages of this lock file."""
    folder = CACHE / f"examples-{language}"
    copy = folder / lock
    if not copy.is_file() or copy.read_bytes() != (EXAMPLES / language / lock).read_bytes():
        pytest.skip(f"no packages for the example in {language}; tools/setup fetches them")
    return folder


def in_node(_):
    modules = installed("node", "package-lock.json") / "node_modules"
    return ["node", EXAMPLES / "node/visits.js"], {"NODE_PATH": str(modules), **PROTO}


def in_python(folder):
    return python_example.command("visits.py"), python_example.environment(folder)


def in_rust(_):
    needs("cargo", "https://rustup.rs")
    folder = installed("rust", "Cargo.lock")
    subprocess.run(["cargo", "build", "-q", "--locked", "--offline", "--target-dir", folder], cwd=EXAMPLES / "rust", check=True)
    return [folder / "debug/visits"], PROTO


BUILDERS = {"c": in_c, "go": in_go, "java": in_java, "node": in_node, "python": in_python, "rust": in_rust}
