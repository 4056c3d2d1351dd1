"""`mwzeval stress` and `compare` on runs of the same goals with and without conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.multiwoz.live.stress.drops import paired_scores
from mwzeval.scores.score import WHOLE, Score, by_place
from mwzeval.statistics.intervals import wilson
from mwzeval.statistics.tests import holm, mcnemar
from tests.examples import examples
from tests.multiwoz.live.written_runs import HEADER, USED, Line, line, write
from tests.places import read_json

pytestmark = pytest.mark.usefixtures("elsewhere")

UNDER = {**HEADER, "stress": {"version": 1, "name": "hard", "tables": "01234567", "errors": 0.2}}
TOOLS = {**HEADER, "stress": {"version": 1, "name": "tools", "tables": "01234567", "errors": 0.2}}


def run_of(name: str, head: Line | None, *failed: str, goals: Sequence[str] = USED) -> str:
    """Write a run in which some dialogues fail."""
    skipped = {"smp0021": "address", "smp0022": "phone", "smp0023": "book", "smp0024": "phone"}
    lines = (line(goal, *[skipped[goal]] * (goal in failed)) for goal in goals)
    return write(Path(f"{name}.jsonl"), lines, head=head)


def stress(*arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["stress", *arguments, "-q", "-o", "out.json"]) == code
    plain: dict[str, Any] = read_json(Path("out.json"))
    return plain


def value(found: Mapping[str, Any], score: str, scope: str) -> dict[str, Any]:
    records = {(record["score"], record["scope"]): record for record in found["scores"]}
    return dict(records[score, scope])


def test_runs_are_paired_with_the_run_without_conditions() -> None:
    clean = run_of("clean", HEADER, "smp0024")
    hard = run_of("hard", UNDER, "smp0021", "smp0022")
    tools = run_of("tools", TOOLS, "smp0021", "smp0024")
    found = stress(clean, hard, tools)
    assert [value(found, "success", name)["value"] for name in ("clean", "hard", "tools")] == [
        75,
        50,
        50,
    ]
    assert value(found, "drop", "hard")["value"] == 25
    robust = value(found, "robustness", "hard")
    interval = wilson(1, 3).scaled(100)
    assert (robust["value"], robust["n"]) == (pytest.approx(100 / 3), 3)
    assert (robust["low"], robust["high"]) == (interval.low, interval.high)
    assert value(found, "robustness", "tools")["value"] == pytest.approx(200 / 3)
    assert value(found, "robustness", WHOLE) == {**robust, "scope": WHOLE}
    assert value(found, "pass^1", WHOLE)["value"] == 25  # only smp0023 succeeds in all runs
    about = found["runs"]["hard"]
    assert about["conditions"] == "hard@1"
    assert found["runs"]["clean"]["conditions"] == "none"
    assert about["newly_failed"] == ["smp0021", "smp0022"]
    assert about["newly_successful"] == ["smp0024"]
    assert about["p"] == 1
    both = [found["runs"][name] for name in ("hard", "tools")]
    assert [run["p_holm"] for run in both] == list(holm([run["p"] for run in both]))


@pytest.mark.parametrize(
    ("gate", "line"),
    [
        ("drop=25", ""),
        ("drop=24", "failed: drop is 25, over 24"),
        ("drop.tools=24,robustness.tools=60,success.hard=50", "failed: drop.tools is 25, over 24"),
        ("robustness=60", "failed: robustness is 33.3333, under 60"),
    ],
)
def test_gates(gate: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    clean = run_of("clean", HEADER, "smp0024")
    runs = run_of("hard", UNDER, "smp0021", "smp0022"), run_of("tools", TOOLS, "smp0021", "smp0024")
    stress(clean, *runs, "--fail-under", gate, code=int(bool(line)))
    assert capsys.readouterr().err.strip().splitlines()[:1] == [line] * bool(line)


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv", "json", "jsonl"])
def test_all_formats(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs = run_of("clean", HEADER), run_of("hard", UNDER, "smp0021")
    assert main(["stress", *runs, "-f", form, "-o", "out.json"]) == 0
    text = capsys.readouterr().out
    assert "robustness" in text
    assert "75" in text


@pytest.mark.parametrize("entry", [None, {}, True, "x", [[]], {"errors": 10**400}])
def test_odd_conditions_in_a_header_are_no_failure_of_the_program(entry: Any) -> None:
    clean, odd = run_of("clean", HEADER), run_of("odd", {**HEADER, "stress": entry})
    assert main(["stress", clean, odd, "-o", "out.json"]) == (
        0 if entry and isinstance(entry, dict) else 2
    )
    assert main(["evaluate", odd, "-o", "out.json"]) == 0


def test_runs_that_do_not_match_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    clean, hard = run_of("clean", HEADER), run_of("hard", UNDER)
    others = {
        "agent": {"spec": "rule"},
        "user": {"spec": "openai:m"},
        "seed": 3,
        "goals": {"source": "corpus:test:9", "sha": "01234567"},
        "limits": {"user_turns": 12},
    }
    refused: dict[tuple[str, ...], str] = {
        (hard, clean): "hard has stress conditions: name the run without conditions first",
        (clean, run_of("again", HEADER)): "again has no stress conditions",
        (clean, hard, run_of("third", {**UNDER, "limits": {"user_turns": 12}})): "user_turns",
        (clean, run_of("total", UNDER)): "rename the file",
        (clean, run_of("fewer", UNDER, goals=USED[:3])): "clean and fewer need the same goals",
        **{
            (
                clean,
                run_of(f"other-{key}", {**UNDER, key: other}),
            ): f"only in their conditions: {'user_turns' if key == 'limits' else key}"
            for key, other in others.items()
        },
    }
    for files, message in refused.items():
        assert main(["stress", *files]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["stress", clean])
    assert "then one or more runs with stress conditions" in capsys.readouterr().err
    assert not Path("evaluation_results.json").exists()


def test_compare_warns_of_different_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    clean, hard = run_of("clean", HEADER), run_of("hard", UNDER, "smp0021")
    assert main(["compare", clean, hard]) == 0
    out, err = capsys.readouterr()
    assert "-25.0" in out
    assert "under different conditions: clean.jsonl none, hard.jsonl hard@1" in err
    assert main(["compare", hard, run_of("again", UNDER)]) == 0
    out, err = capsys.readouterr()
    assert "stress:hard@1" in out
    assert "conditions" not in err


def scores_of(*runs: Sequence[tuple[int, int]]) -> dict[tuple[str, str], Score]:
    """Return the scores of runs; a run has successes and trials for each goal."""
    named = [{str(goal): of for goal, of in enumerate(run)} for run in runs]
    scored: ScoredTable = paired_scores({f"run{n}": run for n, run in enumerate(named)})
    return by_place(scored.scores(Resampling(samples=50)))


def test_pass_k_and_robustness_by_hand() -> None:
    found = scores_of([(2, 2)], [(1, 2)])
    assert found["pass^1", WHOLE].value == 50
    assert found["pass^2", WHOLE].value == 0
    # Goals with success rates (.5, 1) and (1, .5): (.5·1 + 1·.5) / 1.5.
    found = scores_of([(1, 2), (2, 2)], [(2, 2), (1, 2)])
    assert found["robustness", "run1"].value == pytest.approx(100 * 2 / 3)
    assert found["drop", "run1"].value == 0


RUNS = st.integers(1, 3).flatmap(
    lambda goals: st.lists(
        st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=goals, max_size=goals),
        min_size=2,
        max_size=3,
    )
)


@given(RUNS)
@examples(60)
def test_scores_equal_those_of_all_choices_of_trials(runs: list[list[list[bool]]]) -> None:
    found = scores_of(*([(sum(goal), len(goal)) for goal in run] for run in runs))
    by_goal = [*zip(*runs, strict=True)]
    most = min(len(trials) for goal in by_goal for trials in goal)
    for k in range(1, most + 1):
        shares = []
        for goal in by_goal:
            chosen = [*product(*(combinations(trials, k) for trials in goal))]
            shares.append(sum(all(map(all, choice)) for choice in chosen) / len(chosen))
        assert found[f"pass^{k}", WHOLE].value == pytest.approx(100 * sum(shares) / len(shares))
    assert (f"pass^{most + 1}", WHOLE) not in found
    for number, run in enumerate(runs[1:], start=1):
        pairs = [[(a, b) for a, b in product(*goal)] for goal in zip(runs[0], run, strict=True)]
        both = sum(sum(a and b for a, b in goal) / len(goal) for goal in pairs)
        before = sum(sum(a for a, _ in goal) / len(goal) for goal in pairs)
        after = sum(sum(b for _, b in goal) / len(goal) for goal in pairs)
        drop = found["drop", f"run{number}"]
        assert drop.value == pytest.approx(100 * (before - after) / len(pairs))
        if before:
            assert found["robustness", f"run{number}"].value == pytest.approx(100 * both / before)
        else:
            assert ("robustness", f"run{number}") not in found


def test_p_values_are_those_of_the_paired_tests() -> None:
    import numpy as np

    clean = run_of("clean", HEADER)
    found = stress(clean, run_of("hard", UNDER, "smp0021", "smp0022", "smp0023"))
    outcomes = np.array([0.0, 0, 0, 1]), np.ones(4)
    assert found["runs"]["hard"]["p"] == mcnemar(*outcomes)
    lines = [line(goal, trial=trial) for goal in USED for trial in (1, 2)]
    first = write(Path("two.jsonl"), lines)
    failed = [line(goal, "phone", trial=trial) for goal in USED for trial in (1, 2)]
    found = stress(first, write(Path("under.jsonl"), failed, head=UNDER))
    assert json.dumps(found["runs"]["under"]["newly_failed"]) == '["smp0022", "smp0024"]'
    assert 0 < found["runs"]["under"]["p"] < 1
    assert [r["score"] for r in found["scores"] if r["score"].startswith("pass^")] == [
        "pass^1",
        "pass^2",
    ]


def test_runs_in_acts() -> None:
    live = [
        "live",
        "--agent",
        "rule-convlab",
        "--corpus",
        "sample",
        "--goals",
        "corpus:test:9",
        "--level",
        "acts",
        "-q",
        "-o",
    ]
    for name, options in {"clean": [], "goals": ["--stress", "goals"]}.items():
        assert main([*live, f"{name}.jsonl", *options]) == 0
    found = stress("clean.jsonl", "goals.jsonl")
    assert found["runs"]["goals"]["conditions"] == "goals@1"
    assert value(found, "recovered", "goals")["n"] > 0
    assert value(found, "turns", "goals")["value"] > value(found, "turns", "clean")["value"]
