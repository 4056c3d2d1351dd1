"""Intents, domains, slots and services that do not exist, in predictions and in simulations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.folds import FOLDS, Gold, load_gold
from mwzeval.crosswoz.scoring.baselines import gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate, validate
from mwzeval.crosswoz.scoring.simulation import evaluate_simulation, validate_simulation
from mwzeval.crosswoz.simulation import Setting, simulate
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
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
def test_services_that_do_not_exist_are_errors_or_count_as_wrong(
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
def test_everything_in_the_corpus_exists(name: str) -> None:
    gold = Gold(fold(name))
    for track, fields in (("nlu", ["user_acts", "system_acts_nlu"]), ("sim", ["user_state"])):
        fields = list(dict.fromkeys(["user_acts", *fields]))
        assert validate(gold_file(gold.fold, track, fields), gold) == []


def test_everything_in_the_sample_exists() -> None:
    gold = load_gold("sample", FOLDS[0])
    fields = ["user_acts", "user_state"]
    assert validate(gold_file(gold.fold, "sim", fields), gold) == []


class Misspelt(RuleSystem):
    """Says every Inform as Infrom."""

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        acts: Sequence[Act] = tuple(super().answer(user_acts))
        return tuple(act._replace(intent=act.intent.replace("for", "fro")) for act in acts)


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_simulation_tells_of_intents_that_do_not_exist(tmp_path: Path, interrupted: bool) -> None:
    output = tmp_path / "log.jsonl"
    chosen: dict[str, Any] = {"per_type": 1, "seed": 5, "output": output, "progress": False}
    summary = simulate(Setting(DATABASE, Misspelt), **chosen)
    if interrupted:
        lines = output.read_bytes().splitlines(keepends=True)
        output.write_bytes(b"".join(lines[:-2]))
        assert simulate(Setting(DATABASE, Misspelt), resume=True, **chosen) == summary
    (told,) = summary.unknown
    assert '"Infrom"' in told
    assert '"Inform"' in told
    assert summary.unknown[told] == 5
    assert told in summary.to_text()
    assert summary.to_json()["unknown"] == {told: 5}
    with pytest.raises(InputError) as refused:
        evaluate_simulation(output, GOLD)
    assert {problem.kind for problem in refused.value.problems} == {"unknown-intent"}
    (warning, *_) = evaluate_simulation(output, GOLD, Options(lenient=True)).warnings
    assert warning.kind == "unknown-intent"


def test_a_simulation_with_what_exists_tells_nothing(tmp_path: Path) -> None:
    output = tmp_path / "log.jsonl"
    summary = simulate(
        Setting(DATABASE, RuleSystem), per_type=1, seed=5, output=output, progress=False
    )
    assert not summary.unknown
    assert "unknown" not in summary.to_text()
    assert validate_simulation(output) == []


def test_logs_of_others_are_looked_at_too(tmp_path: Path) -> None:
    turns = [
        {"user_acts": [["Infrom", "景点", "门票", "免费"]], "system_acts": []},
        {"user_acts": [["Infrom", "景点", "门票", "免费"]], "system_acts": [["x"]]},
        {"user_acts": [], "system_acts": ["Inform+景点点+门票+免费"]},
    ]
    file = log(tmp_path, [dialogue("a", "1", turns=turns), dialogue("b", "2")])
    found = validate_simulation(file)
    assert {problem.severity for problem in found} == {"error"}
    assert [problem.kind for problem in found].count("unknown-intent") == 2
    lenient = validate_simulation(file, Options(lenient=True))
    problems = {problem.kind: problem for problem in lenient}
    assert {kind: each.count for kind, each in problems.items()} == {
        "unknown-intent": 2,
        "unknown-domain": 1,
        "not-an-act": 1,
    }
    malformed = problems.pop("not-an-act")
    assert (malformed.severity, malformed.turn) == ("error", 1)
    assert {each.severity for each in problems.values()} == {"warning"}
    first = problems["unknown-intent"]
    assert (first.dialogue, first.turn, first.key) == ("a", 0, "user_acts")
    assert json.loads(file.read_text("utf-8").splitlines()[0])["turns"] == turns
