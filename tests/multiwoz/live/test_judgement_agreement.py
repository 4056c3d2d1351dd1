"""Agreement with the verdicts of AutoTOD, for which a language model read the dialogues.

The file agreement.tsv lists all different verdicts, which of them is right, and why.
"""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.live.judge import Judge
from tests.multiwoz.live.written_runs import talk
from tests.places import ROOT, read_json, shared

pytestmark = pytest.mark.integration

PAGE = ROOT / "benchmarks" / "measurements.md"
TABLE = Path(__file__).with_name("agreement.tsv")
VERDICTS = {"inform": "inform", "success": "success", "book": "booking"}
"""AutoTOD's name of a verdict → mwzeval's name."""
Verdict = tuple[str, str, str, int, int]


@cache
def verdicts() -> list[Verdict]:
    """Return dialogue, domain, verdict, theirs and ours of all applicable verdicts."""
    folder = shared("data", "multiwoz", "db")
    names = ("restaurant", "hotel", "attraction", "train", "police", "hospital")
    judge = Judge({name: read_json(folder / f"{name}_db.json") for name in names})
    found = []
    path = shared("data", "agents", "autotod_dialogues.jsonl")
    for raw in map(json.loads, path.read_text("utf-8").splitlines()):
        name, run = raw["dialog_id"].removesuffix(".json"), raw["run_result"]
        messages = talk(*(turn[side] for turn in run["dialog_pred"] for side in ("user", "agent")))
        bookings = [
            {"domain": domain, "slots": record}
            for domain, result in raw["eval_results"].items()
            # After a failed booking, the record is an error message.
            if isinstance(record := result["book"].get("book_record"), dict)
        ]
        judgement = judge.judge(run["goals"], read_messages(messages), bookings)
        for domain, result in raw["eval_results"].items():
            for key, verdict in VERDICTS.items():
                theirs, ours = result[key]["complete"], getattr(judgement.domains[domain], verdict)
                assert (ours is None) == (theirs is None), (name, domain, verdict)
                if theirs is not None:
                    found.append((name, domain, verdict, theirs, int(ours)))
    return found


def listed() -> dict[Verdict, str]:
    """Return which side (ours, theirs or either) is right for each different verdict."""
    with TABLE.open(encoding="utf-8") as lines:
        return {
            (
                *(row["dialogue"], row["domain"], row["verdict"]),
                *(int(row["theirs"]), int(row["ours"])),
            ): row["right"]
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


def test_all_differing_verdicts_are_listed() -> None:
    differences = {verdict for verdict in verdicts() if verdict[3] != verdict[4]}
    assert differences == set(listed())


@pytest.mark.parametrize("kind", VERDICTS.values())
def test_agreement_is_at_least_90_percent_and_equals_the_documentation(kind: str) -> None:
    """Verdicts of AutoTOD that the dialogue refutes are counted as agreement for the 90 %."""
    found = [verdict for verdict in verdicts() if verdict[2] == kind]
    refuted = [verdict for verdict in found if listed().get(verdict) == "ours"]
    same = sum(theirs == ours for *_, theirs, ours in found)
    assert (same + len(refuted)) / len(found) >= 0.9
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"{same} of {len(found)}" in page
    assert f"({100 * same / len(found):.1f} %)" in page
