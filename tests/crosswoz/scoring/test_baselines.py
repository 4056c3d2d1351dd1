"""What stands beside every system, in every track: gold as prediction, and the turn before."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.predictions.checking import Options
from mwzeval.crosswoz.predictions.tracks import TRACKS
from mwzeval.crosswoz.scoring.baselines import gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.scores.score import WHOLE
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold

FIELDS = {
    "nlu": ["user_acts", "system_acts_nlu"],
    "dst": ["state"],
    "policy": ["system_acts"],
    "nlg": ["user_response", "response"],
    "sim": ["user_acts", "user_state"],
    "e2e": ["response", "state", "selected"],
}
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


@pytest.mark.parametrize("track", TRACKS)
def test_gold_and_the_turn_before_stand_beside_every_track(track: str) -> None:
    gold = small_gold()
    report = evaluate(gold_predictions(gold, track, FIELDS[track]), gold).report()
    beside = report.metrics["beside"]
    assert {"gold", "copy_previous"} <= beside.keys()
    assert beside["gold"].keys() == beside["copy_previous"].keys()


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


@pytest.mark.parametrize("track", COPIES)
@pytest.mark.exhaustive
def test_on_the_test_fold_copies_are_far_below_gold(track: str) -> None:
    gold = Gold(fold())
    fields = FIELDS[track][-1:] if track == "nlg" else FIELDS[track]
    beside = evaluate(gold_predictions(gold, track, fields), gold).beside()
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
