"""Exact joint goal accuracy and its relatives as additive rows, whatever the states are of.

A state is a mapping of domain → slot → value here, already in the spelling that is compared; in a
gold state each slot has the values that are right for it, the first of them the one to show, and
`ABSENT` among them when leaving the slot out is right too. Domains without slots are left out.

A slot of a turn is *correct* (predicted and right), *missing* (only in the gold state), *spurious*
(only in the predicted state) or *wrong* (in both, not right). Joint goal accuracy is the percentage
of turns in which every slot is correct.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
