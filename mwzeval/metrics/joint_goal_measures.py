"""Joint goal accuracy and its relatives as measures over the rows of `JointGoalAccuracy`.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy); Rastogi et al., AAAI 2020 (average goal accuracy); Kim et al.,
ACL 2022 (relative slot accuracy).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.joint_goal_accuracy import ERRORS, KINDS, WHOLE_TURN, JointGoalAccuracy
from mwzeval.scores.measure import Measure
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics import ScoreFunction, Sums


def joint_goal_measures(
    counts: JointGoalAccuracy, label: str, signature: Signature, sums: Mapping[str, float]
) -> Iterator[Measure]:
    """Yield the scores, all in percent; of domains only those that any state has.

    `joint_goal_accuracy` of all slots and of each domain's; `joint_goal_accuracy_without`: of
    the slots of all other domains, over all turns; over all slots of all turns,
    `slot_precision`, `slot_recall`, `slot_f1`, and `slot_accuracy` (of all known slots of all
    turns, how many are neither missing nor spurious nor wrong); `average_goal_accuracy`, the
    mean over turns with a gold slot of how many of their gold slots are correct;
    `relative_slot_accuracy`, the mean over turns with any slot of how many of the slots of
    either state are correct.
    """
    prefix = counts.prefix

    def measure(name: str, text: str, of: ScoreFunction, **more: str) -> Measure:
        return Measure(
            f"{prefix}.{name}",
            f"{text} ({label})",
            signature,
            of,
            1,
            more.get("scope", WHOLE),
            more.get("cases"),
        )

    present = [domain for domain in counts.domains if sums[f"{prefix}.active.{domain}"]]
    joint, turns = f"{prefix}.joint", f"{prefix}.turns"
    yield measure("joint_goal_accuracy", "JGA", partial(_percentage, (joint,), turns))
    for domain in present:
        counted = f"{prefix}.counted.{domain}"
        if sums[counted]:
            right = partial(_percentage, (f"{prefix}.right.{domain}",), counted)
            cases = f"{prefix}.dialogues.{domain}"
            yield measure("joint_goal_accuracy", "JGA", right, scope=domain, cases=cases)
    for domain in present:
        others = partial(_percentage, (joint, f"{prefix}.only.{domain}"), turns)
        yield measure("joint_goal_accuracy_without", "JGA without", others, scope=domain)
    yield measure("slot_f1", "Slot F1", partial(_f1, prefix))
    yield measure("slot_precision", "Slot precision", partial(_share, prefix, "spurious"))
    yield measure("slot_recall", "Slot recall", partial(_share, prefix, "missing"))
    if counts.closed:
        accuracy = partial(_slot_accuracy, prefix, len(counts.slots))
        yield measure("slot_accuracy", "Slot accuracy", accuracy)
    for name, text, numerator, denominator in (
        ("average_goal_accuracy", "Average goal accuracy", "goal_accuracy", "gold_turns"),
        ("relative_slot_accuracy", "Relative slot acc.", "relative_accuracy", "filled_turns"),
    ):
        if sums[f"{prefix}.{denominator}"]:
            mean = partial(_mean, f"{prefix}.{numerator}", f"{prefix}.{denominator}")
            yield measure(name, text, mean)


def _percentage(parts: Sequence[str], whole: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * sum((sums[part] for part in parts), np.zeros(())) / sums[whole]


def _mean(part: str, turns: str, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[part] / (WHOLE_TURN * sums[turns])


def _share(prefix: str, error: str, sums: Sums) -> NDArray[np.float64]:
    """Return correct slots in percent of those predicted (`spurious`) or annotated (`missing`).

    Without any of these it is 0, but 100 when the other side has none either.
    """
    correct, wrong = sums[f"{prefix}.correct"], sums[f"{prefix}.wrong"]
    other = "missing" if error == "spurious" else "spurious"
    perfect = correct + wrong + sums[f"{prefix}.{other}"] == 0
    return _over(correct, correct + wrong + sums[f"{prefix}.{error}"], perfect)


def _f1(prefix: str, sums: Sums) -> NDArray[np.float64]:
    correct, missing, spurious, wrong = (sums[f"{prefix}.{kind}"] for kind in KINDS)
    whole = 2 * correct + missing + spurious + 2 * wrong
    return _over(2 * correct, whole, np.ones_like(whole, dtype=bool))


def _over(
    part: NDArray[np.float64], whole: NDArray[np.float64], perfect: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return 100 × part / whole; 100 or 0 where there is no whole."""
    empty = np.where(perfect, 100.0, 0.0)
    return np.where(whole > 0, 100 * part / np.where(whole > 0, whole, 1), empty)


def _slot_accuracy(prefix: str, slots: int, sums: Sums) -> NDArray[np.float64]:
    errors = sum((sums[f"{prefix}.{kind}"] for kind in ERRORS), np.zeros(()))
    return 100 * (1 - errors / (slots * sums[f"{prefix}.turns"]))
