"""Numbers of one scoring revision never change; checked on the embedded sample, always."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mwzeval.multiwoz import SCORING_REVISION
from mwzeval.multiwoz.choices import RULES
from tests.golden.regenerate import GOLDEN, METRICS, current
from tests.places import SAMPLE_SYSTEMS, read_json

REGENERATE = "python -m tests.golden.regenerate"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


def moved(before: Any, now: Any) -> dict[str, tuple[Any, Any]]:
    """Return the numbers that differ by more than rounding on another machine may explain."""
    old, new = dict(leaves(before)), dict(leaves(now))
    return {
        path: (old.get(path, "missing"), new.get(path, "missing"))
        for path in sorted({*old, *new})
        if not same(old.get(path, "missing"), new.get(path, "missing"))
    }


def same(before: Any, now: Any) -> bool:
    if isinstance(before, float) and isinstance(now, float):
        return abs(before - now) <= 1e-9
    return bool(before == now)


def test_scores_move_only_when_the_scoring_revision_does() -> None:
    recorded, now = read_json(GOLDEN), current()
    changes = moved(recorded["systems"], now["systems"])
    if recorded["scoring_revision"] == SCORING_REVISION:
        assert not changes, (
            f"numbers moved within scoring revision {SCORING_REVISION}: if that is meant, raise "
            f"SCORING_REVISION in mwzeval/multiwoz/__init__.py and run `{REGENERATE}`"
        )
    assert recorded["scoring_revision"] == SCORING_REVISION, (
        f"{GOLDEN.name} is of scoring revision {recorded['scoring_revision']}, the code of "
        f"{SCORING_REVISION}: run `{REGENERATE}` and look at the difference"
    )


def test_the_record_is_complete() -> None:
    systems = read_json(GOLDEN)["systems"]
    assert list(systems) == list(SAMPLE_SYSTEMS)
    for by_rules in systems.values():
        assert list(by_rules) == list(RULES)
        assert all(list(scores) == list(METRICS) for scores in by_rules.values())
    assert [name for name, s in systems.items() if s["2021"]["dst"] is None] == ["policy-only"]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({"a": {"b": 1.0}}, {"a": {"b": 1.0 + 1e-12}}, {}),
        ({"a": {"b": 1.0}}, {"a": {"b": 1.0 + 1e-6}}, {"a.b": (1.0, 1.0 + 1e-6)}),
        ({"a": None}, {"a": 0.0}, {"a": (None, 0.0)}),
        ({"a": None}, {"a": None}, {}),
        ({"a": 1}, {}, {"a": (1, "missing")}),
        ({}, {"a": None}, {"a": ("missing", None)}),
    ],
)
def test_a_moved_number_is_seen(before: Any, now: Any, expected: Any) -> None:
    assert moved(before, now) == expected
