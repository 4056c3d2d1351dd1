"""A slow implementation of joint goal accuracy and related scores by their definitions.

This module does not import the code under test. States are domain → slot → value. Gold states have
all right values of a slot, and "" if omitting the slot is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import exp

Predicted = Mapping[str, Mapping[str, str]]
Gold = Mapping[str, Mapping[str, Sequence[str]]]
Turn = tuple[Predicted, Gold]
Agree = Callable[[str, Sequence[str]], bool]


def outcomes(turn: Turn, agree: Agree, keep: Callable[[str], bool]) -> dict[tuple[str, str], str]:
    """Return the outcome of each slot of both states in the domains to keep."""
    predicted = {(d, s): v for d, slots in turn[0].items() if keep(d) for s, v in slots.items()}
    gold = {(d, s): v for d, slots in turn[1].items() if keep(d) for s, v in slots.items()}
    found = {}
    for slot in predicted.keys() | gold.keys():
        if slot not in gold:
            found[slot] = "spurious"
        elif slot in predicted:
            found[slot] = "correct" if agree(predicted[slot], gold[slot]) else "wrong"
        elif "" not in gold[slot]:
            found[slot] = "missing"
    return found


def joint(turn: Turn, agree: Agree, keep: Callable[[str], bool] = lambda domain: True) -> bool:
    return set(outcomes(turn, agree, keep).values()) <= {"correct"}


def flexible(dialogue: Sequence[Turn], agree: Agree, rate: float) -> list[float]:
    """Return flexible goal accuracy by turn; slots may have several right values or be optional."""
    credits: list[float] = []
    latest_error = -1
    for number, turn in enumerate(dialogue):
        credit = 1.0
        if not joint(turn, agree):
            before: Turn = dialogue[number - 1] if number else ({}, {})
            new = [
                (domain, slot)
                for now, then in zip(turn, before, strict=True)
                for domain, slots in now.items()
                for slot in slots
                if then.get(domain, {}).get(slot) != slots[slot]
            ]
            found = outcomes(turn, agree, lambda domain: True)
            spoilt = any(found.get(slot, "correct") != "correct" for slot in new)
            if not number or joint(before, agree) or spoilt:
                credit, latest_error = 0.0, number
            else:
                credit = 1 - exp(-rate * (number - latest_error))
        credits.append(credit)
    return credits


def turn_f1(turn: Turn, agree: Agree) -> Fraction:
    """Return the F1 of a turn: 1 for two empty states, 0 if only one is empty."""
    kinds = list(outcomes(turn, agree, lambda domain: True).values())
    right, wrong = kinds.count("correct"), kinds.count("wrong")
    predicted = right + wrong + kinds.count("spurious")
    gold = right + wrong + kinds.count("missing")
    if not predicted or not gold:
        return Fraction(predicted == gold)
    precision, recall = Fraction(right, predicted), Fraction(right, gold)
    return 2 * precision * recall / (precision + recall) if right else Fraction(0)


def scores(
    dialogues: Sequence[Sequence[Turn]],
    domains: Sequence[str],
    agree: Agree,
    domain_turns: str,
    known_slots: int | None,
    rate: float,
) -> dict[tuple[str, str], Fraction]:
    """Return the scores by name and scope, from 0 to 1."""
    turns = [turn for dialogue in dialogues for turn in dialogue]
    result = {("joint_goal_accuracy", "total"): mean([joint(turn, agree) for turn in turns])}
    for domain in domains:
        active = [turn for turn in turns if outcomes(turn, agree, domain.__eq__)]
        if not active:
            continue
        result["joint_goal_accuracy_without", domain] = mean(
            [joint(turn, agree, domain.__ne__) for turn in turns]
        )
        counted = {
            "active": active,
            "all": turns,
            "dialogue": [
                turn
                for dialogue in dialogues
                if any(domain in gold for _, gold in dialogue)
                for turn in dialogue
            ],
        }[domain_turns]
        if counted:
            result["joint_goal_accuracy", domain] = mean(
                [joint(turn, agree, domain.__eq__) for turn in counted]
            )
    for depth in range(10):
        at = [turn for d in dialogues for n, turn in enumerate(d) if min(n, 9) == depth]
        if at:
            name = "10+" if depth == 9 else str(depth + 1)
            result["joint_goal_accuracy_at_turn", name] = mean([joint(t, agree) for t in at])
    credits = [credit for dialogue in dialogues for credit in flexible(dialogue, agree, rate)]
    result["flexible_goal_accuracy", "total"] = Fraction(sum(credits)) / len(credits)
    result["mean_turn_f1", "total"] = mean([turn_f1(turn, agree) for turn in turns])
    all_outcomes = [list(outcomes(t, agree, lambda domain: True).values()) for t in turns]
    flat = [kind for of_turn in all_outcomes for kind in of_turn]
    correct, missing, spurious, wrong = map(flat.count, ("correct", "missing", "spurious", "wrong"))
    empty = Fraction(not (missing or spurious or wrong))
    for name, whole in (
        ("slot_precision", correct + spurious + wrong),
        ("slot_recall", correct + missing + wrong),
    ):
        result[name, "total"] = Fraction(correct, whole) if whole else empty
    whole = 2 * correct + missing + spurious + 2 * wrong
    result["slot_f1", "total"] = Fraction(2 * correct, whole) if whole else Fraction(1)
    if known_slots:
        errors = missing + spurious + wrong
        result["slot_accuracy", "total"] = 1 - Fraction(errors, known_slots * len(turns))
    for name, left_out in (
        ("average_goal_accuracy", "spurious"),
        ("relative_slot_accuracy", ""),
    ):
        kept = [[kind for kind in of_turn if kind != left_out] for of_turn in all_outcomes]
        means = [Fraction(of_turn.count("correct"), len(of_turn)) for of_turn in kept if of_turn]
        if means:
            result[name, "total"] = mean(means)
    return result


def mean(numbers: Sequence[Fraction | bool]) -> Fraction:
    return sum((Fraction(number) for number in numbers), Fraction(0)) / len(numbers)
