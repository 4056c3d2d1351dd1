"""Rows and column sums of tables that are merged, split, selected and joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.scores.table import Table

COLUMNS = ("a", "b", "c")
Rows = list[tuple[str, dict[str, float]]]
counts = st.integers(0, 10**9).map(float)
rows = st.lists(
    st.tuples(st.text(max_size=5), st.dictionaries(st.sampled_from(COLUMNS), counts)),
    max_size=8,
    unique_by=lambda row: row[0],
)


def plain(table: Table) -> list[tuple[str, list[float]]]:
    return list(zip(table.units, table.values.tolist(), strict=True))


@given(rows)
def test_rows_keep_their_numbers_and_missing_values_are_zero(rows: Rows) -> None:
    table = Table.from_rows(COLUMNS, rows)
    assert plain(table) == [(unit, [row.get(c, 0.0) for c in COLUMNS]) for unit, row in rows]
    for index, column in enumerate(COLUMNS):
        assert table.column(column).tolist() == [numbers[index] for _, numbers in plain(table)]


@given(rows, st.data())
def test_split_tables_add_up_to_the_whole_table(rows: Rows, data: st.DataObject) -> None:
    whole = Table.from_rows(COLUMNS, rows)
    cut = data.draw(st.integers(0, len(rows)))
    first, rest = Table.from_rows(COLUMNS, rows[:cut]), Table.from_rows(COLUMNS, rows[cut:])
    assert plain(first + rest) == plain(whole)
    assert (first + rest).columns == whole.columns
    total = {c: first.sums()[c] + rest.sums()[c] for c in COLUMNS}
    assert whole.sums() == (rest + first).sums() == total


@given(rows, st.data())
def test_select_returns_the_given_rows_in_the_given_order(rows: Rows, data: st.DataObject) -> None:
    whole = Table.from_rows(COLUMNS, rows)
    units = data.draw(st.lists(st.sampled_from(whole.units), max_size=10)) if rows else []
    known = dict(plain(whole))
    assert plain(whole.select(units)) == [(unit, known[unit]) for unit in units]
    everything = whole.select(data.draw(st.permutations(whole.units)))
    assert everything.sums() == whole.sums()


def test_joined_tables_have_the_columns_of_both_tables() -> None:
    left = Table.from_rows(["a"], [("x", {"a": 1}), ("y", {"a": 2})])
    right = Table.from_rows(["b", "c"], [("x", {"b": 3}), ("y", {"c": 4})])
    both = left.beside(right)
    assert both.columns == ("a", "b", "c")
    assert plain(both) == [("x", [1, 3, 0]), ("y", [2, 0, 4])]


def test_mismatched_tables_are_rejected() -> None:
    left = Table.from_rows(["a"], [("x", {}), ("y", {})])
    for wrong, error, message in (
        (lambda: left.beside(left.select(["y", "x"])), ValueError, "same rows"),
        (lambda: left + Table.from_rows(["b"], []), ValueError, "same columns"),
        (lambda: Table(("x",), ("a", "b"), np.zeros((2, 2))), ValueError, "do not fit"),
        (lambda: left.select(["x", "z"]), KeyError, "z"),
        (lambda: left.column("z"), KeyError, "z"),
        (lambda: Table.from_rows(["a"], [("x", {"z": 1})]), KeyError, "z"),
    ):
        with pytest.raises(error, match=message):
            wrong()
