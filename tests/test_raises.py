"""A public function says in its docstring what it raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.places import ROOT

PACKAGE = ROOT / "mwzeval"
MODULES = sorted(PACKAGE.rglob("*.py"))
UNSAID = frozenset({"StopIteration", "GeneratorExit", "KeyboardInterrupt", "AttributeError"})
"""Belong to a protocol of Python, whose users expect them."""
PROMISED_NOTHING = frozenset({"AssertionError", "NotImplementedError"})
"""Say that the program is wrong, not its call."""

TRANSLATING = frozenset({"named_where_unwritable"})
"""Context managers that raise something else for what is raised within."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield (name, function) of a module's functions and of its classes' methods."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, Function):
                    yield f"{node.name}.{each.name}", each


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield what a function executes itself: without functions within, and caught blocks."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.With) and any(
            isinstance(name, ast.Name) and name.id in TRANSLATING
            for item in node.items
            for name in ast.walk(item.context_expr)
        ):
            continue
        if isinstance(node, ast.Try) and node.handlers:
            # What is raised within may be caught.
            waiting += [*node.handlers, *node.orelse, *node.finalbody]
            continue
        waiting.extend(ast.iter_child_nodes(node))


def raised_by(function: Function) -> set[str]:
    """Return the names of the exceptions that `raise` statements of a function make."""
    raised = set()
    for node in own_nodes(function):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
                if name[:1].isupper():
                    raised.add(name)
    return raised - UNSAID - PROMISED_NOTHING


def called_by(function: Function) -> set[str]:
    return {
        node.func.id
        for node in own_nodes(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def unsaid(source: str) -> dict[str, set[str]]:
    """Return public function → exceptions that it raises and does not name.

    Counted are those of its body, and of private functions of the module that it calls.
    """
    tree = ast.parse(source)
    functions = dict(functions_of(tree))
    wrong = {}
    for name, function in functions.items():
        if any(part.startswith("_") for part in name.split(".")):
            continue
        raised = raised_by(function)
        for called in called_by(function):
            if called.startswith("_") and called in functions:
                raised |= raised_by(functions[called])
        said = ast.get_docstring(function) or ""
        if missing := {each for each in raised if each not in said}:
            wrong[name] = missing
    return wrong


def test_public_functions_say_what_they_raise() -> None:
    wrong = {
        f"{path.relative_to(PACKAGE).as_posix()}: {name}": missing
        for path in MODULES
        for name, missing in unsaid(path.read_text(encoding="utf-8")).items()
    }
    assert wrong == {}


def test_the_rule_tells_right_from_wrong() -> None:
    source = '''
def says():
    """Raises `ValueError`."""
    raise ValueError("x")
def silent():
    """Nothing."""
    raise ValueError("x")
def caught():
    """Nothing."""
    try:
        raise KeyError
    except KeyError:
        pass
def through():
    """Nothing."""
    _private()
def _private():
    raise KeyError("x")
class Thing:
    def method(self):
        """Nothing."""
        raise UsageError from None
    def again(self):
        """Nothing."""
        raise
'''
    assert unsaid(source) == {
        "silent": {"ValueError"},
        "through": {"KeyError"},
        "Thing.method": {"UsageError"},
    }
