"""Acts as texts: whatever the text, it is read in a time that grows with its length."""

from __future__ import annotations

import pytest

from mwzeval.pydial.dialogue.acts import NULL, Act, Item, parse_act

LONG = 3_000_000
"""So long that trying the blanks one by one would take hours: the limit of pytest ends the test."""


@pytest.mark.parametrize(
    ("text", "act"),
    [
        (f"inform(a{' ' * LONG}!)", NULL),
        (f'inform(a=b{" " * LONG}")', NULL),
        (f'inform(a={" " * LONG}")', NULL),
        (f'inform(a="b"{" " * LONG}!)', NULL),
        (f"inform({' ' * LONG})", NULL),
        (f"inform({')' * LONG}x", NULL),
        (f'inform(a{" " * LONG}="b")', Act("inform", (Item("a", "b"),))),
        (f"inform(a={' ' * LONG}b{' ' * LONG})", Act("inform", (Item("a", "b"),))),
    ],
    ids=range(8),
)
def test_long_texts_are_read(text: str, act: Act) -> None:
    assert parse_act(text) == act
