"""Agents and users that are somebody's own code, found by name.

`package.module:Name` is imported, and so is `path/to/file.py:Name`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from mwzeval.conversation.protocols import described
from mwzeval.errors import UsageError, shorten
from mwzeval.output import tell

SUFFIX = ".py"
NOTICE_SECONDS = 5.0
"""After so long an import is reported."""
IMPORT_LIMIT = "MWZEVAL_IMPORT_SECONDS"
"""The environment variable with the seconds after which an import is ended (default: never)."""
LONGEST_LIMIT = 1e6
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def is_own_code(name: str) -> bool:
    """Tell whether a name means somebody's own code."""
    return ":" in name


def imported(name: str) -> Callable[..., Any]:
    """Return the class or function that a name means.

    As with `python -m`, modules of the current folder are found; as with `python file.py`, so are
    those beside the file. Raises `UsageError` when it cannot be imported or called.
    """
    place, _, attribute = name.rpartition(":")
    with _watched(place), failing_as_usage(name, "imported"):
        found = getattr(_module(place), attribute)
    if not callable(found):
        raise UsageError(f'"{name}" cannot be called: expected a class or function')
    return found  # type: ignore[no-any-return]


@contextmanager
def _watched(place: str) -> Iterator[None]:
    """Report an import that takes long, and end it after the seconds of `IMPORT_LIMIT`.

    Raises `UsageError` then. Only an import in the main thread can be ended.
    """
    given = os.environ.get(IMPORT_LIMIT, "").strip()
    try:
        limit = float(given) if given else None
        if limit is not None and not 0 < limit < LONGEST_LIMIT:
            raise ValueError
    except ValueError:
        raise UsageError(
            f'{IMPORT_LIMIT} is a number of seconds above 0, not "{shorten(given)}"'
        ) from None
    is_late = False

    def report() -> None:
        tell(
            f"still importing {place} after {NOTICE_SECONDS:g} seconds (Ctrl-C ends it, as does a "
            f"limit in seconds in {IMPORT_LIMIT})"
        )

    def end(*_: object) -> None:
        nonlocal is_late
        is_late = True
        raise KeyboardInterrupt

    notice = threading.Timer(NOTICE_SECONDS, report)
    notice.daemon = True
    notice.start()
    # SIGALRM also interrupts a program that was started with Ctrl-C ignored.
    is_main = threading.current_thread() is threading.main_thread()
    can_end = limit is not None and is_main and hasattr(signal, "SIGALRM")
    if can_end:
        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, limit or 0)
    try:
        yield
    except KeyboardInterrupt:
        if is_late:
            raise UsageError(f"{place} was not imported within {limit:g} seconds") from None
        raise
    finally:
        notice.cancel()
        if can_end:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@contextmanager
def failing_as_usage(name: str, done: str) -> Iterator[None]:
    """Turn whatever somebody's own code raises, and its end, into a `UsageError`."""
    try:
        yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # libraries in other languages raise more than `Exception`
        raise UsageError(f'"{name}" cannot be {done}: {described(error)}') from error


def given(called: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class or function names among its parameters of what is offered."""
    try:
        parameters = signature(called).parameters
    except (TypeError, ValueError):  # code that is not Python does not say
        return {}
    return {
        name: value
        for name, value in offered.items()
        if name in parameters and parameters[name].kind in BY_NAME
    }


def check_call(
    name: str, called: Callable[..., Any], positional: int, offered: Iterable[str], expected: str
) -> None:
    """Raise `UsageError`, with what is `expected`, when a call of it would fail.

    It has so many `positional` arguments, and those among the `offered` that it names.
    """
    try:
        signed = signature(called)
    except (TypeError, ValueError):
        return
    try:
        signed.bind(*[None] * positional, **given(called, dict.fromkeys(offered)))
    except TypeError as error:
        raise UsageError(f'"{name}" cannot be called: {error}; {expected}') from None


def _module(place: str) -> Any:
    if not place.endswith(SUFFIX):
        _find_in("")
        return import_module(place)
    path = Path(place).resolve()
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # as its name ends like a module's
    assert spec.loader is not None
    _find_in(str(path.parent))
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _find_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
