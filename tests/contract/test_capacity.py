"""docs/scaling.md agrees with the capacity model, and the model with the measurements."""

import dataclasses
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
from benchlib import answers
from capacitylib import document, figures, limits, model, zipf

SOURCED = {name: figure for name, figure in figures.FIGURES.items() if figure.saying}
# The statistics benchmark as in docs/performance.md: the links of two accounts with as many visits each, the days that are over,
# and the hours that the janitor had not folded into days.
BENCH_LINKS, BENCH_DAYS, BENCH_HOURS = (1000, 100_000), 30, 79
BENCH_ROWS = {"hour": 2_449_467, "day": 2_929_058}


def capacity(*arguments):
    return subprocess.run([ROOT / "tools/capacity", *arguments], capture_output=True, text=True, timeout=300)


def needs(redirects=10_000, links=1_000_000, hits=0.8, retention=400):
    return model.Needs(model.Demand(redirects, links, hits, retention))


def numbers(each):
    names = (name for name, member in vars(model.Needs).items() if not name.startswith("_") and not callable(member))
    return {name: getattr(each, name) for name in names if name != "rows_a_day"}


def test_the_document_and_the_sources_agree_with_the_model():
    run = capacity("--check")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", SOURCED)
def test_a_figure_that_differs_from_its_source_is_detected(name):
    figure = SOURCED[name]
    assert figure.agrees()
    assert not dataclasses.replace(figure, value=figure.value * 1.2).agrees()
    assert not dataclasses.replace(figure, value=figure.value * 0.8).agrees()
    assert not dataclasses.replace(figure, saying="nothing of the kind {}").agrees()


def test_a_table_that_was_edited_by_hand_is_restored():
    text = document.DOCUMENT.read_text()
    changed = text.replace("| links | 10,000 |", "| links | 10,001 |")
    assert changed != text
    assert document.written(changed) == text


def test_a_document_without_the_place_of_a_table_is_refused():
    with pytest.raises(ValueError, match="limits"):
        document.written(document.DOCUMENT.read_text().replace("<!-- limits: end -->", ""))


@pytest.mark.parametrize(("sentence", "values"), [pytest.param(*each, id=each[0]) for each in document.sentences()])
def test_a_wrong_figure_in_the_prose_is_corrected(sentence, values):
    text = document.written(document.DOCUMENT.read_text())
    assert len(values) == sentence.count("{}") > 0
    for place in range(len(values)):
        wrong = [f"9{value}" if at == place else value for at, value in enumerate(values)]
        changed = document.with_figures(text, sentence, wrong)
        assert changed != text
        assert document.written(changed).split() == text.split()


def test_a_document_without_a_sentence_of_the_model_is_refused():
    with pytest.raises(ValueError, match="They reach"):
        document.written(document.DOCUMENT.read_text().replace("They reach", "All reach"))


def test_dimensions_have_as_many_values_as_in_the_benchmark():
    assert {name: count for name, (count, _) in figures.DIMENSIONS.items()} == answers.VALUES


def test_rows_of_roll_ups_are_as_many_as_in_the_benchmark():
    daily = answers.DEFAULT_VISITS / (answers.DAYS - 0.5)
    text = (ROOT / figures.PERFORMANCE).read_text()
    assert all(f"{rows:,} rows by {each}" in text for each, rows in BENCH_ROWS.items()), "the benchmark was repeated"
    days = BENCH_DAYS * sum(zipf.expected(links, daily, zipf.is_there) for links in BENCH_LINKS)
    assert days == pytest.approx(BENCH_ROWS["day"], rel=0.05)
    hours = BENCH_HOURS * sum(zipf.expected(links, daily / 24, zipf.is_there) for links in BENCH_LINKS)
    assert hours == pytest.approx(BENCH_ROWS["hour"], rel=0.05)


@pytest.mark.parametrize("links", [100, 1000, 10_000])
def test_the_cost_of_counting_is_that_of_the_benchmark(links):
    cost = model.count_us(model.measured_rows(links)) / model.HISTORY
    assert cost == pytest.approx(getattr(figures.of, f"count_{links}_us"), rel=0.1)


def test_the_cache_for_a_share_of_hits_has_the_size_of_the_benchmark():
    assert needs(links=1_000_000, hits=figures.of.hits_million).cached_links == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize("count", [1, 49, 50, 51, 1000, 123_456])
def test_the_harmonic_number_is_the_sum(count):
    assert zipf.harmonic(count) == pytest.approx(sum(1 / rank for rank in range(1, count + 1)), rel=1e-4)


def test_shares_of_links_add_up():
    for links in (1, 10, 49, 50, 51, 12_345, 10**9):
        groups = zipf.groups(links)
        assert sum(count for count, _ in groups) == links
        assert sum(count * share for count, share in groups) == pytest.approx(1, rel=1e-6)
        assert groups[0][1] == pytest.approx(zipf.hottest(links))


def test_more_redirects_never_need_fewer_resources():
    costs = {"count_us", "click_us"}  # larger batches are cheaper
    before = numbers(needs(redirects=1))
    for power in range(1, 15):
        after = numbers(needs(redirects=3**power))
        less = [name for name in after if name not in costs and after[name] < before[name] * 0.999 and name != "each_rate"]
        assert less == []
        before = after


def test_memory_hits_reduce_the_load_of_redis():
    few, many = needs(hits=0.5), needs(hits=0.95)
    assert many.busy_redis < few.busy_redis / 9
    assert many.cache_bytes > few.cache_bytes * 5
    assert many.busy_redirectors < few.busy_redirectors


def test_workers_handle_the_peak():
    for redirects in (100, 10_000, 100_000, 1_000_000):
        each = needs(redirects=redirects, links=redirects * 100)
        can = each.workers * model.worker_duty() / each.count_us * 1e6
        assert can * figures.of.utilisation >= redirects * 0.999


def test_a_limit_is_reached_where_the_model_says():
    for limit in limits.LIMITS:
        reached = limits.first_reached(limit)
        if reached is None:
            assert not limit.is_reached(needs(redirects=limits.MOST, links=limits.MOST * 100))
            continue
        assert limit.is_reached(needs(redirects=reached, links=round(reached * 100)))
        assert not limit.is_reached(needs(redirects=reached * 0.9, links=round(reached * 90)))


def test_accepts_other_numbers():
    run = capacity("--redirects", "1000000", "--links", "100000000", "--hits", "0.8", "--retention", "8")
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    assert ["pods:", "redirectors,", "for", "one", "core", "each", "28"] in lines
    assert "beyond its limit" in run.stdout
    assert run.stdout.splitlines()[-1] == "first limit, at 0.037 × this load (37,000 redirects/s): disks of Kafka"


def test_names_the_first_limit_also_when_none_is_exceeded():
    run = capacity("--redirects", "1000", "--links", "100000")
    assert run.returncode == 0, run.stderr
    assert "beyond its limit" not in run.stdout
    assert run.stdout.splitlines()[-1] == "first limit, at 4.92 × this load (4,900 redirects/s): disk of PostgreSQL: visit log and a year of roll-ups"


def test_finds_a_limit_that_a_small_load_exceeds():
    """With very many links for each redirect."""
    limit = next(limit for limit in limits.LIMITS if limit.name.startswith("Bloom filter"))
    assert limits.first_reached(limit, model.Demand(1, 10**9)) == pytest.approx(0.01, rel=0.02)


@pytest.mark.parametrize("wrong", [["--redirects", "0"], ["--redirects", "1", "--hits", "1.5"], ["--redirects", "1", "--retention", "7"], ["--redirects", "x"], []])
def test_refuses_invalid_numbers(wrong):
    run = capacity(*wrong)
    assert run.returncode == 2
    assert "error:" in run.stderr


def test_takes_a_load_per_month():
    """A mean of 100 redirects per second for 30 days, with a peak twice as high."""
    by_month = capacity("--per-month", str(100 * 86400 * 30), "--links", "100000")
    by_second = capacity("--redirects", "200", "--links", "100000")
    assert (by_month.returncode, by_month.stdout) == (0, by_second.stdout)
    assert "redirects per second at peak" in by_month.stdout.splitlines()[0]
