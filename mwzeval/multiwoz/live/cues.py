"""Cues: regular expressions in `cues.tsv` that give the meaning of words next to values.

Keys with the prefix `agent` are for agent utterances, which a user reads. Keys with the prefix
`user` are for user utterances, which the rule agent and the template system read. Texts must be in
lower case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.normalization import State

JOURNEYS = ("train", "taxi")
EVERYTHING = ("phone", "address", "postcode")
"""The slots that a user requests by asking for "information"."""
_PART = re.compile("%([a-z]+)%")


REMEMBERED = 2**10
"""The cache size, which exceeds the number of keys in the tables."""


@lru_cache(REMEMBERED)
def keyed_lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a table in `live`, by key. Raises `DataError` if it is damaged."""
    lines: dict[str, list[str]] = {}
    for key, text in table_rows(embedded("live", name), 2):
        lines.setdefault(key, []).append(text)
    return {key: tuple(texts) for key, texts in lines.items()}


def _expression(key: str) -> str:
    joined = "|".join(keyed_lines("cues.tsv")[key])
    return _PART.sub(lambda part: f"(?:{_expression(f'part {part[1]}')})", joined)


@lru_cache(REMEMBERED)
def cue(key: str) -> re.Pattern[str]:
    """Return the regular expression of a key."""
    return re.compile(_expression(key))


@lru_cache(REMEMBERED)
def cues(kind: str, *, words: bool = False) -> Mapping[str, re.Pattern[str]]:
    """Map the suffixes of all keys of a kind to their expressions; `words` matches whole words."""
    keys = [key for key in keyed_lines("cues.tsv") if key.startswith(f"{kind} ")]
    around = r"\b(?:{})\b" if words else "{}"
    return {
        key.removeprefix(f"{kind} "): re.compile(around.format(_expression(key))) for key in keys
    }


@lru_cache(REMEMBERED)
def word_list(key: str) -> frozenset[str]:
    """Return the words in a list."""
    return frozenset(keyed_lines("cues.tsv")[key][0].split())


def has(key: str, text: str) -> bool:
    """Return whether a text matches the cue of a key."""
    return cue(key).search(text) is not None


def meaning(kind: str, word: str) -> str | None:
    """Return the suffix of the key of this kind whose list contains a word."""
    return next((name for name, cued in cues(kind).items() if cued.fullmatch(word)), None)


def requested_slots(utterance: str) -> tuple[str, ...]:
    """Return the slots that an utterance probably asks for."""
    slots = [slot for slot, cued in cues("user request").items() if cued.search(utterance)]
    if not slots and has("user information", utterance) and not has("user last words", utterance):
        return EVERYTHING
    return tuple(slots)


def user_domains(utterance: str, state: State) -> tuple[str, ...]:
    """Return the domains that an utterance names, by a keyword or by the name of a venue."""
    return tuple(
        domain
        for domain, cued in cues("user domain").items()
        if cued.search(utterance) or (state.get(domain, {}).get("name") or "\n") in utterance
    )
