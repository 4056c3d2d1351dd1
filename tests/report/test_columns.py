"""Texts as wide as a terminal shows them."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.report.explanation_text import explanation_text, listing_text
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Look
from mwzeval.text import CLOSING, OPENING, broken, cut, padded, width_of

MIXED = st.text(alphabet="ab ,.（，“”酒店価格ｶカé\u0301-", max_size=200)


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("餐馆", 4), ("a餐b", 4), ("“餐”", 4), ("ｶ", 1), ("e\u0301", 1)],
)
def test_wide_characters_are_two_columns_and_accents_none(text: str, width: int) -> None:
    assert width_of(text) == width


def test_blanks_and_ellipses_go_by_columns() -> None:
    assert padded("餐馆", 6) + "|" == "餐馆  |"
    assert padded("餐馆", 3) == "餐馆"
    assert cut("餐馆酒店", 8) == "餐馆酒店"
    assert cut("餐馆酒店", 7) == "餐馆酒…"
    assert cut("餐馆酒店", 6) == "餐馆…"
    assert cut("a\x1b[2J", 20) == "a\\x1b[2J"


@given(st.text(alphabet="ab -,.\n\t", max_size=200), st.integers(10, 40))
def test_latin_words_are_broken_as_usual(text: str, width: int) -> None:
    assert broken(text, width, "  ", "    ") == wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


@given(MIXED, st.integers(10, 40))
def test_no_line_is_too_wide_and_none_of_the_text_is_lost(text: str, width: int) -> None:
    lines = broken(text, width, "  ")
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(line.startswith("  ") for line in lines)
    longest = max(map(width_of, lines), default=0)
    # Marks that stand together with a character make it as long as a word.
    if not any(a in OPENING or b in CLOSING for a, b in pairwise(text)):
        assert longest <= width


def test_marks_stay_with_the_character_that_they_belong_to() -> None:
    assert broken("他说：“可以。”", 7) == ["他说：", "“可", "以。”"]


REASONS = (
    Reason("wrong-constraint:酒店类型", "inform", "酒店", 0, "“石桥客栈” has “高档型”"),
    Reason("no-venue", "inform", "attraction", 0, "no venue was named"),
)
TURN = TurnView(
    (Utterance("user", "我要的酒店评分得是4.5分以上，" * 8),), (Fact("系统行为", "推荐", "酒店"),)
)
LOST = Explanation("1", {WHOLE: {"inform": False}}, (), (TURN,), REASONS)


def test_columns_of_a_listing_begin_below_each_other() -> None:
    _, *lines = listing_text([LOST]).splitlines()
    for cells in (("wrong-constraint:酒店类型", "no-venue"), ("“石桥客栈”", "no venue was named")):
        (start,) = {
            width_of(line.partition(cell)[0]) for line, cell in zip(lines, cells, strict=True)
        }
        assert start > 0


@pytest.mark.parametrize("width", [None, 60])
def test_chinese_is_broken_where_lines_end(width: int | None) -> None:
    text = explanation_text(LOST, look=Look(width=width))
    assert max(map(width_of, text.splitlines())) <= (width or 96)
    (fact,) = [line for line in text.splitlines() if "推荐" in line]
    (said,) = [line for line in text.splitlines() if "user" in line]
    assert width_of(fact.partition("酒店:")[0]) == width_of(said.partition("我")[0])
