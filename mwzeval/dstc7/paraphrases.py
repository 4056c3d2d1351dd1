"""Groups of utterances that mean the same (subtask 3): a JSON array of arrays of texts."""

from __future__ import annotations

from pathlib import Path

from mwzeval.dstc7.reading.findings import Findings, found
from mwzeval.dstc7.reading.json_array import items_of

Paraphrases = tuple[tuple[str, ...], ...]


def read_paraphrases(path: str | Path) -> Paraphrases:
    """Return the groups of a file, each the utterances with one meaning.

    The layout of the organisers' own file is not known; this is a neutral form. Raises
    `InputError` with every problem.
    """
    findings = Findings(file=str(path))
    groups = []
    for number, group in enumerate(items_of(path), start=1):
        if type(group) is not list or not group:
            what = "an empty list" if group == [] else found(group).removeprefix("found ")
            findings.add("bad-type", f"group {number}: expected a list of utterances, found {what}")
            continue
        wrong = [text for text in group if type(text) is not str]
        for text in wrong:
            findings.add("bad-type", f"group {number}: an utterance is text, {found(text)}")
        if not wrong:
            groups.append(tuple(group))
    findings.check()
    return tuple(groups)
