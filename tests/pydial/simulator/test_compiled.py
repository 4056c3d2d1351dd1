"""Code that only the compiled simulation has equals the Python simulation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.pydial.simulator import codes, native, twister
from mwzeval.pydial.simulator.compiled import _seeder_state
from mwzeval.pydial.simulator.layout import STANDARD
from mwzeval.pydial.simulator.rng import rng_from
from mwzeval.pydial.simulator.twister import rounded, summed
from tests.pydial.simulator.parts import UserParameters


def test_larger_domains_get_larger_records() -> None:
    larger = STANDARD.at_least(slots=33, values=5000)
    assert (larger.slots, larger.values, larger.entities) == (64, 8192, STANDARD.entities)
    assert STANDARD.at_least(slots=4) == STANDARD


def test_parameter_codes_match_the_parameter_names() -> None:
    names = {**vars(codes), "REPEAT": codes.SAYS_REPEAT}
    assert [names[name.upper()] for name in UserParameters._fields] == list(range(26))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("seed", [0, 3, 2**40])
def test_compiled_random_draws_match_python(seed: int) -> None:
    generator = np.random.default_rng(seed)
    d: Any = SimpleNamespace(
        twister=np.zeros(624, dtype=np.uint32),
        seeder=np.array(_seeder_state(generator), dtype=np.uint64),
        normal=0.0,
    )
    arguments: dict[str, tuple[Any, ...]] = {
        "random": (),
        "gauss": (1.0, 0.5),
        "below": (7,),
        "weighted": ([0.1, 0.4, 1.7], 3),
    }
    with np.errstate(over="ignore"):
        for _ in range(2):
            twister.seed_twister(d, twister.next_seed(d))
            plain: Any = SimpleNamespace(rng=rng_from(generator))
            for draw, given_to in [*arguments.items()] * 120:
                mine, theirs = (getattr(module, draw) for module in (twister, native))
                assert mine(d, *given_to) == theirs(plain, *given_to)


@given(st.floats(0.01, 0.99))
def test_rounded_confidences_match_python(number: float) -> None:
    assert rounded(number) == round(number, 4)


@pytest.mark.parametrize("middle", range(150, 9900, 39))
def test_rounding_near_midpoints_matches_python(middle: int) -> None:
    exact = (middle + 0.5) / 10_000
    for number in (exact, math.nextafter(exact, 0), math.nextafter(exact, 1)):
        assert rounded(number) == round(number, 4)


@given(st.lists(st.floats(0.0, 1.0), max_size=7))
def test_sums_match_python(numbers: list[float]) -> None:
    assert summed(numbers, len(numbers)) == sum(numbers)
