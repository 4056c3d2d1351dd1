"""The file of an offline run of Weights & Biases, read back.

It is a log as LevelDB writes them: blocks of 32 KiB, in which records are whole or in parts, each
part with a checksum (4 bytes), its length (2) and its kind (1).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

HEADER, BLOCK, PART = 7, 32768, 7
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def _records(raw: bytes) -> Iterator[bytes]:
    place, record = HEADER, b""
    while place + PART <= len(raw):
        left = BLOCK - place % BLOCK
        if left < PART:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", raw, place)
        place += PART
        if place + length > len(raw):
            return  # It is being written.
        record = (b"" if kind in (WHOLE, FIRST) else record) + raw[place : place + length]
        place += length
        if kind in (WHOLE, LAST):
            yield record


def records_of(file: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of the history, and the config.

    The process that writes the file may still do so when a run has finished: the last record says
    that the run has ended.
    """
    history: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    wait_until("the file says that the run has ended", lambda: _has_ended(file))
    for record in _messages(file):
        if record.HasField("history"):
            history.append(_values(record.history.item))
        for update in (record.run.config.update, record.config.update):
            config |= _values(update)
    return history, config


def _messages(file: Path) -> Iterator[Any]:
    messages: Any = import_module("wandb.proto.wandb_internal_pb2")
    for raw in _records(file.read_bytes()):
        record = messages.Record()
        record.ParseFromString(raw)
        yield record


def _has_ended(file: Path) -> bool:
    return any(record.HasField("exit") for record in _messages(file))


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
