"""Score the gold annotation like a system, as the ceiling of the scores.

In annotated dialogues, users change their minds and wizards forget phone numbers. For this reason,
gold responses and states get Inform and Success below 100 (92.5 and 88.8 on the 2.1 test fold under
the rules of 2021). The grounded scores of the gold annotation use the original human responses and
the annotated states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz import DELEXICALIZED, LEXICALIZED, OWN_FORMAT, corpus_named
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.corpus import GoldFold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import CANONICAL
from mwzeval.scores.report import Report, score_records, summary
from mwzeval.scores.score import Signature, by_place
from mwzeval.scores.sheets import Document

if TYPE_CHECKING:
    from mwzeval.multiwoz.file_scorer import MultiWozScorer
    from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions

CEILING = "ceiling"
GOLD = "gold responses and states"
METRICS = {DELEXICALIZED: ("bleu", "success", "richness", "dst"), LEXICALIZED: ("grounded",)}
"""The metrics of gold responses by kind of responses; `dst_rules` is omitted, because gold states
score 100 %."""

# No canonical name is the beginning of another, and other text is in lower case.
_CANONICAL_NAME = re.compile("|".join(CANONICAL))


def gold_predictions(
    gold: GoldFold,
    predictions: Mapping[str, Sequence[object]] | None = None,
    *,
    in_words: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """Return gold responses and states as raw predictions, which are scored like those of a system.

    Responses contain placeholders in the usual spelling or, with `in_words`, the original text. The
    predictions have no active domains. If `predictions` of a system are given, only the predicted
    dialogues are returned, with as many turns as were predicted. Raises `KeyError` for an unknown
    dialogue.
    """

    def turns_of(dialogue: GoldDialogue) -> list[dict[str, Any]]:
        responses = dialogue.system_utterances
        if not in_words:
            responses = tuple(map(with_placeholders, dialogue.references))
        return [
            {"response": response, "state": state}
            for response, state in zip(responses, dialogue.states, strict=True)
        ]

    if predictions is None:
        return {name: turns_of(dialogue) for name, dialogue in gold.dialogues.items()}
    return {
        name: turns_of(gold.dialogues[name])[: len(turns)] for name, turns in predictions.items()
    }


def with_placeholders(reference: str) -> str:
    """Return a normalized response with placeholders ([name]) instead of canonical names (NAME)."""
    return _CANONICAL_NAME.sub(lambda match: f"[{CANONICAL[match[0]][0]}]", reference)


def ceiling_of(
    scorer: MultiWozScorer, system: ScoredPredictions | None, resampling: Resampling | None
) -> Report:
    """Return the report of the gold annotation, for the turns of a system or for a whole fold.

    The table of the report has the rows of the scores for delexicalized responses or, if none of
    these scores is requested, the rows of grounded scores.
    """
    if system is None:
        like = scorer.evaluator(*scorer.metrics)
        metrics, dialogues = like.metrics, None
        corpus = corpus_named(like.corpus)
    else:
        metrics, dialogues = system.scorer.metrics, system.dialogues
        corpus = system.scorer.gold.corpus
    arguments = {**scorer.arguments, "corpus": corpus, "input_format": OWN_FORMAT}
    arguments |= {"tools": None, "unfilled": (), "dst_rules": ()}
    reports = []
    for responses, names in METRICS.items():
        requested = {name: True for name in names if getattr(metrics, name)}
        if requested:
            evaluator = Evaluator(**{**arguments, **requested, "responses": responses})
            gold = evaluator.scorer(corpus).gold
            predictions = gold_predictions(gold, dialogues, in_words=responses == LEXICALIZED)
            scored = evaluator.score(predictions, progress=system is None)
            reports.append(scored.report(resampling))
    report = reports[0]
    for words in reports[1:]:
        grounded = {"grounded": words.metrics["grounded"]}
        scores = (*report.scores, *words.scores)
        report = replace(report, metrics={**report.metrics, **grounded}, scores=scores)
    return report


def signed_as_gold(report: Report) -> Report:
    """Return the report with signatures which show that the gold annotation was scored."""
    scores = []
    for score in report.scores:
        choices: dict[str, Any] = dict(score.signature.choices)
        if "state" in choices:
            choices["state"] = "gold"
        signature = Signature.of(score.signature.metric, choices | {"predictions": "gold"})
        scores.append(replace(score, signature=signature))
    return replace(report, scores=tuple(scores), meta={**report.meta, "predictions": GOLD})


def document_with(ceiling: Report, report: Report) -> Document:
    """Return the tables of a report, with each score of the ceiling next to the system's score."""
    own, gold = by_place(report.scores), by_place(ceiling.scores)
    beside = tuple(
        replace(gold[place], name=f"{CEILING}.{score.name}", signature=score.signature)
        for place, score in own.items()
        if place in gold
    )
    about = {CEILING: f"{GOLD} of the same dialogues, with the same settings"}
    document = summary(replace(report, scores=report.scores + beside, references=about))
    records = score_records(report)
    for record in records:
        of_gold = gold.get((record["score"], record["scope"]))
        record[CEILING] = of_gold and of_gold.value
    return replace(document, records=records, plain=report.to_dict())
