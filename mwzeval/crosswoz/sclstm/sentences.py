"""Sentences without values, as a generator learns and says them.

A sentence is words and placeholders. A placeholder stands for the value of an act: `[KEY]` for the
first of its kind, `[KEY2]` for the next, with the act keys of templates. Where a turn has a kind of
act several times, the values of a training sentence are numbered as the sentence says them: in
which order a wizard says three names cannot be learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.crosswoz.corpus.acts import Acts, act_key, is_said, value_of
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.crosswoz.corpus.normalization import words_of
from mwzeval.crosswoz.scoring.slot_errors import redundant, venue_names
from mwzeval.crosswoz.simulation.protocols import Side
from mwzeval.crosswoz.systems.templates import turns_of

START, END = "<start>", "<end>"


def features(acts: Acts) -> tuple[str, ...]:
    """Return what a sentence is conditioned on: the acts' keys, numbered from the second on."""
    seen: Counter[str] = Counter()
    found = []
    for act in acts:
        key = act_key(act)
        seen[key] += 1
        found.append(_numbered(key, seen[key]))
    return tuple(found)


def placeholder_values(acts: Acts) -> dict[str, str]:
    """Return placeholder → value of all acts whose value a sentence should say."""
    pairs = zip(features(acts), acts, strict=True)
    return {f"[{feature}]": value_of(act) for feature, act in pairs if is_said(act)}


def _numbered(key: str, number: int) -> str:
    return key if number == 1 else f"{key}{number}"


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence to learn: the features of its acts, and its words and placeholders."""

    features: tuple[str, ...]
    tokens: tuple[str, ...]


def examples_of(dialogues: Iterable[Dialogue], side: Side) -> list[Example]:
    """Return the sentences of a side that say all values of their acts, and nothing beside them.

    Raises `DependencyError` without jieba.
    """
    learned = list(dialogues)
    names = venue_names(learned)
    found = []
    for dialogue in learned:
        for turn in turns_of(dialogue, side):
            tokens = tokens_of(turn.utterance, turn.acts)
            if tokens and not redundant(turn.utterance, turn.acts, names):
                found.append(Example(tuple(sorted(features(turn.acts))), tokens))
    return found


def tokens_of(utterance: str, acts: Acts) -> tuple[str, ...] | None:
    """Return the words of an utterance with placeholders for values, None when it lacks a value.

    Of values inside each other the longest is found.
    """
    waiting: dict[str, list[str]] = {}
    for act in acts:
        if is_said(act) and (value := value_of(act)):
            waiting.setdefault(value, []).append(act_key(act))
    if not waiting:
        return words_of(utterance)
    longest_first = sorted(waiting, key=lambda value: (-len(value), value))
    tokens: list[str] = []
    counts: Counter[str] = Counter()
    said: dict[str, str] = {}
    for part in re.split(f"({'|'.join(map(re.escape, longest_first))})", utterance):
        if part not in waiting:
            tokens += words_of(part)
            continue
        if waiting[part]:
            key = waiting[part].pop(0)
            counts[key] += 1
            said[part] = f"[{_numbered(key, counts[key])}]"
        tokens.append(said[part])
    return None if any(waiting.values()) else tuple(tokens)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The features and tokens that a model knows, each numbered by its place."""

    features: tuple[str, ...]
    tokens: tuple[str, ...]
    """Begins with `START`, which fills up batches too, and `END`."""

    @classmethod
    def of(cls, examples: Sequence[Example], rarest: int) -> Vocabulary:
        """Return all features of examples, and the tokens that come `rarest` times or more."""
        counts = Counter(token for example in examples for token in example.tokens)
        known = {feature for example in examples for feature in example.features}
        often = sorted(token for token, count in counts.items() if count >= rarest)
        return cls(tuple(sorted(known)), (START, END, *often))

    @classmethod
    def checked(cls, features: Any, tokens: Any) -> Vocabulary:
        """Return the vocabulary that a file has. Raises `ValueError` for what is none."""
        for what in (features, tokens):
            if not is_texts(what) or len(set(what)) != len(what):
                raise ValueError("features and tokens are lists of different texts")
        if tokens[:2] != [START, END]:
            raise ValueError("the tokens do not begin with start and end")
        return cls(tuple(features), tuple(tokens))
