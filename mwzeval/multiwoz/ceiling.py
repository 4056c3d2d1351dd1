"""The gold annotation as if a system had predicted it: how high the scores can be.

Annotated dialogues are not perfect (users change their minds, wizards forget a phone number), so
Inform and Success of the annotation itself stay below 100: 92.5 and 88.8 on the 2.1 test fold under
the rules of 2021.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.choices import AUTO, DEFAULT_CORPUS, OWN_FORMAT
from mwzeval.multiwoz.corpus.corpora import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.normalization.placeholders import CANONICAL
from mwzeval.scores.score import Report

if TYPE_CHECKING:
    from mwzeval.multiwoz.file_scorer import PredictionsScorer
    from mwzeval.multiwoz.scoring.scored_predictions import ScoredPredictions

# Longest first: TRAINID is not TRAIN and an ID. All other text of a reference is in lower case.
_CANONICAL_NAME = re.compile("|".join(sorted(CANONICAL, key=len, reverse=True)))


def gold_predictions(
    gold: GoldFold, of: Mapping[str, Sequence[object]] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return gold responses and states as raw predictions, to be scored as any system is.

    Placeholders are spelled as systems spell them; active domains are not predicted. `of` are the
    dialogues that a system predicted: of each, as many turns are returned as it has. Raises
    `KeyError` for a dialogue that the fold does not have.
    """
    if of is None:
        return {name: _turns(dialogue) for name, dialogue in gold.dialogues.items()}
    return {name: _turns(gold.dialogues[name])[: len(turns)] for name, turns in of.items()}


def _turns(dialogue: GoldDialogue) -> list[dict[str, Any]]:
    return [
        {"response": with_placeholders(reference), "state": state}
        for reference, state in zip(dialogue.references, dialogue.states, strict=True)
    ]


def with_placeholders(reference: str) -> str:
    """Return a normalised response with a placeholder for each canonical name: NAME → [name]."""
    return _CANONICAL_NAME.sub(lambda match: f"[{CANONICAL[match[0]][0]}]", reference)


def ceiling_of(
    scorer: PredictionsScorer, of: ScoredPredictions | None, resampling: Resampling | None
) -> Report:
    """Return the report of the gold annotation: of predicted turns, or of a whole fold."""
    if of is not None:
        checked = of.checked
        gold, dialogues = checked.scorer.gold, checked.dialogues
        evaluator = _for_gold(of.evaluator, gold.corpus)
        predictions = gold_predictions(gold, dialogues)
    else:
        corpus = scorer.arguments["corpus"]
        of_scorer = scorer.evaluator(*scorer.metrics)
        evaluator = _for_gold(of_scorer, DEFAULT_CORPUS if corpus == AUTO else corpus)
        root = corpus_root(evaluator.corpus, evaluator.data, offline=evaluator.offline)
        predictions = gold_predictions(load_fold(evaluator.corpus, evaluator.fold, root))
    return evaluator.score(predictions, progress=of is None).report(resampling)


def _for_gold(evaluator: Evaluator, corpus: str) -> Evaluator:
    """Return what scores the gold data of a corpus by the same metrics.

    Not by those in which gold data are right by definition: words held against the database, and
    state tracking under further rules.
    """
    asked = evaluator.metrics
    return Evaluator(
        asked.bleu,
        asked.success,
        asked.richness,
        asked.dst,
        corpus=corpus,
        fold=evaluator.fold,
        rules=evaluator.rules,
        data=evaluator.data,
        offline=evaluator.offline,
        references=evaluator.references,
        input_format=OWN_FORMAT,
        responses="delexicalized",
        rollouts=evaluator.rollouts,
    )
