"""Completions that were asked for before, in a folder: a file for each request and trial.

The name of a file follows from the server, the request and the trial: those of several runs, and of
several processes, can be in one folder. A file is there as a whole or not at all; one that somebody
has damaged is asked for again.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.conversation.endpoint.client import Completion
from mwzeval.errors import InputError
from mwzeval.files.reading import read_bytes
from mwzeval.files.writing import named_where_unwritable, write_atomically

FORMAT = 1
"""Is raised when the same request would be answered with something else."""


class FolderCache:
    """A folder of completions of one server; it is made where there is none.

    Raises `MwzevalError` when it cannot be.
    """

    def __init__(self, folder: str | Path, base_url: str) -> None:
        self._folder = Path(folder)
        self._base_url = base_url
        with named_where_unwritable(folder):
            self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, request: str, trial: int) -> Completion | None:
        """Return the completion of a request, None if it is not there or damaged."""
        try:
            return _completion(json.loads(read_bytes(self._place(request, trial))))
        except (InputError, ValueError, RecursionError, TypeError, KeyError):
            return None

    def put(self, request: str, trial: int, completion: Completion) -> None:
        """Keep a completion. Raises `MwzevalError` when it cannot be written."""
        place = self._place(request, trial)
        with named_where_unwritable(place):
            place.parent.mkdir(exist_ok=True)
        plain = {
            "message": completion.message,
            "finish_reason": completion.finish_reason,
            "usage": completion.usage,
        }
        write_atomically(place, json.dumps(plain))

    def _place(self, request: str, trial: int) -> Path:
        key = json.dumps([FORMAT, self._base_url, trial, request])
        name = sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


def _completion(raw: Any) -> Completion:
    """Return a completion. Raises `TypeError`, `KeyError` for what is none."""
    message, reason, usage = raw["message"], raw["finish_reason"], raw["usage"]
    if (
        not isinstance(message, dict)
        or not isinstance(usage, dict)
        or not isinstance(reason, str | None)
        or any(type(count) is not int for count in usage.values())
    ):
        raise TypeError("no completion")
    return Completion(message, reason, usage)
