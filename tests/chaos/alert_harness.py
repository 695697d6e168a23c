"""A Prometheus that watches a stack by the project's rules with shortened times, and a load of clicks meanwhile."""

import http.client
import json
import re
import threading
import time
import urllib.parse
import urllib.request

from harness import ROOT, wait_until
from processes import popen

RULES = ("objectives.yml", "recording.yml", "alerts.yml")
# A minute of the rules lasts this many seconds. Below 5 a window has too few scrapes.
MINUTE_S = 5
SECONDS = {"s": 1 / 60, "m": 1, "h": 60, "d": 1440}


def shortened(rules):
    """Shortens windows and waiting times. Bounds of values, such as the 60 s of the objective, stay."""

    def scale(found):
        seconds = max(1, round(int(found[2]) * SECONDS[found[3]] * MINUTE_S))
        return f"{found[1]}{seconds}s{found[4]}"

    rules = re.sub(r"(\[)(\d+)([smhd])(\])", scale, rules)
    return re.sub(r"(\bfor: )(\d+)([smhd])(\n)", scale, rules)


def targets(addresses):
    names = {"redirector": "REDIRECTOR", "links-api": "LINKS_API", "analytics-consumer": "CONSUMER", "janitor": "JANITOR"}
    return {job: urllib.parse.urlsplit(addresses[f"{name}_OPS_URL"]).netloc for job, name in names.items()}


class Prometheus:
    def __init__(self, folder, addresses, port):
        self.url = f"http://127.0.0.1:{port}"
        for name in RULES:
            (folder / name).write_text(shortened((ROOT / "deploy/prometheus" / name).read_text()))
        jobs = [{"job_name": job, "static_configs": [{"targets": [at]}]} for job, at in targets(addresses).items()]
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps({"global": every, "rule_files": RULES, "scrape_configs": jobs}))
        self.log = open(folder / "prometheus.log", "wb")
        self.process = popen(
            [
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=warn",
            ],
            stdout=self.log,
            stderr=self.log,
        )
        wait_until(lambda: self.value("count(up == 1)") == 4, 60, "all targets to be scraped")

    def ask(self, path, **query):
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=5) as answer:
                return json.load(answer)["data"]
        except (OSError, http.client.HTTPException):
            return None

    def value(self, expression):
        data = self.ask("/api/v1/query", query=expression)
        return float(data["result"][0]["value"][1]) if data and data["result"] else None

    def firing(self):
        return self._alerts("firing")

    def active(self):
        """Alerts that fire or are pending."""
        return self._alerts("firing", "pending")

    def _alerts(self, *states):
        data = self.ask("/api/v1/alerts")
        assert data is not None, "Prometheus does not answer"
        return {alert["labels"]["alertname"] for alert in data["alerts"] if alert["state"] in states}

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


class Load(threading.Thread):
    """Follows a link and asks the API several times a second, and ignores the answers."""

    def __init__(self, addresses, slug):
        super().__init__(daemon=True)
        self.addresses, self.slug = addresses, slug
        self.is_ending = threading.Event()

    @staticmethod
    def ask(base, path):
        url = urllib.parse.urlsplit(base)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=1)
        try:
            connection.request("GET", path, headers={"X-Forwarded-For": "198.51.100.7"})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def run(self):
        while not self.is_ending.wait(0.05):
            self.ask(self.addresses["REDIRECTOR_URL"], f"/{self.slug}")
            self.ask(self.addresses["LINKS_API_URL"], "/api/stats")

    def stop(self):
        self.is_ending.set()
        self.join(60)


def seconds_since(began):
    return round(time.monotonic() - began, 1)
