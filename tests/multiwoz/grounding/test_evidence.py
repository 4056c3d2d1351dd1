"""What a turn says, held against what the tools of its dialogue returned: each kind, and mutations.

The logs are written here, on the sample's database; where real logs lie beside the project, nothing
of what is true in them may be told to be wrong.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.grounding.claims import CheckedMention, Claim
from mwzeval.multiwoz.grounding.log import compare_with_log, returned_by
from mwzeval.multiwoz.grounding.statements import compare_counts, counts_in
from mwzeval.multiwoz.predictions.reading import FunctionCall
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer
from tests.cases import tabled
from tests.multiwoz.towns import TOWN, mention
from tests.multiwoz.worlds import Tables
from tests.places import ROOT, read_json

ID = "smp0021"
LOGS = sorted((ROOT.parent / "shared" / "golden" / "claims").glob("*.jsonl"))
DATA = ROOT.parent / "shared" / "data" / "multiwoz"


@cache
def evaluator() -> Evaluator:
    return Evaluator(grounded=True, corpus="sample", responses="lexicalized")


def hotels(**wanted: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_json(ROOT / "data/sample/db/hotel_db.json")
    return [row for row in rows if all(row[slot] == value for slot, value in wanted.items())]


SOUTH = hotels(area="south")
AURELIA = next(row for row in SOUTH if row["name"] == "hotel aurelia")


def call(function: str, result: Any = None, /, **arguments: str) -> dict[str, Any]:
    text = result if isinstance(result, str) else json.dumps(result)
    made = {"function": function, "arguments": arguments}
    return made if result is None else {**made, "result": text}


def turn(response: str, *calls: dict[str, Any], **state: dict[str, str]) -> dict[str, Any]:
    return {"response": response, "state": state, "calls": list(calls)}


def said_of_log(scorer: Scorer, dialogue: NormalizedDialogue) -> tuple[CheckedMention, ...]:
    return compare_with_log(scorer.grounded(dialogue), scorer.database, scorer.grounding.facts)


def claims(*turns: dict[str, Any], of: Evaluator | None = None) -> list[CheckedMention]:
    checked = (of or evaluator()).checked({ID: list(turns)})
    ((name, typed),) = checked.dialogues.items()
    dialogue = checked.scorer.normalize(name, typed, checked.sources)
    return [*said_of_log(checked.scorer, dialogue)]


def verdicts(*turns: dict[str, Any]) -> list[tuple[str, str, bool | None]]:
    return [(claim.mention.slot, claim.mention.text, claim.agrees) for claim in claims(*turns)]


FIND = call("find_hotel", SOUTH, area="south")
BOOK = call("book_hotel", {"reference": "AB12CD34"}, name="hotel aurelia", people="2", day="friday")
TABLE = call("book_restaurant", {"reference": "ZZ98YX76"}, name="jade pavilion")


def test_a_value_is_right_by_the_log_where_a_tool_returned_it_of_the_venue() -> None:
    lying = call("find_hotel", [{**AURELIA, "phone": "01632961234"}], area="south")
    said = turn("Hotel Aurelia is in the south, phone 01632961234.", lying)
    by_slot = {claim.mention.slot: claim for claim in claims(said)}
    assert (by_slot["phone"].agrees, by_slot["phone"].known) == (True, False)
    assert (by_slot["area"].agrees, by_slot["area"].known) == (True, True)
    true = turn(f"Hotel Aurelia, phone {AURELIA['phone']}.", lying)
    (phone,) = (claim for claim in claims(true) if claim.mention.slot == "phone")
    assert (phone.agrees, phone.known, phone.right) == (False, True, ("01632961234",))


def test_a_venue_that_only_the_tool_has_is_one_by_the_log() -> None:
    own = call("find_hotel", [{"name": "Villa Nova Inn", "telephone": "01632111222"}])
    own["slots"] = {"telephone": "phone"}
    (name, phone) = claims(turn("I recommend Villa Nova Inn. Its phone is 01632111222.", own))
    assert (name.mention.slot, name.agrees, name.known) == ("name", True, False)
    assert (phone.mention.slot, phone.agrees, phone.known) == ("phone", True, False)
    # So it is where the state finds venues of the database that stand for it.
    said = turn("I recommend Villa Nova Inn.", own, hotel={"area": "south"})
    later = turn("The phone of it is 01632111222.", hotel={"area": "south"})
    wrong = turn(f"The phone of it is {AURELIA['phone']}.", hotel={"area": "south"})
    assert [(c.mention.slot, c.agrees, c.known) for c in claims(said, later)] == [
        *(("name", True, False), ("phone", True, False))
    ]
    (*_, phone) = claims(said, wrong)
    assert (phone.agrees, phone.known, phone.right) == (False, True, ("01632111222",))


def test_nothing_is_said_of_what_no_tool_returned() -> None:
    cut = json.dumps(SOUTH)[:30]
    assert verdicts(turn("Hotel Aurelia has 5 stars.", call("find_hotel", cut))) == []
    assert verdicts(turn("Hotel Aurelia is booked. The reference is AB12CD34.")) == []
    assert verdicts(turn("I've booked it. Reference: AB12CD34", call("book_hotel"))) == []


def test_of_a_cut_result_what_is_whole_is_read() -> None:
    cut = json.dumps([AURELIA, *SOUTH])[: len(json.dumps(AURELIA)) + 30]
    found = turn(f"Hotel Aurelia: {AURELIA['phone']}. I found 9 hotels.", call("find_hotel", cut))
    assert ("phone", AURELIA["phone"], True) in verdicts(found)


BOOKED = "I've booked Hotel Aurelia for you. The reference number is AB12CD34."


@tabled
def test_bookings_and_references(said: str, calls: list[str], wrong: list[str]) -> None:
    known = {"BOOK": BOOK, "TABLE": TABLE}
    made = [known.get(c) or call("book_hotel", c, name="hotel aurelia") for c in calls]
    told = claims(turn("Hello.", FIND), turn(said, *made))
    assert [claim.mention.slot for claim in told if not claim.agrees] == wrong


@tabled
def test_what_does_not_say_that_something_was_booked_is_no_claim(said: str) -> None:
    assert "booking" not in [slot for slot, *_ in verdicts(turn(said, FIND))]


def test_what_was_booked_before_stays_booked() -> None:
    told = verdicts(turn(BOOKED, BOOK), turn("As I said, your room is booked: AB12CD34."))
    assert told[-2:] == [("booking", "is booked", True), ("reference", "AB12CD34", True)]


@tabled
def test_how_many_there_are(said: str, right: bool) -> None:
    n = len(SOUTH)
    (one,) = (
        claim
        for claim in claims(turn(said.format(n=n, more=n + 1), FIND, hotel={"area": "south"}))
        if claim.mention.slot == "choice"
    )
    assert one.agrees is right
    assert right or str(n) in one.right


@tabled
def test_what_does_not_count_all_is_no_claim(said: str) -> None:
    all_of_them = call("find_hotel", hotels())
    assert "choice" not in [slot for slot, *_ in verdicts(turn(said, all_of_them))]


def test_a_cut_list_leaves_the_count_to_the_database() -> None:
    cut = call("find_hotel", json.dumps(SOUTH)[:-20], area="south")
    assert ("choice", str(len(SOUTH)), True) in verdicts(turn(f"I found {len(SOUTH)} hotels.", cut))
    assert ("choice", "9", False) in verdicts(turn("I found 9 hotels.", cut))


def test_a_tool_that_lists_some_says_how_many_there_are() -> None:
    some = call("find_hotel", {"total": 40, "hotels": SOUTH[:2]}, area="south")
    some["slots"] = {"total": "count"}
    assert ("choice", "40", True) in verdicts(turn("I found 40 hotels.", some))


def test_scores_of_the_log_stand_beside_the_others() -> None:
    lying = call("find_hotel", [{**AURELIA, "phone": "01632961234"}], area="south")
    said = "Hotel Aurelia is in the south, phone 01632961234. I've booked it. Ref: QW12ER34."
    with_log, without = turn(said, lying), turn(said)
    del without["calls"]
    whole = evaluator().evaluate({ID: [with_log]})
    jsonschema.validate(whole.to_dict(), read_json(ROOT / "mwzeval/report/schema.json"))
    report = whole.metrics["grounded"]
    plain = evaluator().evaluate({ID: [without]}).metrics["grounded"]
    assert report["log"] == {"claims": 5, "contradicts_tools": 2, "only_tools": 1}
    assert report["log_consistency"]["total"] == 60
    assert report["log_only"]["total"] == pytest.approx(100 / 3)
    assert {name: report[name] for name in plain} == plain
    assert not {"log", "log_consistency", "log_only"} & plain.keys()


def nested(depth: int) -> Any:
    result: Any = "a"
    for _ in range(depth):
        result = [result]
    return result


@pytest.mark.parametrize(
    "result",
    ['[{"name": "a"}, {"name": ', "{" * 50_000, "[" * 50_000, "[1, 2", "None", "\ud800", "NaN",
     {"a": {"b": [{"c": None}]}}, [], 5, True, '{"a": 1e999}', {"name": ["a"]}, {(1, 2): 3},
     nested(50_000)],
)  # fmt: skip
def test_any_result_can_be_read(result: Any) -> None:
    returned = returned_by(FunctionCall("find_hotel", {}, result))
    assert returned is not None
    assert all(isinstance(value, str) for record in returned.records for value in record.values())


@pytest.mark.integration
@pytest.mark.skipif(not (LOGS and DATA.exists()), reason="needs the logs in ../shared")
@pytest.mark.parametrize("file", LOGS, ids=lambda file: file.stem)
def test_nothing_true_is_flagged_in_real_logs_and_mutations_are(file: Path) -> None:
    rows = [row for row in map(json.loads, file.open()) if row["set"] == "clean"]
    real = Evaluator(grounded=True, corpus="multiwoz-2.2", responses="lexicalized", data=DATA)

    def told(mutate: Any) -> dict[str, list[bool | None]]:
        checked = real.checked({row["dialogue"]: mutate(row["messages"]) for row in rows[:40]})
        found: dict[str, list[bool | None]] = {"reference": [], "booking": [], "choice": []}
        for name, turns in checked.dialogues.items():
            dialogue = checked.scorer.normalize(name, turns, checked.sources)
            for claim in said_of_log(checked.scorer, dialogue):
                found.setdefault(claim.mention.slot, []).append(claim.agrees)
        return found

    def said(pattern: str, instead: str) -> Any:
        def mutate(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [
                {**message, "content": re.sub(pattern, instead, message["content"])}
                if message["role"] == "assistant" and message.get("content")
                else message
                for message in messages
            ]

        return mutate

    def without_bookings(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        gone = {
            one["id"]
            for message in messages
            for one in message.get("tool_calls") or ()
            if one["function"]["name"].startswith("book_")
        }
        return [
            message
            for message in messages
            if message.get("tool_call_id") not in gone
            and not any(one["id"] in gone for one in message.get("tool_calls") or ())
        ]

    clean = told(list)
    assert all(all(clean[slot]) and len(clean[slot]) > 20 for slot in OF_LOG)
    assert not any(told(said(r"(?<=number is \*\*)\w{4}", "QX7Z"))["reference"])
    assert not any(told(said(r"(?<=I found )\d+(?= options)", "77"))["choice"])
    assert not any(told(without_bookings)["booking"])


OF_LOG = ("reference", "booking", "choice")


def test_explanations_tell_what_the_tools_do_not_bear_out() -> None:
    lying = call("find_hotel", [{**AURELIA, "phone": "01632961234"}], area="south")
    said = turn("Hotel Aurelia, phone 01632961234. I've booked it: QW12ER34.", lying)
    (view,) = evaluator().score({ID: [said]}).explain(ID).turns
    flagged = [c for c in view.claims if isinstance(c, Claim) and c.is_flagged]
    shown = [(fact.label, fact.value) for fact in view.facts if fact.label != "says"]
    assert [(claim.verdict, claim.line()) for claim in flagged] == shown[-len(flagged) :]
    assert [label for label, _ in shown[-3:]] == ["unknown", "inconsistent", "inconsistent"]
    for datum in ("01632961234", "hotel aurelia", str(AURELIA["phone"])):
        assert datum in shown[-3][1]
    assert "QW12ER34" in shown[-1][1]


CHEAP, DEAR = 7, 9
HOTELS = [
    {**TOWN["hotel"][0], "id": str(number), "name": f"hotel {number}", "pricerange": price_range}
    for number, price_range in enumerate(["cheap"] * CHEAP + ["expensive"] * DEAR)
]
TABLES: Tables = {**TOWN, "hotel": HOTELS}


def database() -> Database:
    return Database(TABLES, "2021")


@tabled
def test_counts_are_read(text: str, numbers: list[int]) -> None:
    assert [count.number for count in counts_in(text)] == numbers


@tabled
def test_counts_are_those_of_the_state_or_of_a_part_of_it(
    response: str, agrees: list[bool]
) -> None:
    state = {"hotel": {"pricerange": "cheap"}}
    found = list(compare_counts(response, (), state, database()))
    assert [agreed for _, agreed, _ in found] == agrees
    assert all(response[count.start : count.end].isalnum() for count, *_ in found)
    assert all(counted == (CHEAP,) for *_, counted in found)


def test_what_is_said_narrows_what_is_counted() -> None:
    response = f"There are {DEAR} expensive hotels."
    said = [mention("pricerange", "expensive", "hotel", TABLES)]
    state = {"hotel": {"pricerange": "cheap"}}
    ((_, agrees, counts),) = compare_counts(response, said, state, database())
    assert agrees
    assert counts == (CHEAP, DEAR)
    ((_, alone, _),) = compare_counts(response, (), state, database())
    assert not alone
