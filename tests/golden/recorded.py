"""Recorded numbers of each benchmark, which may change only with its scoring revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import isnan
from pathlib import Path

from mwzeval.benchmark import BUILT_IN
from mwzeval.scores.score import WHOLE, Score, Signature
from tests.places import read_json

FOLDER = Path(__file__).with_name("scores")
TOLERANCE = 1e-9
"""The last bits of sums depend on the machine."""
VERSIONS = frozenset(
    {"version", "jieba", "levenshtein", "lexdiv", "moses", "rapidfuzz", "sacrebleu"}
)
"""Signature keys whose values are versions of libraries."""

Number = float | str
Groups = Mapping[str, Mapping[str, Number]]
"""Group (usually a signature) → name → number or text."""
Cases = Mapping[str, Groups]

PACKAGES: Mapping[str, str] = {name: f"mwzeval.{name}" for name in BUILT_IN}
"""Benchmark → its package, which defines `SCORING_REVISION`."""


@dataclass(frozen=True, slots=True)
class Record:
    """Numbers of a scoring revision."""

    revision: int
    cases: Cases

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a record from a file."""
        plain = read_json(path)
        return cls(plain["scoring_revision"], plain["cases"])

    def write(self, path: Path) -> None:
        """Write the record with one number per line."""
        plain = {"scoring_revision": self.revision, "cases": self.cases}
        text = json.dumps(plain, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    def numbers(self) -> dict[tuple[str, str], Number]:
        """Return (case, name) → number. Raises `ValueError` if a case has a name twice."""
        numbers: dict[tuple[str, str], Number] = {}
        for case, groups in self.cases.items():
            for group in groups.values():
                for name, number in group.items():
                    if (case, name) in numbers:
                        raise ValueError(f"{case}: {name} is there twice")
                    numbers[case, name] = number
        return numbers


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences between current and recorded numbers, each as a line of text.

    `moved` lists changed and missing numbers, `added` new numbers, and `signed` cases whose scores
    have new signatures.
    """

    moved: tuple[str, ...]
    added: tuple[str, ...]
    signed: tuple[str, ...]

    @classmethod
    def between(cls, before: Record, now: Record) -> Difference:
        """Compare two records."""
        old, new = before.numbers(), now.numbers()
        moved = (
            f"{case}: {name}: {number} -> {new.get((case, name), 'gone')}"
            for (case, name), number in old.items()
            if not _same(number, new.get((case, name)))
        )
        added = (f"{case}: {name}" for case, name in new if (case, name) not in old)
        signed = (
            f"{case}: {group}"
            for case, groups in now.cases.items()
            for group in groups
            if group not in before.cases.get(case, groups)
        )
        return cls(tuple(moved), tuple(added), tuple(signed))

    def __bool__(self) -> bool:
        return bool(self.moved or self.added or self.signed)

    def lines(self) -> Iterator[str]:
        """Yield a line for each difference."""
        for what in ("moved", "added", "signed"):
            for line in getattr(self, what):
                yield f"{what}: {line}"


def _same(before: Number, now: Number | None) -> bool:
    if isinstance(before, float) and isinstance(now, float):
        return abs(before - now) <= TOLERANCE or (isnan(before) and isnan(now))
    return before == now


def problem(before: Record, now: Record) -> str | None:
    """Return why the current numbers may not replace the recorded ones, None if they may.

    Changed numbers need a higher scoring revision; new numbers and new signatures of unchanged
    numbers do not.
    """
    if now.revision < before.revision:
        return f"the scoring revision went down, from {before.revision} to {now.revision}"
    moved = Difference.between(before, now).moved
    if moved and now.revision == before.revision:
        return (
            f"{len(moved)} numbers moved within scoring revision {now.revision}: if that is meant, "
            "raise SCORING_REVISION in the benchmark's __init__.py"
        )
    return None


@cache
def current(benchmark: str) -> Record:
    """Compute the current numbers.

    Raises `ModuleNotFoundError` for a benchmark without a module, and `ValueError` for a signature
    with another scoring revision than the benchmark's.
    """
    cases: Callable[[], Cases] = import_module(f"{__package__}.scores.{benchmark}").current
    return unsigned(cases(), import_module(PACKAGES[benchmark]).SCORING_REVISION)


def unsigned(cases: Cases, revision: int) -> Record:
    """Remove the scoring revision from signatures, because the record contains it once.

    Raises `ValueError` for a signature with another revision.
    """
    kept: dict[str, dict[str, Mapping[str, Number]]] = {}
    for case, groups in cases.items():
        kept[case] = {}
        for group, numbers in groups.items():
            signature, separator, rev = group.partition("|rev:")
            if separator and rev != str(revision):
                raise ValueError(f"{case}: {group} is not of scoring revision {revision}")
            kept[case][signature] = numbers
    return Record(revision, kept)


def file_of(benchmark: str) -> Path:
    """Return the file with the recorded numbers of a benchmark."""
    return FOLDER / f"{benchmark}.json"


def by_signature(scores: Iterable[Score]) -> Groups:
    """Return unrounded scores, grouped by signature without library versions."""
    groups: dict[str, dict[str, Number]] = {}
    for score in scores:
        choices = (choice for choice in score.signature.choices if choice[0] not in VERSIONS)
        signature = Signature(score.signature.metric, tuple(choices))
        name = score.name if score.scope == WHOLE else f"{score.name} ({score.scope})"
        groups.setdefault(str(signature), {})[name] = float(score.value)
    return groups
