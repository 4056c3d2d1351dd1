"""Files that do not fit together are converted where that is certain, and warned of otherwise."""

from __future__ import annotations

from collections.abc import Iterable
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


def test_percent_is_converted(tmp_path: Path) -> None:
    files = [
        table(tmp_path / "a.csv", FIRST.items()),
        table(tmp_path / "b.csv", ((item, 100 * score) for item, score in SECOND.items())),
    ]
    read = read_items(files)
    assert [warning.kind for warning in read.warnings[files[1]]] == ["units"]
    scores = [named(read.scored[file].scores(), "score").value for file in files]
    assert scores == pytest.approx([sum(FIRST.values()), sum(SECOND.values())])


ROWS = list(SECOND.items())
OTHER = [(item, 1 - score) for item, score in ROWS]


@pytest.mark.parametrize(
    ("expected", "rows"),
    [
        ([], ROWS),
        (["values"], [(item, -1 if n % 9 == 0 else s) for n, (item, s) in enumerate(ROWS)]),
        (["values"], [(item, (n % 6) / 5) for n, item in enumerate(ITEMS)]),
        (["values"], [(item, 20 * (n % 6)) for n, item in enumerate(ITEMS)]),
        (["values"], list(FIRST.items())),
        ([], [*ROWS, *OTHER]),
        # Items that are left out matter where they change the score.
        (["left-out"], [(item, score) for item, score in ROWS if FIRST[item]]),
        ([], ROWS[1:]),
    ],
)
def test_what_may_be_a_mistake_is_a_warning(
    expected: list[str], rows: list[tuple[str, float]], tmp_path: Path
) -> None:
    """In comparison with a file of 0 and 1."""
    files = [table(tmp_path / "a.csv", FIRST.items()), table(tmp_path / "b.csv", rows)]
    read = read_items(files)
    assert [warning.kind for file in files for warning in read.warnings[file]] == expected


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
