"""Every Python from 3.10 on runs the package.

ruff finds syntax, and mypy names of the standard library, that the oldest Python does not have.
Here is what both let pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.places import ROOT

PROGRAMS = [
    path for folder in ("mwzeval", "data", "examples") for path in ROOT.glob(f"{folder}/**/*.py")
]
SINCE_311 = {"NamedTuple", "TypedDict"}
"""From 3.11 on these may stand beside `Generic`; before, the class statement is a TypeError."""


def generic_records(source: str) -> Iterator[str]:
    """Yield the classes that are defined by `NamedTuple` or `TypedDict` and by `Generic`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            bases = {
                ast.unparse(b.value if isinstance(b, ast.Subscript) else b).split(".")[-1]
                for b in node.bases
            }
            if bases & SINCE_311 and "Generic" in bases:
                yield node.name


def test_no_record_is_generic() -> None:
    found = {path: list(generic_records(path.read_text(encoding="utf-8"))) for path in PROGRAMS}
    assert len(found) > 300
    assert not {str(path): names for path, names in found.items() if names}


@pytest.mark.parametrize(
    ("bases", "allowed"),
    [
        ("NamedTuple", True),
        ("NamedTuple, Generic[T]", False),
        ("typing.TypedDict, typing.Generic[T]", False),
        ("Base, TypedDict", True),
        ("Generic[T]", True),
    ],
)
def test_generic_records_are_told_from_others(bases: str, allowed: bool) -> None:
    source = f"def f():\n    class X({bases}):\n        a: int\n"
    assert list(generic_records(source)) == ([] if allowed else ["X"])
