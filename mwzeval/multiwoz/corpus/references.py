"""Reference sets for BLEU: the corpus' own, those of other versions, and files of anybody's.

A reference response out of an utterance and its annotated spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mwzeval.errors import DataError, UsageError, shorten
from mwzeval.files.cache import derive, fingerprint
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import expecting, read_data
from mwzeval.metrics.bleu import tokenize
from mwzeval.multiwoz.choices import SAMPLE, Fold
from mwzeval.multiwoz.corpus.corpora import CORPORA, GoldFold, derived_revision, load_fold
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.multiwoz.normalization.normalize import normalize_response

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""What a reference set may be called: its name stands in signatures and file names."""


@dataclass(frozen=True, slots=True)
class References:
    """A reference set: by dialogue id, normalised responses as sacreBLEU tokenises them.

    `checksum` are 8 hexadecimal digits over the files they come from.
    """

    name: str
    checksum: str
    responses: Mapping[str, tuple[str, ...]]


def load_references(name: str, fold: Fold, root: DataRoot) -> References:
    """Return a reference set by its name.

    The name is that of a file `references/NAME.json`, which holds a list of turns per dialogue,
    each a text or an object with a `response`; or else of a corpus version (`mwz21`).
    Raises `UsageError` for a name that is none, `DataError` when there is no such file and none
    can be had.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f'"{shorten(name)}" is no name of a reference set: letters, digits, ".", "-" and "_"'
        )
    local = f"references/{name}.json"
    for corpus, layout in CORPORA.items():
        if layout.reference_set == name and corpus != SAMPLE and root.find(local) is None:
            return own_references(load_fold(corpus, fold, root))
    path = root.find(local)
    if path is None:
        if root.origin != "cache":
            known = ", ".join([*_corpus_sets(), *available_references(root)])
            raise DataError(
                f'there is no reference set "{name}": put {local} into {root.path}, or choose '
                f"among {known}"
            )
        path = root.require(local)
    plain = derive(
        f"references-{_file_name(name)}", [path], derived_revision(), lambda: _tokenized(path)
    )
    responses = {key: tuple(responses) for key, responses in plain.items()}
    return References(name, fingerprint(path)[:8], responses)


def own_references(gold: GoldFold) -> References:
    """Return the reference set that a corpus' own annotation makes."""
    responses = {name: dialogue.tokenized_references for name, dialogue in gold.dialogues.items()}
    return References(gold.reference_set, gold.checksum, responses)


def available_references(root: DataRoot) -> list[str]:
    """Return the names of the further reference sets whose files are in the data root."""
    names = (path.stem for path in root.path.glob("references/*.json"))
    return sorted(name for name in names if NAME.fullmatch(name))


def _corpus_sets() -> list[str]:
    return [layout.reference_set for corpus, layout in CORPORA.items() if corpus != SAMPLE]


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]", "_", name.lower())


def _tokenized(path: Path) -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    with expecting("an object of dialogue id → list of turns", str(path)):
        dialogues = dict(read_data(path))
    for name, turns in dialogues.items():
        expected = 'a list of turns, each a text or an object with a "response"'
        with expecting(expected, f'{path}: dialogue "{shorten(name)}"'):
            if not isinstance(turns, list):
                raise TypeError
            references[dialogue_id(name)] = [
                tokenize(normalize_response(turn if isinstance(turn, str) else turn["response"]))
                for turn in turns
            ]
    return references
