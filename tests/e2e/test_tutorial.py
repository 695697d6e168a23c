"""The commands of docs/tutorial.md, run one after the other."""

import json
import os
import re
import secrets
import subprocess

from conftest import ROOT

SAFE = "set -euo pipefail\ncurl() { command curl --fail-with-body --max-time 120 \"$@\"; }\n"


def commands():
    """The blocks of the page, without those that start or stop a stack."""
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "docs/tutorial.md").read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "tools/stack" not in block]


def run(script, env, folder):
    """Runs a script; returns its status and output."""
    command = ["bash", "-c", script]
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    return done.returncode, done.stdout


def test_each_command_works_as_described(env, tmp_path):
    slug = "spring-" + secrets.token_hex(4)
    mine = {"you@example.com": f"you-{secrets.token_hex(6)}@example.com", '"slug":"spring"': f'"slug":"{slug}"', "URL/spring": f"URL/{slug}"}
    blocks = commands()
    assert len(blocks) == 8
    text = "\n".join(blocks)
    for word, other in mine.items():
        assert word in text, word
        text = text.replace(word, other)
    # The last request is refused on purpose. The visit is counted a moment after it was made.
    text = text.replace("curl -s -X DELETE", "command curl -s -X DELETE")
    waits = 'for _ in $(seq 1000); do [ "$(command curl -s "$LINKS_API_URL/api/links/$ID/stats" -H "Authorization: Bearer $TOKEN" | jq .total)" = 3 ] && break; sleep 0.1; done\n'
    stats = 'curl -s "$LINKS_API_URL/api/links/$ID/stats" -H'
    assert text.count(stats) == 1
    text = text.replace(stats, waits + stats)
    status, shown = run(SAFE + text, {**os.environ, **env}, tmp_path)
    print(shown)
    assert status == 0, shown
    assert f'"slug": "{slug}"' in shown
    assert re.search(r"^HTTP/1.1 302 .*^Location: https://example.com/spring\r?$", shown, re.MULTILINE | re.DOTALL)
    assert f"{env['LINKS_API_URL']}/app/\n" in shown
    assert len(re.findall(r'^{"occurred_at":"\S+","country":"(?:DE)?","browser":".*"}$', shown, re.MULTILINE)) == 3
    assert '"humans": 2,\n  "bots": 1' in shown and '"interval": "day"' in shown
    assert re.search(r'"dimension": "referrer_host".*?"value": "news.example",\s+"humans": 2', shown, re.DOTALL)
    assert re.search(rf"^{env['LINKS_API_URL']}/app/shared#wmshare_\w{{43}}$", shown, re.MULTILINE)
    assert len((tmp_path / "visits.csv").read_text().splitlines()) == 4
    assert (tmp_path / "spring.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r'"original_url": "https://example.com/summer",\s+"version": 2', shown)
    assert '"expires_at": "2099-12-31T22:00:00.000Z"' in shown
    assert '{"status":201,"short_url":"http' in shown and '"problem":"/problems/validation"}' in shown
    assert json.dumps({"slug": slug, "total": 3}, separators=(",", ":")) in shown
    assert '{"type":"/problems/scope","status":403,' in shown
