"""The names that users choose among, apart from what they stand for, so that asking is cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar, get_args

from mwzeval.errors import UsageError, did_you_mean

Name = TypeVar("Name", bound=str)

Rules = Literal["2021", "2023"]
RULES: tuple[Rules, ...] = get_args(Rules)
"""2021: behind every leaderboard figure up to the end of 2022. 2023: the public evaluator since."""

Fold = Literal["test", "dev", "train"]
FOLDS: tuple[Fold, ...] = get_args(Fold)
ALSO_CALLED = {"val": "dev"}

AUTO: Final = "auto"
LEXICALIZED: Final = "lexicalized"
DELEXICALIZED: Final = "delexicalized"
Responses = Literal["auto", "lexicalized", "delexicalized"]
RESPONSES: tuple[Responses, ...] = get_args(Responses)
"""How responses are written: in words, or with placeholders. `auto`: as most of the input."""
OWN_FORMAT = "mwzeval"
INPUT_FORMATS = (AUTO, OWN_FORMAT, "messages", "unified", "sgd")
"""How predictions are written: docs/formats.md. `auto`: told by their shape."""
LIVE = "live"
"""What files of live dialogues are called where it is said how a file is written."""
CONVLAB2 = "convlab2"
WITHOUT_FAULTS = "no user faults"
"""The scope of the live dialogues in which the user has made no fault."""
CORPUS_USER = "corpus"
"""Who talks to an agent that answers the corpus' own turns."""

SAMPLE = "sample"
DEFAULT_CORPUS = "multiwoz-2.2"
CORPUS_NAMES = (
    *(DEFAULT_CORPUS, "multiwoz-2.1", "multiwoz-2.0", "multiwoz-2.3", "multiwoz-2.4"),
    SAMPLE,
)


def known_name(what: str, name: str, known: Sequence[Name]) -> Name:
    """Return which of the known names is meant. Raises `UsageError` for any other."""
    for candidate in known:
        if candidate in (name, ALSO_CALLED.get(name), f"multiwoz-{name}"):
            return candidate
    # No hint for a year: the closest spelling is not the closest meaning.
    hint = "" if name.isdigit() else did_you_mean(name, known)
    raise UsageError(f'unknown {what} "{name}"{hint} (known: {", ".join(known)})')
