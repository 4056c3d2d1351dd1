"""The scores of scored dialogues as measures, how each is signed, and views of them for JSON.

Functions of measures have a place in a module, so that they can be sent to other processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.bleu import SIGNATURE as BLEU_SIGNATURE
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.metrics.types import TypeCounts
from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.corpus.references import References
from mwzeval.multiwoz.database.venues import FUZZY_THRESHOLD
from mwzeval.multiwoz.grounding.scores import CHOICES as GROUNDED_CHOICES
from mwzeval.multiwoz.grounding.scores import grounded_measures, grounded_view
from mwzeval.multiwoz.predictions.unfilled import spelling
from mwzeval.multiwoz.scoring.goal_success import GOAL_SUCCESS
from mwzeval.multiwoz.scoring.richness import MSTTR_WINDOW, DialogueWords
from mwzeval.multiwoz.scoring.scored_dialogues import ScoredDialogues
from mwzeval.multiwoz.tracking.joint_goals import JointGoals, dst_measures
from mwzeval.multiwoz.tracking.states import DST_THRESHOLD
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.statistics.bootstrap import ScoreFunction, Sums
from mwzeval.version import __version__, library_version


def scored_table(dialogues: ScoredDialogues) -> ScoredTable:
    """Return scored dialogues with all their measures, in the order of a report."""
    table, scorer, metrics = dialogues.table, dialogues.scorer, dialogues.metrics
    sums, sign = table.sums(), cache(partial(signature, dialogues))
    measures: list[Measure] = []
    if metrics.success:
        measures += GOAL_SUCCESS.measures(sums, sign)
    if metrics.bleu:
        measures += _bleu_and_combined(dialogues)
    if dialogues.has_dst:
        measures += dst_measures(sign("dst"))
    if dialogues.sources.predicted_states:
        for rule in scorer.joint_goals:
            of_rule = cache(partial(signature, dialogues, "dst", None, rule))
            measures += rule.measures(of_rule, sums)
    if metrics.grounded:
        measures += grounded_measures(dialogues.computed(sums), sums, sign)
    if not metrics.richness:
        return ScoredTable(table, tuple(measures))
    measures += dialogues.richness.measures(sign("richness"))
    count_types = partial(_count_types, table.units, dialogues.words)
    return ScoredTable(table, tuple(measures), count_types)


def _count_types(units: Sequence[str], dialogues: Sequence[DialogueWords]) -> TypeCounts:
    return TypeCounts.of(zip(units, dialogues, strict=True))


def _bleu_and_combined(dialogues: ScoredDialogues) -> Iterator[Measure]:
    scorer = dialogues.scorer
    for name, references in scorer.reference_sets.items():
        yield from scorer.bleus[name].measures(signature(dialogues, "bleu", references))
    own = scorer.reference_sets.get(scorer.gold.reference_set)
    if dialogues.metrics.success and own is not None:
        signed = signature(dialogues, "combined", own)
        yield Measure(
            "combined", "Combined", signed, _combined(scorer.bleus[own.name].of), unit="points"
        )


def _combined(bleu: ScoreFunction) -> ScoreFunction:
    """Return (Inform + Success) / 2 + BLEU, the leaderboard's combined score.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    inform, success = (
        percentage(f"{name}.{WHOLE}", of=f"goals.{WHOLE}") for name in ("inform", "success")
    )
    return partial(_mean_plus, inform, success, bleu)


def _mean_plus(
    inform: ScoreFunction, success: ScoreFunction, bleu: ScoreFunction, sums: Sums
) -> NDArray[np.float64]:
    return (inform(sums) + success(sums)) / 2 + bleu(sums)


def plain_metrics(dialogues: ScoredDialogues, scores: Iterable[Score]) -> dict[str, Any]:
    """Return the scores in the known shape, unrounded; None for what was not computed."""
    metrics, sums = dialogues.metrics, dialogues.table.sums()
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        # What is shown without decimals is a count.
        value = score.value if score.places else int(score.value)
        values.setdefault(score.name, {})[score.scope] = value
    bleu = {name: values[f"bleu.{name}"][WHOLE] for name in dialogues.scorer.bleus}
    success = {name: values.get(name, {}) for name in ("inform", "success")}
    plain: dict[str, Any] = {
        "bleu": bleu if metrics.bleu else None,
        "success": success if metrics.success else None,
        "richness": _whole(values, "richness", RICHNESS) if metrics.richness else None,
        "dst": _state_tracking(values) if dialogues.has_dst else None,
    }
    if metrics.dst_rules and not dialogues.sources.predicted_states:
        plain["dst_rules"] = None
    elif metrics.dst_rules:
        plain["dst_rules"] = {
            rule.name: rule.view(values, sums, dialogues.confusions.get(rule.name, Counter()))
            for rule in dialogues.scorer.joint_goals
        }
    if metrics.grounded:
        plain["grounded"] = grounded_view(dialogues.computed(sums), sums, values)
    return plain


RICHNESS = (
    *("entropy", "cond_entropy", "avg_lengths", "msttr"),
    *("num_unigrams", "num_bigrams", "num_trigrams"),
)
STATE_TRACKING = ("joint_accuracy", "slot_f1", "slot_precision", "slot_recall")


def _state_tracking(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the part `dst` of the JSON report, in the units of the original evaluator.

    That is percent for joint accuracy and F1, and 0 to 1 for precision and recall.
    """
    plain = _whole(values, "dst", STATE_TRACKING)
    return {
        name: value / 100 if name in ("slot_precision", "slot_recall") else value
        for name, value in plain.items()
    }


def _whole(
    values: Mapping[str, Mapping[str, float]], prefix: str, names: Iterable[str]
) -> dict[str, float]:
    return {name: values[f"{prefix}.{name}"][WHOLE] for name in names}


def signature(
    dialogues: ScoredDialogues,
    metric: str,
    references: References | None = None,
    rule: JointGoals | None = None,
    score: str = "",
) -> Signature:
    """Return everything that was chosen and moves the scores of a metric.

    Under a rule of state tracking scores have signatures of their own, by their names.
    """
    scorer, sources = dialogues.scorer, dialogues.sources
    choices: dict[str, object] = {
        "corpus": f"{scorer.gold.corpus}@{scorer.gold.checksum}",
        "fold": scorer.gold.fold,
        "n": dialogues.table.count,
        "turns": dialogues.turns,
    }
    if scorer.gold.rollouts:
        choices["rollouts"] = "yes"
    if scorer.unfilled:
        choices["unfilled"] = ",".join(map(spelling, scorer.unfilled))
    if scorer.tools is not None:
        choices["tools"] = scorer.tools
    if metric in ("inform", "success", "combined"):
        choices["state"] = "predicted" if sources.predicted_states else "gold"
        choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
        choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD}
    if metric in GROUNDED_CHOICES:
        choices["state"] = "predicted" if sources.predicted_states else "gold"
        if metric == "booking":
            choices["bookings"] = dialogues.computed(dialogues.table.sums()).bookings
        else:
            choices["domains"] = "predicted" if sources.predicted_domains else "estimated"
        choices |= {"rules": scorer.rules, "fuzzy": FUZZY_THRESHOLD, **GROUNDED_CHOICES[metric]}
    if metric not in ("dst", "booking"):
        choices |= _responses(scorer.delexicalizes(sources))
    if rule is not None:
        choices |= rule.choices(score)
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
