"""Imports of extras and of a library with a missing part, and a pause of the garbage collector."""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mwzeval.errors import DependencyError

NEURAL = "neural"
"""The extra that brings PyTorch and safetensors."""
PACKAGES = {"sklearn": "scikit-learn"}


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause the collector where nothing becomes garbage: while modules are imported, and scoring.

    A search for cycles costs as much time as Success.
    """
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def required(module: str, extra: str | None = NEURAL, needed: str | None = None) -> Any:
    """Return a module. Raises `DependencyError` naming the extra that brings it.

    Where no extra does (None), it names the package itself. `needed` says for what, such as
    "drawing needs matplotlib".
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        package = PACKAGES.get(name, name)
        missing = (
            f"{package} cannot be imported"
            if needed is None
            else f"{needed}, which is not installed"
        )
        install = f"pip install {package}" if extra is None else installing(extra)
        raise DependencyError(f"{missing} ({error}): {install}") from error


def installing(extra: str) -> str:
    """Return the command that installs an extra.

    Where mwzeval is installed pip needs no index to find it; a checkout that is not is a folder.
    """
    return f"pip install 'mwzeval[{extra}]' (in a checkout: pip install '.[{extra}]')"


def import_without_setuptools(name: str) -> Any:
    """Return a module of a package whose code finds the package's files with `pkg_resources`.

    Recent versions of setuptools have no `pkg_resources`, some break under newer Pythons, and
    many environments have no setuptools. The module is executed with an `import` statement of its
    own, which answers this one name with `importlib.resources`. Nothing else sees that, in no
    thread, and the module is in `sys.modules` only when it is complete.

    Raises `ModuleNotFoundError` when the package is not installed.
    """
    if name in sys.modules:
        return import_module(name)
    # Not before they are needed: this module is imported by every command.
    from contextlib import ExitStack
    from importlib.machinery import PathFinder
    from importlib.resources import as_file, files
    from importlib.util import find_spec, module_from_spec
    from types import SimpleNamespace

    package, _, _ = name.rpartition(".")
    # The package itself is not imported: it may import the module, with the usual statement.
    parent = find_spec(package)
    spec = parent and PathFinder.find_spec(name, parent.submodule_search_locations)
    if not spec or not spec.loader:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(spec)
    with ExitStack() as while_executed:

        def path_of(_: str, file: str) -> str:
            return str(while_executed.enter_context(as_file(files(package) / file)))

        pkg_resources = SimpleNamespace(
            resource_filename=path_of,
            resource_stream=lambda _, file: (files(package) / file).open("rb"),
        )

        def import_statement(imported: str, *arguments: Any) -> Any:
            return (
                pkg_resources if imported == "pkg_resources" else __import__(imported, *arguments)
            )

        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": import_statement}
        spec.loader.exec_module(module)
    return sys.modules.setdefault(name, module)
