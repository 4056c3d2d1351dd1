"""The agent `oracle` succeeds under all conditions; without conditions, nothing differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.live.stress.conditions import LAYERS, PRESETS
from tests.places import read_json, shared

pytestmark = pytest.mark.usefixtures("elsewhere")

HIGHEST = {"errors": "errors=.5", "impatient": "impatient=2"}
ALONE = [HIGHEST.get(condition, f"{condition}=1") for condition in LAYERS]


def held(agent: str, stress: str | None = None, *options: str) -> Path:
    output = Path(f"{agent}-{stress}-{len(options)}.jsonl")
    stressed = [] if stress is None else ["--stress", stress]
    command = ["live", "--agent", agent, "-q", "-o", str(output), *stressed, *options]
    assert main([*command, *(["--corpus", "sample"] if "--data" not in options else ())]) == 0
    return output


def report(run: Path, *options: str) -> dict[str, Any]:
    assert main(["evaluate", str(run), "-q", "-o", "report.json", *options]) == 0
    plain: dict[str, Any] = read_json(Path("report.json"))
    return plain


def failed(run: Path) -> list[str]:
    """Return the dialogues that the user has not ended or in which it lacks something."""
    _, *lines = map(json.loads, run.read_text(encoding="utf-8").splitlines())
    return [
        line["dialogue"]
        for line in lines
        if line["end"] != "user_stop" or not line["user"]["complete"]
    ]


@pytest.mark.parametrize("stress", PRESETS)
def test_the_oracle_succeeds_under_each_preset(stress: str) -> None:
    run = held("oracle", stress)
    assert failed(run) == []
    assert report(run)["success"]["success"]["total"] == 100


@pytest.mark.integration
@pytest.mark.parametrize("stress", ALONE)
def test_the_oracle_succeeds_under_each_condition_alone(stress: str) -> None:
    run = held("oracle", stress)
    assert failed(run) == []
    assert report(run)["success"]["success"]["total"] == 100


def success_on_200_goals(agent: str, stress: str) -> float:
    data = ("--data", str(shared("data")))
    run = held(agent, stress, "--goals", "corpus:test:200", *data)
    success: float = report(run, *data)["success"]["success"]["total"]
    return success


@pytest.mark.integration
@pytest.mark.parametrize("stress", PRESETS)
def test_the_oracle_succeeds_on_goals_of_the_corpus(stress: str) -> None:
    assert success_on_200_goals("oracle", stress) == 100


@pytest.mark.integration
@pytest.mark.parametrize(
    ("agent", "stress", "low", "high"),
    [
        ("rule", "realistic", 62, 80),
        ("rule", "hard", 21, 42),
        ("rule-convlab", "realistic", 40, 57),
        ("rule-convlab", "hard", 16, 36),
        ("silent", "hard", 0, 0),
    ],
)
def test_conditions_separate_agents(agent: str, stress: str, low: float, high: float) -> None:
    """The ranges are those of the calibration with an independent implementation."""
    assert low <= success_on_200_goals(agent, stress) <= high


@pytest.mark.parametrize("stress", ["", "clean", "clean,same=.3"])
def test_a_run_without_conditions_has_the_bytes_of_one_without_the_option(stress: str) -> None:
    goals = ("--goals", "corpus:test:12")
    run, other = held("rule", None, *goals), held("rule", stress, *goals)
    assert run.read_bytes() == other.read_bytes()
    assert "stress:" not in json.dumps(report(other)["meta"])


@pytest.mark.integration
def test_a_run_with_conditions_is_the_same_for_any_number_of_processes() -> None:
    goals = ("--goals", "corpus:test:12")
    alone, together = held("rule", "hard", *goals), held("rule", "hard", *goals, "-j", "2")
    whole = alone.read_bytes()
    assert together.read_bytes() == whole
    assert "|stress:hard@1|" in json.dumps(report(alone)["meta"])
    for end in range(1, len(whole), len(whole) // 7):
        alone.write_bytes(whole[:end])
        assert held("rule", "hard", *goals).read_bytes() == whole


def test_failed_calls_are_no_errors_of_the_agent() -> None:
    run = held("oracle", "errors=.5,timeouts=1")
    assert report(run)["live"]["tool_errors"] == 0
    _, *lines = map(json.loads, run.read_text(encoding="utf-8").splitlines())
    kinds = {fault["kind"] for line in lines for fault in line.get("stress", {}).get("faults", ())}
    assert kinds == {"errors", "timeouts"}
    for line in lines:
        turns = 0
        results: list[int] = []
        for message in line["messages"]:
            turns += message["role"] == "user"
            if message["role"] == "tool" and "reason" in message["content"]:
                results.append(turns - 1)
        assert [fault["turn"] for fault in line.get("stress", {}).get("faults", ())] == results
