"""Unknown intents, domains, slots and services in predictions and simulations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.scoring.baselines import gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate, validate
from mwzeval.crosswoz.scoring.simulation import validate_simulation
from mwzeval.crosswoz.simulation import Setting, simulate
from mwzeval.crosswoz.systems.rules import RuleSystem
from mwzeval.errors import InputError
from tests.crosswoz.logs import dialogue, log
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold
from tests.crosswoz.world import DATABASE

GOLD = small_gold()


@pytest.mark.parametrize(
    ("track", "key", "service", "suggested"),
    [("nlu", "user_acts", "暖汽", '"暖气"'), ("policy", "system_acts", "游泳", "游泳")],
)
def test_unknown_services_are_errors_or_warnings_when_lenient(
    track: str, key: str, service: str, suggested: str
) -> None:
    file = gold_file(GOLD.fold, track, [key])
    file["1"][1][key] = [["Inform", "酒店", f"酒店设施-{service}", "是"]]
    (problem,) = validate(file, GOLD)
    assert (problem.kind, problem.severity) == ("unknown-service", "error")
    assert (problem.dialogue, problem.turn, problem.key) == ("1", 1, key)
    assert suggested in problem.message
    with pytest.raises(InputError):
        evaluate(file, GOLD)
    (warning,) = evaluate(file, GOLD, Options(lenient=True)).warnings
    assert (warning.kind, warning.severity) == ("unknown-service", "warning")


@pytest.mark.integration
@pytest.mark.parametrize("name", ["test", "val"])
def test_corpus_annotations_have_no_ontology_errors(name: str) -> None:
    gold = Gold(fold(name))
    file = gold_file(gold.fold, "nlu", ["user_acts", "system_acts_nlu", "user_state"])
    assert validate(file, gold, Options(("nlu", "sim"))) == []


class Misspelt(RuleSystem):
    """A system with the intent Infrom instead of Inform."""

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        acts: Sequence[Act] = tuple(super().answer(user_acts))
        return tuple(act._replace(intent=act.intent.replace("for", "fro")) for act in acts)


def test_simulation_summary_reports_unknown_intents(tmp_path: Path) -> None:
    output = tmp_path / "log.jsonl"
    chosen: dict[str, Any] = {"per_type": 1, "seed": 5, "output": output, "progress": False}
    summary = simulate(Setting(DATABASE, Misspelt), **chosen)
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:-2]))
    assert simulate(Setting(DATABASE, Misspelt), resume=True, **chosen) == summary
    ((told, count),) = summary.unknown.items()
    assert count == 5
    assert '"Infrom" — did you mean "Inform"?' in told
    assert told in summary.to_text()
    assert summary.to_json()["unknown"] == {told: 5}
    assert {problem.kind for problem in validate_simulation(output)} == {"unknown-intent"}


def test_simulation_of_the_rule_system_reports_no_unknown_names(tmp_path: Path) -> None:
    output = tmp_path / "log.jsonl"
    setting = Setting(DATABASE, RuleSystem)
    summary = simulate(setting, per_type=1, seed=5, output=output, progress=False)
    assert not summary.unknown
    assert "unknown" not in summary.to_text()
    assert validate_simulation(output) == []


def test_external_simulation_logs_are_checked_for_unknown_names(tmp_path: Path) -> None:
    misspelt = [["Infrom", "景点", "门票", "免费"]]
    turns = [
        {"user_acts": misspelt, "system_acts": []},
        {"user_acts": misspelt, "system_acts": [["x"]]},
        {"user_acts": [], "system_acts": ["Inform+景点点+门票+免费"]},
    ]
    file = log(tmp_path, [dialogue("a", "1", turns=turns), dialogue("b", "2")])
    found = validate_simulation(file)
    assert {problem.severity for problem in found} == {"error"}
    assert [problem.kind for problem in found].count("unknown-intent") == 2
    lenient = validate_simulation(file, Options(lenient=True))
    assert sorted((p.kind, p.severity, p.dialogue, p.turn, p.key, p.count) for p in lenient) == [
        ("not-an-act", "error", "a", 1, "system_acts", 1),
        ("unknown-domain", "warning", "a", 2, "system_acts", 1),
        ("unknown-intent", "warning", "a", 0, "user_acts", 2),
    ]
