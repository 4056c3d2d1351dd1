"""Template files in the public format, and the small set of our own that comes with mwzeval.

Four JSON files, in a folder or a zip archive: sentences mined from a corpus (`auto`) and written by
hand (`manual`) for both sides. Each is an object: key → list of sentences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.file_shapes import is_texts
from mwzeval.crosswoz.draws import Draws
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Side
from mwzeval.crosswoz.systems.templates import Mode, Sentences, Templates
from mwzeval.crosswoz.text_files import chinese_data
from mwzeval.errors import DataError, InputError
from mwzeval.files.json_files import data_bytes, write_atomically
from mwzeval.files.reading import read_zip
from mwzeval.files.resources import embedded

SIDES: tuple[Side, ...] = (USER, SYSTEM)
KINDS = ("auto", "manual")
FILE = "{kind}_{side}_template_nlg.json"


@dataclass(frozen=True, slots=True, eq=False)
class TemplateNlg:
    """Words for acts, by the templates of both sides."""

    sides: Mapping[Side, Templates]
    mode: Mode = "auto_manual"

    def say(self, acts: Acts, side: Side, draws: Draws) -> str | None:
        """Return a text that says the acts, None when there is no template for them."""
        return self.sides[side].sentence(acts, draws, self.mode)


def load_templates(path: str | Path | None = None) -> dict[Side, Templates]:
    """Return the templates of a folder or zip archive, None: those that come with mwzeval.

    A file that is not there has no sentences, but each side must have some. Raises `DataError`.
    """
    place = embedded("crosswoz", "templates") if path is None else Path(path)
    read = _from_archive(place) if place.is_file() else _from_folder(place)
    templates = {}
    for side in SIDES:
        auto, manual = (read.get(FILE.format(kind=kind, side=side), {}) for kind in KINDS)
        if not auto and not manual:
            names = " or ".join(FILE.format(kind=kind, side=side) for kind in KINDS)
            raise DataError(f"{place}: no templates of the {side}: expected {names}")
        templates[side] = Templates.from_json(auto, manual)
    return templates


def write_templates(folder: str | Path, kind: str, sides: Mapping[Side, Sentences]) -> list[Path]:
    """Write templates of a kind (`auto`, `manual`) in the public format; return their places.

    Raises `MwzevalError` when the folder cannot be written.
    """
    places = []
    Path(folder).mkdir(parents=True, exist_ok=True)
    for side, sentences in sides.items():
        place = Path(folder, FILE.format(kind=kind, side=side))
        text = json.dumps(sentences, ensure_ascii=False, indent=1)
        write_atomically(place, f"{text}\n".encode())
        places.append(place)
    return places


def _names() -> list[str]:
    return [FILE.format(kind=kind, side=side) for kind in KINDS for side in SIDES]


def _from_folder(folder: Path) -> dict[str, Sentences]:
    places = [folder / name for name in _names()]
    return {place.name: _parsed(data_bytes(place), place) for place in places if place.is_file()}


def _from_archive(path: Path) -> dict[str, Sentences]:
    try:
        members = read_zip(path, _names())
    except InputError as error:
        raise DataError(f"{error}: expected a folder or a zip archive of templates") from None
    return {name: _parsed(raw, path / name) for name, raw in members.items()}


def _parsed(raw: bytes, place: Path) -> Sentences:
    plain: Any = chinese_data(raw, place)
    if not isinstance(plain, dict) or not all(
        sentences and is_texts(sentences) for sentences in plain.values()
    ):
        raise DataError(f"{place}: expected an object: key → list of sentences")
    return plain
