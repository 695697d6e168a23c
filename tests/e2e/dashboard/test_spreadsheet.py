"""LibreOffice Calc reads the CSV of the API and of the dashboard, and finds no formula."""

import json
import pathlib
import re
import subprocess
import urllib.parse
import xml.etree.ElementTree as ElementTree

import pytest

from clients import CHROME
from dashboard.addresses import BERLIN

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
SEPARATORS = {",": 44, ";": 59, "tab": 9}
UTF_8 = 76


def formulas(folder, separator):
    """{name: [formula]} of the CSV files in the folder, of which the separator ends each cell, and cells are whatever Calc detects."""
    out = folder / f"by-{SEPARATORS[separator]}"
    files = sorted(folder.glob("*.csv"))
    subprocess.run(
        ["soffice", f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", f"--infilter=CSV:{SEPARATORS[separator]},34,{UTF_8},1,,0,false,true",
         "--convert-to", "fods", "--outdir", out, *files], check=True, capture_output=True, timeout=300)  # fmt: skip
    cells = {file.stem: list(ElementTree.parse(out / f"{file.stem}.fods").iter(f"{TABLE}table-cell")) for file in files}
    assert all(cells.values())
    return {name: [cell.get(f"{TABLE}formula") for cell in each if cell.get(f"{TABLE}formula")] for name, each in cells.items()}


@pytest.fixture
def files(browser, user, visitor, tmp_path):
    """The files of an account whose titles and campaigns are those of the examples that a link may have. Calc finds a formula in one that is not disarmed."""
    texts = [text for text, _ in json.loads((ROOT / "tests/support/csv_cells.json").read_text(encoding="utf-8"))]
    for start in range(0, len(texts), 50):
        user.call("POST", "/api/links/bulk", {"links": [{"original_url": "https://example.com/", "title": text} for text in texts[start : start + 50]]})
    link = user.create()
    for text in texts:
        visitor.follow(link["slug"], address=BERLIN, agent=CHROME, path=f"/{link['slug']}?utm_source={urllib.parse.quote(text)}&utm_campaign=x{urllib.parse.quote(text)}")
    user.wait_for_visits(link["id"], len(texts))
    (tmp_path / "control.csv").write_text('a,=1+1\na;=1+1\na\t=1+1\n"x;=cmd|y,=1\t=1"\n', encoding="utf-8")
    answer = user.call("GET", f"/api/links/{link['id']}/visits?format=csv")
    (tmp_path / "api.csv").write_bytes(answer.body)
    for locale in ("en-GB", "de-DE"):
        window = browser.open(locale=locale)
        window.login(user.email)
        for name, path, button in (("links", "/links", re.compile("CSV")), ("visits", f"/links/{link['id']}?range=7d", "CSV")):
            window.goto(path)
            with window.page.expect_download() as download:
                window.page.get_by_role("button", name=button, exact=True).first.click()
            download.value.save_as(tmp_path / f"{name}-{locale}.csv")
        window.close()
    assert all("'=cmd|" in file.read_text(encoding="utf-8") for file in tmp_path.glob("*-*.csv"))
    return tmp_path


def test_calc_finds_no_formula_whatever_separates_cells(files):
    for separator in SEPARATORS:
        found = formulas(files, separator)
        assert len(found) == 6 and found.pop("control") != []
        assert found == dict.fromkeys(found, []), separator
