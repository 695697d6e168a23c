"""tools/image-cves reads SBOMs against data in the format of Debian's security tracker. The data here is made by hand."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By source package: what the tracker knows of each CVE in Debian 13.
TRACKER = {
    "openssl": {
        "CVE-2026-0001": {"status": "resolved", "fixed_version": "3.5.1-1+deb13u2", "urgency": "not yet assigned"},
        "CVE-2026-0002": {"status": "open", "urgency": "medium"},
        "CVE-2026-0003": {"status": "open", "urgency": "unimportant"},
        "CVE-2025-0004": {"status": "resolved", "fixed_version": "3.5.1-1+deb13u1", "urgency": "high"},
        "CVE-2025-0005": {"status": "resolved", "fixed_version": "0", "urgency": "high"},
    },
    "glibc": {"CVE-2025-0006": {"status": "resolved", "fixed_version": "2.41-2", "urgency": "low"}},
    "bash": {"CVE-2026-0007": {"status": "open", "urgency": "high"}},
}
OPEN = "openssl 3.5.1-1+deb13u1: CVE-2026-0002, medium, open\n"
REPAIRED = "openssl 3.5.1-1+deb13u1: CVE-2026-0001, not yet assigned, repaired in 3.5.1-1+deb13u2\n"


def package(name, source, distro="debian-13"):
    url = f"pkg:deb/debian/{name}@1?arch=amd64&distro={distro}"
    return {"name": name, "sourceInfo": f"built from {source}", "externalRefs": [{"referenceLocator": url}]}


def run(folder, packages, tracker=None):
    data = {source: {cve: {"releases": {"trixie": state}} for cve, state in known.items()} for source, known in (tracker or TRACKER).items()}
    (folder / "tracker.json").write_text(json.dumps(data))
    own = {"name": "waymark-janitor", "sourceInfo": "built from commit abc"}
    (folder / "janitor.spdx.json").write_text(json.dumps({"packages": [own, *packages]}))
    command = [ROOT / "tools/image-cves", folder / "tracker.json", folder / "janitor.spdx.json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_lists_what_is_open_and_what_a_rebuild_repairs(tmp_path):
    done = run(tmp_path, [package("libssl3t64", "openssl 3.5.1-1+deb13u1"), package("libc6", "glibc 2.41-12")])
    assert done.stdout.startswith(REPAIRED + OPEN + "1 would be repaired by a rebuild"), done.stderr
    assert (done.returncode, done.stdout.count("CVE-")) == (1, 2)


def test_what_has_no_repair_asks_for_no_rebuild(tmp_path):
    tracker = {"openssl": {cve: TRACKER["openssl"][cve] for cve in ("CVE-2026-0002", "CVE-2026-0003")}}
    done = run(tmp_path, [package("libssl3t64", "openssl 3.5.1-1+deb13u1")], tracker)
    assert (done.stdout, done.returncode) == (OPEN, 0)


def test_files_that_are_something_else_are_refused(tmp_path):
    unknown = run(tmp_path, [package("libssl3t64", "openssl 1")], {"a": {}})
    assert unknown.returncode == 2 and "knows none of the packages" in unknown.stderr
    elsewhere = run(tmp_path, [package("libssl3", "openssl 1", "debian-11")])
    assert elsewhere.returncode == 2 and "janitor.spdx.json: no SBOM" in elsewhere.stderr
    (tmp_path / "page.html").write_text("<html>")
    page = subprocess.run([ROOT / "tools/image-cves", tmp_path / "page.html", tmp_path / "janitor.spdx.json"], capture_output=True, text=True, check=False)
    assert page.returncode == 2 and "page.html" in page.stderr
