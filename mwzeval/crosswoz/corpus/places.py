"""Where CrossWOZ's files are: a user's folder, the cache, or the embedded sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mwzeval.crosswoz.corpus.folds import (
    FOLDS,
    RELEASE,
    REVISIONS,
    SAMPLE,
    Gold,
    dialogue_ids,
    load_fold,
    read_vocabulary,
)
from mwzeval.errors import DataError
from mwzeval.files.derived import remembered_checksums
from mwzeval.files.resources import DataRoot, embedded, locate

NAME = "crosswoz"
PUBLIC_FILES = "public_files.tsv"
SYSTEM_VOCABULARY = ("extra/sys_da_voc.json", "crosswoz/sys_da_voc.json", "sys_da_voc.json")
TEMPLATES = "templates/*_template_nlg.json"
"""The published templates; mwzeval brings its own, which are used unless others are named."""


def corpus_places() -> dict[str, tuple[str, ...]]:
    """Return what there is of CrossWOZ → patterns of the places in a data root that it lies at."""
    # The vocabulary of users lies beside that of systems.
    vocabularies = [place.replace("sys_", "*_") for place in SYSTEM_VOCABULARY]
    corpora = {
        f"{NAME}-{name}": (
            *(place.format(fold=fold) for place in revision.dialogues for fold in FOLDS),
            *(place.format(table="*") for place in revision.tables),
            *vocabularies,
        )
        for name, revision in REVISIONS.items()
        if name != SAMPLE
    }
    return {**corpora, f"{NAME}-templates": (TEMPLATES,)}


def corpus_root(
    revision: str = RELEASE, data: str | Path | None = None, *, offline: bool | None = None
) -> DataRoot:
    """Return the data root of a revision; that of the sample is always the embedded one.

    `data` is a folder in the layout of `data/crosswoz/public_files.tsv`, or one that holds it as
    its subfolder `crosswoz`; default: `MWZEVAL_DATA`, else the user's cache. Raises `DataError`
    when a folder that was named is not there.
    """
    if revision == SAMPLE:
        return DataRoot(embedded(NAME, "sample"), "embedded")
    table = embedded(NAME, PUBLIC_FILES)
    return locate(data, offline=offline, table=table, name=NAME, sample=f"--revision {SAMPLE}")


def load_gold(
    revision: str = RELEASE,
    fold: str = "test",
    data: str | Path | None = None,
    *,
    offline: bool | None = None,
) -> Gold:
    """Return what predictions for a fold are scored against; in the cache, download it if need be.

    Raises `UsageError` for an unknown fold or revision, `DataError` when files are missing or not
    what they should be.
    """
    root = corpus_root(revision, data, offline=offline)
    _check_is_fold(root, revision, fold)
    loaded = load_fold(root, fold, revision)
    return Gold(loaded, OtherFolds(root, revision, fold), _system_vocabulary(root))


def fold_file(root: DataRoot, revision: str, fold: str) -> Path | None:
    """Return the file of a fold, None when it is not there (nothing is downloaded)."""
    places = (place.format(fold=fold) for place in REVISIONS[revision].dialogues)
    return root.find(*places)


def _check_is_fold(root: DataRoot, revision: str, fold: str) -> None:
    """Raise `DataError` when the file of a fold is the published one of another fold."""
    path = fold_file(root, revision, fold) if revision in REVISIONS else None
    if path is None:
        return
    blob = remembered_checksums(path).git_blob
    for file in root.published:
        name = file.local.rpartition("/")[2]
        if file.git_blob == blob and not name.startswith(f"{fold}."):
            raise DataError(
                f"{path} is not the {fold} fold: its content is the published {file.local}"
            )


class OtherFolds(Mapping[str, frozenset[str]]):
    """The ids of the other folds of a revision that are at hand, each read when looked at."""

    def __init__(self, root: DataRoot, revision: str, fold: str) -> None:
        self._root, self._revision = root, revision
        self._names = [
            name for name in FOLDS if name != fold and fold_file(root, revision, name) is not None
        ]

    def __getitem__(self, name: str) -> frozenset[str]:
        path = fold_file(self._root, self._revision, name) if name in self._names else None
        if path is None:
            raise KeyError(name)
        try:
            return dialogue_ids(path)
        except DataError:
            # It is only looked at for a hint.
            return frozenset()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _system_vocabulary(root: DataRoot) -> frozenset[str] | None:
    """Return the acts that policies know, None when the file is not there."""
    path = root.find(*SYSTEM_VOCABULARY)
    if path is None and root.origin == "cache":
        with suppress(DataError):
            path = root.require(*SYSTEM_VOCABULARY)
    if path is None:
        return None
    return frozenset(read_vocabulary(path))
