"""The MultiWOZ benchmark: Inform, Success, BLEU, richness and state tracking of predictions.

This module has the names and the allowed values of options. It is fast to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar, get_args

from mwzeval.errors import UsageError, did_you_mean

NAME = "multiwoz"
TITLE = "MultiWOZ"

SCORING_REVISION = 4
"""The revision in every signature. It is increased when the scores of the same input change."""
HEADLINE = ("inform", "success", "bleu", "combined")
"""The main scores of predictions."""

Name = TypeVar("Name", bound=str)

Rules = Literal["2021", "2023"]
RULES: tuple[Rules, ...] = get_args(Rules)
"""The normalization rules of leaderboard scores: rules 2021 until the end of 2022, and rules 2023
since then."""

Fold = Literal["test", "dev", "train"]
FOLDS: tuple[Fold, ...] = get_args(Fold)
ALSO_CALLED = {"val": "dev"}

AUTO: Final = "auto"
LEXICALIZED: Final = "lexicalized"
DELEXICALIZED: Final = "delexicalized"
Responses = Literal["auto", "lexicalized", "delexicalized"]
RESPONSES: tuple[Responses, ...] = get_args(Responses)
"""The kind of responses: lexicalized, or with placeholders. `auto` selects the prevalent kind."""
OWN_FORMAT = "mwzeval"
INPUT_FORMATS = (AUTO, OWN_FORMAT, "messages", "unified", "sgd")
"""Formats of predictions: docs/formats.md. `auto` detects the format from the content."""
LIVE = "live"
"""The name of the format of live dialogues in lists of formats."""
CONVLAB2 = "convlab2"
WITHOUT_FAULTS = "no user faults"
"""The scope of live dialogues in which the user makes no errors."""
CORPUS_USER = "corpus"
"""The name of the user whose turns come from the corpus."""

SAMPLE = "sample"
DEFAULT_CORPUS = "multiwoz-2.2"
CORPUS_NAMES = (
    *(DEFAULT_CORPUS, "multiwoz-2.1", "multiwoz-2.0", "multiwoz-2.3", "multiwoz-2.4"),
    SAMPLE,
)


def known_name(what: str, name: str, known: Sequence[Name]) -> Name:
    """Return the known name that `name` refers to. Raises `UsageError` for any other name."""
    for candidate in known:
        if candidate in (name, ALSO_CALLED.get(name), f"multiwoz-{name}"):
            return candidate
    # Years get no suggestion, because the most similar year is not the most likely intention.
    hint = "" if name.isdigit() else did_you_mean(name, known)
    raise UsageError(f'unknown {what} "{name}"{hint} (known: {", ".join(known)})')


def corpus_named(name: str) -> str:
    """Return the corpus that `name` refers to, by default MultiWOZ 2.2. Raises `UsageError`."""
    return DEFAULT_CORPUS if name == AUTO else known_name("corpus", name, CORPUS_NAMES)
