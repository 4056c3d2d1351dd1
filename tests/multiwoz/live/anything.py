"""Strategies for texts and messages, valid or not, about the database of docs/metrics.md."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

WORDS = (
    *("the Blue Lantern", "Red Kettle", "Purple Frog", "TR0001", "01223000001", "7GAWK763"),
    *("restaurant", "taxi", "train", "cheap", "north", "the first one", "09:15", "cb10aa", "£4.40"),
    *("I couldn't find any", "no", "not", "or", "which", "unavailable", "sorry", "2 people"),
    *("red toyota", "\n1. ", "\n2. ", "- ", "|", ".", "?", "**", "booked", "reference", "monday"),
    *("phone", "\x00", "Ǆ", "¶", "İ"),
)
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
_FUNCTIONS = ("find_restaurant", "find_hotel", "book_restaurant", "book_taxi", "book_train", "f")
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["name", "people", "day", "time", "trainid", "leaveat"]), ANYTHING
)
_FUNCTION = st.fixed_dictionaries(
    {
        "name": st.sampled_from(_FUNCTIONS) | ANYTHING,
        "arguments": ANYTHING.map(json.dumps) | _ARGUMENTS,
    }
)
_IDS = st.sampled_from(["1", "2"]) | ANYTHING
_CALLS = st.fixed_dictionaries({"id": _IDS, "function": _FUNCTION | ANYTHING})
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | ANYTHING},
    optional={
        "content": st.just('{"count": 0}') | TEXTS | ANYTHING,
        "tool_calls": st.lists(_CALLS | ANYTHING, max_size=2) | ANYTHING,
        "tool_call_id": _IDS,
    },
)
