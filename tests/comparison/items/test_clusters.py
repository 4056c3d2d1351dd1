"""Items that are not independent: what is resampled and tested are clusters of them.

`STATSMODELS` is of statsmodels 0.15.0, `OLS(d, 1).fit(cov_type="cluster", cov_kwds={"groups": …,
"use_correction": False})` for the differences of `pair()`; without clusters it says 0.03693.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mwzeval.comparison import Comparison, compare
from mwzeval.comparison.items import read_items
from mwzeval.errors import InputError
from mwzeval.metrics.measure import Resampling

STATSMODELS = {"difference": 0.06588533, "error": 0.08047454, "p": 0.41295177, "items": 270}
ERRORS = (0.07173114, 0.11012024)
"""The same of the score of each system itself."""
FINE = Resampling(samples=10_000)


def pair() -> NDArray[np.float64]:
    """Return (cluster, score of one system, score of the other) of each item."""
    random = np.random.default_rng(7)
    rows = []
    for cluster in range(60):
        shift, easy = random.normal(0, 0.6), random.normal(0, 0.5)
        for _ in range(int(random.integers(1, 9))):
            base = easy + random.normal(0, 0.5)
            rows.append((cluster, base, base + 0.3 + shift + random.normal(0, 0.3)))
    return np.array(rows)


def compared(folder: Path, rows: NDArray[np.float64], *, clusters: bool = True) -> Comparison:
    files = []
    for system in (1, 2):
        lines = [f"{n},text{row[0]:g},{row[system]!r}" for n, row in enumerate(rows.tolist())]
        path = folder / f"{system}.csv"
        path.write_text("\n".join(["item,cluster,score", *lines, ""]), encoding="utf-8")
        files.append(str(path))
    items = read_items(files)
    return compare(
        items.scored,
        resampling=FINE,
        intervals=True,
        unit="item",
        clusters=items.clusters if clusters else None,
    )


def test_intervals_and_p_values_are_those_of_clustered_standard_errors(tmp_path: Path) -> None:
    rows = pair()
    comparison = compared(tmp_path, rows)
    (group,) = comparison.groups
    assert (group.clusters, len(group.units)) == (60, STATSMODELS["items"])
    found = comparison.measures[0].systems[1].difference
    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(STATSMODELS["difference"], abs=1e-8)
    width = (found.interval.high - found.interval.low) / 2
    # The bootstrap's normal limit; 60 clusters and 10,000 samples are within 6 %.
    assert width == pytest.approx(1.96 * STATSMODELS["error"], rel=0.06)
    assert found.p_value == pytest.approx(STATSMODELS["p"], abs=0.04)
    for of_system, error in zip(comparison.measures[0].systems, ERRORS, strict=True):
        own = of_system.interval
        assert own is not None
        assert (own.high - own.low) / 2 == pytest.approx(1.96 * error, rel=0.06)
    alone = compared(tmp_path, rows, clusters=False).measures[0].systems[1].difference
    assert alone is not None
    assert alone.interval is not None
    assert (alone.interval.high - alone.interval.low) / 2 == pytest.approx(
        1.96 * 0.03693088, rel=0.06
    )
    paired = stats.ttest_rel(rows[:, 2], rows[:, 1]).pvalue
    assert alone.p_value == pytest.approx(paired, abs=0.02)


def test_the_test_is_of_swapped_clusters(tmp_path: Path) -> None:
    """Against all 2^10 ways to swap ten clusters, by scipy."""
    rows = pair()
    rows = rows[rows[:, 0] < 10]
    sums = np.bincount(rows[:, 0].astype(int), weights=rows[:, 2] - rows[:, 1])
    exact = stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    ).pvalue
    found = compared(tmp_path, rows).measures[0].systems[1].difference
    assert found is not None
    assert found.p_value == pytest.approx(exact, abs=0.015)


@pytest.mark.integration
def test_clusters_of_one_item_change_nothing_but_the_test_of_outcomes(tmp_path: Path) -> None:
    rows = pair()
    rows[:, 0] = np.arange(len(rows))
    own, none = (compared(tmp_path, rows, clusters=c).measures[0] for c in (True, False))
    assert own.systems[1].difference == none.systems[1].difference
    rows[:, 1:] = rows[:, 1:] > 0.4
    own, none = (compared(tmp_path, rows, clusters=c).measures[0] for c in (True, False))
    assert (own.test, none.test) == ("approximate-randomization", "mcnemar")
    mine, theirs = own.systems[1].difference, none.systems[1].difference
    assert mine is not None
    assert theirs is not None
    assert (mine.interval, mine.counts) == (theirs.interval, theirs.counts)
    assert mine.p_value == pytest.approx(theirs.p_value, abs=0.02)


def test_where_all_items_are_won_clusters_are_the_cases(tmp_path: Path) -> None:
    """Resampling sees no spread; 20 clusters of three are 20 cases, by Wilson's interval."""
    rows = np.array([(n // 3, 1, n % 10 > 0) for n in range(60)], dtype=np.float64)
    own = compared(tmp_path, rows).measures[0].systems[0].interval
    assert own is not None
    wilson = stats.binomtest(20, 20).proportion_ci(method="wilson")
    assert (own.low, own.high) == pytest.approx((100 * wilson.low, 100 * wilson.high))


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_one_file_may_say_the_clusters_of_all(tmp_path: Path) -> None:
    one = write(tmp_path / "a.csv", "item,cluster,score\n1,x,0\n2,x,1\n3,y,1\n")
    other = write(tmp_path / "b.csv", "item,score\n1,0\n2,1\n4,1\n")
    items = read_items([other, one])
    assert items.clusters == {"1": "x", "2": "x", "3": "y"}
    another = write(tmp_path / "c.csv", "item,cluster,score\n1,x,0\n2,y,1\n")
    with pytest.raises(InputError, match=r'c\.csv: line 3: .*"2".*"y".*"x"'):
        read_items([one, another])
    lines = write(tmp_path / "d.csv", "item,cluster,score\n1,x,0\n")
    more = write(tmp_path / "e.csv", "item,score\n1,0\n4,1\n")
    assert read_items([lines, more]).clusters == {"1": "x"}
