"""Plain values with one thing changed, anywhere in them, as may happen to a file."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Steps = tuple[str | int, ...]
GONE = object()
ODD: tuple[Any, ...] = (
    *([], ["x"], [1], [None], {}, {"x": 1}, None, True, False),
    *(0, -1, 3.5, 1e300, 10**30, float("nan")),
    *("", "x", "\ud800", "免费", "id", "id=9", "id=" + "1" * 5000, "1" * 5000),
    GONE,
)


def paths_in(plain: Any, above: Steps = ()) -> Iterator[Steps]:
    """Yield the path of every value in plain values, those of the outer ones first."""
    yield above
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from paths_in(value, (*above, key))
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            yield from paths_in(value, (*above, number))


def with_odd(plain: Any, path: Steps, odd: Any) -> Any:
    """Return a copy with something odd at the path, or (`GONE`) without what is there."""
    if not path:
        return None if odd is GONE else odd
    copy = deepcopy(plain)
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    if odd is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = odd
    return copy
