"""The corpora of MultiWOZ: their files, the gold data of a fold, and reference sets for BLEU.

A corpus with its `data.json` in the folder `F` may be stored as fold files (`F/test.json` or
`F/test.json.zip`), as `F/data.json` or `F/data.json.zip` next to the fold lists, or as the
published archive `F.zip`, which contains the lists. The first of these three forms that exists is
read. MultiWOZ 2.3 was published without fold lists and uses the lists of 2.1. The files are large,
so derived data are stored in the user's cache. For training, a dialogue may have several rollouts,
that is, several conversations with its goal. The id of a rollout consists of the id of the dialogue
and a number, as in `sng0073#12`.
"""

from __future__ import annotations

import json
import logging
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from mwzeval.errors import DataError, InputError, UsageError, shorten, unknown
from mwzeval.files.cache import combined_fingerprint, derive, remembered_checksums
from mwzeval.files.downloads import DataRoot, all_there, embedded
from mwzeval.files.reading import data_bytes, expecting, parse_data, read_data, read_zip
from mwzeval.multiwoz import SAMPLE, Fold
from mwzeval.multiwoz.annotations import (
    AnnotatedTurn,
    Goal,
    GoldDialogue,
    annotations_of,
    annotations_of_version_22,
    booked_domains_of,
    dialogue_id,
    goals_of,
)
from mwzeval.multiwoz.placeholders import normalize_response
from mwzeval.multiwoz.schema import DATABASE_DOMAINS, SERVICES, id_column
from mwzeval.multiwoz.scoring.bleu import tokenize
from mwzeval.version import library_version

logger = logging.getLogger("mwzeval")

ROLLOUT = re.compile(r"(?P<dialogue>.+)#(?P<number>0|[1-9][0-9]{0,5})", re.DOTALL)
"""Matches the id of a rollout. Numbers are limited to six digits, which limits the memory that
`Seen` needs."""


def dialogue_of(name: str) -> str:
    """Return the dialogue id of a rollout: `sng0073#12` → `sng0073`."""
    return _split(name)[0]


def _split(name: str) -> tuple[str, int]:
    """Return the dialogue id and the index of the rollout (number + 1, or 0 without a number)."""
    rollout = ROLLOUT.fullmatch(name)
    return (rollout["dialogue"], int(rollout["number"]) + 1) if rollout else (name, 0)


class Seen(dict[str, int]):
    """A set of rollout ids. Each dialogue id has an integer, whose bits represent the rollouts."""

    def add(self, name: str) -> None:
        """Add an id to the set."""
        dialogue, place = _split(name)
        self[dialogue] = self.get(dialogue, 0) | 1 << place

    def merge(self, other: Seen) -> None:
        """Add the ids of another set."""
        for dialogue, places in other.items():
            self[dialogue] = self.get(dialogue, 0) | places

    def common(self, other: Seen) -> Iterator[str]:
        """Yield the ids that are in both sets."""
        for dialogue, places in other.items():
            twice = self.get(dialogue, 0) & places
            while twice:
                place = (twice & -twice).bit_length() - 1
                twice &= twice - 1
                yield f"{dialogue}#{place - 1}" if place else dialogue

    def rollouts(self, dialogue: str) -> int:
        """Return the number of rollouts of a dialogue; an id without a number is one rollout."""
        return self.get(dialogue, 0).bit_count()

    def __reduce__(self) -> tuple[Any, ...]:
        # The rollouts of a shard are a few high bits, so most bytes are zero and compress well.
        return _unpacked, (zlib.compress(pickle.dumps(dict(self)), level=1),)


def _unpacked(packed: bytes) -> Seen:
    return Seen(pickle.loads(zlib.decompress(packed)))


# Locations of a corpus


@dataclass(frozen=True, slots=True)
class CorpusFormat:
    """The locations of a corpus in a data root.

    `annotations_22` is the folder of annotations in the style of MultiWOZ 2.2, or None if
    references and states are read from `data.json`. `data_json` lists the possible folders of
    `data.json`, which has goals and bookings. If the corpus was published without fold lists,
    `fold_lists` are the folders with the lists of another version.
    """

    reference_set: str
    data_json: tuple[str, ...]
    annotations_22: str | None = None
    fold_lists: tuple[str, ...] = ()


CORPORA = {
    "multiwoz-2.2": CorpusFormat("mwz22", ("data/MultiWOZ_2.1",), "data/MultiWOZ_2.2"),
    "multiwoz-2.1": CorpusFormat("mwz21", ("data/MultiWOZ_2.1",)),
    "multiwoz-2.0": CorpusFormat("mwz20", ("data/MultiWOZ_2.0",)),
    "multiwoz-2.3": CorpusFormat(
        "mwz23",
        ("data/MultiWOZ2_3", "data/MultiWOZ_2.3"),
        fold_lists=("data/MultiWOZ_2.1",),
    ),
    "multiwoz-2.4": CorpusFormat("mwz24", ("data/MULTIWOZ2.4", "data/MultiWOZ_2.4")),
    SAMPLE: CorpusFormat("sample", ("data/MultiWOZ_2.1",), "data/MultiWOZ_2.2"),
}
SAMPLE_PREFIX = "smp"
"""Prefix of the dialogue ids of the sample; no id of MultiWOZ has this prefix."""


def corpus_root(corpus: str, data: str | Path | None, *, offline: bool | None = None) -> DataRoot:
    """Return the data root of a corpus. Raises `UsageError` or `DataError` if no root exists."""
    if corpus not in CORPORA:
        raise UsageError(unknown("corpus", corpus, CORPORA))
    if corpus == SAMPLE:
        if data is not None:
            _warn_of_unread(str(data))
        return DataRoot(embedded("sample"), "embedded")
    table = embedded("public_files.tsv")
    return DataRoot.locate(data, table, "multiwoz", offline=offline, sample=f"--corpus {SAMPLE}")


@lru_cache(maxsize=16)
def _warn_of_unread(data: str) -> None:
    logger.warning("--data %s is ignored: the sample corpus is part of mwzeval", shorten(data))


def places(layout: CorpusFormat) -> tuple[str, ...]:
    """Return patterns of the paths in a data root where the files of a corpus may be."""
    folder = layout.annotations_22
    annotations = (f"{folder}/*/dialogues_*.json", f"{folder}/dialog_acts.json") if folder else ()
    data_json = (f"{folder}{rest}" for folder in layout.data_json for rest in (".zip", "/*"))
    lists = (f"{folder}{rest}" for folder in layout.fold_lists for rest in (".zip", "/*ListFile*"))
    return ("db/*_db.json", *annotations, *data_json, *lists)


# The database

_NAMES = {
    **dict.fromkeys(("restaurant", "hotel", "attraction"), "name"),
    **{"train": "trainID", "hospital": "department"},
}
"""The key of the name in a database row, by domain."""


def database_files(root: DataRoot) -> dict[str, Path]:
    """Return the database file of each domain. Raises a `DataError` that lists missing files."""
    files = all_there(
        *(partial(root.require, f"db/{domain}_db.json") for domain in DATABASE_DOMAINS)
    )
    return dict(zip(DATABASE_DOMAINS, files, strict=True))


def read_tables(root: DataRoot) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all databases by domain. The files of police and hospital are optional.

    Raises `DataError` if a file is missing or damaged.
    """
    services = {domain: root.find(f"db/{domain}_db.json") for domain in SERVICES}
    files = database_files(root) | {domain: path for domain, path in services.items() if path}
    return {domain: _table(domain, path) for domain, path in files.items()}


def _table(domain: str, path: Path) -> list[dict[str, Any]]:
    rows = read_data(path)
    identifier, name = id_column(domain), _NAMES.get(domain)

    def is_venue(row: Any) -> bool:
        if not isinstance(row, dict) or identifier not in row:
            return False
        called = "named" if name is None else row.get(name)
        return isinstance(called, str) and any(map(str.isalnum, called))

    if not (isinstance(rows, list) and rows and all(map(is_venue, rows))):
        keys = f'"{identifier}"' + (f' and a string as "{name}"' if name else "")
        raise DataError(f"{path}: expected a list of venues, each an object with {keys}")
    return rows


# Gold data

DERIVED_REVISION = 5
"""This number is increased when a change of the code changes the gold data of the same files."""
DATA_JSON = 'a dialogue of data.json, an object with "goal" and "log"'


@dataclass(frozen=True, slots=True)
class GoldFold:
    """The gold data of one fold of a corpus.

    `checksum` has 8 hexadecimal digits and covers all files of gold data and database.
    `other_files` are the paths of files whose content differs from the published files. `tables`
    are the unmodified rows of the database files. If `rollouts` is true, the ids of predicted
    dialogues may be ids of rollouts.
    """

    corpus: str
    fold: Fold
    checksum: str
    dialogues: Mapping[str, GoldDialogue]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    rollouts: bool = False
    other_files: tuple[str, ...] = ()

    def name_of(self, dialogue: str) -> str:
        """Return the id of the fold's dialogue to which a predicted dialogue belongs."""
        return dialogue_of(dialogue) if self.rollouts else dialogue

    @property
    def reference_set(self) -> str:
        """The name of the corpus' own reference set."""
        return CORPORA[self.corpus].reference_set


def load_fold(corpus: str, fold: Fold, root: DataRoot) -> GoldFold:
    """Return the gold data and database of a fold.

    Raises `DataError` for missing or invalid files.
    """
    databases, sources = all_there(
        partial(database_files, root), partial(_sources, CORPORA[corpus], fold, root)
    )
    paths = list(chain.from_iterable(sources))
    plain = derive(
        f"{corpus}-{fold}", paths, derived_revision(), lambda: _gold(sources, corpus, fold)
    )
    everything = [*paths, *databases.values()]
    checksum = combined_fingerprint(
        {path.relative_to(root.path).as_posix(): path for path in everything}
    )
    return GoldFold(
        corpus,
        fold,
        checksum[:8],
        {name: _gold_dialogue(**dialogue) for name, dialogue in plain.items()},
        {domain: _table(domain, path) for domain, path in databases.items()},
        other_files=root.other_than_published(everything),
    )


def derived_revision() -> str:
    """Return a key that covers all inputs of derived gold data except the source files."""
    # References are stored as detokenized by Moses and as tokenized by sacreBLEU.
    libraries = [f"{name} {library_version(name)}" for name in ("sacremoses", "sacrebleu")]
    return " ".join([str(DERIVED_REVISION), *libraries])


def _sources(layout: CorpusFormat, fold: Fold, root: DataRoot) -> list[Sequence[Path]]:
    """Return the files with dialogues, files with acts (2.2, else ()), and files with goals."""
    folder = layout.annotations_22
    return all_there(
        lambda: root.matching(f"{folder}/{fold}/dialogues_*.json") if folder else (),
        lambda: [root.require(f"{folder}/dialog_acts.json")] if folder else (),
        lambda: fold_sources(root, layout, fold),
    )


def _gold(sources: Sequence[Sequence[Path]], corpus: str, fold: Fold) -> dict[str, Any]:
    """Return the columns of `GoldDialogue` by dialogue id, as values that JSON can represent."""
    dialogues_22, acts_22, data_json = sources
    goals, booked = {}, {}
    annotated: dict[str, list[AnnotatedTurn]] = {}
    for name, dialogue in read_fold(data_json, fold).items():
        with expecting(DATA_JSON, f'{data_json[0]}: dialogue "{shorten(name)}"'):
            goals[name] = goals_of(dialogue["goal"])
            booked[name] = booked_domains_of(dialogue["log"])
            if not dialogues_22:
                annotated[name] = annotations_of(dialogue["log"])
    paths = ", ".join(map(str, chain.from_iterable(sources)))
    with expecting(f"the published files of {corpus} {fold}", paths):
        acts = read_data(acts_22[0]) if acts_22 else {}
        for path in dialogues_22:
            annotated |= annotations_of_version_22(read_data(path), acts, str(path))
        gold = {}
        for name, turns in annotated.items():
            # A few dialogues have different numbers of turns in different versions.
            bookings = booked[name][: len(turns)]
            bookings += (len(turns) - len(bookings)) * (bookings[-1:] or [[]])
            columns: dict[str, Any] = dict.fromkeys(AnnotatedTurn._fields, ())
            columns |= zip(AnnotatedTurn._fields, zip(*turns, strict=True), strict=False)
            gold[name] = {
                "goal": {
                    domain: {**asdict(goal), "requestable": sorted(goal.requestable)}
                    for domain, goal in goals[name].items()
                },
                "booked": bookings,
                "tokenized_references": [*map(tokenize, columns["references"])],
                **columns,
            }
    if not gold:
        raise DataError(f"{corpus} {fold}: no dialogue found in {paths}")
    return gold


def _gold_dialogue(goal: Any, booked: Iterable[Any], **columns: Iterable[Any]) -> GoldDialogue:
    turns: dict[str, Any] = {name: tuple(column) for name, column in columns.items()}
    goals = {}
    for domain, part in goal.items():
        booking = {slot: tuple(values) for slot, values in part["booking"].items()}
        goals[domain] = Goal(part["informable"], frozenset(part["requestable"]), booking)
    return GoldDialogue(goals, tuple(map(frozenset, booked)), **turns)


# Folds of a data.json

FOLD_FILES: dict[Fold, tuple[str, ...]] = {
    "test": ("test.json",),
    "dev": ("val.json", "dev.json"),
    "train": ("train.json",),
}
FOLD_LISTS: dict[Fold, tuple[str, ...]] = {
    "test": ("testListFile.txt", "testListFile.json", "testListFile"),
    "dev": ("valListFile.txt", "valListFile.json", "valListFile"),
}
"""Names of fold lists (one id per line, or JSON). Dialogues in none of the lists are in the train
fold."""
LIST_NAMES = frozenset(chain(*FOLD_LISTS.values()))
READ_NAMES = LIST_NAMES.union(["data.json"], *FOLD_FILES.values())
Dialogues = dict[str, Mapping[str, Any]]
_ENDS = ("", ".zip")


def fold_sources(root: DataRoot, layout: CorpusFormat, fold: Fold) -> list[Path]:
    """Return the files that `read_fold` reads: one file, or `data.json` and its fold lists.

    Raises `DataError` if the root has none of the accepted forms and no file can be downloaded.
    """
    ready_made, whole = (
        [f"{folder}/{name}{end}" for folder in layout.data_json for name in names for end in _ENDS]
        for names in (FOLD_FILES[fold], ["data.json"])
    )
    path = root.require(*ready_made, *whole, *(f"{folder}.zip" for folder in layout.data_json))
    local = path.relative_to(root.path).as_posix()
    if local in ready_made:
        return [path]
    lists = _lists_in(root, [str(PurePosixPath(local).parent)]) if local in whole else []
    if layout.fold_lists and not lists:
        wanted = [f"{folder}/{name}" for folder in layout.fold_lists for name in sorted(LIST_NAMES)]
        archives = [f"{folder}.zip" for folder in layout.fold_lists]
        lists = _lists_in(root, layout.fold_lists) or [root.require(*wanted, *archives)]
    return [path, *lists]


def _lists_in(root: DataRoot, folders: Sequence[str]) -> list[Path]:
    """Return the fold list of each fold in these folders of the root."""
    found = (
        root.find(*(f"{folder}/{name}" for folder in folders for name in names))
        for names in FOLD_LISTS.values()
    )
    return [path for path in found if path]


def read_fold(sources: Sequence[Path], fold: Fold) -> Dialogues:
    """Return the annotated dialogues of a fold by id. Raises `DataError` for damaged files."""
    whole = sources[0]
    contents = _contents(whole, READ_NAMES)
    for path in sources[1:]:
        contents = {**_contents(path, LIST_NAMES), **contents}
    ready_made = [name for name in FOLD_FILES[fold] if name in contents]
    name = next(iter(ready_made), "data.json")
    if name not in contents:
        raise DataError(f"{whole} contains no data.json")
    with expecting("an object of dialogues, in the format of data.json", str(whole)):
        plain = parse_data(contents[name], whole)
        dialogues = {dialogue_id(name): dialogue for name, dialogue in plain.items()}
    if ready_made:
        return dialogues
    if fold in FOLD_LISTS:
        chosen = _listed(contents, fold, whole)
    else:
        others = (_listed(contents, other, whole) for other in FOLD_LISTS)
        chosen = dialogues.keys() - set().union(*others)
    return {name: dialogue for name, dialogue in dialogues.items() if name in chosen}


def _contents(path: Path, names: frozenset[str]) -> dict[str, bytes]:
    """Return the content of `path` or, in an archive, of members with these names, by file name."""
    if path.suffix != ".zip":
        return {path.name: data_bytes(path)}
    try:
        return read_zip(path, names)
    except InputError as error:
        raise DataError(str(error)) from None


def _listed(contents: Mapping[str, bytes], fold: Fold, path: Path) -> set[str]:
    for name in FOLD_LISTS[fold]:
        if name in contents:
            text = contents[name].decode(errors="replace")
            with expecting("a list of dialogue ids", f"{path}: {name}"):
                names = json.loads(text) if text.lstrip().startswith("[") else text.split()
                return {dialogue_id(name) for name in names}
    names = " or ".join(FOLD_LISTS[fold])
    raise DataError(f"{path}: {names} is needed next to it, or inside, to determine the folds")


# Reference sets

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""Matches valid names of reference sets, which are used in signatures and file names."""


@dataclass(frozen=True, slots=True)
class References:
    """A reference set: normalized responses by dialogue id, tokenized by sacreBLEU's tokenizer.

    `checksum` is a checksum of the source files, with 8 hexadecimal digits.
    """

    name: str
    checksum: str
    responses: Mapping[str, tuple[str, ...]]


def load_references(name: str, fold: Fold, root: DataRoot) -> References:
    """Return a reference set by its name.

    The name refers to a file `references/NAME.json`, which holds a list of turns per dialogue (each
    turn is a text or an object with a `response`), or to a corpus version (`mwz21`). Raises
    `UsageError` if the name is invalid, and `DataError` if the file does not exist and cannot be
    downloaded.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f'"{shorten(name)}" is not a valid name of a reference set: use letters, digits, '
            '".", "-" and "_"'
        )
    local = f"references/{name}.json"
    path = root.find(local)
    if path is None:
        own = {layout.reference_set: corpus for corpus, layout in CORPORA.items()}
        del own[CORPORA[SAMPLE].reference_set]
        if name in own:
            return own_references(load_fold(own[name], fold, root))
        if root.origin != "cache":
            known = ", ".join([*own, *available_references(root)])
            raise DataError(
                f'there is no reference set "{name}": put {local} into {root.path}, or choose '
                f"among {known}"
            )
        path = root.require(local)
    plain = derive(
        f"references-{name.lower()}", [path], derived_revision(), lambda: _tokenized(path)
    )
    responses = {key: tuple(responses) for key, responses in plain.items()}
    return References(name, remembered_checksums(path).sha256[:8], responses)


def own_references(gold: GoldFold) -> References:
    """Return the reference set from the annotation of the corpus."""
    responses = {name: dialogue.tokenized_references for name, dialogue in gold.dialogues.items()}
    return References(gold.reference_set, gold.checksum, responses)


def available_references(root: DataRoot) -> list[str]:
    """Return the names of the additional reference sets whose files are in the data root."""
    names = (path.stem for path in root.path.glob("references/*.json"))
    return sorted(name for name in names if NAME.fullmatch(name))


def _tokenized(path: Path) -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    with expecting("an object of dialogue id → list of turns", str(path)):
        dialogues = dict(read_data(path))
    for name, turns in dialogues.items():
        expected = 'a list of turns, each a string or an object with a "response"'
        with expecting(expected, f'{path}: dialogue "{shorten(name)}"'):
            if not isinstance(turns, list):
                raise TypeError
            references[dialogue_id(name)] = [
                tokenize(normalize_response(turn if isinstance(turn, str) else turn["response"]))
                for turn in turns
            ]
    return references
