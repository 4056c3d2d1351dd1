"""Logs of simulated dialogues: finish rates, success, and bad logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.comparison import compare
from mwzeval.comparison.runs import scores_of_runs
from mwzeval.conversation.trajectory import header, json_line
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES, NAME, NOTHING
from mwzeval.crosswoz.goals import GoalGenerator
from mwzeval.crosswoz.log import is_simulation
from mwzeval.crosswoz.protocols import Rng
from mwzeval.crosswoz.scoring.simulation import (
    MACRO,
    NATURAL,
    ScoredSimulation,
    evaluate_simulation,
    validate_simulation,
)
from mwzeval.crosswoz.simulation import Setting
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.measure import ScoredTable
from tests.crosswoz.logs import GOLD, dialogue, log
from tests.crosswoz.real_data import database, fold


def values(evaluated: ScoredSimulation, name: str) -> dict[str, float]:
    return {s.scope: s.value for s in evaluated.report().scores if s.name == name}


def test_the_natural_mix_and_the_mean_of_goal_types_differ(tmp_path: Path) -> None:
    lines = [{"_meta": {"system": "x"}}]
    lines += [dialogue(f"s-{i:04}", "1", finished=i % 2 == 0) for i in range(1000)]
    lines += [dialogue(f"s-{i:04}", "2", finished=i < 1003) for i in range(1000, 1004)]
    evaluated = evaluate_simulation(log(tmp_path, lines), GOLD)
    found = values(evaluated, "e2e.finish_rate")
    assert found[NATURAL] == 50  # the first thousand alone
    assert found["CM"] == 50
    assert found["S"] == 75
    assert found[MACRO] == 62.5
    assert found["total"] == pytest.approx(100 * 503 / 1004)
    assert values(evaluated, "e2e.success") == found  # all that finish end well


def test_the_natural_mix_ends_where_a_goal_was_passed_over(tmp_path: Path) -> None:
    lines = [dialogue(f"s-{i}", "1", finished=i < 3) for i in (0, 1, 2, 5, 6)]
    found = values(evaluate_simulation(log(tmp_path, lines), GOLD), "e2e.finish_rate")
    assert found[NATURAL] == 100
    assert found["total"] == 60


def simulation(folder: Path, name: str, **goals: str) -> ScoredTable:
    """Return the scores of dialogues by name about goals of the small world."""
    lines = [dialogue(each, source) for each, source in goals.items()]
    (folder / name).mkdir()
    return evaluate_simulation(log(folder / name, lines), GOLD).scored_table


def test_dialogues_about_other_goals_are_not_paired_for_their_names(tmp_path: Path) -> None:
    one = simulation(tmp_path, "one", a="1", b="2", c="1")
    same = simulation(tmp_path, "same", a="1", b="2", c="1")
    mixed = simulation(tmp_path, "mixed", a="1", b="1", d="1")
    other = simulation(tmp_path, "other", a="2", b="1", d="1")
    found = compare({"one": one, "same": same}, unit="dialogue")
    assert found.measure("e2e.finish_rate").n == 3
    found = compare({"one": one, "mixed": mixed})
    assert found.measure("e2e.finish_rate").n == 1
    with pytest.raises(UsageError, match='"other"'):
        compare({"one": one, "other": other})


def test_runs_of_a_system_are_about_the_same_goals(tmp_path: Path) -> None:
    one = simulation(tmp_path, "one", a="1", b="2")
    same = simulation(tmp_path, "same", a="1", b="2")
    other = simulation(tmp_path, "other", a="1", b="1")
    assert all(each.values == (100, 100) for each in scores_of_runs({"one": one, "same": same}))
    with pytest.raises(InputError, match=r"^other: "):
        scores_of_runs({"one": one, "other": other})


def test_finished_is_not_successful(tmp_path: Path) -> None:
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


def test_the_users_last_state_serves_where_there_is_no_final_goal(tmp_path: Path) -> None:
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
def test_bad_logs_are_told(tmp_path: Path, change: dict[str, Any], kind: str) -> None:
    path = log(tmp_path, [dialogue("x", "2", **change), dialogue("y", "2")])
    (key,) = change
    problems = [problem for problem in validate_simulation(path) if problem.kind == kind]
    assert problems
    assert all(key in str(problem) for problem in problems)
    with pytest.raises(InputError):
        evaluate_simulation(path, GOLD)


def test_a_dialogue_comes_once(tmp_path: Path) -> None:
    path = log(tmp_path, [dialogue("x", "2"), dialogue("x", "2")])
    assert [problem.kind for problem in validate_simulation(path)] == ["repeated-key"]


def test_a_log_that_was_cut_short_is_scored_when_that_is_allowed(tmp_path: Path) -> None:
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
def test_what_says_nothing_of_simulations_is_refused(tmp_path: Path, options: Options) -> None:
    path = log(tmp_path, [dialogue("x", "2")])
    with pytest.raises(UsageError, match="e2e"):
        evaluate_simulation(path, GOLD, options)
    with pytest.raises(UsageError, match="e2e"):
        validate_simulation(path, options)
    assert validate_simulation(path, Options(("e2e",))) == []


def test_logs_are_told_from_predictions(tmp_path: Path) -> None:
    assert is_simulation(log(tmp_path, [{"_meta": {}}, dialogue("x", "2")]))
    assert not is_simulation(log(tmp_path, [{"dialogue_id": "1", "turns": []}]))
    other = tmp_path / "x.json"
    other.write_text("{}")
    assert not is_simulation(other)


class Inventor(RuleSystem):
    """Answers as the rule system does, but with a name that nothing has."""

    def answer(self, user_acts: Any, /) -> Acts:
        return tuple(
            act._replace(value="虚构的店") if is_name(act) else act
            for act in super().answer(user_acts)
        )


def is_name(act: Act) -> bool:
    return act.slot == NAME and act.value not in ("", NOTHING)


def simulated(folder: Path, system: Any, count: int = 60) -> ScoredSimulation:
    setting = Setting(database(), make_system=system)
    goals = GoalGenerator(database())
    path = folder / "log.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.write(json_line(header("crosswoz", "0", {"system": system.__name__})))
        for number in range(count):
            goal = goals.goal(Rng(f"goal/{number}"))
            stream.write(setting.simulate(goal, number, 0).line())
    return evaluate_simulation(path, Gold(fold()))


@pytest.mark.integration
def test_a_system_that_invents_names_finishes_and_has_no_success(tmp_path: Path) -> None:
    honest, invents = (simulated(tmp_path, system) for system in (RuleSystem, Inventor))
    assert values(honest, "e2e.success")["total"] > 80
    assert set(values(honest, "e2e.success")) <= {"total", NATURAL, MACRO, *GOAL_TYPES}
    assert values(invents, "e2e.finish_rate")["total"] > 50
    for name, judged in invents.judgements.items():
        told = "虚构的店" in json.dumps(invents.log.dialogues[name].turns, ensure_ascii=False)
        assert not (told and judged.success), name
