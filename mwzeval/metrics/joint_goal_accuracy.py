"""Exact joint goal accuracy and its relatives as additive rows, whatever the states are of.

Joint goal accuracy is the percentage of turns in which every slot is correct; what a correct slot
is, and what a state is, says `judged_states`.

Flexible goal accuracy gives a part of a turn's credit where the turn is wrong through errors of
turns before it alone: 1 − exp(−λ t), t turns after the latest turn that made an error itself.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy, F1 of a turn); Rastogi et al., AAAI 2020 (average goal
accuracy); Kim et al., ACL 2022 (relative slot accuracy); Dey et al., "Towards Fair Evaluation of
Dialogue State Tracking by Flexible Incorporation of Turn-level Performances", ACL 2022.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import expm1
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.judged_states import ABSENT, Agree, Gold, JudgedDomain, Predicted
from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.scores.score import WHOLE
from mwzeval.statistics import ScoreFunction, Sums

OTHER = "other"
"""Counts the slots that are not among the known ones."""

ERRORS = ("missing", "spurious", "wrong")
KINDS = ("correct", *ERRORS)
TOTALS = (
    *("turns", "joint", "gold_turns", "goal_accuracy", "filled_turns", "relative_accuracy"),
    *("turn_f1", "flexible"),
)
DOMAIN_COUNTS = ("active", "counted", "right", "dialogues")
DEPTHS = (*map(str, range(1, 10)), "10+")
"""Which turn of its dialogue a turn is; from the tenth on, which few dialogues have, together."""

DEPTH_COUNTS = ("turns_at", "joint_at", "dialogues_at")

FLEXIBLE = "flexible_goal_accuracy"
"""The one score whose signature has to tell λ."""

Confusion = tuple[str, str, str]
"""A slot, `domain-slot`, with the gold and the predicted value."""

DomainTurns = Literal["active", "all", "dialogue"]
"""Which turns the joint goal accuracy of a domain is about: those in which the gold or the
predicted state has a slot of it; all; all turns of the dialogues whose gold states ever have one.
"""

WHOLE_TURN = 720720
"""Columns hold whole numbers, so that sums are the same in any order: a turn's mean over slots is
kept as so many parts of this, which is exact for up to 16 slots and else right to a millionth."""
FINE_TURN = WHOLE_TURN * 2**10
"""The same right to a billionth, for what is no mean over slots."""


class JointGoalAccuracy:
    """Counts and scores state tracking under one rule, `agree(value, right values)`.

    `slots` are the known slots by domain; when they are `closed`, states have no others, and slot
    accuracy is defined. Others count, under the name `other`. Columns begin with `prefix`. The rate
    of flexible goal accuracy is `flexible_rate`, the λ of its paper: at 0 it is joint goal
    accuracy, and the higher, the less do errors of earlier turns count.
    """

    def __init__(
        self,
        prefix: str,
        slots: Mapping[str, Sequence[str]],
        agree: Agree,
        *,
        closed: bool,
        domain_turns: DomainTurns,
        flexible_rate: float,
    ) -> None:
        self.prefix = prefix
        self.domains = tuple(slots)
        self.slots = tuple(f"{domain}-{slot}" for domain in slots for slot in slots[domain])
        self.closed = closed
        self.domain_turns = domain_turns
        self.flexible_rate = flexible_rate
        self._agree = agree
        self._slot_columns = {
            domain: {
                (kind, slot): f"{prefix}.{kind}.{domain}-{slot}"
                for kind in KINDS
                for slot in slots[domain]
            }
            for domain in slots
        }
        self._totals = tuple(f"{prefix}.{total}" for total in TOTALS)
        named = self.slots if closed else (*self.slots, OTHER)
        self.columns = (
            *self._totals,
            *(f"{prefix}.{kind}" for kind in KINDS),
            *(f"{prefix}.{count}.{depth}" for count in DEPTH_COUNTS for depth in DEPTHS),
            *(f"{prefix}.{c}.{d}" for c in (*DOMAIN_COUNTS, "only") for d in self.domains),
            *(f"{prefix}.{kind}.{slot}" for kind in KINDS for slot in named),
        )

    def row(
        self,
        turns: Iterable[tuple[Predicted, Gold]],
        confusions: Counter[Confusion] | None = None,
    ) -> dict[str, float]:
        """Return the counts of a dialogue over (predicted, gold) states, one pair a turn.

        Wrong values go to `confusions` when it is given, once for each turn. Domains and states
        that stand as in the turn before should be the same objects: they are not looked at again.
        """
        row: defaultdict[str, int] = defaultdict(int)
        latest: dict[str, JudgedDomain] = {}
        everything: list[JudgedDomain] = []
        before: dict[str, JudgedDomain] = {}
        rights: list[bool] = []
        gold_turns = filled_turns = goal_accuracy = relative_accuracy = f1 = flexible = erring = 0
        for predicted, gold in turns:
            now: dict[str, JudgedDomain] = {}
            correct = gold_slots = predicted_slots = all_slots = errors = 0
            culprit = ""
            for domain in predicted.keys() | gold.keys():
                of_predicted, of_gold = predicted.get(domain), gold.get(domain)
                judged = latest.get(domain)
                if (
                    judged is None
                    or judged.predicted is not of_predicted
                    or judged.gold is not of_gold
                ):
                    judged = JudgedDomain.of(domain, of_predicted, of_gold, self._agree)
                    latest[domain] = judged
                    everything.append(judged)
                now[domain] = judged
                judged.turns += 1
                correct += len(judged.correct)
                gold_slots += judged.gold_slots
                predicted_slots += judged.predicted_slots
                all_slots += judged.all_slots
                if not judged.right:
                    errors += 1
                    culprit = domain
            if errors == 1 and culprit in self._slot_columns:
                row[f"{self.prefix}.only.{culprit}"] += 1
            if gold_slots:
                gold_turns += 1
                goal_accuracy += round(WHOLE_TURN * correct / gold_slots)
            if all_slots:
                filled_turns += 1
                relative_accuracy += round(WHOLE_TURN * correct / all_slots)
            # Two states without slots agree.
            in_both = gold_slots + predicted_slots
            f1 += round(FINE_TURN * 2 * correct / in_both) if in_both else FINE_TURN
            if not errors:
                flexible += FINE_TURN
            elif all(rights[-1:]) or any(j.has_new_error(before.get(d)) for d, j in now.items()):
                erring = len(rights)
            else:
                flexible += round(FINE_TURN * -expm1(self.flexible_rate * (erring - len(rights))))
            rights.append(not errors)
            before = now
        for judged in everything:
            self._count(row, judged, confusions)
        self._count_domains(row, everything, len(rights))
        self._count_depths(row, rights)
        totals = (len(rights), sum(rights), gold_turns, goal_accuracy, filled_turns)
        row.update(zip(self._totals, (*totals, relative_accuracy, f1, flexible), strict=True))
        return dict(row)

    def _count_depths(self, row: defaultdict[str, int], rights: Sequence[bool]) -> None:
        last = len(DEPTHS) - 1
        for turn, right in enumerate(rights):
            numbers = (1, right, turn <= last)
            for count, number in zip(DEPTH_COUNTS, numbers, strict=True):
                row[f"{self.prefix}.{count}.{DEPTHS[min(turn, last)]}"] += number

    def _count(
        self,
        row: defaultdict[str, int],
        judged: JudgedDomain,
        confusions: Counter[Confusion] | None,
    ) -> None:
        turns, columns = judged.turns, self._slot_columns.get(judged.domain, {})
        for kind, slots in zip(
            KINDS,
            (judged.correct, judged.missing, judged.spurious, judged.wrong),
            strict=True,
        ):
            if slots:
                row[f"{self.prefix}.{kind}"] += turns * len(slots)
                for slot in slots:
                    column = columns.get((kind, slot))
                    row[column or f"{self.prefix}.{kind}.{OTHER}"] += turns
        if confusions is not None and judged.wrong and judged.gold and judged.predicted:
            for slot in judged.wrong:
                accepted = judged.gold[slot]
                shown = next(value for value in accepted if value != ABSENT)
                confusions[f"{judged.domain}-{slot}", shown, judged.predicted[slot]] += turns

    def _count_domains(
        self, row: defaultdict[str, int], everything: Sequence[JudgedDomain], turns: int
    ) -> None:
        active: defaultdict[str, int] = defaultdict(int)
        wrong: defaultdict[str, int] = defaultdict(int)
        in_gold = set()
        for judged in everything:
            if judged.all_slots:
                active[judged.domain] += judged.turns
                if not judged.right:
                    wrong[judged.domain] += judged.turns
            if judged.gold:
                in_gold.add(judged.domain)
        for domain in self.domains if self.domain_turns == "all" else in_gold | active.keys():
            if domain not in self._slot_columns:
                continue
            counted = {
                "active": active[domain],
                "all": turns,
                "dialogue": turns if domain in in_gold else 0,
            }[self.domain_turns]
            names = (f"{self.prefix}.{count}.{domain}" for count in DOMAIN_COUNTS)
            right = counted - wrong[domain] if counted else 0
            row.update(zip(names, (active[domain], counted, right, int(counted > 0)), strict=True))

    def errors(self, sums: Mapping[str, float]) -> dict[str, dict[str, int]]:
        """Return how many turns each slot was correct, missing, spurious, wrong in, by slot.

        Slots that no state has are left out.
        """
        names = self.slots if self.closed else (*self.slots, OTHER)
        counts = {
            slot: {kind: int(sums[f"{self.prefix}.{kind}.{slot}"]) for kind in KINDS}
            for slot in names
        }
        return {slot: of_slot for slot, of_slot in counts.items() if any(of_slot.values())}


def joint_goal_measures(
    counts: JointGoalAccuracy, label: str, sign: Sign, sums: Mapping[str, float]
) -> Iterator[Measure]:
    """Yield the scores, all in percent; of domains only those that any state has.

    `joint_goal_accuracy` of all slots and of each domain's; `joint_goal_accuracy_without`: of
    the slots of all other domains, over all turns; `joint_goal_accuracy_at_turn`: of the first,
    second … turns of dialogues; `flexible_goal_accuracy`; over all slots of all turns,
    `slot_precision`, `slot_recall`, `slot_f1`, and `slot_accuracy` (of all known slots of all
    turns, how many are neither missing nor spurious nor wrong); `mean_turn_f1`, the mean over turns
    of the F1 of a turn's slots; `average_goal_accuracy`, the mean over turns with a gold slot of
    how many of their gold slots are correct; `relative_slot_accuracy`, the mean over turns with any
    slot of how many of the slots of either state are correct.
    """
    prefix = counts.prefix

    def measure(name: str, text: str, of: ScoreFunction, **more: str) -> Measure:
        return Measure(
            f"{prefix}.{name}",
            f"{text} ({label})",
            sign(name),
            of,
            1,
            more.get("scope", WHOLE),
            more.get("cases"),
        )

    def mean(part: str, of: str = "turns", whole: int = FINE_TURN) -> ScoreFunction:
        return partial(_mean, f"{prefix}.{part}", f"{prefix}.{of}", whole)

    present = [domain for domain in counts.domains if sums[f"{prefix}.active.{domain}"]]
    joint, turns = f"{prefix}.joint", f"{prefix}.turns"
    yield measure("joint_goal_accuracy", "JGA", percentage(joint, of=turns))
    for domain in present:
        counted = f"{prefix}.counted.{domain}"
        if sums[counted]:
            right = percentage(f"{prefix}.right.{domain}", of=counted)
            cases = f"{prefix}.dialogues.{domain}"
            yield measure("joint_goal_accuracy", "JGA", right, scope=domain, cases=cases)
    for domain in present:
        others = percentage(joint, f"{prefix}.only.{domain}", of=turns)
        yield measure("joint_goal_accuracy_without", "JGA without", others, scope=domain)
    for depth in DEPTHS:
        if sums[f"{prefix}.turns_at.{depth}"]:
            right = percentage(f"{prefix}.joint_at.{depth}", of=f"{prefix}.turns_at.{depth}")
            cases = f"{prefix}.dialogues_at.{depth}"
            yield measure(
                "joint_goal_accuracy_at_turn", "JGA at turn", right, scope=depth, cases=cases
            )
    yield measure(FLEXIBLE, "Flexible goal accuracy", mean("flexible"))
    yield measure("slot_f1", "Slot F1", partial(_f1, prefix))
    yield measure("slot_precision", "Slot precision", partial(_share, prefix, "spurious"))
    yield measure("slot_recall", "Slot recall", partial(_share, prefix, "missing"))
    if counts.closed:
        accuracy = partial(_slot_accuracy, prefix, len(counts.slots))
        yield measure("slot_accuracy", "Slot accuracy", accuracy)
    yield measure("mean_turn_f1", "Mean turn F1", mean("turn_f1"))
    for name, text, numerator, denominator in (
        ("average_goal_accuracy", "Average goal accuracy", "goal_accuracy", "gold_turns"),
        ("relative_slot_accuracy", "Relative slot acc.", "relative_accuracy", "filled_turns"),
    ):
        if sums[f"{prefix}.{denominator}"]:
            yield measure(name, text, mean(numerator, denominator, WHOLE_TURN))


def _mean(part: str, turns: str, whole: int, sums: Sums) -> NDArray[np.float64]:
    return 100 * sums[part] / (whole * sums[turns])


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
