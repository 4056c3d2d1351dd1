"""Reference sets for BLEU: the corpus' own, those of other versions, and files of anybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mwzeval.derived import derive
from mwzeval.errors import DataError
from mwzeval.metrics.bleu import tokenize
from mwzeval.multiwoz.choices import SAMPLE, Fold
from mwzeval.multiwoz.corpus import CORPORA, GoldFold, derived_revision, load_fold, read_source
from mwzeval.multiwoz.gold import dialogue_id
from mwzeval.multiwoz.normalization import normalize_response
from mwzeval.resources import DataRoot

References = Mapping[str, tuple[str, ...]]
"""Dialogue id → normalised responses, as sacreBLEU tokenises them."""


def load_references(name: str, fold: Fold, root: DataRoot) -> References:
    """Return a reference set by its name.

    The name is that of a corpus version (`mwz21`) or of a file `references/NAME.json`, which holds
    a list of turns per dialogue, each a text or an object with a `response`.
    Raises `DataError` when there is no such file and none can be had.
    """
    for corpus, layout in CORPORA.items():
        if layout.reference_set == name and corpus != SAMPLE:
            return own_references(load_fold(corpus, fold, root))
    path = root.require(f"references/{name}.json")
    plain = derive(
        f"references-{_file_name(name)}", [path], derived_revision(), lambda: _tokenized(path)
    )
    return {key: tuple(responses) for key, responses in plain.items()}


def own_references(gold: GoldFold) -> References:
    """Return the reference set that a corpus' own annotation makes."""
    return {name: dialogue.tokenized_references for name, dialogue in gold.dialogues.items()}


def available_references(root: DataRoot) -> list[str]:
    """Return the names of the further reference sets whose files are in the data root."""
    return sorted(path.stem for path in root.path.glob("references/*.json"))


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]", "_", name.lower())


def _tokenized(path: Path) -> dict[str, list[str]]:
    try:
        return {
            dialogue_id(name): [
                tokenize(normalize_response(turn if isinstance(turn, str) else turn["response"]))
                for turn in turns
            ]
            for name, turns in read_source(path).items()
        }
    except (LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: not a reference set, which is an object of dialogue id → list of turns, each "
            f'a text or an object with a "response" ({type(error).__name__}: {error})'
        ) from None
