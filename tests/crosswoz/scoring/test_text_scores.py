"""BLEU-4 and values that are not said, from predictions files."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.predictions.checking import Options
from mwzeval.crosswoz.scoring.baselines import gold_file
from mwzeval.crosswoz.scoring.evaluation import evaluate
from tests.crosswoz.real_data import figures, fold
from tests.crosswoz.small_world import small_gold

FIELDS = ["response", "user_response"]


@pytest.mark.exhaustive
def test_gold_texts_of_the_test_fold_score_as_in_the_golden_runs() -> None:
    gold = Gold(fold())
    evaluated = evaluate(gold_file(gold.fold, "nlg", FIELDS), gold)
    scores = {(s.name, s.scope): s for s in evaluated.scored_table.scores()}
    for side, key in (("user", "usr"), ("system", "sys")):
        golden = figures()["template_nlg"][key]
        bleu = scores["nlg.bleu4", side]
        assert bleu.value == pytest.approx(golden["bleu4_gold_as_hypothesis"], abs=1e-6)
        assert bleu.n == 500
        missing = 100 * golden["value_missing_rate_gold_text"]
        assert scores["nlg.missing_values", side].value == pytest.approx(missing, abs=1e-9)
        # Less than a perfect score, because values are put back in other places.
        assert 0.99 < scores["nlg.bleu4", f"{side}, CM"].value <= 1


def test_a_side_without_texts_has_no_scores() -> None:
    gold = small_gold()
    report = evaluate(gold_file(gold.fold, "nlg", FIELDS[:1]), gold).report()
    scopes = {score.scope for score in report.scores}
    assert scopes == {"system", "system, S", "system, CM"}
    assert report.metrics["nlg"]["missing_values"]["system"] < 50
    assert "gold.nlg.bleu4" in {score.name for score in report.scores}


def test_silence_says_no_value() -> None:
    gold = small_gold()
    file = gold_file(gold.fold, "nlg", FIELDS[:1])
    for name in gold.fold.dialogues:
        for exchange in file[name]:
            exchange["response"] = ""
    metrics = evaluate(file, gold, Options(("nlg",))).report().metrics
    assert metrics["nlg"]["missing_values"]["system"] == 100
    assert metrics["nlg"]["bleu4"]["system"] == 0
