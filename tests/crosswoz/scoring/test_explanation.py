"""What is told of single dialogues, the page made of it, and what every track is compared with."""

from __future__ import annotations

import re
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
from mwzeval.report.systems import title_of
from mwzeval.scores.explanation import Reason
from mwzeval.scores.score import WHOLE
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold
from tests.report.pages import readable

WORDS = benchmark_named("crosswoz").info.words

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
def test_gold_loses_nothing(track: str) -> None:
    for explanation in evaluate(gold_as(track), GOLD).explain_all():
        assert explanation.reasons == ()
        assert set(explanation.outcomes["total"].values()) <= {True, None}
        gold = GOLD.fold.dialogues[explanation.unit]
        assert len(explanation.turns) == len(gold.exchanges)
        said = [each.text for turn in explanation.turns for each in turn.utterances]
        assert all(exchange.user.utterance in said for exchange in gold.exchanges)


def test_acts_are_missing_spurious_or_have_other_values() -> None:
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


def test_states_differ_slot_by_slot() -> None:
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


def test_lines_of_users_differ_in_value_or_flag() -> None:
    file = gold_as("sim")
    lines = file["1"][2]["user_state"]
    lines[0][4], lines[1][3] = False, "大园"
    evaluated = evaluate(file, GOLD)
    assert reasons(evaluated, "1") == [("not-expressed:门票", 2), ("wrong-line:名称", 2)]
    assert evaluated.explain("1").outcomes["total"] == {"sim.joint": False, "sim.f1": True}
    assert evaluated.explain("2").outcomes["total"]["sim.joint"] is None  # one turn, the first


def test_all_codes_are_known() -> None:
    found: list[Reason] = []
    for track in EXPLAINED:
        file = gold_as(track)
        for name in ("1", "2"):
            file[name] = [_emptied(exchange) for exchange in file[name]]
        evaluated = evaluate(file, GOLD, Options((track,), "gold_acts"))
        found += [reason for each in evaluated.explain_all() for reason in each.reasons]
    assert found
    assert {reason.code.partition(":")[0] for reason in found} <= set(MEANINGS)


def _emptied(exchange: dict[str, Any]) -> dict[str, Any]:
    kept = ("turn", "user_state")
    return {key: value if key in kept else type(value)() for key, value in exchange.items()}


def test_an_unknown_dialogue_is_told() -> None:
    with pytest.raises(UsageError, match='"3"'):
        evaluate(gold_as("nlu"), GOLD).explain("3")


def test_the_page_shows_scores_dialogues_and_chinese_text() -> None:
    evaluated = evaluate(rule_tracker_file(GOLD.fold), GOLD)
    explanations = tuple(evaluated.explain_all())
    system = replace(evaluated.report(), name="RuleDST", explanations=explanations)
    assert title_of([system]) == "RuleDST · crosswoz-release test"
    html = to_html([system], title=title_of([system]), words=WORDS)
    for text in ("dst.joint_single_turn", "推荐您去小园。", "copy of the previous turn"):
        assert text in readable(html)


def test_what_stands_beside_systems_is_a_column_of_the_page() -> None:
    evaluated = evaluate(rule_tracker_file(GOLD.fold), GOLD)
    report = evaluated.report()
    system = replace(report, name="RuleDST")
    html = to_html([system, system], title="t", words=WORDS)
    table = html.partition('<table class="scores')[2].partition("</table>")[0]
    assert re.findall(r'class="reference">(\w[^<]*)</th>', table) == [
        "gold as prediction",
        "copy of the previous turn",
    ]
    first = table.partition("<tbody>")[2].partition("</tr>")[0]
    values = {score.name: score.value for score in report.scores if score.scope == WHOLE}
    assert re.findall(r'class="reference">([^<]*)</td>', first) == [
        f"{values[f'{beside}.dst.joint_single_turn']:.2f}" for beside in ("gold", "copy_previous")
    ]
    seen = re.sub(r"<(script|style).*?</\1>|<[^>]+>", "", html, flags=re.DOTALL)
    assert "Single-turn joint, gold" not in seen
    assert "joint_single_turn" not in seen


NOTHING: dict[str, Any] = {"response": "", "user_response": "", "selected": {}, "state": {}}


def shifted(plain: dict[str, Any], gold: Gold) -> dict[str, Any]:
    """Return a file in which every exchange has what the one before it had."""
    copy = {"_meta": plain["_meta"]}
    for name, dialogue in gold.fold.dialogues.items():
        exchanges = plain[name]
        for exchange, of_gold in zip(exchanges, dialogue.exchanges, strict=True):
            if "state" in exchange:
                exchange["state"] = of_gold.system.last_query
        first = {key: NOTHING.get(key, []) for key in exchanges[0] if key != "turn"}
        copy[name] = [
            {**before, "turn": turn} for turn, before in enumerate([first, *exchanges[:-1]])
        ]
    return copy


def gold_predictions(gold: Gold, track: str, fields: list[str]) -> dict[str, Any]:
    meta = {"conditioning": "gold_previous_state"} if track == "dst" else {}
    return gold_file(gold.fold, track, fields, **meta)


@pytest.mark.parametrize(
    ("track", "fields"),
    [
        ("nlg", FIELDS["nlg"]),
        ("nlg", ["response"]),
        ("nlg", ["user_response"]),
        ("e2e", FIELDS["e2e"]),
        ("e2e", [*FIELDS["e2e"], "system_acts"]),
    ],
)
def test_the_copy_is_what_a_file_of_the_turns_before_scores(track: str, fields: list[str]) -> None:
    gold = small_gold()
    plain = gold_predictions(gold, track, fields)
    beside = evaluate(plain, gold).report().metrics["beside"]["copy_previous"]
    copied = evaluate(shifted(plain, gold), gold).scored_table.scores()
    values = {
        each.name if each.scope == WHOLE else f"{each.name} {each.scope}": each.value
        for each in copied
    }
    expected = {name: values[name] for name in beside}
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
"""What docs/crosswoz.md says of the copies, on the test fold of the release."""


@pytest.mark.integration
@pytest.mark.parametrize("track", COPIES)
def test_on_the_test_fold_copies_are_far_below_gold(track: str) -> None:
    gold = Gold(fold())
    fields = FIELDS[track][-1:] if track == "nlg" else FIELDS[track]
    beside = evaluate(gold_predictions(gold, track, fields), gold).reference_scores()
    copied = {
        each.name if each.scope == WHOLE else f"{each.name} {each.scope}": each
        for each in beside["copy_previous"]
    }
    assert {name: each.value for name, each in copied.items()} == pytest.approx(
        COPIES[track], abs=5e-5
    )
    for of_copy, of_gold in zip(copied.values(), beside["gold"], strict=True):
        is_lower = of_copy.value < of_gold.value
        assert is_lower is not of_copy.lower_is_better


def test_responses_of_a_system_end_to_end_have_the_bleu_of_generated_ones() -> None:
    gold = small_gold()
    plain = gold_file(gold.fold, "e2e", FIELDS["e2e"])
    for name in gold.fold.dialogues:
        plain[name][0]["response"] = "您好，推荐您去这家店。"
    scores = {(s.name, s.scope): s for s in evaluate(plain, gold).scored_table.scores()}
    as_nlg = evaluate(plain, gold, Options(tracks=("nlg",))).scored_table.scores()
    assert as_nlg
    for score in as_nlg:
        if score.name == "nlg.bleu4":
            scope = score.scope.removeprefix("system").removeprefix(", ") or WHOLE
            found = scores["e2e.bleu4", scope]
            assert (found.value, found.n) == (score.value, score.n)
            assert 0 < found.value < 1
            assert "refs:act-group" in str(found.signature)


def test_both_tracks_of_one_file_show_their_own_scores() -> None:
    gold = small_gold()
    plain = gold_file(gold.fold, "e2e", FIELDS["e2e"])
    metrics = evaluate(plain, gold, Options(tracks=("e2e", "nlg"))).report().metrics
    assert metrics["e2e"]["bleu4"][WHOLE] == metrics["nlg"]["bleu4"]["system"]
    assert {"inform", "success", "bleu4"} == metrics["e2e"].keys()
