"""Token usage and cost of the models of a run, and scores of dialogues without user faults."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.conversation.usage import read_prices
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz import SAMPLE, WITHOUT_FAULTS
from mwzeval.multiwoz.live.report import LiveScorer
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, by_place
from tests.examples import examples
from tests.multiwoz.live.written_runs import HEADER, USED, line, scored, values, write
from tests.places import ROOT, read_json, write_json
from tests.report.pages import readable
from tests.tables import named

HEAD = {
    **HEADER,
    "agent": {"spec": "openai:small", "model": "small"},
    "user": {"spec": "openai:large", "model": "large"},
}
PRICES = {"small": {"in": 0.5, "out": 2}, "large": {"in": 3, "out": 15, "cached_in": 0.3}}
Usage = dict[str, int]


def with_usage(plain: Mapping[str, Any], agent: Usage, user: Usage | None = None) -> dict[str, Any]:
    """Return a line with the same usage in each message of a side."""
    of_role = {"assistant": agent, **({} if user is None else {"user": user})}
    messages = [
        {**message, "usage": of_role[message["role"]]} if message["role"] in of_role else message
        for message in plain["messages"]
    ]
    return {**plain, "messages": messages}


@pytest.fixture
def prices(tmp_path: Path) -> str:
    return write_json(tmp_path / "prices.json", PRICES)


def priced(prices: str, **more: Any) -> LiveScorer:
    return LiveScorer(SAMPLE, offline=True, prices=read_prices(prices), **more)


def drawn(seed: int) -> list[dict[str, Any]]:
    """Return lines with random usage, which some messages lack."""
    rng = random.Random(seed)
    lines = []
    for name in USED:
        skipped = ["book", "phone"] * (rng.random() < 0.4)
        lines.append(line(name, *skipped))
        for message in lines[-1]["messages"]:
            if message["role"] == "tool":
                continue
            used = {"in": rng.randrange(2000), "out": rng.randrange(99)}
            is_lost = message["role"] == "assistant" and rng.random() < 0.1
            message["usage"] = ({} if is_lost else used) | {"ms": rng.randrange(3000)}
            if rng.random() < 0.2:
                message["usage"]["retries"] = rng.randrange(1, 4)
            if rng.random() < 0.2:
                message["finish_reason"] = "length"
    return lines


@examples(30)
@given(st.integers(0, 10**6))
def test_usage_totals_equal_sums_over_messages(seed: int) -> None:
    lines = drawn(seed)
    run = scored(HEAD, *lines)
    report = run.report()
    found = values(run)
    succeeded = run.scored_table.trial_rows.column("success.total")
    for side, role in (("agent", "assistant"), ("user", "user")):
        totals = report.metrics["live"]["usage"][side]
        talks = [[m for m in dialogue["messages"] if m["role"] == role] for dialogue in lines]
        usages = [message["usage"] for messages in talks for message in messages]
        counted = [messages for messages in talks if all("in" in m["usage"] for m in messages)]
        assert totals["requests"] == len(usages)
        assert totals["not_counted"] == sum("in" not in usage for usage in usages)
        assert totals["retries"] == sum(usage.get("retries", 0) for usage in usages)
        assert totals["cut_off"] == sum(
            "finish_reason" in m for messages in talks for m in messages
        )
        assert found[f"{side}_requests"] == len(usages) / len(lines)
        for name, key in (("tokens_in", "in"), ("tokens_out", "out")):
            assert totals[name] == sum(usage.get(key, 0) for usage in usages)
            total = sum(m["usage"][key] for messages in counted for m in messages)
            if counted:
                assert found[f"{side}_{name}"] == pytest.approx(total / len(counted))
            pairs = zip(talks, succeeded.tolist(), strict=True)
            wins = sum(won for messages, won in pairs if messages in counted)
            expected = total / wins if wins else None
            assert totals["a_success"][name] == (expected and pytest.approx(expected))
    times = []
    for message in (message for dialogue in lines for message in dialogue["messages"]):
        if message["role"] == "user":
            times.append(0.0)
        elif message["role"] == "assistant":
            times[-1] += message["usage"]["ms"] / 1000
    seconds = report.metrics["live"]["usage"]["agent"]["seconds_a_turn"]
    assert seconds["turns"] == len(times)
    assert seconds["mean"] == pytest.approx(sum(times) / len(times))
    assert (seconds["p50"], seconds["p95"]) == pytest.approx(tuple(np.percentile(times, (50, 95))))


def known_costs() -> list[dict[str, Any]]:
    """Return four dialogues, one of them failed, with one request per message."""
    agent = {"in": 1_000_000, "out": 100_000, "ms": 1500}
    user = {"in": 100_000, "out": 10_000, "cached": 50_000, "ms": 500}
    lost = ("smp0022", "book")
    return [with_usage(line(*args), agent, user) for args in (*zip(USED[:1]), lost, *zip(USED[2:]))]


def test_costs_equal_usage_times_prices(prices: str) -> None:
    lines = known_costs()
    run = scored(HEAD, *lines, scorer=priced(prices))
    assert not run.warnings
    requests = {
        role: sum(m["role"] == role for dialogue in lines for m in dialogue["messages"])
        for role in ("assistant", "user")
    }
    agent = requests["assistant"] * (0.5 + 0.2)
    user = requests["user"] * (0.15 + 0.015 + 0.15)
    expected = {"agent": agent, "user": user, "both": agent + user}
    found = values(run)
    assert found["success"] == 75
    for whose, usd in expected.items():
        assert found[f"{whose}_usd"] == pytest.approx(usd / 4)
        assert found[f"{whose}_usd_per_success"] == pytest.approx(usd / 3)
        totals = run.report().metrics["live"]["usage"][whose]
        assert totals["usd"] == pytest.approx(usd)
        assert totals["a_success"]["usd"] == pytest.approx(usd / 3)
    facts = {fact.label: fact.value for fact in run.explain("smp0021").turns[-1].facts}
    count = sum(m["role"] == "assistant" for m in lines[0]["messages"])
    for part in (f"{count},000,000 tokens in", f"{1.5 * count:.2f} s", f"{0.7 * count:.4f} USD"):
        assert part in facts["agent used"]


def test_only_cost_signatures_contain_the_price_checksum(prices: str) -> None:
    plain = by_place(scored(HEAD, *known_costs()).report().scores)
    run = scored(HEAD, *known_costs(), scorer=priced(prices, exclude_user_faults=True))
    known = by_place(run.report().scores)
    assert {place: known[place] for place in plain} == plain
    costs = {f"{whose}_usd" for whose in ("agent", "user", "both")}
    costs |= {f"{name}_per_success" for name in costs}
    assert {name for name, scope in known.keys() - plain if scope == WHOLE} == costs
    signature = dict(known["agent_usd", WHOLE].signature.choices)
    assert signature["prices"] == read_prices(prices).sha


def rows_of(report: Report) -> dict[str, list[str]]:
    """Return the cells of the usage table by row label."""
    return {label.text: [cell.text for cell in cells] for label, *cells in report.figures[0].rows}


def test_usage_per_success_is_omitted_without_successes(prices: str) -> None:
    failed = with_usage(line("smp0022", "book"), {"in": 10, "out": 1})
    report = scored(HEAD, failed, scorer=priced(prices)).report()
    assert "agent_usd_per_success" not in {score.name for score in report.scores}
    assert report.metrics["live"]["usage"]["agent"]["a_success"]["usd"] is None
    assert rows_of(report)["Agent: tokens in"][1] == "—"


def test_files_without_usage_have_no_usage_scores_or_tables() -> None:
    report = scored(line("smp0021")).report()
    assert not report.figures
    assert "usage" not in report.metrics["live"]
    assert not {"accounted", "agent_tokens_in"} & {*report.table.columns}
    assert not [score for score in report.scores if score.name.startswith("agent_")]


def test_missing_token_counts_are_not_reported_as_zero(prices: str) -> None:
    silent = with_usage(line("smp0021"), {"ms": 100})
    report = scored(HEAD, silent, scorer=priced(prices)).report()
    used = report.metrics["live"]["usage"]["agent"]
    assert (used["tokens_in"], used["usd"], used["a_dialogue"]["tokens_in"]) == (None, None, None)
    assert {*rows_of(report)["Agent: cost, USD"]} == {"—"}
    assert f"{used['requests']} of {used['requests']}" in report.figures[0].caption[0]


def test_models_without_a_price_cause_a_warning_and_have_no_cost(prices: str) -> None:
    head = {**HEAD, "agent": {"spec": "openai:smal", "model": "smal"}}
    run = scored(head, *known_costs(), scorer=priced(prices))
    (warning,) = run.warnings
    assert warning.file == "run.jsonl"
    assert '"small"' in warning.message  # the suggested model name
    found = values(run)
    assert {"agent_usd", "both_usd", "user_usd"} & found.keys() == {"user_usd"}
    unnamed = scored(*known_costs(), scorer=priced(prices)).warnings
    assert unnamed[0].kind == warning.kind
    (nothing,) = scored(HEAD, line("smp0021"), scorer=priced(prices)).warnings
    assert nothing.kind == "no-usage"


def faulty(name: str, *skipped: str, **keys: Any) -> dict[str, Any]:
    fault = {"kind": "repeated", "turn": 1, "detail": "x"}
    return line(name, *skipped, user={"complete": True, "faults": [fault]}, **keys)


def test_scores_without_user_faults_are_reported_in_addition() -> None:
    lines = [line("smp0021"), faulty("smp0022", "book"), line("smp0023"), line("smp0024", "phone")]
    scorer = LiveScorer(SAMPLE, offline=True, exclude_user_faults=True)
    run = scored(*lines, scorer=scorer)
    others = scored(*(record for record in lines if record["dialogue"] != "smp0022"))
    expected = by_place(others.report().scores)
    found = {s.name: (s.value, s.n) for s in run.report().scores if s.scope == WITHOUT_FAULTS}
    assert {"success", "inform", "complete", "grounded_success", "booking"} <= set(found)
    assert not [name for name in found if name.startswith("end.")]
    assert found == {name: (expected[name, WHOLE].value, expected[name, WHOLE].n) for name in found}
    assert values(run) == values(scored(*lines))
    own = run.report().metrics["live"]["without_user_faults"]["success"]
    assert (own["value"], own["n"]) == found["success"]
    resampled = run.report(Resampling(samples=50)).scores
    interval = named(others.report(Resampling(samples=50)).scores, "success").interval
    assert named(resampled, "success", WITHOUT_FAULTS).interval == interval
    # A dialogue that ended with a user error has a user fault.
    run = scored(line("smp0021"), line("smp0022", end="user_error"), scorer=scorer)
    assert named(run.report().scores, "success", WITHOUT_FAULTS).n == 1
    run = scored(faulty("smp0021"), scorer=scorer)
    assert [warning.kind for warning in run.warnings] == ["user-faults"]
    assert not values(run, WITHOUT_FAULTS)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    cheap = [with_usage(line(name), {"in": 100, "out": 10, "ms": 100}) for name in USED]
    dear = [with_usage(line(name), {"in": 300, "out": 10, "ms": 200}) for name in USED[:3]]
    dear.append(with_usage(faulty(USED[3], "phone"), {"in": 50, "out": 10, "ms": 200}))
    head = {**HEAD, "user": HEADER["user"]}
    return [
        write(tmp_path / "cheap.jsonl", cheap, head=head),
        write(tmp_path / "dear.jsonl", dear, head=head),
    ]


def test_usage_is_compared_without_significance_tests(
    files: list[str], prices: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--prices", prices, "--exclude-user-faults")
    assert main(["compare", *files, *more, "--all", "-f", "json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    results = {(row["score"], row["scope"]): row for row in plain["comparisons"][1:]}
    for name in ("agent_tokens_in", "agent_usd", "user_turns", "end.limit", "user_faults"):
        described = results[name, WHOLE]
        absent = ("p", "p_holm", "test", "wins", "rank", "p_best")
        assert [described[key] for key in absent] == [None] * len(absent)
        assert not described["best"]
    success = results["success", WITHOUT_FAULTS]
    assert (success["value"], success["difference"], success["test"]) == (
        *(100, 0),
        "approximate-randomization",
    )
    assert results["success", WHOLE]["losses"] == 1
    assert main(["compare", *files, *more]) == 0
    titles = re.findall(r"(?m)^(.+) \(n = 4", capsys.readouterr().out)
    assert titles[:2] == ["Task success", "Inform"]
    assert "Agent: cost, USD" in titles
    assert "Agent: tokens in" not in titles


def test_reports_contain_usage_and_cost(
    files: list[str], prices: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report.json"
    more = ("--prices", prices, "--exclude-user-faults")
    assert main(["judge", files[1], *more, "--ci", "-o", str(output)]) == 0
    jsonschema.validate(read_json(output), read_json(ROOT / "mwzeval/report/schema.json"))
    shown = capsys.readouterr().out
    assert "Usage and cost (agent: small)\n" in shown
    assert shown.count("Agent: tokens in") == 1
    assert main(["report", *files, *more, "-o", str(tmp_path / "page.html")]) == 0
    page = readable((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Usage and cost (agent: small)" in page
    assert "agent used" in page
