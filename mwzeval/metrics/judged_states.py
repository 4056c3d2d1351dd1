"""A predicted state held against a gold state, slot by slot, whatever the states are of.

A state is a mapping of domain → slot → value here, already in the spelling that is compared; in a
gold state each slot has the values that are right for it, the first of them the one to show, and
`ABSENT` among them when leaving the slot out is right too. Domains without slots are left out.

A slot of a turn is *correct* (predicted and right), *missing* (only in the gold state), *spurious*
(only in the predicted state) or *wrong* (in both, not right).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ABSENT = ""
"""Among the right values of a gold slot: leaving the slot out is right too."""

Predicted = Mapping[str, Mapping[str, str]]
Gold = Mapping[str, Mapping[str, Sequence[str]]]
Agree = Callable[[str, Sequence[str]], bool]
"""Tells whether a value is among the right ones."""


@dataclass(slots=True)
class JudgedDomain:
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
    predicted_slots: int = 0
    all_slots: int = 0

    @classmethod
    def of(
        cls,
        domain: str,
        predicted: Mapping[str, str] | None,
        gold: Mapping[str, Sequence[str]] | None,
        agree: Agree,
    ) -> JudgedDomain:
        """Return what became of each slot of a domain; None is a state without the domain."""
        judged = cls(domain, predicted, gold, [], [], [], [])
        values, right = predicted or {}, gold or {}
        for slot, accepted in right.items():
            if slot not in values:
                if ABSENT not in accepted:
                    judged.missing.append(slot)
            elif agree(values[slot], accepted):
                judged.correct.append(slot)
            else:
                judged.wrong.append(slot)
        judged.spurious = [slot for slot in values if slot not in right]
        judged.right = not (judged.missing or judged.wrong or judged.spurious)
        in_both = len(judged.correct) + len(judged.wrong)
        judged.gold_slots = in_both + len(judged.missing)
        judged.predicted_slots = in_both + len(judged.spurious)
        judged.all_slots = judged.gold_slots + len(judged.spurious)
        return judged

    def has_new_error(self, before: JudgedDomain | None) -> bool:
        """Tell whether an error was made in this turn, `before` being the domain the turn before.

        That is so when what the annotation added or changed in this turn is not predicted, or when
        what the prediction added or changed is not right. Any other error was there before, or came
        of slots that are gone.
        """
        if before is self or self.right:
            return False
        predicted = before.predicted if before and before.predicted else {}
        gold = before.gold if before and before.gold else {}
        now_predicted, now_gold = self.predicted or {}, self.gold or {}
        return any(
            gold.get(slot) != now_gold[slot] for slot in (*self.missing, *self.wrong)
        ) or any(
            predicted.get(slot) != now_predicted[slot] for slot in (*self.spurious, *self.wrong)
        )
