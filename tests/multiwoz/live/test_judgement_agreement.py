"""Our verdicts against those of a project that had a language model read the dialogues.

Each verdict on which the two differ is in agreement.tsv, with who is right and why.
"""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.live.judge import Judge
from tests.multiwoz.live.autotod import VERDICTS, dialogues
from tests.places import ROOT, read_json, shared

pytestmark = pytest.mark.integration

PAGE = ROOT / "benchmarks" / "measurements.md"
TABLE = Path(__file__).with_name("agreement.tsv")
Verdict = tuple[str, str, str, int, int]


@cache
def verdicts() -> list[Verdict]:
    """Dialogue, domain, verdict, theirs, ours; where theirs applies."""
    folder = shared("data", "multiwoz", "db")
    names = ("restaurant", "hotel", "attraction", "train", "police", "hospital")
    judge = Judge({name: read_json(folder / f"{name}_db.json") for name in names})
    found = []
    for one in dialogues():
        judgement = judge.judge(one.goal, read_messages(one.messages), one.bookings)
        for domain, theirs in one.theirs.items():
            ours = judgement.domains[domain]
            for verdict, value in theirs.items():
                mine = getattr(ours, verdict)
                # What applies to them applies to us, and the other way round.
                assert (mine is None) == (value is None), (one.name, domain, verdict)
                if value is not None:
                    found.append((one.name, domain, verdict, value, int(mine)))
    return found


def listed() -> dict[Verdict, str]:
    """Who is right (ours, theirs or either) about each verdict on which the two differ."""
    with TABLE.open(encoding="utf-8") as lines:
        return {
            (
                *(row["dialogue"], row["domain"], row["verdict"]),
                *(int(row["theirs"]), int(row["ours"])),
            ): row["right"]
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


def test_every_difference_is_listed() -> None:
    differences = {one for one in verdicts() if one[3] != one[4]}
    assert differences == set(listed())


@pytest.mark.parametrize("verdict", VERDICTS.values())
def test_agreement_with_what_a_reader_finds_right(verdict: str) -> None:
    """At least 90 % once verdicts that the dialogue itself refutes are put right."""
    refuted = {one for one, right in listed().items() if right == "ours"}
    of_kind = [one for one in verdicts() if one[2] == verdict]
    agreed = sum(one[3] == one[4] or one in refuted for one in of_kind)
    assert agreed / len(of_kind) >= 0.9


def test_the_page_has_the_real_figures() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    count = Counter((one[2], one[3] == one[4]) for one in verdicts())
    for verdict in VERDICTS.values():
        same = count[verdict, True]
        cases = same + count[verdict, False]
        assert f"{same} of {cases}" in text
        assert f"({100 * same / cases:.1f} %)" in text
