"""Rules, alerts and dashboards are valid and name existing metrics, and each alert is tested and in the runbook."""

import json
import pathlib
import re
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy/prometheus"
RULES = [PROMETHEUS / name for name in ("objectives.yml", "recording.yml", "alerts.yml")]
TESTS = sorted((PROMETHEUS / "tests").glob("*_test.yml"))
DASHBOARDS = sorted((ROOT / "deploy/grafana").glob("*.json"))
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
# Prometheus adds these itself.
OF_PROMETHEUS = {"up", "ALERTS"}
OF_KUBE_STATE_METRICS = {"kube_cronjob_status_last_schedule_time", "kube_cronjob_status_last_successful_time"}
LABELS_OF_PROMETHEUS = {"job", "instance", "namespace", "le", "alertstate", "alertname"}


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules(kind):
    found = []
    for path in RULES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            found += [rule for rule in group["rules"] if kind in rule]
    return found


ALERTS = {rule["alert"]: rule for rule in rules("alert")}
RECORDED = {rule["record"] for rule in rules("record")}


def described_metrics():
    """Name → labels, from docs/metrics.md, which a test compares with running services. A histogram counts as its series."""
    found = {}
    for line in (ROOT / "docs/metrics.md").read_text().splitlines():
        row = re.match(r"\| `(\w+)` \| (\w+) \|([^|]*)\|", line)
        if row:
            name, kind, labels = row.groups()
            series = [name + end for end in ("_bucket", "_sum", "_count")] if kind == "histogram" else [name]
            found |= {each: set(re.findall(r"`(\w+)`", labels)) for each in series}
    return found


METRICS = described_metrics()


def dashboard_expressions():
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{path.name}: {panel['title']}", target["expr"]


EXPRESSIONS = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules("expr")] + list(dashboard_expressions())


def metrics_in(expression):
    """The metrics of an expression, each with its label matchers."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    names = re.finditer(r"(?<![\w:])((?:waymark[\w:]+|process_\w+|kube_\w+|up|ALERTS))(?![\w:(])(?:\{([^}]*)\})?", bare)
    return [(each.group(1), set(re.findall(r"(\w+)\s*(?:=|!)", each.group(2) or ""))) for each in names]


def logged_events():
    """The events that a service logs as a warning or an error."""
    files = [*(ROOT / "lib").rglob("*.c"), *(ROOT / "services").rglob("*.c"), *(ROOT / "tools/topics").rglob("*.c")]
    call = re.compile(r'log_(?:limited_)?(?:error|warning)\(\s*[^,"]+,\s*"(\w+)"')
    return {event for file in files for event in call.findall(file.read_text())}


def test_the_runbook_leads_from_each_warning_and_error_to_its_meaning():
    events = logged_events()
    assert len(events) > 60
    assert sorted(event for event in events if not re.search(rf"\b{event}\b", RUNBOOK)) == []


def test_prometheus_accepts_the_rules_and_the_configuration():
    assert "SUCCESS" in promtool("check", "rules", *RULES)
    promtool("check", "config", PROMETHEUS / "prometheus.yml")


def amtool(*arguments):
    done = subprocess.run(["amtool", *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_accepts_the_example_and_pages_what_is_a_page():
    amtool("check-config", PROMETHEUS / "alertmanager.yml")
    for severity, receiver in (("page", "pager"), ("ticket", "tickets")):
        amtool("config", "routes", "test", "--config.file", PROMETHEUS / "alertmanager.yml", f"--verify.receivers={receiver}", f"severity={severity}")


def test_the_example_for_alertmanager_holds_back_existing_alerts_and_none_of_lost_clicks():
    held = set()
    for rule in yaml.safe_load((PROMETHEUS / "alertmanager.yml").read_text())["inhibit_rules"]:
        (source,), (target,) = rule["source_matchers"], rule["target_matchers"]
        assert re.fullmatch(r'alertname="(\w+)"', source)[1] in ALERTS
        held |= set(re.fullmatch(r'alertname=~"(\w+(?:\|\w+)*)"', target)[1].split("|"))
    assert held and held <= set(ALERTS)
    assert not held & {"WaymarkEventsDropped", "WaymarkJournalFilling", "WaymarkDegraded", "WaymarkTargetDown"}


def test_prometheus_accepts_the_configuration_for_a_cluster(tmp_path):
    """Debian's Prometheus has no Kubernetes discovery, so targets replace it."""
    configuration = yaml.safe_load((PROMETHEUS / "kubernetes.yml").read_text())
    assert [PROMETHEUS / name for name in configuration["rule_files"]] == RULES
    configuration["rule_files"] = [str(path) for path in RULES]
    for scrape in configuration["scrape_configs"]:
        assert scrape.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": ["waymark"]}}]
        assert {rule["target_label"] for rule in scrape["relabel_configs"] if "target_label" in rule} == {"job", "instance", "namespace"}
        scrape["static_configs"] = [{"targets": ["localhost:9090"]}]
    (tmp_path / "kubernetes.yml").write_text(yaml.safe_dump(configuration))
    promtool("check", "config", tmp_path / "kubernetes.yml")


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_only_then(path):
    assert "SUCCESS" in promtool("test", "rules", path)


# What an outage of each store does to the counters that alerts read over a window, in steps of 15 s:
# series → (increase while healthy, while the store is away, in the first step after).
AWAY = {
    "postgres": {
        'waymark_batches_retried_total{job="analytics-consumer",instance="c"}': (0, 3, 0),
        'waymark_batches_total{job="analytics-consumer",instance="c"}': (10, 0, 10),
        'waymark_api_requests_total{method="GET",route="/api/links",job="links-api",instance="a",code="2xx"}': (90, 0, 90),
        'waymark_api_requests_total{method="GET",route="/api/links",job="links-api",instance="a",code="5xx"}': (0, 90, 0),
    },
    "redis": {'waymark_rate_limit_fallbacks_total{job="links-api",instance="a"}': (0, 5, 0)},
    "kafka": {'waymark_batches_retried_total{job="analytics-consumer",instance="c"}': (0, 3, 0)},
}
COUNTED = ('waymark_count_delay_seconds_count{job="analytics-consumer",instance="c"}', 'waymark_count_delay_seconds_bucket{job="analytics-consumer",instance="c",le="60"}')


def outage(store, steps):
    """Series of 20 healthy minutes, an outage, and 20 healthy minutes. Redis delays no click."""
    def values(healthy, away, after):
        total, text = 0, []
        for step in range(80 + steps + 80):
            total += healthy if step < 80 or step > 80 + steps else away if step < 80 + steps else after
            text.append(str(total))
        return " ".join(text)

    moved = {"waymark_outbox_relay_active{instance=\"a\"}": "1x300", "waymark_consumer_lag{instance=\"a\"}": "0x300", "waymark_events_dropped_total{instance=\"r\"}": "0x300"}
    for job, instance in (("links-api", "a"), ("analytics-consumer", "c")):
        moved[f'waymark_{store}_reachable{{job="{job}",instance="{instance}"}}'] = f"1x79 0x{steps - 1} 1x80"
    moved |= {series: values(*steps_of) for series, steps_of in AWAY[store].items()}
    if store != "redis":
        moved[COUNTED[0]] = values(100, 0, 100 * steps)
        moved[COUNTED[1]] = values(100, 0, 400)
    return [{"series": series, "values": text} for series, text in moved.items()]


@pytest.mark.parametrize("seconds", [105, 150, 195, 300])
@pytest.mark.parametrize("store", AWAY)
def test_no_alert_begins_after_an_outage_and_none_outlives_it(tmp_path, store, seconds):
    steps = seconds // 15
    checks = [
        {"eval_time": f"{(80 + steps + after) * 15}s", "expr": 'max by (alertname) (ALERTS{alertstate="firing"})', "exp_samples": []}
        for after in range(2, 78)
    ]
    check = {
        "rule_files": [str(path) for path in RULES],
        "evaluation_interval": "15s",
        "group_eval_order": ["waymark-objective-redirects", "waymark-objective-clicks", "waymark-objectives"],
        "tests": [{"interval": "15s", "input_series": outage(store, steps), "promql_expr_test": checks}],
    }
    (tmp_path / "outage.yml").write_text(yaml.safe_dump(check))
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "outage.yml")


def test_each_alert_is_tested_both_ways():
    fired, quiet = set(), set()
    for path in TESTS:
        for case in yaml.safe_load(path.read_text())["tests"]:
            names = [set(re.findall(r'alertname="(\w+)"', str(check["exp_samples"]))) for check in case["promql_expr_test"]]
            fired |= set().union(*names)
            quiet |= {name for name in set().union(*names) if any(name not in others for others in names)}
            quiet |= {name for name in ALERTS if all(not others for others in names) and case["name"].startswith("nothing")}
    assert fired == set(ALERTS)
    assert quiet == set(ALERTS)


def test_each_alert_has_a_section_of_the_runbook_and_each_section_an_alert():
    sections = dict(re.findall(r"^## (Waymark\w+)\n\n(page|ticket) ·", RUNBOOK, re.MULTILINE))
    assert sections == {name: rule["labels"]["severity"] for name, rule in ALERTS.items()}
    for name, rule in ALERTS.items():
        assert rule["annotations"]["summary"].endswith(".")


def rendered_alerts(folder, external_labels):
    """What Prometheus sends of each alert when it fires: its runbook_url."""
    firing = [{"alert": name, "expr": "vector(1)", "annotations": {"runbook_url": rule["annotations"]["runbook_url"]}} for name, rule in ALERTS.items()]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": firing}]}))
    return firing, {"rule_files": ["rules.yml"], "tests": [{"interval": "1m", "input_series": [], "external_labels": external_labels}]}


@pytest.mark.parametrize("labels, base", [({"waymark_docs": "https://git.example.com/waymark/docs"}, "https://git.example.com/waymark/docs"), ({}, "docs")])
def test_the_link_of_an_alert_leads_to_its_section(tmp_path, labels, base):
    firing, check = rendered_alerts(tmp_path, labels)
    anchors = {"".join(each for each in heading.lower().replace(" ", "-") if each.isalnum() or each == "-") for heading in re.findall(r"^#+ (.+)$", RUNBOOK, re.M)}
    assert {name.lower() for name in ALERTS} <= anchors
    check["tests"][0]["alert_rule_test"] = [
        {"eval_time": "1m", "alertname": each["alert"], "exp_alerts": [{"exp_annotations": {"runbook_url": f"{base}/runbook.md#{each['alert'].lower()}"}}]}
        for each in firing
    ]
    (tmp_path / "test.yml").write_text(yaml.safe_dump(check))
    assert "SUCCESS" in promtool("test", "rules", tmp_path / "test.yml")


@pytest.mark.parametrize("where, expression", EXPRESSIONS, ids=[where for where, _ in EXPRESSIONS])
def test_expressions_name_existing_metrics_and_labels(where, expression):
    named = metrics_in(expression)
    assert named, f"{where} names no metric: {expression}"
    for metric, labels in named:
        assert metric in METRICS or metric in RECORDED or metric in OF_PROMETHEUS | OF_KUBE_STATE_METRICS, metric
        if metric in METRICS:
            assert labels <= METRICS[metric] | LABELS_OF_PROMETHEUS, (metric, labels)


def test_prometheus_accepts_each_expression_of_the_dashboards(tmp_path):
    found = [{"record": f"dashboard:{i}", "expr": expression} for i, (_, expression) in enumerate(dashboard_expressions())]
    assert len(found) > 30
    rules_of_them = tmp_path / "dashboards.yml"
    rules_of_them.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": found}]}))
    promtool("check", "rules", rules_of_them)


def test_the_runbook_names_existing_metrics_and_events():
    in_quotes = re.findall(r"`([^`]+)`", RUNBOOK)
    metrics = {name for quote in in_quotes for name, _ in metrics_in(quote)}
    assert len(metrics) > 15
    histograms = {name.removesuffix("_bucket") for name in METRICS if name.endswith("_bucket")}
    assert metrics <= set(METRICS) | histograms | RECORDED
    sources = "".join(
        path.read_text() for room in ("lib", "services", "tools") for path in sorted((ROOT / room).rglob("*.[ch]"))
    )
    events = {quote for quote in in_quotes if re.fullmatch(r"[a-z]+(_[a-z]+)+", quote) and not quote.startswith("waymark_")}
    unknown = {event for event in events if f'"{event}"' not in sources} - {"max_connections", "pg_stat_activity", "pg_stat_statements"}
    assert not unknown
    variables = {quote for quote in in_quotes if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", quote)}
    assert not {name for name in variables if f'"{name}"' not in sources} - {"OPS_PORT"}


def test_the_runbook_explains_every_readiness_check():
    named = re.compile(r'(?:\{ |\{ \.name = )"(\w+)",\s+(?:\.ready = )?\w+')
    checks = {
        name
        for path in sorted((ROOT / "services").rglob("*.c"))
        if "ops_server_check" in path.read_text()
        for name in named.findall(path.read_text())
    }
    assert {"postgres_or_redis", "journal", "schema", "dead_letters"} <= checks
    section = RUNBOOK.partition("## WaymarkNotReady\n")[2].partition("\n## ")[0]
    assert {name for name in checks | {"draining"} if f"`{name}`" not in section} == set()


def test_the_runbook_explains_every_task_of_the_janitor():
    tasks = set(re.findall(r'TASK\("([a-z-]+)", ', (ROOT / "services/janitor/schedule.c").read_text()))
    assert {"expiry", "salts", "destinations"} <= tasks
    section = RUNBOOK.partition("## WaymarkJanitorTaskLate\n")[2].partition("\n## ")[0]
    assert {name for name in tasks if f"`{name}`" not in section} == set()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_show_one_namespace_and_one_instance(path):
    board = json.loads(path.read_text())
    assert {"namespace", "instance"} <= {each["name"] for each in board["templating"]["list"]}
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            for metric in re.findall(r"(?<![\w:])(?:waymark|process)_[a-z_]+(?![\w:])(?!\{[^}]*\$instance)", target["expr"]):
                pytest.fail(f"{panel['title']}: {metric} is not narrowed by $instance")
