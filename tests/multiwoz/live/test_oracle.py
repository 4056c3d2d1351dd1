"""The agent `oracle` succeeds under all conditions and without conditions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mwzeval.multiwoz import DEFAULT_CORPUS
from mwzeval.multiwoz.acts import ASIDE
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.stress import LAYERS, PRESETS
from tests.multiwoz.live.written_runs import live, report
from tests.places import shared

pytestmark = pytest.mark.usefixtures("elsewhere")

HIGHEST = {"errors": "errors=.5", "impatient": "impatient=2"}
CHANGES = ("nothing", "change", "slip", "rebook", "late", ASIDE)
GOALS = ("--goals", "corpus:test:12")
RUN = "run.jsonl"


def all_conditions() -> Iterator[object]:
    """Yield presets and single conditions with the kinds of changes that they cause."""
    for preset in PRESETS:
        yield pytest.param(preset, {"change", ASIDE} if preset == "goals" else set())
    for condition, layer in LAYERS.items():
        text = HIGHEST.get(condition, f"{condition}=1")
        marks = [pytest.mark.integration] * (layer in ("tools", "words"))
        yield pytest.param(text, {condition}.intersection(CHANGES), marks=marks)


@pytest.mark.parametrize(("stress", "kinds"), [*all_conditions()])
def test_oracle_succeeds_under_all_conditions(stress: str, kinds: set[str]) -> None:
    lines = live("oracle", RUN, "--stress", stress)
    assert {line["dialogue"]: line["goal"] for line in lines} == {
        **Episodes("corpus:test", corpus="sample").goals
    }
    found: set[str] = set()
    for line in lines:
        assert line["end"] == "user_stop"
        assert line["user"]["complete"]
        assert line["user"].get("ended") == "complete"
        for change in line.get("stress", {}).get("changes", ()):
            found.add(change["kind"])
            # The last message has no aside.
            assert 0 <= change["turn"] < line["turns"] - (change["kind"] == ASIDE)
    assert kinds <= found <= {*CHANGES}
    assert report(RUN)["success"]["success"]["total"] == 100


@pytest.mark.integration
@pytest.mark.parametrize(
    ("agent", "stress", "low", "high"),
    [
        *(("oracle", stress, 100, 100) for stress in PRESETS),
        # The ranges come from a calibration with an independent implementation.
        ("rule", "realistic", 62, 80),
        ("rule", "hard", 21, 42),
        ("rule-convlab", "realistic", 40, 57),
        ("rule-convlab", "hard", 16, 36),
        ("silent", "hard", 0, 0),
    ],
)
def test_success_rates_under_conditions_are_in_expected_ranges(
    agent: str, stress: str, low: float, high: float
) -> None:
    data = ("--data", str(shared("data")), "--corpus", DEFAULT_CORPUS)
    live(agent, RUN, "--goals", "corpus:test:200", "--stress", stress, *data)
    assert low <= report(RUN, *data)["success"]["success"]["total"] <= high


@pytest.mark.parametrize("stress", ["", "clean", "clean,same=.3"])
def test_empty_stress_conditions_do_not_change_the_output(stress: str) -> None:
    live("rule", "without.jsonl", *GOALS)
    live("rule", RUN, *GOALS, "--stress", stress)
    assert Path(RUN).read_bytes() == Path("without.jsonl").read_bytes()
    assert "stress:" not in json.dumps(report(RUN)["meta"])


@pytest.mark.integration
def test_stress_runs_are_equal_for_any_number_of_processes() -> None:
    run = ("rule", RUN, *GOALS, "--stress", "hard")
    live(*run)
    whole = Path(RUN).read_bytes()
    assert "|stress:hard@1,tables=" in json.dumps(report(RUN)["meta"])
    live("rule", "other.jsonl", *GOALS, "--stress", "hard", "-j", "2")
    assert Path("other.jsonl").read_bytes() == whole
    for end in range(1, len(whole), len(whole) // 7):
        Path(RUN).write_bytes(whole[:end])
        live(*run)
        assert Path(RUN).read_bytes() == whole


def test_simulated_call_failures_are_not_agent_errors() -> None:
    lines = live("oracle", RUN, "--stress", "errors=.5,timeouts=1")
    assert report(RUN)["live"]["tool_errors"] == 0
    kinds: set[str] = set()
    for line in lines:
        faults = line.get("stress", {}).get("faults", ())
        kinds.update(fault["kind"] for fault in faults)
        turn, failed = -1, []
        for message in line["messages"]:
            turn += message["role"] == "user"
            if message["role"] == "tool" and "reason" in message["content"]:
                failed.append(turn)
        assert [fault["turn"] for fault in faults] == failed
    assert kinds == {"errors", "timeouts"}
