"""Explanations of single dialogues, and the reference scores of every track."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.scoring.baselines import gold_file, rule_tracker_file
from mwzeval.crosswoz.scoring.evaluation import ScoredPredictions, evaluate
from mwzeval.crosswoz.scoring.success import MEANINGS
from mwzeval.errors import UsageError
from mwzeval.report.html import to_html
from mwzeval.scores.score import WHOLE, Score
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold

GOLD = small_gold()
FIELDS = {
    "nlu": ["user_acts", "system_acts_nlu"],
    "dst": ["state"],
    "policy": ["system_acts"],
    "nlg": ["user_response", "response"],
    "sim": ["user_acts", "user_state"],
    "e2e": ["response", "state", "selected"],
}
EXPLAINED = [track for track in FIELDS if track != "nlg"]


def gold_as(track: str) -> dict[str, Any]:
    return gold_file(GOLD.fold, track, FIELDS[track], conditioning="predicted_history")


def reasons(evaluated: ScoredPredictions, unit: str) -> list[tuple[str, int | None]]:
    return [(reason.code, reason.turn) for reason in evaluated.explain(unit).reasons]


@pytest.mark.parametrize("track", EXPLAINED)
def test_gold_predictions_have_no_error_reasons(track: str) -> None:
    dialogues = GOLD.fold.dialogues
    for explanation in evaluate(gold_as(track), GOLD).explain_all():
        assert explanation.reasons == ()
        assert set(explanation.outcomes["total"].values()) <= {True, None}
        users = [exchange.user.utterance for exchange in dialogues[explanation.unit].exchanges]
        assert [turn.utterances[0].text for turn in explanation.turns] == users


def test_act_errors_are_missing_spurious_or_wrong_values() -> None:
    file = gold_as("nlu")
    file["1"][0]["user_acts"] = [
        ["Inform", "景点", "门票", "20元"],
        ["Request", "景点", "电话", ""],
    ]
    evaluated = evaluate(file, GOLD)
    assert reasons(evaluated, "1") == [
        ("missing-act:General", 0),
        ("wrong-act-value:门票", 0),
        ("spurious-act:Request", 0),
    ]
    facts = {fact.label: fact.value for fact in evaluated.explain("1").turns[0].facts}
    assert facts["user acts, missing"] == "General+greet+none+none, Inform+景点+门票+免费"
    assert facts["user acts, spurious"] == "Inform+景点+门票+20元, Request+景点+电话+"
    assert evaluated.explain("1").outcomes == {"total": {"nlu.f1": False}}


def test_state_errors_are_explained_per_slot() -> None:
    file = gold_as("dst")
    file["1"][2]["state"] = {"景点": {"门票": "20元", "评分": "5分", "名称": "小园"}}
    file["2"][0]["state"] = {"酒店": {"酒店设施": "暖气", "酒店类型": "经济型", "名称": "客栈"}}
    evaluated = evaluate(file, GOLD)
    assert reasons(evaluated, "1") == [
        ("wrong-slot:门票", 2),
        ("spurious-slot:评分", 2),
        ("missing-slot:周边景点", 2),
    ]
    assert reasons(evaluated, "2") == [
        ("name-not-annotated:名称", 0),
        ("other-spelling:酒店类型", 0),
    ]
    facts = {fact.label: fact.value for fact in evaluated.explain("1").turns[2].facts}
    assert facts["wrong"] == "门票=20元 instead of 免费"
    assert facts["state, right"] == "名称=小园"
    assert "Select" in facts["the user refers"]


def test_user_state_errors_concern_the_value_or_the_expressed_flag() -> None:
    file = gold_as("sim")
    lines = file["1"][2]["user_state"]
    lines[0][4], lines[1][3] = False, "大园"
    evaluated = evaluate(file, GOLD)
    assert reasons(evaluated, "1") == [("not-expressed:门票", 2), ("wrong-line:名称", 2)]
    assert evaluated.explain("1").outcomes["total"] == {"sim.joint": False, "sim.f1": True}
    assert evaluated.explain("2").outcomes["total"]["sim.joint"] is None  # it has only one turn


@pytest.mark.parametrize("track", EXPLAINED)
def test_all_reason_codes_are_documented(track: str) -> None:
    file = gold_as(track)
    for exchange in (*file["1"], *file["2"]):
        for key in exchange.keys() - {"turn", "user_state"}:
            exchange[key] = type(exchange[key])()
    evaluated = evaluate(file, GOLD, Options((track,), "gold_acts"))
    codes = {r.code.partition(":")[0] for unit in evaluated.explain_all() for r in unit.reasons}
    assert codes
    assert codes <= set(MEANINGS)


def test_unknown_dialogues_are_errors() -> None:
    with pytest.raises(UsageError, match='"3"'):
        evaluate(gold_as("nlu"), GOLD).explain("3")


def test_reference_scores_are_columns_of_the_html_report() -> None:
    report = evaluate(rule_tracker_file(GOLD.fold), GOLD).report()
    system = replace(report, name="RuleDST")
    words = benchmark_named("crosswoz").words
    html = to_html([system, system], title="t", words=words)
    table = html.partition('<table class="scores')[2].partition("</tbody>")[0]
    heads = re.findall(r'class="reference">(\w[^<]*)</th>', table)
    assert heads == ["gold as prediction", "copy of the previous turn"]
    beside = report.metrics["beside"]
    assert re.findall(r'class="reference">([^<]*)</td>', table)[:2] == [
        f"{beside[name]['dst.joint_single_turn']:.2f}" for name in ("gold", "copy_previous")
    ]
    seen = re.sub(r"<(script|style).*?</\1>|<[^>]+>", "", html, flags=re.DOTALL)
    assert "joint_single_turn" not in seen


NOTHING: dict[str, Any] = {"response": "", "user_response": "", "selected": {}, "state": {}}
E2E = FIELDS["e2e"]


def shifted(plain: dict[str, Any]) -> dict[str, Any]:
    """Return predictions that are shifted by one turn."""
    copy = {"_meta": plain["_meta"]}
    for name, dialogue in GOLD.fold.dialogues.items():
        first = {key: NOTHING.get(key, []) for key in plain[name][0]}
        copy[name] = [{**before, "turn": n} for n, before in enumerate([first, *plain[name][:-1]])]
        for exchange, of_gold in zip(copy[name][1:], dialogue.exchanges, strict=False):
            if "state" in exchange:
                exchange["state"] = of_gold.system.last_query
    return copy


def by_name(scores: Iterable[Score]) -> dict[str, float]:
    return {s.name if s.scope == WHOLE else f"{s.name} {s.scope}": s.value for s in scores}


@pytest.mark.parametrize(
    ("track", "fields"),
    [
        ("nlg", FIELDS["nlg"]),
        ("nlg", ["response"]),
        ("nlg", ["user_response"]),
        ("e2e", E2E),
        ("e2e", [*E2E, "system_acts"]),
    ],
)
def test_copy_baseline_equals_scores_of_the_previous_turns(track: str, fields: list[str]) -> None:
    plain = gold_file(GOLD.fold, track, fields)
    beside = evaluate(plain, GOLD).report().metrics["beside"]["copy_previous"]
    copied = by_name(evaluate(shifted(plain), GOLD).scored_table.scores())
    expected = {name: copied[name] for name in beside}
    assert beside == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert beside


COPIES = {
    "nlg": {
        "nlg.bleu4 system": 0.04693,
        "nlg.missing_values system": 95.06957,
        "nlg.slot_errors system": 188.32426,
    },
    "e2e": {"e2e.inform": 60.2, "e2e.success": 6.2, "e2e.bleu4": 0.04693},
}
"""Scores of the copy baseline on the test fold of the release, from docs/crosswoz.md."""


@pytest.mark.integration
@pytest.mark.parametrize("track", COPIES)
def test_copy_baseline_has_the_documented_scores_on_the_test_fold(track: str) -> None:
    gold = Gold(fold())
    plain = gold_file(gold.fold, track, ["response"] if track == "nlg" else E2E)
    copied = evaluate(plain, gold).reference_scores()["copy_previous"]
    assert by_name(copied) == pytest.approx(COPIES[track], abs=5e-5)


def test_e2e_and_nlg_responses_have_the_same_bleu() -> None:
    plain = gold_file(GOLD.fold, "e2e", E2E)
    for name in ("1", "2"):
        plain[name][0]["response"] = "您好，推荐您去这家店。"
    evaluated = evaluate(plain, GOLD, Options(tracks=("e2e", "nlg")))
    found = {
        track: {
            (s.value, s.n) for s in evaluated.scored_table.scores() if s.name == f"{track}.bleu4"
        }
        for track in ("e2e", "nlg")
    }
    assert found["e2e"] == found["nlg"]
    assert all(0 < value < 1 for value, _ in found["e2e"])
    metrics = evaluated.report().metrics
    assert metrics["e2e"].keys() == {"inform", "success", "bleu4"}
    assert metrics["e2e"]["bleu4"][WHOLE] == metrics["nlg"]["bleu4"]["system"]
