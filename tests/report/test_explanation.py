"""Explanations on a terminal: in colours, in Chinese, and of dialogues with calls of functions."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from mwzeval.scores.explanation import (
    Explanation,
    Fact,
    Reason,
    TurnView,
    Utterance,
    against_text,
    compared_failures,
    count_outcomes,
    explanation_text,
    histogram_text,
    listing_text,
)
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import BOLD, PLAIN, Look
from mwzeval.text import width_of
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


LOST, WON = conversation(is_won=False), conversation(is_won=True)
STYLE = re.compile("\x1b\\[[0-9;]*m")


def against(look: Look) -> str:
    pairs = [(LOST, WON)]
    return against_text(
        ("ours", "theirs"), "1 dialogue", count_outcomes(pairs), compared_failures(pairs), look
    )


TEXTS: dict[str, Callable[[Look], str]] = {
    "full": lambda look: explanation_text(LOST, look=look),
    "listing": lambda look: listing_text([LOST], look),
    "histogram": lambda look: histogram_text([LOST], {"never-gave": "It is not given."}, look),
    "against": against,
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_the_same_in_colours_and_on_narrow_terminals(name: str) -> None:
    plain, coloured = TEXTS[name](PLAIN), TEXTS[name](Look(colours=True))
    assert f"\x1b[{BOLD}m" in coloured
    assert STYLE.sub("", coloured) == plain
    assert "\x1b" not in plain
    for width in (40, 80):
        narrow = TEXTS[name](Look(width=width))
        assert max(map(len, narrow.splitlines())) <= width
        # A listing shortens sentences to the line.
        assert name == "listing" or set(plain.split()) <= set(narrow.split())


def test_a_listing_has_reasons_in_full_where_no_terminal_is_narrow() -> None:
    assert LOST.reasons
    for reason in LOST.reasons:
        assert reason.text in listing_text([LOST])
        assert reason.text not in listing_text([LOST], Look(width=40))


REASONS = (
    Reason("wrong-constraint:酒店类型", "inform", "酒店", 0, "“石桥客栈” has “高档型”"),
    Reason("no-venue", "inform", "attraction", 0, "no venue was named"),
)
TURN = TurnView(
    (Utterance("user", "我要的酒店评分得是4.5分以上，" * 8),), (Fact("系统行为", "推荐", "酒店"),)
)
CHINESE = Explanation("1", {WHOLE: {"inform": False}}, (), (TURN,), REASONS)


@pytest.mark.parametrize("width", [None, 60])
def test_chinese_is_broken_where_lines_end_and_columns_are_aligned(width: int | None) -> None:
    lines = explanation_text(CHINESE, look=Look(width=width)).splitlines()
    assert max(map(width_of, lines)) <= (width or 96)
    (fact,) = [line for line in lines if "推荐" in line]
    (said,) = [line for line in lines if "user" in line]
    assert width_of(fact.partition("酒店:")[0]) == width_of(said.partition("我")[0])
    _, first, second = listing_text([CHINESE]).splitlines()
    for above, below in (("“石桥客栈”", "no venue was named"), ("wrong-constraint", "no-venue")):
        assert width_of(first.partition(above)[0]) == width_of(second.partition(below)[0]) > 0
