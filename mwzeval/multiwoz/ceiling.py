"""The gold annotation as if a system had predicted it: how high the scores can be.

Annotated dialogues are not perfect (users change their minds, wizards forget a phone number), so
Inform and Success of the annotation itself stay below 100: 92.5 and 88.8 on the 2.1 test fold under
the rules of 2021. Grounded scores are those of the human responses in words, with the annotated
states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.choices import AUTO, DEFAULT_CORPUS, DELEXICALIZED, LEXICALIZED, OWN_FORMAT
from mwzeval.multiwoz.corpus.corpora import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.normalization.placeholders import CANONICAL
from mwzeval.multiwoz.scoring.scored_dialogues import Metrics
from mwzeval.scores.report import Report
from mwzeval.scores.score import Signature

if TYPE_CHECKING:
    from mwzeval.multiwoz.file_scorer import PredictionsScorer
    from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions

GOLD = "gold responses and states"

# Longest first: TRAINID is not TRAIN and an ID. All other text of a reference is in lower case.
_CANONICAL_NAME = re.compile("|".join(sorted(CANONICAL, key=len, reverse=True)))


def gold_predictions(
    gold: GoldFold, of: Mapping[str, Sequence[object]] | None = None, *, in_words: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Return gold responses and states as raw predictions, to be scored as any system is.

    Placeholders are spelled as systems spell them, and `in_words` there are none; active domains
    are not predicted. `of` are the
    dialogues that a system predicted: of each, as many turns are returned as it has. Raises
    `KeyError` for a dialogue that the fold does not have.
    """
    turns_of = _turns_in_words if in_words else _turns
    if of is None:
        return {name: turns_of(dialogue) for name, dialogue in gold.dialogues.items()}
    return {name: turns_of(gold.dialogues[name])[: len(turns)] for name, turns in of.items()}


def _turns(dialogue: GoldDialogue) -> list[dict[str, Any]]:
    return [
        {"response": with_placeholders(reference), "state": state}
        for reference, state in zip(dialogue.references, dialogue.states, strict=True)
    ]


def _turns_in_words(dialogue: GoldDialogue) -> list[dict[str, Any]]:
    return [
        {"response": response, "state": state}
        for response, state in zip(dialogue.system_utterances, dialogue.states, strict=True)
    ]


def with_placeholders(reference: str) -> str:
    """Return a normalised response with a placeholder for each canonical name: NAME → [name]."""
    return _CANONICAL_NAME.sub(lambda match: f"[{CANONICAL[match[0]][0]}]", reference)


def ceiling_of(
    scorer: PredictionsScorer, of: ScoredPredictions | None, resampling: Resampling | None
) -> Report:
    """Return the report of the gold annotation: of predicted turns, or of a whole fold.

    Its table is that of the scores of placeholders where any are asked for, else of words.
    """
    like = scorer.evaluator(*scorer.metrics)
    if of is not None:
        metrics, gold = of.dialogues.metrics, of.checked.scorer.gold
        dialogues: Mapping[str, Sequence[object]] | None = of.checked.dialogues
    else:
        chosen = scorer.arguments["corpus"]
        corpus = DEFAULT_CORPUS if chosen == AUTO else chosen
        gold = load_fold(corpus, like.fold, corpus_root(corpus, like.data, offline=like.offline))
        metrics, dialogues = like.metrics, None
    reports = []
    for in_words in (False, True):
        evaluator = _for_gold(like, metrics, gold.corpus, in_words=in_words)
        if evaluator.metrics != Metrics():
            predictions = gold_predictions(gold, dialogues, in_words=in_words)
            scored = evaluator.score(predictions, progress=of is None)
            reports.append(scored.report(resampling))
    return reports[0] if len(reports) == 1 else _joined(*reports)


def _joined(placeholders: Report, words: Report) -> Report:
    """Return the report with the grounded scores of the other."""
    return replace(
        placeholders,
        metrics={**placeholders.metrics, "grounded": words.metrics["grounded"]},
        scores=(*placeholders.scores, *words.scores),
    )


def signed_as_gold(report: Report) -> Report:
    """Return the report of the gold annotation with signatures that say so."""
    scores = []
    for score in report.scores:
        choices: dict[str, Any] = dict(score.signature.choices)
        if "state" in choices:
            choices["state"] = "gold"
        signature = Signature.of(score.signature.metric, choices | {"predictions": "gold"})
        scores.append(replace(score, signature=signature))
    return replace(report, scores=tuple(scores), meta={**report.meta, "predictions": GOLD})


def _for_gold(evaluator: Evaluator, asked: Metrics, corpus: str, *, in_words: bool) -> Evaluator:
    """Return what scores the gold data of a corpus by the metrics of words, or by the others.

    Not by state tracking under further rules, in which gold data are right by definition.
    """
    chosen = (
        {"grounded": asked.grounded}
        if in_words
        else {name: getattr(asked, name) for name in ("bleu", "success", "richness", "dst")}
    )
    return Evaluator(
        **chosen,
        corpus=corpus,
        fold=evaluator.fold,
        rules=evaluator.rules,
        data=evaluator.data,
        offline=evaluator.offline,
        references=evaluator.references,
        input_format=OWN_FORMAT,
        responses=LEXICALIZED if in_words else DELEXICALIZED,
        rollouts=evaluator.rollouts,
    )
