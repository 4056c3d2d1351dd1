"""Exact joint goal accuracy and its relatives as additive rows, whatever the states are of.

A state is a mapping of domain → slot → value here, already in the spelling that is compared; in a
gold state each slot has the values that are right for it, the first of them the one to show, and
`ABSENT` among them when leaving the slot out is right too. Domains without slots are left out.

A slot of a turn is *correct* (predicted and right), *missing* (only in the gold state), *spurious*
(only in the predicted state) or *wrong* (in both, not right). Joint goal accuracy is the percentage
of turns in which every slot is correct.

Sources: Henderson et al., "The Second Dialog State Tracking Challenge", SIGDIAL 2014 (joint goal);
Wu et al., ACL 2019 (slot accuracy); Rastogi et al., AAAI 2020 (average goal accuracy); Kim et al.,
ACL 2022 (relative slot accuracy).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure, percentage
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics import ScoreFunction, Sums

ABSENT = ""
"""Among the right values of a gold slot: leaving the slot out is right too."""

OTHER = "other"
"""Counts the slots that are not among the known ones."""

ERRORS = ("missing", "spurious", "wrong")
KINDS = ("correct", *ERRORS)
TOTALS = ("turns", "joint", "gold_turns", "goal_accuracy", "filled_turns", "relative_accuracy")
DOMAIN_COUNTS = ("active", "counted", "right", "dialogues")

Predicted = Mapping[str, Mapping[str, str]]
Gold = Mapping[str, Mapping[str, Sequence[str]]]
Agree = Callable[[str, Sequence[str]], bool]
Confusion = tuple[str, str, str]
"""A slot, `domain-slot`, with the gold and the predicted value."""

DomainTurns = Literal["active", "all", "dialogue"]
"""Which turns the joint goal accuracy of a domain is about: those in which the gold or the
predicted state has a slot of it; all; all turns of the dialogues whose gold states ever have one.
"""

WHOLE_TURN = 720720
"""Columns hold whole numbers, so that sums are the same in any order: a turn's mean over slots is
kept as so many parts of this, which is exact for up to 16 slots and else right to a millionth."""


@dataclass(slots=True)
class _Judged:
    """A domain's slots in one predicted and one gold state, and in how many turns they stood so."""

    domain: str
    predicted: Mapping[str, str] | None
    gold: Mapping[str, Sequence[str]] | None
    correct: list[str]
    missing: list[str]
    spurious: list[str]
    wrong: list[str]
    turns: int = 0
    right: bool = True
    gold_slots: int = 0
    all_slots: int = 0


class JointGoalAccuracy:
    """Counts and scores state tracking under one rule, `agree(value, right values)`.

    `slots` are the known slots by domain; when they are `closed`, states have no others, and slot
    accuracy is defined. Others count, under the name `other`. Columns begin with `prefix`.
    """

    def __init__(
        self,
        prefix: str,
        slots: Mapping[str, Sequence[str]],
        agree: Agree,
        *,
        closed: bool,
        domain_turns: DomainTurns,
    ) -> None:
        self.prefix = prefix
        self.domains = tuple(slots)
        self.slots = tuple(f"{domain}-{slot}" for domain in slots for slot in slots[domain])
        self.closed = closed
        self.domain_turns = domain_turns
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
        latest: dict[str, _Judged] = {}
        everything: list[_Judged] = []
        counted = joint = gold_turns = filled_turns = goal_accuracy = relative_accuracy = 0
        for predicted, gold in turns:
            counted += 1
            correct = gold_slots = all_slots = errors = 0
            culprit = ""
            for domain in predicted.keys() | gold.keys():
                of_predicted, of_gold = predicted.get(domain), gold.get(domain)
                judged = latest.get(domain)
                if (
                    judged is None
                    or judged.predicted is not of_predicted
                    or judged.gold is not of_gold
                ):
                    judged = self._judge(domain, of_predicted, of_gold)
                    latest[domain] = judged
                    everything.append(judged)
                judged.turns += 1
                correct += len(judged.correct)
                gold_slots += judged.gold_slots
                all_slots += judged.all_slots
                if not judged.right:
                    errors += 1
                    culprit = domain
            joint += not errors
            if errors == 1 and culprit in self._slot_columns:
                row[f"{self.prefix}.only.{culprit}"] += 1
            if gold_slots:
                gold_turns += 1
                goal_accuracy += round(WHOLE_TURN * correct / gold_slots)
            if all_slots:
                filled_turns += 1
                relative_accuracy += round(WHOLE_TURN * correct / all_slots)
        totals = [counted, joint, gold_turns, goal_accuracy, filled_turns, relative_accuracy]
        for judged in everything:
            self._count(row, judged, confusions)
        self._count_domains(row, everything, counted)
        row.update(zip(self._totals, totals, strict=True))
        return dict(row)

    def _judge(
        self,
        domain: str,
        predicted: Mapping[str, str] | None,
        gold: Mapping[str, Sequence[str]] | None,
    ) -> _Judged:
        judged = _Judged(domain, predicted, gold, [], [], [], [])
        values, right = predicted or {}, gold or {}
        for slot, accepted in right.items():
            if slot not in values:
                if ABSENT not in accepted:
                    judged.missing.append(slot)
            elif self._agree(values[slot], accepted):
                judged.correct.append(slot)
            else:
                judged.wrong.append(slot)
        judged.spurious = [slot for slot in values if slot not in right]
        judged.right = not (judged.missing or judged.wrong or judged.spurious)
        judged.gold_slots = len(judged.correct) + len(judged.missing) + len(judged.wrong)
        judged.all_slots = judged.gold_slots + len(judged.spurious)
        return judged

    def _count(
        self,
        row: defaultdict[str, int],
        judged: _Judged,
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
        self, row: defaultdict[str, int], everything: Sequence[_Judged], turns: int
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
