"""The folds of a corpus and its database: locations of files, and loading.

The files of a revision come from a user's folder, from the cache or from the embedded sample.
Predictions are scored with `Gold`: a fold, and data derived from the fold.
"""

from __future__ import annotations

from argparse import _ActionsContainer
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from mwzeval.arguments import add_data
from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, dialogue_from_json
from mwzeval.crosswoz.corpus.file_shapes import Table, checked_acts, checked_rows, chinese_data
from mwzeval.crosswoz.corpus.names import ATTRACTION, HOTEL, METRO, RESTAURANT
from mwzeval.errors import DataError, UsageError, shorten, unknown
from mwzeval.files.cache import combined_fingerprint, remembered_checksums
from mwzeval.files.downloads import DataRoot, MissingError, all_there, embedded
from mwzeval.files.reading import data_bytes

Content = TypeVar("Content")
FOLDS = ("test", "val", "train")
TABLES = {
    ATTRACTION: "attraction",
    RESTAURANT: "restaurant",
    HOTEL: "hotel",
    METRO: "metro",
}
RELEASE, CONVLAB2, SAMPLE = "release", "convlab2", "sample"


@dataclass(frozen=True, slots=True)
class Revision:
    """The possible locations of a revision's files in a data root; the first that exists is used.

    `{fold}` and `{table}` are replaced by the fold and the database table.
    """

    dialogues: tuple[str, ...]
    tables: tuple[str, ...]


_RELEASE_TABLES = ("crosswoz/database/{table}_db.json", "database/{table}_db.json")
REVISIONS = {
    RELEASE: Revision(
        ("crosswoz/{fold}.json.zip", "crosswoz/{fold}.json", "{fold}.json.zip", "{fold}.json"),
        _RELEASE_TABLES,
    ),
    CONVLAB2: Revision(
        ("convlab2_revision/{fold}.json.zip", "convlab2_revision/{fold}.json"),
        (
            "convlab2_revision/database/{table}_db.json",
            "convlab2_revision/{table}_db.json",
            *_RELEASE_TABLES,
        ),
    ),
    SAMPLE: Revision(("{fold}.json",), ("database/{table}_db.json",)),
}
"""`release` reproduces the paper; `convlab2` is corrected and recommended for new work."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A fold of a revision, with the unchanged database tables of the revision.

    `checksum` has 8 hexadecimal digits and covers all files of the fold; `other_files` has the
    locations of files that differ from the published files.
    """

    revision: str
    name: str
    checksum: str
    dialogues: Mapping[str, Dialogue]
    tables: Mapping[str, Table]
    other_files: tuple[str, ...] = ()


def load_fold(root: DataRoot, fold: str = "test", revision: str = RELEASE) -> Fold:
    """Return a fold with typed dialogues.

    Raises `UsageError` for an unknown fold or revision, and `DataError` for missing or
    invalid files.
    """
    _check("revision", revision, tuple(REVISIONS))
    _check("fold", fold, FOLDS)
    dialogues, tables = all_there(
        partial(_require_fold, root, revision, fold), partial(_table_files, root, revision)
    )
    files = [dialogues, *tables.values()]
    return Fold(
        revision=revision,
        name=fold,
        checksum=_checksum(root, files),
        other_files=root.other_than_published(files),
        dialogues=read_dialogues(dialogues),
        tables={domain: _read_table(path) for domain, path in tables.items()},
    )


def _require_fold(root: DataRoot, revision: str, fold: str) -> Path:
    """Return the file of a fold. Raises `DataError`, which names the available folds."""
    try:
        return root.require(*_places(revision, fold))
    except DataError as error:
        there = _at_hand(root, revision)
        message = (
            f"the {fold} fold of {revision} does not exist (existing folds: "
            f"{', '.join(there) or 'none'})"
        )
        if there and root.origin == "embedded":
            raise DataError(message) from None
        if isinstance(error, MissingError):
            raise MissingError(root, error.wanted, error.files, message) from None
        first, *more = error.args
        raise DataError(f"{message}: {first}", *more) from None


def _places(revision: str, fold: str) -> list[str]:
    return [place.format(fold=fold) for place in REVISIONS[revision].dialogues]


def load_database(root: DataRoot, revision: str = RELEASE) -> tuple[Database, str]:
    """Return the database of a revision, and a checksum of its files (8 hexadecimal digits).

    Raises `UsageError` if the revision is unknown, and `DataError` if a file is missing or invalid.
    """
    _check("revision", revision, tuple(REVISIONS))
    tables = _table_files(root, revision)
    database = Database({domain: _read_table(path) for domain, path in tables.items()})
    return database, _checksum(root, tables.values())


def _table_files(root: DataRoot, revision: str) -> dict[str, Path]:
    places = REVISIONS[revision].tables
    files = all_there(
        *(
            partial(root.require, *(place.format(table=table) for place in places))
            for table in TABLES.values()
        )
    )
    return dict(zip(TABLES, files, strict=True))


def _checksum(root: DataRoot, paths: Iterable[Path]) -> str:
    files = {str(path.relative_to(root.path)): path for path in paths}
    return combined_fingerprint(files)[:8]


def read_dialogues(path: Path) -> dict[str, Dialogue]:
    """Return the dialogues of a `.json` or `.json.zip` file, in file order. Raises `DataError`."""
    plain = _read_json(path)
    if not isinstance(plain, dict) or not plain:
        raise DataError(f"{path}: expected an object of dialogues")
    dialogues = {}
    for name, content in plain.items():
        place = f'{path}: dialogue "{shorten(name)}"'
        dialogues[name] = _checked(place, partial(dialogue_from_json, name), content)
    return dialogues


def _read_table(path: Path) -> Table:
    return _checked(str(path), checked_rows, _read_json(path))


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """Return the de-lexicalized acts in a vocabulary file. Raises `DataError`."""
    return _checked(str(path), checked_acts, _read_json(path))


def _checked(place: str, check: Callable[[Any], Content], plain: Any) -> Content:
    try:
        return check(plain)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from None


def _dialogue_ids(path: Path) -> frozenset[str]:
    plain = _read_json(path)
    return frozenset(plain if isinstance(plain, dict) else ())


def _read_json(path: Path) -> Any:
    return chinese_data(data_bytes(path), path)


def _check(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UsageError(unknown(what, name, known))


@dataclass(frozen=True, eq=False)
class Gold:
    """A fold, and all further data that scoring needs.

    `system_vocabulary` has the acts without values that the paper's policies can predict (mined
    from the train fold), or is None if the file is missing.
    """

    fold: Fold
    find_other_folds: Callable[[], Mapping[str, frozenset[str]]] = dict
    system_vocabulary: frozenset[str] | None = None

    @cached_property
    def other_folds(self) -> Mapping[str, frozenset[str]]:
        """The dialogue ids of each available fold, to find the fold of an unknown dialogue."""
        return self.find_other_folds()

    @cached_property
    def database(self) -> Database:
        """The venue database of the fold's revision."""
        return Database(self.fold.tables)

    @property
    def corpus(self) -> str:
        """The name of the corpus in reports, such as `crosswoz-release`."""
        return f"crosswoz-{self.fold.revision}"


PUBLIC_FILES = "public_files.tsv"
VOCABULARIES = ("extra/{}_da_voc.json", "crosswoz/{}_da_voc.json", "{}_da_voc.json")
TEMPLATES = "templates/*_template_nlg.json"
"""The published templates; by default, mwzeval's own templates are used."""


def vocabulary_files(side: str) -> tuple[str, ...]:
    """Return the possible locations in a data root of the vocabulary of a side (`usr`, `sys`)."""
    return tuple(place.format(side) for place in VOCABULARIES)


def corpus_places() -> dict[str, tuple[str, ...]]:
    """Return the patterns of the possible locations in a data root, for each kind of file."""
    corpora = {
        f"{NAME}-{name}": (
            *(place.format(fold=fold) for place in revision.dialogues for fold in FOLDS),
            *(place.format(table="*") for place in revision.tables),
            *vocabulary_files("*"),
        )
        for name, revision in REVISIONS.items()
        if name != SAMPLE
    }
    return {**corpora, f"{NAME}-templates": (TEMPLATES,)}


def add_corpus(parser: _ActionsContainer, default: str | None = RELEASE) -> None:
    """Add the options `--revision` and `--data`, whose values are arguments of `corpus_root`."""
    parser.add_argument(
        "--revision",
        choices=tuple(REVISIONS),
        default=default,
        help="corpus revision: release (used in the paper), convlab2 (corrected), or the embedded "
        f"sample (default: {default or f'as stated in the file, else {RELEASE}'})",
    )
    add_data(parser)


def corpus_root(
    revision: str = RELEASE, data: str | Path | None = None, *, offline: bool | None = None
) -> DataRoot:
    """Return the data root of a revision; the sample always has the embedded data root.

    `data` is a folder in the layout of `data/crosswoz/public_files.tsv`, or a folder whose
    subfolder `crosswoz` has this layout. By default, the data root is `MWZEVAL_DATA` or, if this
    variable is not set, the user's cache. Raises `DataError` if the given folder does not exist.
    """
    if revision == SAMPLE:
        return DataRoot(embedded(NAME, "sample"), "embedded")
    table, sample, corpora = embedded(NAME, PUBLIC_FILES), f"--revision {SAMPLE}", corpus_places()
    return DataRoot.locate(data, table, NAME, offline=offline, sample=sample, corpora=corpora)


def load_gold(
    revision: str = RELEASE,
    fold: str = "test",
    data: str | Path | None = None,
    *,
    offline: bool | None = None,
) -> Gold:
    """Return the gold data of a `fold` of a `revision`, for scoring predictions.

    `corpus_root` describes `data`. With `offline`, files that are missing in the cache are not
    downloaded.

    Raises `UsageError` for an unknown fold or revision, and `DataError` for missing or
    invalid files.
    """
    root = corpus_root(revision, data, offline=offline)
    _check_is_fold(root, revision, fold)
    loaded = load_fold(root, fold, revision)
    return Gold(loaded, partial(_other_folds, root, revision, fold), _system_vocabulary(root))


def _at_hand(root: DataRoot, revision: str) -> dict[str, Path]:
    """Return the available folds of a revision and their files, without downloads."""
    files = {name: root.find(*_places(revision, name)) for name in FOLDS}
    return {name: path for name, path in files.items() if path is not None}


def fold_with(root: DataRoot, revision: str, ids: Collection[str]) -> str:
    """Return the available fold that contains most of the dialogues, or `test` if none has any.

    Without `ids`, return the first available fold. Raises `DataError` for unreadable files.
    """
    there = _at_hand(root, revision)
    if not ids:
        return next(iter(there), FOLDS[0])
    counts: dict[str, int] = {}
    for name, path in there.items():
        counts[name] = len(_dialogue_ids(path) & set(ids))
        if counts[name] == len(ids):
            return name
    return max(counts, key=counts.__getitem__) if any(counts.values()) else FOLDS[0]


def _check_is_fold(root: DataRoot, revision: str, fold: str) -> None:
    """Raise `DataError` if the file of a fold is the published file of another fold."""
    path = root.find(*_places(revision, fold)) if revision in REVISIONS else None
    if path is None:
        return
    blob = remembered_checksums(path).git_blob
    for file in root.published:
        name = file.local.rpartition("/")[2]
        if file.git_blob == blob and not name.startswith(f"{fold}."):
            raise DataError(
                f"{path} is not the {fold} fold: its content is the published {file.local}"
            )


def _other_folds(root: DataRoot, revision: str, fold: str) -> dict[str, frozenset[str]]:
    """Return the ids of the other available folds, for hints; damaged files have no ids."""
    found: dict[str, frozenset[str]] = {}
    for name, path in _at_hand(root, revision).items():
        if name != fold:
            found[name] = frozenset()
            with suppress(DataError):
                found[name] = _dialogue_ids(path)
    return found


def _system_vocabulary(root: DataRoot) -> frozenset[str] | None:
    """Return the acts that policies can predict, None if the file is missing."""
    places = vocabulary_files("sys")
    path = root.find(*places)
    if path is None and root.origin == "cache":
        with suppress(DataError):
            path = root.require(*places)
    if path is None:
        return None
    return frozenset(read_vocabulary(path))
