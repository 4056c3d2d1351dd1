"""The scores of an evaluation as measures: how each follows from rows, is called and signed.

Their functions have a place in a module, so that what was scored can be sent to other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.bleu import SIGNATURE as BLEU_SIGNATURE
from mwzeval.metrics.measure import Measure, ScoredTable, TypeMeasure
from mwzeval.metrics.richness import (
    MSTTR_WINDOW,
    conditional_entropy,
    count_ngrams,
    distinct,
    entropy,
)
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.corpus.references import References
from mwzeval.multiwoz.database.venues import FUZZY_THRESHOLD
from mwzeval.multiwoz.evaluation import ScoredDialogues
from mwzeval.multiwoz.grounding.scores import CHOICES as GROUNDED_CHOICES
from mwzeval.multiwoz.grounding.scores import grounded_measures
from mwzeval.multiwoz.predictions.unfilled import spelling
from mwzeval.multiwoz.scoring import DST_THRESHOLD
from mwzeval.multiwoz.tracking.joint_goals import JointGoals
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics import ScoreFunction, Sums, elementwise
from mwzeval.version import __version__, library_version

MSTTR_BLOCK = 10
"""Dialogues resampled together for MSTTR, whose windows tie neighbours together."""


def scored_table(evaluation: ScoredDialogues) -> ScoredTable:
    """Return an evaluation with all its measures, in the order of a report."""
    measures = [
        *_goal_success(evaluation),
        *_bleu(evaluation),
        *_state_tracking(evaluation),
        *_joint_goals(evaluation),
        *_grounded(evaluation),
    ]
    if not evaluation.metrics.richness:
        return ScoredTable(evaluation.table, tuple(measures))
    return ScoredTable(
        evaluation.table,
        (*measures, *_additive_richness(evaluation)),
        tuple(_word_types(evaluation)),
        partial(count_ngrams, evaluation.words, evaluation.table.units),
    )


def signature(
    evaluation: ScoredDialogues,
    metric: str,
    references: References | None = None,
    rule: JointGoals | None = None,
) -> Signature:
    """Return everything that was chosen and moves the scores of a metric."""
    scorer, sources = evaluation.scorer, evaluation.sources
    choices: dict[str, object] = {
        "corpus": f"{scorer.gold.corpus}@{scorer.gold.checksum}",
        "fold": scorer.gold.fold,
        "n": evaluation.table.count,
        "turns": evaluation.turns,
    }
    if scorer.gold.rollouts:
        choices["rollouts"] = "yes"
    if scorer.unfilled:
        choices["unfilled"] = ",".join(map(spelling, scorer.unfilled))
    if metric in ("inform", "success", "combined"):
        choices["state"] = "predicted" if sources.predicted_states else "gold"
        choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
        choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD}
    if metric in GROUNDED_CHOICES:
        choices["state"] = "predicted" if sources.predicted_states else "gold"
        if metric == "booking":
            choices["bookings"] = evaluation.computed(evaluation.table.sums()).bookings
        else:
            choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
        choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD, **GROUNDED_CHOICES[metric]}
    if metric not in ("dst", "booking"):
        choices |= _responses(scorer.delexicalizes(sources))
    if rule is not None:
        choices |= rule.choices()
    elif metric == "dst":
        choices |= {"rules": scorer.rules, "fuzzy": f">{DST_THRESHOLD}"}
    if "fuzzy" in choices and rule is None:
        choices["levenshtein"] = library_version("python-Levenshtein")
    if references is not None:
        choices |= {"references": f"{references.name}@{references.checksum}", **BLEU_SIGNATURE}
        choices["sacrebleu"] = library_version("sacrebleu")
    if metric == "richness":
        choices |= {"msttr": MSTTR_WINDOW, "lexdiv": library_version("lexical-diversity")}
    if metric in ("bleu", "combined", "richness"):
        choices["moses"] = library_version("sacremoses")
    choices |= {"rev": SCORING_REVISION, "version": __version__}
    return Signature.of(metric, choices)


def _responses(delexicalized_here: bool) -> dict[str, object]:
    """Return how responses came, and what the placeholders put into them here depend on."""
    if not delexicalized_here:
        return {"responses": "delexicalized"}
    return {"responses": LEXICALIZED, "rapidfuzz": library_version("rapidfuzz")}


def _goal_success(evaluation: ScoredDialogues) -> Iterator[Measure]:
    if not evaluation.metrics.success:
        return
    sums = evaluation.table.sums()
    for name, label in (("inform", "Inform"), ("success", "Success")):
        for scope in evaluation.scorer.goal_success.scopes:
            if sums[f"goals.{scope}"]:
                yield Measure(
                    name=name,
                    label=label,
                    signature=signature(evaluation, name),
                    of=_rate(f"{name}.{scope}", f"goals.{scope}"),
                    places=1,
                    scope=scope,
                    cases=f"goals.{scope}",
                    outcome=f"{name}.{scope}",
                )


def _grounded(evaluation: ScoredDialogues) -> Iterator[Measure]:
    if not evaluation.metrics.grounded:
        return
    sums = evaluation.table.sums()
    yield from grounded_measures(evaluation.computed(sums), sums, partial(signature, evaluation))


def _rate(outcome: str, cases: str) -> ScoreFunction:
    return partial(_percentage, outcome, cases)


def _percentage(outcome: str, cases: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[outcome] / sums[cases]


def _bleu(evaluation: ScoredDialogues) -> Iterator[Measure]:
    if not evaluation.metrics.bleu:
        return
    scorer = evaluation.scorer
    for name, references in scorer.reference_sets.items():
        signed = signature(evaluation, "bleu", references)
        score = _one_by_one(scorer.bleus[name].score, scorer.bleus[name].columns)
        yield Measure(f"bleu.{name}", f"BLEU ({name})", signed, score)
    own = scorer.reference_sets.get(scorer.gold.reference_set)
    if evaluation.metrics.success and own is not None:
        signed = signature(evaluation, "combined", own)
        bleu = scorer.bleus[own.name]
        score = _combined(_one_by_one(bleu.score, bleu.columns))
        yield Measure("combined", "Combined", signed, score)


def _combined(bleu: ScoreFunction) -> ScoreFunction:
    """Return (Inform + Success) / 2 + BLEU, the leaderboard's combined score.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    inform, success = (_rate(f"{name}.{WHOLE}", f"goals.{WHOLE}") for name in ("inform", "success"))
    return partial(_mean_plus, inform, success, bleu)


def _mean_plus(
    inform: ScoreFunction, success: ScoreFunction, bleu: ScoreFunction, sums: Sums
) -> NDArray[np.float64]:
    return (inform(sums) + success(sums)) / 2 + bleu(sums)


def _one_by_one(
    score: Callable[[Mapping[str, float]], float], columns: Sequence[str]
) -> ScoreFunction:
    return partial(_of_columns, score, tuple(columns))


def _of_columns(
    score: Callable[[Mapping[str, float]], float], columns: Sequence[str], sums: Sums
) -> NDArray[np.float64]:
    return elementwise(score)({column: sums[column] for column in columns})


def _state_tracking(evaluation: ScoredDialogues) -> Iterator[Measure]:
    if not evaluation.has_dst:
        return
    scorer = evaluation.scorer.state_tracking
    for name, label, places in (
        ("joint_accuracy", "Joint accuracy", 1),
        ("slot_f1", "Slot F1", 1),
        ("slot_precision", "Slot precision", 3),
        ("slot_recall", "Slot recall", 3),
    ):
        yield Measure(
            f"dst.{name}",
            label,
            signature(evaluation, "dst"),
            _one_by_one(partial(_item, scorer.scores, name), scorer.columns),
            places,
        )


def _joint_goals(evaluation: ScoredDialogues) -> Iterator[Measure]:
    if not evaluation.sources.predicted_states:
        return
    sums = evaluation.table.sums()
    for rule in evaluation.scorer.joint_goals:
        yield from rule.measures(signature(evaluation, "dst", rule=rule), sums)


def _item(
    scores: Callable[[Mapping[str, float]], Mapping[str, Any]], name: str, sums: Mapping[str, float]
) -> float:
    return float(scores(sums)[name])


def _additive_richness(evaluation: ScoredDialogues) -> Iterator[Measure]:
    signed = signature(evaluation, "richness")
    yield Measure(
        "richness.avg_lengths",
        "Words per turn",
        signed,
        _words_per_turn,
    )
    yield Measure(
        "richness.msttr",
        f"MSTTR-{MSTTR_WINDOW}",
        signed,
        _msttr,
        places=3,
        block=MSTTR_BLOCK,
        known=evaluation.richness.scores()["msttr"],
    )


def _words_per_turn(sums: Sums) -> NDArray[np.float64]:
    return sums["richness.words"] / sums["richness.turns"]


def _msttr(sums: Sums) -> NDArray[np.float64]:
    # Without a whole window this is 0/0; the library takes the ratio of the whole text then.
    return sums["richness.window_types"] / (MSTTR_WINDOW * sums["richness.windows"])


def _word_types(evaluation: ScoredDialogues) -> Iterator[TypeMeasure]:
    signed = signature(evaluation, "richness")
    scores: Mapping[str, Any] = evaluation.richness.scores()
    for name, label, of, places in (
        ("entropy", "Entropy (bits)", entropy, 2),
        ("cond_entropy", "Conditional entropy (bits)", conditional_entropy, 2),
        ("num_unigrams", "Distinct unigrams", partial(distinct, 1), 0),
        ("num_bigrams", "Distinct bigrams", partial(distinct, 2), 0),
        ("num_trigrams", "Distinct trigrams", partial(distinct, 3), 0),
    ):
        yield TypeMeasure(f"richness.{name}", label, signed, float(scores[name]), of, places)
