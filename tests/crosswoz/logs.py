"""Logs of simulations as plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_log(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header of a log and its dialogues, as plain values."""
    header, *dialogues = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return header["_meta"], dialogues
