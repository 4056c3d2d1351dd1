"""Logs of simulated dialogues: finish rates, success and invalid logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mwzeval.comparison import compare
from mwzeval.comparison.runs import scores_of_runs
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.scoring.simulation import (
    MACRO,
    NATURAL,
    ScoredSimulation,
    evaluate_simulation,
    is_simulation,
    validate_simulation,
)
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.measure import ScoredTable
from tests.crosswoz.logs import GOLD, dialogue, log


def values(evaluated: ScoredSimulation, name: str) -> dict[str, float]:
    return {s.scope: s.value for s in evaluated.report().scores if s.name == name}


def test_natural_mix_and_macro_average_are_computed_separately(tmp_path: Path) -> None:
    lines = [{"_meta": {"system": "x"}}]
    lines += [dialogue(f"s-{i:04}", "1", finished=i % 2 == 0) for i in range(1000)]
    lines += [dialogue(f"s-{i:04}", "2", finished=i < 1003) for i in range(1000, 1004)]
    evaluated = evaluate_simulation(log(tmp_path, lines), GOLD)
    found = values(evaluated, "e2e.finish_rate")
    assert found[NATURAL] == 50  # the first thousand dialogues only
    assert found["CM"] == 50
    assert found["S"] == 75
    assert found[MACRO] == 62.5
    assert found["total"] == pytest.approx(100 * 503 / 1004)
    assert values(evaluated, "e2e.success") == found  # all finished dialogues succeed


def test_natural_mix_ends_at_the_first_skipped_goal(tmp_path: Path) -> None:
    lines = [dialogue(f"s-{i}", "1", finished=i < 3) for i in (0, 1, 2, 5, 6)]
    found = values(evaluate_simulation(log(tmp_path, lines), GOLD), "e2e.finish_rate")
    assert found[NATURAL] == 100
    assert found["total"] == 60


def simulation(folder: Path, sources: str) -> ScoredTable:
    """Return the scores of dialogues `a`, `b` … with these goals of the small world."""
    lines = [dialogue(name, source) for name, source in zip("abc", sources, strict=False)]
    return evaluate_simulation(log(folder, lines), GOLD).scored_table


def test_dialogues_with_different_goals_are_not_paired(tmp_path: Path) -> None:
    first, same, mixed, other = (simulation(tmp_path, ids) for ids in ("121", "121", "11", "21"))
    found = compare({"first": first, "same": same}, unit="dialogue")
    assert found.measure("e2e.finish_rate").n == 3
    assert compare({"first": first, "mixed": mixed}).measure("e2e.finish_rate").n == 1
    with pytest.raises(UsageError, match='"other"'):
        compare({"first": first, "other": other})


def test_runs_of_a_system_must_have_the_same_goals(tmp_path: Path) -> None:
    first, same, other = (simulation(tmp_path, ids) for ids in ("12", "12", "11"))
    assert all(s.values == (100, 100) for s in scores_of_runs({"first": first, "same": same}))
    with pytest.raises(InputError, match=r"^other: "):
        scores_of_runs({"first": first, "other": other})


def test_finished_dialogues_with_wrong_values_are_not_successful(tmp_path: Path) -> None:
    wrong = dialogue("a", "2")
    wrong["final_goal"][2][3] = "豪华型"
    late = dialogue("b", "2", finished=False)
    evaluated = evaluate_simulation(log(tmp_path, [wrong, late, dialogue("c", "2")]), GOLD)
    assert values(evaluated, "e2e.finish_rate")["total"] == pytest.approx(200 / 3)
    assert values(evaluated, "e2e.inform")["total"] == pytest.approx(200 / 3)
    assert values(evaluated, "e2e.success")["total"] == pytest.approx(100 / 3)
    assert [r.code for r in evaluated.explain("a").reasons] == ["wrong-value:酒店类型"]
    assert evaluated.explain("b").outcomes["total"]["e2e.finish_rate"] is False
    assert {r.outcome for r in evaluated.explain("b").reasons} == {"e2e.finish_rate"}
    with pytest.raises(UsageError):
        evaluated.explain("d")


def test_last_user_state_replaces_a_missing_final_goal(tmp_path: Path) -> None:
    plain = dialogue("a", "2")
    plain["turns"] = [{"user_state": plain["goal"]}, {"user_state": plain.pop("final_goal")}]
    evaluated = evaluate_simulation(log(tmp_path, [plain]), GOLD)
    assert values(evaluated, "e2e.success")["total"] == 100


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"goal": 5}, "shape"),
        ({"goal": []}, "shape"),
        ({"finished": "yes"}, "shape"),
        ({"n_turns": None}, "shape"),
        ({"final_goal": []}, "shape"),
        ({"goal_type": "S+"}, "other-goal-type"),
        ({"goal_type": "CM"}, "other-goal-type"),
        ({"turns": 3}, "shape"),
        ({"dialogue_id": 3}, "shape"),
    ],
)
def test_invalid_logs_are_reported(tmp_path: Path, change: dict[str, Any], kind: str) -> None:
    path = log(tmp_path, [dialogue("x", "2", **change), dialogue("y", "2")])
    (key,) = change
    problems = [problem for problem in validate_simulation(path) if problem.kind == kind]
    assert problems
    assert all(key in str(problem) for problem in problems)
    with pytest.raises(InputError):
        evaluate_simulation(path, GOLD)


def test_repeated_dialogues_are_reported(tmp_path: Path) -> None:
    path = log(tmp_path, [dialogue("x", "2")] * 2)
    assert [problem.kind for problem in validate_simulation(path)] == ["repeated-key"]


def test_incomplete_logs_are_scored_when_partial_is_allowed(tmp_path: Path) -> None:
    header = {"_meta": {"per_type": 2}}
    path = log(tmp_path, [header, dialogue("x", "2")])
    (problem,) = validate_simulation(path)
    assert (problem.kind, problem.severity) == ("incomplete", "error")
    assert "S 1, M 0" in problem.message
    with pytest.raises(InputError):
        evaluate_simulation(path, GOLD)
    allowed = evaluate_simulation(path, GOLD, Options(allow_partial=True))
    assert values(allowed, "e2e.finish_rate")["total"] == 100
    assert not allowed.warnings
    assert not evaluate_simulation(log(tmp_path, [dialogue("x", "2")]), GOLD).warnings


@pytest.mark.parametrize(
    "options", [Options(("nlu",)), Options(("e2e", "dst")), Options(conditioning="gold_acts")]
)
def test_options_that_do_not_apply_to_simulations_are_refused(
    tmp_path: Path, options: Options
) -> None:
    path = log(tmp_path, [dialogue("x", "2")])
    with pytest.raises(UsageError, match="e2e"):
        evaluate_simulation(path, GOLD, options)
    with pytest.raises(UsageError, match="e2e"):
        validate_simulation(path, options)
    assert validate_simulation(path, Options(("e2e",))) == []


def test_logs_are_distinguished_from_predictions(tmp_path: Path) -> None:
    assert is_simulation(log(tmp_path, [{"_meta": {}}, dialogue("x", "2")]))
    assert not is_simulation(log(tmp_path, [{"dialogue_id": "1", "turns": []}]))
    other = tmp_path / "x.json"
    other.write_text("{}")
    assert not is_simulation(other)


@pytest.mark.parametrize(
    ("name", "success"), [("小园", True), ("大园", True), ("虚园", False), (None, True)], ids=str
)
def test_systems_that_invent_a_venue_name_have_no_success(
    tmp_path: Path, name: str | None, success: bool
) -> None:
    plain = dialogue("a", "1")
    plain["goal"][1][3] = "小园"  # the user names the attraction
    acts = [["Inform", "景点", "名称", name]] if name else []
    plain["turns"] = [{"user_acts": [], "system_acts": acts}]
    evaluated = evaluate_simulation(log(tmp_path, [plain]), GOLD)
    assert values(evaluated, "e2e.finish_rate")["total"] == 100
    assert values(evaluated, "e2e.success")["total"] == 100 * success
