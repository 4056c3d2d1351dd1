"""Files of prices: what they cost, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.accounting.prices import read_prices
from mwzeval.conversation.accounting.usage import Usage
from mwzeval.errors import InputError


def written(folder: Path, content: Any) -> Path:
    path = folder / "prices.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_tokens_cost_what_the_file_says(tmp_path: Path) -> None:
    raw = {"small": {"in": 0.5, "out": 2}, "large": {"in": 3, "out": 15, "cached_in": 0.3}}
    prices = read_prices(written(tmp_path, raw))
    used = Usage(9, 0, tokens_in=1_000_000, tokens_out=200_000, cached=400_000)
    assert prices.models["small"].of(used) == pytest.approx(0.5 + 0.4)
    assert prices.models["large"].of(used) == pytest.approx(1.8 + 0.12 + 3)
    turned = {name: dict(reversed(raw[name].items())) for name in reversed(raw)}
    assert read_prices(written(tmp_path, turned)).sha == prices.sha
    assert read_prices(written(tmp_path, {"small": {"in": 0, "out": 2}})).sha != prices.sha


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "not valid JSON"),
        ([], 'expected {"MODEL": .*found a list'),
        ({}, "there is no model in it"),
        ({"m": 3}, 'key "m": expected {"in": .*found a number'),
        ({"m": {"in": 1}}, 'key "m": "out" is missing'),
        ({"m": {"in": 1, "out": -1}}, 'key "m.out": a price is a number from 0 .* not -1'),
        ({"m": {"in": 1, "out": True}}, "not true"),
        ({"m": {"in": "1", "out": 1}}, 'not "1"'),
        (
            {"m": {"in": 1, "out": 1, "cached": 1}},
            'unknown key "cached" — did you mean "cached_in"',
        ),
        ('{"m": {"in": 1, "out": 1}, "m": {"in": 2, "out": 1}}', "given more than once"),
        ('{"m": {"in": 1, "out": NaN}}', "NaN is not a number"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, content: Any, expected: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=expected) as raised:
        read_prices(path)
    assert str(path) in str(raised.value)
