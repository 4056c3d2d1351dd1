"""Acts as texts: whatever the text, it is read in a time that grows with its length."""

from __future__ import annotations

import time

import pytest

from mwzeval.dialogue_management.acts import NULL, Act, Item, parse_act

LONG = 300_000


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
def test_long_texts_are_read_at_once(text: str, act: Act) -> None:
    began = time.thread_time()
    assert parse_act(text) == act
    assert time.thread_time() - began < 1.0
