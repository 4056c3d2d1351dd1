"""Where trained models come from: the folds that they have seen, and what they are now.

Training leaves a note beside the model, and predictions carry it, so that a model that is scored on
dialogues from which it learned is told.
"""

from __future__ import annotations

import argparse
import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mwzeval.crosswoz import LEARNED_FROM
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import read_json, read_model
from mwzeval.files.writing import write_atomically
from mwzeval.neural.training import CHECKPOINT_FILE
from mwzeval.output import tell

NOTE_FILE = "learned_from.json"
VALIDATION = "val"


def note_training(arguments: argparse.Namespace) -> None:
    """Write beside a model that was trained which folds it has seen, and tell where it is."""
    seen = [arguments.fold]
    if "hold_out" in arguments and arguments.hold_out is None:
        seen.append(VALIDATION)
    note = {"revision": arguments.revision, LEARNED_FROM: seen}
    write_atomically(Path(arguments.output, NOTE_FILE), json.dumps(note) + "\n")
    tell(f"wrote {arguments.output}")


def origin_of(model: str | Path) -> dict[str, Any]:
    """Return what `_meta` says of the folds that a model has seen; nothing where no note is.

    Raises `InputError` for a note that is none.
    """
    folder = Path(model)
    note = (folder if folder.is_dir() else folder.parent) / NOTE_FILE
    if not note.is_file():
        return {}
    plain = read_json(note)
    seen = plain.get(LEARNED_FROM) if isinstance(plain, dict) else None
    if not isinstance(seen, list) or not is_texts(seen):
        raise InputError([Problem("bad-model", f"it has no list {LEARNED_FROM}", file=str(note))])
    return {LEARNED_FROM: seen}


def checksum_of(model: str | Path) -> str:
    """Return a checksum of a model, a file or a folder of files that training wrote."""
    top = Path(model)
    files = sorted(top.rglob("*.safetensors")) if top.is_dir() else [top]
    digest = blake2b(digest_size=8)
    for file in files:
        if file.name != CHECKPOINT_FILE:
            digest.update(f"{file.relative_to(top)}\n".encode("utf-8", "surrogateescape"))
            digest.update(read_model(file))
    return digest.hexdigest()
