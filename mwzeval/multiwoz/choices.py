"""The names that users choose among, apart from what they stand for, so that asking is cheap."""

from __future__ import annotations

from typing import Final, Literal, get_args

Rules = Literal["2021", "2023"]
RULES: tuple[Rules, ...] = get_args(Rules)
"""2021: behind every leaderboard figure up to the end of 2022. 2023: the public evaluator since."""

Fold = Literal["test", "dev", "train"]
FOLDS: tuple[Fold, ...] = get_args(Fold)

AUTO: Final = "auto"
LEXICALIZED: Final = "lexicalized"
Responses = Literal["auto", "lexicalized", "delexicalized"]
RESPONSES: tuple[Responses, ...] = get_args(Responses)
"""How responses are written: in words, or with placeholders. `auto`: lexicalised when none of the
input has a placeholder."""
OWN_FORMAT = "mwzeval"
INPUT_FORMATS = (AUTO, OWN_FORMAT, "messages", "unified", "sgd")
"""How predictions are written: docs/formats.md. `auto`: told by their shape."""

SAMPLE = "sample"
DEFAULT_CORPUS = "multiwoz-2.2"
CORPUS_NAMES = (DEFAULT_CORPUS, "multiwoz-2.1", "multiwoz-2.0", "multiwoz-2.4", SAMPLE)
