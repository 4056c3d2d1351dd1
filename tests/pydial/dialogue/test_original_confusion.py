"""What the original misheard in its traces is what sounds alike to a run with their seed."""

from __future__ import annotations

from collections import Counter

import pytest

from mwzeval.pydial.dialogue.acts import Act, parse_act
from mwzeval.pydial.dialogue.error_model import Confusion
from tests.pydial.dialogue.original_confusion import original_confusion
from tests.pydial.real_domains import traces

pytestmark = pytest.mark.integration


def misheard(confusion: Confusion, said: Act, heard: Act) -> tuple[str, bool] | None:
    """Return what was misheard and whether that sounds alike; None where it cannot be told."""
    if heard.name != said.name:
        return (
            None if heard.name == "null" else ("act", heard.name in confusion.acts[said.name].words)
        )
    wrong = [pair for pair in zip(said.items, heard.items, strict=True) if pair[0] != pair[1]]
    if not wrong or wrong[0][0].slot not in confusion.slots:
        return None
    if wrong[0][0].slot != wrong[0][1].slot:
        return "slot", all(b.slot in confusion.slots[a.slot].words for a, b in wrong)
    near = confusion.values_taken_for.get(wrong[0][0].slot, {}).get(str(wrong[0][0].value))
    if near is None or len(wrong) > 1:
        return None
    return "value", wrong[0][1].value in near.words


def test_what_was_misheard_sounds_alike() -> None:
    found = Counter(
        told
        for trace in traces()
        for turn in trace["turns"][1:]
        for text, _ in turn["nbest"]
        if (
            told := misheard(
                original_confusion(trace["task"].split("-")[1], trace["seed"]),
                parse_act(turn["user_true"]),
                parse_act(text),
            )
        )
    )
    assert found == {("act", True): 180, ("slot", True): 42, ("value", True): 47}
