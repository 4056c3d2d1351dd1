"""What the arrays of a memory are: declared by each policy, and checked before any is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.policies.learner import Arrays


class Layout(NamedTuple):
    """The type and shape of an array; a size that has a name is the same wherever it is named.

    An array of whole numbers may have to stay between 0 and `below`.
    """

    dtype: Any
    shape: tuple[int | str, ...]
    below: int | None = None


Layouts = Mapping[str, Layout]


def like(arrays: Arrays) -> dict[str, Layout]:
    """Return the layouts that arrays have."""
    return {name: Layout(array.dtype, array.shape) for name, array in arrays.items()}


def check(arrays: Arrays, layouts: Layouts, *, only: bool = False) -> dict[str, int]:
    """Return the sizes that have names.

    Raises `ValueError` for the first array that is missing, of another type or shape, or out of
    its limits, and with `only` for one that is not declared.
    """
    sizes: dict[str, int] = {}
    for name, layout in layouts.items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array = arrays[name]
        if not _fits(array, layout, sizes):
            shape = ", ".join(str(sizes.get(str(size), size)) for size in layout.shape)
            raise ValueError(
                f"{name} is {array.dtype} of shape {array.shape}, "
                f"expected {np.dtype(layout.dtype)} of shape ({shape})"
            )
        if layout.below is not None and array.size:
            least, most = array.min(), array.max()
            if least < 0 or most >= layout.below:
                raise ValueError(f"{name} has {least} to {most}, expected 0 to {layout.below - 1}")
    if only and (unknown := sorted(arrays.keys() - layouts.keys())):
        raise ValueError(f"{unknown[0]} is not a part of it")
    return sizes


def _fits(array: NDArray[Any], layout: Layout, sizes: dict[str, int]) -> bool:
    if array.dtype != layout.dtype:
        return False
    given = array.shape
    if array.size == 0 and len(given) == 1:  # a list of nothing has no further sizes
        given += tuple(sizes.get(str(s), 0) if isinstance(s, str) else s for s in layout.shape[1:])
    return len(given) == len(layout.shape) and all(
        size == (sizes.setdefault(due, size) if isinstance(due, str) else due)
        for size, due in zip(given, layout.shape, strict=True)
    )
