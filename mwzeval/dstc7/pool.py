"""The pool of candidates that subtask 2 chooses from: one per line, id and utterance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mwzeval.dstc7.ids import candidate_id
from mwzeval.dstc7.reading.findings import Findings
from mwzeval.dstc7.tsv import lines_of
from mwzeval.errors import shorten
from mwzeval.files.json_files import read_text

POOL_SIZE = 120_000


def read_pool(path: str | Path, findings: Findings | None = None) -> Mapping[str, str]:
    """Return canonical candidate id → utterance, in the order of the file.

    The file is UTF-8, `candidate-id<TAB>utterance` per line, without header and quoting; later
    tabs belong to the utterance. Lines without two columns and repeated ids are errors, another
    size than 120,000 is a warning. With `findings` all go there, else errors raise `InputError`.
    """
    notes = Findings(file=str(path)) if findings is None else findings.of_file(str(path))
    text = read_text(path)
    pool: dict[str, str] = {}
    raw_ids: dict[str, str] = {}
    for number, line in lines_of(text):
        raw, tab, utterance = line.partition("\t")
        identity = candidate_id(raw)
        if not tab or identity is None:
            what = "no candidate-id" if tab else "fewer than two columns"
            notes.add("malformed-pool", f"line {number}: {what}")
        elif identity in pool:
            first = raw_ids[identity]
            as_what = "" if first == raw else f' (there as "{shorten(first)}")'
            notes.add(
                "duplicate-pool-candidate",
                f'line {number}: the candidate "{shorten(raw)}" was given before{as_what}',
            )
        else:
            pool[identity], raw_ids[identity] = utterance, raw
    if len(pool) != POOL_SIZE:
        notes.add("pool-size", f"{len(pool):,} candidates, where the official pool has 120,000")
    if findings is None:
        notes.check()
    return pool
