"""Explanations on a terminal, of dialogues with calls of functions."""

from __future__ import annotations

from mwzeval.report.explanation_text import explanation_text
from tests.report.page.conversations import conversation


def test_calls_stand_before_the_answer_and_the_goal_is_ticked_off() -> None:
    text = explanation_text(conversation(is_won=False))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "books hotel: 2 people, 3 nights from monday ✗ never" in lines
    assert "asks hotel: phone ✓ turn 0" in lines
    assert "asks hotel: entrance fee – could not be met" in lines
    first = lines.index("Turn 0")
    assert [line.split()[0] for line in lines[first + 1 : first + 3]] == ["user", "call"]
    assert 'failed {"error": "there is no hotel \\"the loge\\""}' in lines
    assert "✓ hotel, asks: phone" in lines
    assert lines.index("✓ hotel, asks: phone") < lines.index("✗ Turn 1")
