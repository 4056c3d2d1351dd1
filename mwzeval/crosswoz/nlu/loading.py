"""A trained NLU by its folder, whatever network it has."""

from __future__ import annotations

from pathlib import Path

from mwzeval.crosswoz.nlu.bert import CONFIG_FILE, load_bert
from mwzeval.crosswoz.nlu.model import JointNlu, load_tagger


def load_nlu(path: str | Path) -> JointNlu:
    """Return the NLU of a folder that training wrote, or of a tagger's file.

    Raises `InputError` for anything else, `DependencyError` without the libraries that it needs.
    """
    is_bert = Path(path, CONFIG_FILE).is_file()
    return load_bert(path) if is_bert else load_tagger(path)
