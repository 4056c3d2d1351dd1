"""No name of a module is there for nobody."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.places import ROOT

FOLDERS = ("mwzeval", "benchmarks", "examples", "tests", "tools")
PROGRAMS = [*ROOT.glob("*.py"), *(p for name in FOLDERS for p in ROOT.glob(f"{name}/**/*.py"))]


def defined(tree: ast.Module) -> Iterator[str]:
    """Yield the functions, classes and variables of a module."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def mentioned(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are read or imported, and the texts: some are names in quotes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name):
                yield name
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text


@pytest.mark.exhaustive
def test_every_name_of_a_module_is_used() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PROGRAMS}
    uses = Counter(name for tree in trees.values() for name in mentioned(tree))
    unused = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees.items()
        if path.is_relative_to(ROOT / "mwzeval")
        for name in defined(tree)
        if not uses[name] and not name.startswith("__")
    }
    assert not unused
