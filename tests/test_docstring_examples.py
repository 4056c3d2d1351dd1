"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

from tests.places import ROOT


def test_examples_in_docstrings_are_right() -> None:
    failed, attempted = [], 0
    for path in sorted((ROOT / "mwzeval").rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            result = doctest.testmod(module)
            failed += [module.__name__] * result.failed
            attempted += result.attempted
    assert not failed
    assert attempted > 20
