"""Files that do not fit together are converted where that is certain, and warned of otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from mwzeval.cli import main
from mwzeval.comparison.items import read_items
from mwzeval.metrics.measure import named
from tests.places import ROOT

GOOD = str(ROOT / "predictions" / "sample-good.json")
RNG = Random(1)
ITEMS = [f"item-{number}" for number in range(100)]
FIRST = {item: int(RNG.random() < 0.6) for item in ITEMS}
SECOND = {item: int(RNG.random() < 0.7) for item in ITEMS}


def table(file: Path, rows: Iterable[tuple[str, float]]) -> str:
    lines = "".join(f"{item},{score}\n" for item, score in rows)
    file.write_text(f"item,score\n{lines}", encoding="utf-8")
    return str(file)


def kinds(tmp_path: Path, rows: Iterable[tuple[str, float]]) -> list[str]:
    """Return the kinds of warnings of a file that is compared with one of 0 and 1."""
    files = [table(tmp_path / "a.csv", FIRST.items()), table(tmp_path / "b.csv", rows)]
    read = read_items(files)
    return [warning.kind for file in files for warning in read.warnings[file]]


def test_percent_is_converted(tmp_path: Path) -> None:
    files = [
        table(tmp_path / "a.csv", FIRST.items()),
        table(tmp_path / "b.csv", ((item, 100 * score) for item, score in SECOND.items())),
    ]
    read = read_items(files)
    assert [warning.kind for warning in read.warnings[files[1]]] == ["units"]
    scores = [named(read.scored[file].scores(), "score").value for file in files]
    assert scores == pytest.approx([sum(FIRST.values()), sum(SECOND.values())])
    percent = table(tmp_path / "c.csv", ((item, 100 * score) for item, score in FIRST.items()))
    means = table(tmp_path / "d.csv", ((item, 25 * (n % 5)) for n, item in enumerate(ITEMS)))
    read = read_items([percent, means])
    assert [w.kind for of in read.warnings.values() for w in of] == ["means"]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (None, lambda n, score: score),
        ("values", lambda n, score: -1 if n % 9 == 0 else score),
        ("means", lambda n, score: (n % 6) / 5),
        ("units", lambda n, score: 20 * (n % 6)),
        ("values", lambda n, score: FIRST[ITEMS[n]]),
    ],
)
def test_what_may_be_a_mistake_is_a_warning(
    kind: str | None, change: Callable[[int, int], float], tmp_path: Path
) -> None:
    rows = [(item, change(n, SECOND[item])) for n, item in enumerate(ITEMS)]
    assert kinds(tmp_path, rows) == ([kind] if kind else [])


def test_a_file_that_is_joined_with_itself_is_a_warning(tmp_path: Path) -> None:
    assert kinds(tmp_path, [*SECOND.items(), *SECOND.items()]) == ["values"]
    assert kinds(tmp_path, [*SECOND.items()] * 3) == ["values"]
    other = {item: 1 - score for item, score in SECOND.items()}
    assert kinds(tmp_path, [*SECOND.items(), *other.items()] * 2) == ["values"]
    assert kinds(tmp_path, [*SECOND.items(), *other.items()]) == []


def test_a_file_that_is_given_twice_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (
        table(tmp_path / f"{name}.csv", scores.items())
        for name, scores in (("a", FIRST), ("b", SECOND))
    )
    assert main(["compare", "--items", first, second]) == 0
    assert "warning: " not in capsys.readouterr().err
    assert main(["compare", "--items", first, first]) == 0
    assert f"warning: {first} " in capsys.readouterr().err
    assert main(["compare", "--corpus", "sample", GOOD, GOOD]) == 0
    assert f"warning: {GOOD} " in capsys.readouterr().err


def test_items_that_are_left_out_are_a_warning_where_they_matter(tmp_path: Path) -> None:
    won = [(item, score) for item, score in SECOND.items() if FIRST[item]]
    assert kinds(tmp_path, won) == ["left-out"]
    assert kinds(tmp_path, list(SECOND.items())[1:]) == []
