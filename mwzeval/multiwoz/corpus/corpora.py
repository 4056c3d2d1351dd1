"""The corpora: which files each is made of, and the gold data of one fold of it.

What is derived from the files is kept in the user's cache, because the files are large. Training
makes many conversations from one goal: a rollout of a dialogue has its id and a number,
`sng0073#12`.
"""

from __future__ import annotations

import logging
import pickle
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, UsageError, did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint, derive
from mwzeval.files.downloads import DataRoot, all_there, embedded, locate
from mwzeval.files.json_files import expecting, read_data
from mwzeval.metrics.bleu import tokenize
from mwzeval.multiwoz.choices import SAMPLE, Fold
from mwzeval.multiwoz.corpus.annotations import (
    annotations_of,
    annotations_of_version_22,
    fold_sources,
    read_fold,
)
from mwzeval.multiwoz.corpus.gold import (
    Annotations,
    GoldDialogue,
    booked_domains_of,
    dialogue_id,
    goal_from_json,
    goals_of,
)
from mwzeval.multiwoz.database.venues import id_column
from mwzeval.multiwoz.schema import ALL_DOMAINS, DATABASE_DOMAINS, SERVICES
from mwzeval.version import library_version

logger = logging.getLogger("mwzeval")

ROLLOUT = re.compile(r"(?P<dialogue>.+)#(?P<number>0|[1-9][0-9]{0,5})", re.DOTALL)
"""At most a million rollouts of a dialogue, so that what is known about them stays small."""


def dialogue_of(name: str) -> str:
    """Return the id of the dialogue that this is a rollout of: `sng0073#12` → `sng0073`."""
    return _split(name)[0]


def _split(name: str) -> tuple[str, int]:
    """Return the dialogue and the place of the rollout: 0 for the id alone, else number + 1."""
    rollout = ROLLOUT.fullmatch(name)
    return (rollout["dialogue"], int(rollout["number"]) + 1) if rollout else (name, 0)


class Seen:
    """A set of ids, rollouts among them, exact and at a bit for each rollout of a dialogue."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        """By dialogue, a number whose bits are the rollouts that were seen."""

    def add(self, name: str) -> bool:
        """Add an id; return whether it is new."""
        dialogue, place = _split(name)
        before = self._places.get(dialogue, 0)
        self._places[dialogue] = before | 1 << place
        return not before >> place & 1

    def merge(self, other: Seen) -> None:
        """Add the ids of another set."""
        for dialogue, places in other._places.items():
            self._places[dialogue] = self._places.get(dialogue, 0) | places

    def common(self, other: Seen) -> Iterator[str]:
        """Yield the ids that both have."""
        for dialogue, places in other._places.items():
            twice = self._places.get(dialogue, 0) & places
            while twice:
                place = (twice & -twice).bit_length() - 1
                twice &= twice - 1
                yield f"{dialogue}#{place - 1}" if place else dialogue

    def rollouts(self, dialogue: str) -> int:
        """Return how many rollouts of a dialogue there are, 1 for the dialogue alone."""
        return self._places.get(dialogue, 0).bit_count()

    def __contains__(self, dialogue: object) -> bool:
        return dialogue in self._places

    def __len__(self) -> int:
        """How many different dialogues there are."""
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getstate__(self) -> bytes:
        # Rollouts of one shard are few bits far up; sent as they are, most would be zeros.
        return zlib.compress(pickle.dumps(self._places), level=1)

    def __setstate__(self, state: bytes) -> None:
        self._places = pickle.loads(zlib.decompress(state))


DERIVED_REVISION = 5
"""Raised when the same files are read into other gold data."""


@dataclass(frozen=True, slots=True)
class CorpusFormat:
    """Where a corpus lies in a data root.

    `annotations_22` is the folder of 2.2-style annotations, None where references and states come
    from the `data.json` as well; `data_json` are the places of goals and bookings. `fold_lists` are
    the places of fold lists where the corpus is published without.
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
"""Ids of the sample's dialogues begin so; none of MultiWOZ's does."""


@dataclass(frozen=True, slots=True)
class GoldFold:
    """The gold data of one fold of a corpus.

    `checksum` are 8 hexadecimal digits over all files that the gold data and the database come
    from; `other_files` are the places of those that are not the published ones. `tables` are the
    database's rows as they stand in its files. With `rollouts`, predicted dialogues may be numbered
    rollouts of those of the fold.
    """

    corpus: str
    fold: Fold
    checksum: str
    dialogues: Mapping[str, GoldDialogue]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    rollouts: bool = False
    other_files: tuple[str, ...] = ()

    def name_of(self, dialogue: str) -> str:
        """Return the id in this fold of a predicted dialogue."""
        return dialogue_of(dialogue) if self.rollouts else dialogue

    @property
    def reference_set(self) -> str:
        """The name of the corpus' own reference set."""
        return CORPORA[self.corpus].reference_set


def corpus_root(corpus: str, data: str | Path | None, *, offline: bool | None = None) -> DataRoot:
    """Return where a corpus' files are. Raises `UsageError` for an unknown corpus, `DataError`."""
    if corpus not in CORPORA:
        known = ", ".join(CORPORA)
        raise UsageError(
            f'unknown corpus "{corpus}"{did_you_mean(corpus, CORPORA)} (known: {known})'
        )
    if corpus == SAMPLE:
        if data is not None:
            _warn_of_unread(str(data))
        return DataRoot(embedded("sample"), "embedded")
    table = embedded("public_files.tsv")
    return locate(data, offline=offline, table=table, name="multiwoz", sample=f"--corpus {SAMPLE}")


@lru_cache(maxsize=16)
def _warn_of_unread(data: str) -> None:
    logger.warning("--data %s is not read: the sample corpus is part of mwzeval", shorten(data))


def places(layout: CorpusFormat) -> tuple[str, ...]:
    """Return patterns of the places in a data root where a corpus' files may be."""
    annotations = (
        (f"{layout.annotations_22}/*/dialogues_*.json", f"{layout.annotations_22}/dialog_acts.json")
        if layout.annotations_22
        else ()
    )
    data_json = (f"{folder}{rest}" for folder in layout.data_json for rest in (".zip", "/*"))
    lists = (f"{folder}{rest}" for folder in layout.fold_lists for rest in (".zip", "/*ListFile*"))
    return ("db/*_db.json", *annotations, *data_json, *lists)


def load_fold(corpus: str, fold: Fold, root: DataRoot) -> GoldFold:
    """Return a fold's gold data and database. Raises `DataError` when files are missing or bad."""
    layout = CORPORA[corpus]
    databases, sources = all_there(
        partial(database_files, root), partial(_Sources.of, layout, fold, root)
    )
    plain = derive(
        f"{corpus}-{fold}", sources.paths, derived_revision(), lambda: _gold(sources, corpus, fold)
    )
    everything = [*sources.paths, *databases.values()]
    checksum = combined_fingerprint({_local(path, root): path for path in everything})
    return GoldFold(
        corpus,
        fold,
        checksum[:8],
        {name: GoldDialogue.from_json(dialogue) for name, dialogue in plain.items()},
        {domain: _table(domain, path) for domain, path in databases.items()},
        other_files=root.other_than_published(everything),
    )


def database_files(root: DataRoot) -> dict[str, Path]:
    """Return the file of each domain's database. Raises `DataError` that names all missing."""
    files = all_there(
        *(partial(root.require, f"db/{domain}_db.json") for domain in DATABASE_DOMAINS)
    )
    return dict(zip(DATABASE_DOMAINS, files, strict=True))


def read_tables(root: DataRoot) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all databases by domain, those of police and hospital where they are.

    Raises `DataError` when a file is missing or damaged.
    """
    tables = {domain: _table(domain, path) for domain, path in database_files(root).items()}
    for domain in SERVICES:
        path = root.find(f"db/{domain}_db.json")
        if path:
            tables[domain] = _table(domain, path)
    return tables


@dataclass(frozen=True, slots=True)
class _Sources:
    """The files that a fold's gold data are derived from; empty where there is no such part."""

    dialogues_22: tuple[Path, ...]
    acts_22: tuple[Path, ...]
    goals: tuple[Path, ...]
    booked: tuple[Path, ...]
    data_json: tuple[Path, ...]

    @classmethod
    def of(cls, layout: CorpusFormat, fold: Fold, root: DataRoot) -> _Sources:
        goals, booked = root.find("goals.json"), root.find("booked_domains.json")
        folder = layout.annotations_22
        ready_made = folder is not None and goals is not None and booked is not None
        dialogues_22, acts_22, data_json = all_there(
            lambda: root.matching(f"{folder}/{fold}/dialogues_*.json") if folder else (),
            lambda: (root.require(f"{folder}/dialog_acts.json"),) if folder else (),
            lambda: (
                () if ready_made else fold_sources(root, layout.data_json, fold, layout.fold_lists)
            ),
        )
        return cls(
            tuple(dialogues_22),
            tuple(acts_22),
            (goals,) if goals else (),
            (booked,) if booked else (),
            tuple(data_json),
        )

    @property
    def paths(self) -> list[Path]:
        return [
            *self.dialogues_22,
            *self.acts_22,
            *self.goals,
            *self.booked,
            *self.data_json,
        ]


DATA_JSON = 'a dialogue of data.json, an object with "goal" and "log"'


def derived_revision() -> str:
    """Return what the derived gold data depend on beside their sources."""
    # References are kept as Moses spaces and sacreBLEU tokenises them.
    libraries = [f"{name} {library_version(name)}" for name in ("sacremoses", "sacrebleu")]
    return " ".join([str(DERIVED_REVISION), *libraries])


def _local(path: Path, root: DataRoot) -> str:
    return path.relative_to(root.path).as_posix()


def _gold(sources: _Sources, corpus: str, fold: Fold) -> dict[str, Any]:
    try:
        gold = {name: of.to_json() for name, of in _derive_gold(sources, fold).items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        names = ", ".join(str(path) for path in sources.paths)
        raise DataError(
            f"{corpus} {fold}: the files are not in the format of the published ones; the files "
            f"that were read are {names}"
        ) from error
    if not gold:
        raise DataError(f"{corpus} {fold}: no dialogue found in {sources.paths[0]}")
    return gold


def _derive_gold(sources: _Sources, fold: Fold) -> dict[str, GoldDialogue]:
    dialogues = read_fold(sources.data_json, fold) if sources.data_json else {}
    goals, booked = {}, {}
    annotated: dict[str, Annotations] = {}
    for name, dialogue in dialogues.items():
        with expecting(DATA_JSON, f'{sources.data_json[0]}: dialogue "{shorten(name)}"'):
            goals[name] = goals_of(dialogue["goal"])
            booked[name] = booked_domains_of(dialogue["log"])
            if not sources.dialogues_22:
                annotated[name] = annotations_of(dialogue["log"])
    for path in sources.goals:
        goals = {
            dialogue_id(name): {
                domain: goal_from_json(goal)
                for domain, goal in by_domain.items()
                if domain in ALL_DOMAINS
            }
            for name, by_domain in read_data(path).items()
        }
    for path in sources.booked:
        booked = {
            dialogue_id(name): tuple(frozenset(domains) for domains in turns)
            for name, turns in read_data(path).items()
        }
    acts = read_data(sources.acts_22[0]) if sources.dialogues_22 else {}
    for path in sources.dialogues_22:
        annotated |= annotations_of_version_22(read_data(path), acts, str(path))
    return {
        name: GoldDialogue(
            goals[name],
            _one_per_turn(booked[name], len(of_dialogue.states)),
            of_dialogue.references,
            tuple(tokenize(reference) for reference in of_dialogue.references),
            of_dialogue.user_utterances,
            of_dialogue.states,
            of_dialogue.alternatives,
            of_dialogue.system_utterances,
        )
        for name, of_dialogue in annotated.items()
    }


def _one_per_turn(booked: tuple[frozenset[str], ...], turns: int) -> tuple[frozenset[str], ...]:
    """Return bookings for exactly so many turns; versions differ in a turn here and there."""
    missing = turns - len(booked)
    return booked[:turns] + missing * (booked[-1:] or (frozenset(),))


def _table(domain: str, path: Path) -> list[dict[str, Any]]:
    rows = read_data(path)
    identifier = id_column(domain)
    named = _NAMES.get(domain)
    if not (
        isinstance(rows, list)
        and rows
        and all(isinstance(row, dict) and identifier in row for row in rows)
        and (named is None or all(_is_name(row.get(named)) for row in rows))
    ):
        keys = f'"{identifier}"' + (f' and a text as "{named}"' if named else "")
        raise DataError(f"{path}: expected a list of venues, each an object with {keys}")
    return rows


_NAMES = {
    **dict.fromkeys(("restaurant", "hotel", "attraction"), "name"),
    **{"train": "trainID", "hospital": "department"},
}
"""The key of what a row is called."""


def _is_name(value: object) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value))
