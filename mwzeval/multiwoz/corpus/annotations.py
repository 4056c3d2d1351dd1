"""References and states out of a corpus' annotation files, in both of their shapes.

`data.json` is that of MultiWOZ 2.0, 2.1, 2.3 and 2.4. Accepted, in this order, for a corpus folder
`F`: ready-made fold files (`F/test.json` or `F/test.json.zip`), `F/data.json` or `F/data.json.zip`
with the fold lists beside it, and the archive `F.zip` as it is published, with the lists inside.
2.3 is published without fold lists, and takes those of 2.1. MultiWOZ 2.2 has `dialogues_*.json` and
`dialog_acts.json`.

Sources: Budzianowski et al., EMNLP 2018; Eric et al., "MultiWOZ 2.1", LREC 2020; Zang et al.,
"MultiWOZ 2.2", NLP4ConvAI 2020; Han et al., "MultiWOZ 2.3", NLPCC 2021; Ye et al., "MultiWOZ 2.4",
SIGDIAL 2022.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mwzeval.errors import DataError, InputError
from mwzeval.files.downloads import DataRoot
from mwzeval.files.json_files import data_bytes, expecting, parse_data
from mwzeval.files.reading import read_zip
from mwzeval.multiwoz.choices import Fold
from mwzeval.multiwoz.corpus.gold import Annotations, Span, delexicalize, dialogue_id

VERSION_22 = 'a dialogue of MultiWOZ 2.2, with "dialogue_id" and "turns" whose values are texts'


def annotations_of_version_22(
    dialogues: Sequence[Mapping[str, Any]], acts: Mapping[str, Any], place: str
) -> Iterator[tuple[str, Annotations]]:
    """Yield the annotations by dialogue id. Raises `DataError` with the `place`, that of a file."""
    acts_by_id = {dialogue_id(name): turns for name, turns in acts.items()}
    for number, dialogue in enumerate(dialogues):
        with expecting(VERSION_22, f"{place}: dialogue {number} (from 0)"):
            identifier = dialogue_id(dialogue["dialogue_id"])
            annotations = _annotations_22(dialogue["turns"], acts_by_id.get(identifier, {}))
        yield identifier, annotations


def _annotations_22(turns: Sequence[Mapping[str, Any]], acts: Mapping[str, Any]) -> Annotations:
    references, utterances, states, alternatives = [], [], [], []
    responses: list[str] = []
    for before, turn in zip([None, *turns], turns, strict=False):
        if turn["speaker"] != "SYSTEM":
            continue
        spans = _spans_22(acts.get(str(turn["turn_id"]), {}))
        references.append(delexicalize(turn["utterance"], spans))
        utterances.append(_text(before["utterance"]) if before else "")
        states.append(_state_22(before) if before else {})
        alternatives.append(_alternatives_22(before) if before else {})
        responses.append(turn["utterance"])
    return Annotations(
        tuple(references),
        tuple(utterances),
        tuple(states),
        tuple(alternatives),
        tuple(responses),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("an utterance is not a text")
    return value


def _spans_22(annotated: Mapping[str, Any]) -> Iterator[Span]:
    for _, slot, value, start, end in annotated.get("span_info", ()):
        yield Span(start, end, slot, value)


def _state_22(user_turn: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for domain, slot, values in _slot_values(user_turn):
        if values and "dontcare" not in values:
            state.setdefault(domain, {})[slot] = values[0]
    return state


def _alternatives_22(user_turn: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a state does not say: values that it leaves out, and all of several."""
    several: dict[str, dict[str, list[str]]] = {}
    for domain, slot, values in _slot_values(user_turn):
        if len(values) > 1 or "dontcare" in values:
            several.setdefault(domain, {})[slot] = list(values)
    return several


def _slot_values(user_turn: Mapping[str, Any]) -> Iterator[tuple[str, str, Sequence[str]]]:
    for frame in user_turn["frames"]:
        for name, values in frame.get("state", {}).get("slot_values", {}).items():
            if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
                raise TypeError(f"the values of {name} are not a list of texts")
            domain, _, slot = name.partition("-")
            yield domain, slot, values


FOLD_FILES: dict[Fold, tuple[str, ...]] = {
    "test": ("test",),
    "dev": ("val", "dev"),
    "train": ("train",),
}
FOLD_LISTS: dict[Fold, tuple[str, ...]] = {
    "test": ("testListFile.txt", "testListFile.json", "testListFile"),
    "dev": ("valListFile.txt", "valListFile.json", "valListFile"),
}
"""The lists of dialogues, one a line or as JSON; train is what neither has."""
LIST_NAMES = frozenset(name for names in FOLD_LISTS.values() for name in names)
READ_NAMES = LIST_NAMES | {
    *("data.json", *(f"{name}.json" for names in FOLD_FILES.values() for name in names))
}
Dialogues = dict[str, Mapping[str, Any]]


def fold_sources(
    root: DataRoot, folders: Iterable[str], fold: Fold, list_folders: Iterable[str] = ()
) -> list[Path]:
    """Return the files that `read_fold` reads: one, or `data.json` and the fold lists beside it.

    `list_folders` are where the lists are when they are not beside it, or in archives of these
    names. Raises `DataError` when the root has none of the accepted forms and none can be
    downloaded.
    """
    folders = tuple(folders)
    ready_made = [
        f"{folder}/{name}.json{ending}"
        for folder in folders
        for name in FOLD_FILES[fold]
        for ending in ("", ".zip")
    ]
    whole = [f"{folder}/data.json{ending}" for folder in folders for ending in ("", ".zip")]
    archives = [f"{folder}.zip" for folder in folders]
    path = root.require(*ready_made, *whole, *archives)
    local = path.relative_to(root.path).as_posix()
    if local in ready_made:
        return [path]
    lists = _lists_in(root, [str(PurePosixPath(local).parent)]) if local in whole else []
    list_folders = tuple(list_folders)
    if list_folders and not lists:
        wanted = [f"{folder}/{name}" for folder in list_folders for name in sorted(LIST_NAMES)]
        archives = [f"{folder}.zip" for folder in list_folders]
        lists = _lists_in(root, list_folders) or [root.require(*wanted, *archives)]
    return [path, *lists]


def _lists_in(root: DataRoot, folders: Iterable[str]) -> list[Path]:
    """Return the fold lists that are in folders of the root, one of each kind."""
    folders = tuple(folders)
    found = (
        root.find(*(f"{folder}/{name}" for folder in folders for name in names))
        for names in FOLD_LISTS.values()
    )
    return [path for path in found if path]


def read_fold(sources: Sequence[Path], fold: Fold) -> Dialogues:
    """Return the annotated dialogues of a fold by id. Raises `DataError` for damaged files."""
    contents = _contents(sources[0], READ_NAMES)
    for path in sources[1:]:
        contents = {**_contents(path, LIST_NAMES), **contents}
    for name in FOLD_FILES[fold]:
        if f"{name}.json" in contents:
            return _dialogues(contents[f"{name}.json"], sources[0])
    if "data.json" not in contents:
        raise DataError(f"{sources[0]}: there is no data.json inside")
    dialogues = _dialogues(contents["data.json"], sources[0])
    if fold in FOLD_LISTS:
        chosen = _listed(contents, fold, sources[0])
    else:
        others = (_listed(contents, other, sources[0]) for other in FOLD_LISTS)
        chosen = dialogues.keys() - set().union(*others)
    return {name: dialogue for name, dialogue in dialogues.items() if name in chosen}


def _contents(path: Path, names: frozenset[str]) -> dict[str, bytes]:
    """Return the files of interest by their base names: this one, or those of the archive."""
    if path.suffix != ".zip":
        return {path.name: data_bytes(path)}
    try:
        return read_zip(path, names)
    except InputError as error:
        raise DataError(str(error)) from None


def _dialogues(content: bytes, path: Path) -> Dialogues:
    with expecting("an object of dialogues, in the format of data.json", str(path)):
        plain = parse_data(content, path)
        return {dialogue_id(name): dialogue for name, dialogue in plain.items()}


def _listed(contents: Mapping[str, bytes], fold: Fold, path: Path) -> set[str]:
    for name in FOLD_LISTS[fold]:
        if name in contents:
            text = contents[name].decode(errors="replace")
            names = json.loads(text) if text.lstrip().startswith("[") else text.split()
            return {dialogue_id(name) for name in names}
    names = " or ".join(FOLD_LISTS[fold])
    raise DataError(f"{path}: {names} is needed beside it, or inside, to tell the folds apart")


SLOT_OF_ACT = {
    "addr": "address",
    "arrive": "arriveby",
    "depart": "departure",
    "dest": "destination",
    "fee": "entrancefee",
    "id": "trainid",
    "leave": "leaveat",
    "open": "openhours",
    "post": "postcode",
    "ticket": "price",
}
"""Slots that dialogue acts abbreviate; the others are placeholder names as they stand."""

NONE = "none"
NO_VALUE = frozenset({"", "not mentioned", NONE})
_ALTERNATIVES = re.compile(r"[|<>]")


def annotations_of(log: Sequence[Mapping[str, Any]]) -> Annotations:
    """Return the annotations of a dialogue's `log`, in which user and system take turns.

    Where system turns have no spans (2.0, 2.4), references are the responses in full.
    """
    users, systems = log[0::2], log[1::2]
    return Annotations(
        references=tuple(delexicalize(turn["text"], _spans(turn)) for turn in systems),
        user_utterances=tuple(_text(turn["text"]) for turn in users[: len(systems)]),
        states=tuple(_state(turn["metadata"]) for turn in systems),
        alternatives=tuple(_alternatives(turn["metadata"]) for turn in systems),
        system_utterances=tuple(turn["text"] for turn in systems),
    )


def _spans(turn: Mapping[str, Any]) -> Iterator[Span]:
    # Spans count tokens, both ends included; tokens are what white space separates.
    tokens = list(re.finditer(r"\S+", turn["text"]))
    for _, slot, value, first, last in turn.get("span_info", ()):
        if first <= last < len(tokens):
            name = SLOT_OF_ACT.get(slot.lower(), slot.lower())
            yield Span(tokens[first].start(), tokens[last].end(), name, value)


def _state(metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    state: dict[str, dict[str, str]] = {}
    for domain, slots in _slots(metadata):
        known = {slot: _first(value) for slot, value in slots.items()}
        known = {slot: value for slot, value in known.items() if value not in NO_VALUE}
        if known:
            state[domain] = known
    return state


def _alternatives(metadata: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Return what a state does not say: all of several values, and "none" where it is written."""
    several: dict[str, dict[str, list[str]]] = {}
    for domain, slots in _slots(metadata):
        for slot, value in slots.items():
            values = [value for value in _values(value) if value not in NO_VALUE - {NONE}]
            if len(values) > 1 or (values and _first(value) in NO_VALUE):
                several.setdefault(domain, {})[slot] = values
    return several


def _slots(metadata: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str | list[str]]]]:
    for domain, annotated in metadata.items():
        slots = {
            **annotated.get("semi", {}),
            **{f"book{slot}": value for slot, value in annotated.get("book", {}).items()},
        }
        slots.pop("bookbooked", None)
        yield domain, slots


def _first(value: str | list[str]) -> str:
    """Return the first of several values that hold alike (2.4 lists them, others use signs)."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return _ALTERNATIVES.split(value)[0].strip()


def _values(value: str | list[str]) -> list[str]:
    """Return all values that hold alike, each once."""
    texts = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(part.strip() for text in texts for part in _ALTERNATIVES.split(text)))
