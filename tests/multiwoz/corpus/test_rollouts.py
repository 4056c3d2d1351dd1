"""A set of ids kept as bits is a set of ids."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.corpus import Seen, dialogue_of

names = st.sampled_from(
    ["a", "a#0", "a#1", "a#12", "a#999999", "a#b", "a#01", "#1", "a#1#2", "b", "b\n#3", "a#1000000"]
)


def seen(*ids: str) -> Seen:
    found = Seen()
    for name in ids:
        found.add(name)
    return found


@given(st.lists(names, max_size=20))
def test_adding_tells_what_is_new(ids: list[str]) -> None:
    known: set[str] = set()
    found = Seen()
    for name in ids:
        assert found.add(name) == (name not in known)
        known.add(name)
    dialogues = {dialogue_of(name) for name in ids}
    assert set(found) == dialogues
    assert len(found) == len(dialogues)
    for dialogue in dialogues:
        assert found.rollouts(dialogue) == sum(dialogue_of(name) == dialogue for name in known)


@given(st.sets(names), st.sets(names))
def test_what_two_sets_share_is_told_before_they_are_one(mine: set[str], theirs: set[str]) -> None:
    found, other = seen(*mine), pickle.loads(pickle.dumps(seen(*theirs)))
    assert sorted(found.common(other)) == sorted(mine & theirs)
    found.merge(other)
    assert sorted(found.common(seen(*mine, *theirs))) == sorted(mine | theirs)
    assert sorted(other.common(seen(*mine, *theirs))) == sorted(theirs)


@pytest.mark.parametrize(
    ("name", "dialogue"),
    [
        ("sng0073", "sng0073"),
        ("sng0073#0", "sng0073"),
        ("sng0073#999999", "sng0073"),
        ("sng0073#1000000", "sng0073#1000000"),
        ("sng0073#01", "sng0073#01"),
        ("sng0073#", "sng0073#"),
        ("#3", "#3"),
        ("sng0073#1#2", "sng0073#1"),
    ],
)
def test_a_rollout_is_a_dialogue_and_a_number(name: str, dialogue: str) -> None:
    assert dialogue_of(name) == dialogue


@pytest.mark.integration
def test_a_hundred_thousand_rollouts_are_a_bit_each() -> None:
    found = seen(*(f"smp{number % 10:04}#{number // 10}" for number in range(100_000)))
    assert sum(found.rollouts(dialogue) for dialogue in found) == 100_000
    assert len(pickle.dumps(found)) < 5_000
    # Far-off rollouts are few bits far up.
    assert len(pickle.dumps(seen(*(f"smp{n:04}#999999" for n in range(1000))))) < 600_000
