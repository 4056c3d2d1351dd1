"""Published results of a track, and where a submission that was scored here stands among them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.tracks import RANKED, Track
from mwzeval.errors import DataError, UsageError
from mwzeval.files.resources import embedded
from mwzeval.report.boards import Entry
from mwzeval.report.sheet import Cell, Document, Sheet, sheet
from mwzeval.scores.score import WHOLE

FILE = "dstc7_leaderboard.json"
FIGURES = ("recall@1", "recall@2", "recall@5", "recall@10", "recall@50", "mrr", "final")
LABELS = {"mrr": "MRR", "final": "Final"}
SORTED_BY = "recall@10"
"""The one figure that nearly all sources have; the final score is shown where it is known."""

OURS = "» "
PLACES = 4
CHANCE = "random ranking (expected)"


@dataclass(frozen=True, slots=True)
class Published:
    """One system: those of `FIGURES` that were published, 0 to 1, and where they were read."""

    system: str
    figures: Mapping[str, float]
    source: str


@dataclass(frozen=True, slots=True)
class Board:
    """Systems on one test set (`case` of Advising) or on dev, the best first."""

    track: str
    case: str | None
    split: str
    systems: tuple[Published, ...]

    @property
    def title(self) -> str:
        """What the figures are of."""
        return " ".join(part for part in (self.track, self.case, self.split) if part)


@dataclass(frozen=True, slots=True)
class Results:
    """All boards, the sources by their short names, and what to mind about them."""

    sources: Mapping[str, str]
    cautions: tuple[str, ...]
    boards: tuple[Board, ...]


def read_published(path: Path | None = None) -> Results:
    """Return the published results of a file, by default the embedded ones.

    Raises `DataError` when it cannot be read or is not such a file.
    """
    path = path or embedded(FILE)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        boards = tuple(
            Board(
                table["track"],
                table["case"],
                table["split"],
                tuple(sorted(map(_published, table["systems"]), key=_order)),
            )
            for table in plain["tables"]
        )
        return Results(plain["sources"], tuple(plain["cautions"]), boards)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path} (the published results) cannot be read: {error}") from None


def _published(plain: Mapping[str, Any]) -> Published:
    figures = {name: float(plain[name]) for name in FIGURES if name in plain}
    return Published(plain["system"], figures, plain["source"])


def _order(row: Published) -> float:
    return -row.figures.get(SORTED_BY, -1.0)


def boards_of(results: Results, track: Track, split: str | None = None) -> tuple[Board, ...]:
    """Return the boards of a track: of its test set if it says one, of a split if asked for.

    Raises `UsageError` when nothing is published.
    """
    found = tuple(
        board
        for board in results.boards
        if board.track == track.name
        and (split is None or board.split == split)
        and (track.case is None or board.case in (None, track.case))
    )
    if not found:
        raise UsageError(f"no results of {track.name} on {split or 'any split'} are known")
    return found


def published_document(
    results: Results, boards: Sequence[Board], entry: Entry | None = None
) -> Document:
    """Return boards as a document, with a submission in its place where it is of the same split.

    The submission's interval stands below it when its report has any. Raises `UsageError` when its
    scores are not the official ones (the F-score, or figures as of 2018).
    """
    name = entry.name if entry else ""
    own = None if entry is None else _own(entry)
    placed = {board.title: own for board in boards if entry and _fits(board, entry)}
    used = {row.source for board in boards for row in board.systems}
    records = [record for board in boards for record in _records(board, placed, name)]
    return Document(
        heading=(f"published results: {', '.join(dict.fromkeys(b.track for b in boards))}",),
        sheets=tuple(_sheet(board, placed.get(board.title), name) for board in boards),
        notes=(
            *results.cautions,
            *(f"{key}: {text}" for key, text in results.sources.items() if key in used),
        ),
        records=tuple(records),
        plain={"sources": dict(results.sources), "rows": records},
    )


Own = Mapping[str, Mapping[str, Any]]
"""The scores of one's own, by name, in long form."""


def _own(entry: Entry) -> Own:
    options = entry.meta["options"]
    if options["metric"] != "ranking" or options["compat"] is not None:
        raise UsageError("published results are official scores: no F-score, and no compat")
    return {of["score"]: of for of in entry.records if of["scope"] == WHOLE}


def _fits(board: Board, entry: Entry) -> bool:
    meta = entry.meta
    split = "dev" if meta["fold"] == "valid" else meta["fold"]
    known_case = meta["case"] is None or board.case in (None, meta["case"])
    return (board.track, board.split) == (meta["corpus"], split) and known_case


def _sheet(board: Board, own: Own | None, name: str) -> Sheet:
    rows: list[list[Cell | str]] = []
    waiting = own
    for row in (*board.systems, *_chance(board)):
        if waiting is not None and row.figures.get(SORTED_BY, 0.0) < waiting[SORTED_BY]["value"]:
            rows += _own_rows(waiting, name)
            waiting = None
        rows.append([row.system, *(_shown(row.figures.get(f)) for f in FIGURES), row.source])
    if waiting is not None:
        rows += _own_rows(waiting, name)
    header = ["", *(LABELS.get(f, f.capitalize()) for f in FIGURES), "source"]
    return sheet(board.title, header, rows)


def _chance(board: Board) -> Iterator[Published]:
    """Yield what a random ranking of a hundred with one right answer scores on average."""
    if board.track.endswith(("-1", "-5")):
        hits = {f"recall@{k}": k / RANKED for k in (1, 2, 5, 10, 50)}
        mrr = sum(1 / place for place in range(1, RANKED + 1)) / RANKED
        yield Published(CHANCE, {**hits, "mrr": mrr, "final": (mrr + hits["recall@10"]) / 2}, "")


def _own_rows(own: Own, name: str) -> Iterator[list[Cell | str]]:
    values = [_shown(own[f]["value"] if f in own else None) for f in FIGURES]
    yield [Cell(OURS + name, best=True), *(Cell(value, best=True) for value in values), ""]
    ends = [_ends(own.get(f)) for f in FIGURES]
    if any(ends):
        yield ["  interval", *ends, ""]


def _ends(record: Mapping[str, Any] | None) -> str:
    if record is None or record["low"] is None:
        return ""
    return f"{record['low']:.{PLACES}f}–{record['high']:.{PLACES}f}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.{PLACES}f}"


def _records(board: Board, placed: Mapping[str, Own | None], name: str) -> Iterator[dict[str, Any]]:
    base = {"track": board.track, "case": board.case, "split": board.split}
    for row in board.systems:
        for figure, value in row.figures.items():
            yield {
                **base,
                "system": row.system,
                "published": True,
                "figure": figure,
                "value": value,
                "low": None,
                "high": None,
                "source": row.source,
            }
    own = placed.get(board.title)
    for figure in FIGURES if own else ():
        assert own is not None
        yield {
            **base,
            "system": name,
            "published": False,
            "figure": figure,
            **{key: own[figure][key] for key in ("value", "low", "high")},
            "source": None,
        }
