"""The figures that simulations are held against, as the paper printed them."""

from __future__ import annotations

import pytest

from benchmarks.crosswoz_words import PAPER, SCOPES
from tests.crosswoz.real_data import paper


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("acts", "DA_Sim"),
        ("templates, trained NLU", "NL_Sim_Template"),
        ("SC-LSTM, trained NLU", "NL_Sim_SCLSTM"),
    ],
)
def test_finish_rates_of_the_paper_are_those_of_table_8(words: str, name: str) -> None:
    printed = paper()["table8_benchmarks"]["task_finish_rate"][name]
    assert PAPER[words] == tuple(printed[scope] for scope in (*SCOPES[:-1], "overall"))
