"""Claims in dialogues and logs: verdicts, positions, and sums that equal the report.

The logs are written for these tests, on the sample's database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.grounding.claims import CheckedMention, Claim
from mwzeval.multiwoz.grounding.log import compare_with_log, returned_by
from mwzeval.multiwoz.grounding.scores import BY_LOG
from mwzeval.multiwoz.grounding.statements import compare_counts, counts_in
from mwzeval.multiwoz.predictions import FunctionCall
from mwzeval.scores.score import WHOLE
from mwzeval.text import plain
from tests.cases import tabled
from tests.examples import examples
from tests.multiwoz.towns import TOWN, mention
from tests.multiwoz.worlds import Tables
from tests.places import ROOT, read_json, sample_predictions, shared

ID = "smp0021"
Lines = list[dict[str, Any]]


@cache
def evaluator() -> Evaluator:
    return Evaluator(grounded=True, corpus="sample", responses="lexicalized")


HOTELS: Lines = read_json(ROOT / "data/sample/db/hotel_db.json")
SOUTH = [row for row in HOTELS if row["area"] == "south"]
AURELIA = next(row for row in SOUTH if row["name"] == "hotel aurelia")
PHONE = str(AURELIA["phone"])


def call(function: str, result: Any = None, /, **arguments: str) -> dict[str, Any]:
    text = result if isinstance(result, str) else json.dumps(result)
    made = {"function": function, "arguments": arguments}
    return made if result is None else {**made, "result": text}


def turn(response: str, *calls: dict[str, Any], **state: dict[str, str]) -> dict[str, Any]:
    return {"response": response, "state": state, "calls": list(calls)}


def compared_with_log(made: Evaluator, dialogues: Any) -> list[CheckedMention]:
    checked = made.checked(dialogues)
    scorer = checked.scorer
    found: list[CheckedMention] = []
    for name, turns in checked.dialogues.items():
        grounded = scorer.grounded(scorer.normalize(name, turns, checked.sources))
        found += compare_with_log(grounded, scorer.database)
    return found


def checked(*turns: dict[str, Any]) -> list[CheckedMention]:
    return compared_with_log(evaluator(), {ID: list(turns)})


def verdicts(*turns: dict[str, Any]) -> list[tuple[str, str, bool | None]]:
    return [(found.mention.slot, found.mention.text, found.agrees) for found in checked(*turns)]


FIND = call("find_hotel", SOUTH, area="south")
LYING = call("find_hotel", [{**AURELIA, "phone": "01632961234"}], area="south")
BOOK = call("book_hotel", {"reference": "AB12CD34"}, name="hotel aurelia", people="2", day="friday")
TABLE = call("book_restaurant", {"reference": "ZZ98YX76"}, name="jade pavilion")
CALLS = {"FIND": FIND, "BOOK": BOOK, "LYING": LYING, "TABLE": TABLE}


# Comparison with the log of tools


def test_values_agree_with_the_log_if_a_tool_returned_them_for_the_venue() -> None:
    said = turn("Hotel Aurelia is in the south, phone 01632961234.", LYING)
    by_slot = {found.mention.slot: found for found in checked(said)}
    assert (by_slot["phone"].agrees, by_slot["phone"].known) == (True, False)
    assert (by_slot["area"].agrees, by_slot["area"].known) == (True, True)
    (_, phone) = checked(turn(f"Hotel Aurelia, phone {PHONE}.", LYING))
    assert (phone.agrees, phone.known, phone.right) == (False, True, ("01632961234",))


def test_venues_only_in_tool_results_agree_with_the_log() -> None:
    own = call("find_hotel", [{"name": "Villa Nova Inn", "telephone": "01632111222"}])
    own["slots"] = {"telephone": "phone"}
    expected = [("name", True, False), ("phone", True, False)]
    south = {"area": "south"}
    # This also holds if the state matches venues of the database.
    named = turn("I recommend Villa Nova Inn.", own, hotel=south)
    for turns in (
        [turn("I recommend Villa Nova Inn. Its phone is 01632111222.", own)],
        [named, turn("The phone of it is 01632111222.", hotel=south)],
    ):
        assert [(c.mention.slot, c.agrees, c.known) for c in checked(*turns)] == expected
    (*_, phone) = checked(named, turn(f"The phone of it is {PHONE}.", hotel=south))
    assert (phone.agrees, phone.known, phone.right) == (False, True, ("01632111222",))


def test_claims_without_tool_results_are_not_compared_with_the_log() -> None:
    cut = json.dumps(SOUTH)[:30]
    assert verdicts(turn("Hotel Aurelia has 5 stars.", call("find_hotel", cut))) == []
    assert verdicts(turn("Hotel Aurelia is booked. The reference is AB12CD34.")) == []
    assert verdicts(turn("I've booked it. Reference: AB12CD34", call("book_hotel"))) == []


def test_the_complete_part_of_a_truncated_result_is_read() -> None:
    cut = json.dumps([AURELIA, *SOUTH])[: len(json.dumps(AURELIA)) + 30]
    found = turn(f"Hotel Aurelia: {PHONE}. I found 9 hotels.", call("find_hotel", cut))
    assert ("phone", PHONE, True) in verdicts(found)


@tabled
def test_booking_and_reference_claims_are_compared_with_calls(
    said: str, calls: list[str], wrong: list[str]
) -> None:
    made = [CALLS.get(c) or call("book_hotel", c, name="hotel aurelia") for c in calls]
    found = verdicts(turn("Hello.", FIND), turn(said, *made))
    assert [slot for slot, _, agrees in found if not agrees] == wrong


@tabled
def test_sentences_without_a_completed_booking_are_not_booking_claims(said: str) -> None:
    assert "booking" not in [slot for slot, *_ in verdicts(turn(said, FIND))]


def test_booking_claims_may_refer_to_earlier_turns() -> None:
    booked = turn("I've booked Hotel Aurelia for you. The reference number is AB12CD34.", BOOK)
    found = verdicts(booked, turn("As I said, your room is booked: AB12CD34."))
    assert found[-2:] == [("booking", "is booked", True), ("reference", "AB12CD34", True)]


@tabled
def test_counts_are_compared_with_the_number_of_matching_venues(said: str, right: bool) -> None:
    n = len(SOUTH)
    spoken = turn(said.format(n=n, more=n + 1), FIND, hotel={"area": "south"})
    (count,) = (found for found in checked(spoken) if found.mention.slot == "choice")
    assert count.agrees is right
    assert right or str(n) in count.right


@tabled
def test_sentences_that_do_not_count_all_venues_are_not_count_claims(said: str) -> None:
    all_of_them = call("find_hotel", HOTELS)
    assert "choice" not in [slot for slot, *_ in verdicts(turn(said, all_of_them))]


def test_counts_of_incomplete_results_use_the_database_or_stated_total() -> None:
    cut = call("find_hotel", json.dumps(SOUTH)[:-20], area="south")
    some = call("find_hotel", {"total": 40, "hotels": SOUTH[:2]}, area="south")
    some["slots"] = {"total": "count"}
    # The number comes from the database or from the tool's total.
    for result, number, agrees in ((cut, len(SOUTH), True), (cut, 9, False), (some, 40, True)):
        found = verdicts(turn(f"I found {number} hotels.", result))
        assert ("choice", str(number), agrees) in found


def test_log_adds_scores_and_leaves_other_scores_unchanged() -> None:
    said = "Hotel Aurelia is in the south, phone 01632961234. I've booked it. Ref: QW12ER34."
    with_log, without = turn(said, LYING), turn(said)
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
def test_arbitrary_tool_results_are_read_without_errors(result: Any) -> None:
    returned = returned_by(FunctionCall("find_hotel", {}, result))
    assert returned is not None
    assert all(isinstance(value, str) for record in returned.records for value in record.values())


@pytest.mark.integration
@pytest.mark.parametrize("log", ["agent_logs_21", "agent_logs_31"])
def test_true_claims_in_real_logs_are_not_flagged(log: str) -> None:
    text = shared("golden", "claims", f"{log}.jsonl").read_text(encoding="utf-8")
    rows = [row for row in map(json.loads, text.splitlines()) if row["set"] == "clean"][:40]
    data = shared("data", "multiwoz")
    real = Evaluator(grounded=True, corpus="multiwoz-2.2", responses="lexicalized", data=data)
    dialogues = {row["dialogue"]: row["messages"] for row in rows}
    found = compared_with_log(real, dialogues)
    for slot in ("reference", "booking", "choice"):
        agrees = [checked.agrees for checked in found if checked.mention.slot == slot]
        assert len(agrees) > 20
        assert all(agrees)
    scored = real.score(dialogues)
    claims = [{"dialogue": name, **plain(claim)} for name, claim in scored.claims()]
    assert_adds_up(claims, scored.report().metrics["grounded"])


# Comparison of counts with the database

CHEAP, EXPENSIVE = 7, 9
TABLES: Tables = {
    **TOWN,
    "hotel": [
        {**TOWN["hotel"][0], "id": str(number), "name": f"hotel {number}", "pricerange": price}
        for number, price in enumerate(["cheap"] * CHEAP + ["expensive"] * EXPENSIVE)
    ],
}
ASKED = {"hotel": {"pricerange": "cheap"}}


@tabled
def test_counts_are_extracted_from_text(text: str, numbers: list[int]) -> None:
    assert [count.number for count in counts_in(text)] == numbers


@tabled
def test_counts_may_match_all_or_some_constraints_of_the_state(
    response: str, agrees: list[bool]
) -> None:
    found = list(compare_counts(response, (), ASKED, Database(TABLES, "2021")))
    assert [agreed for _, agreed, _ in found] == agrees
    assert all(response[count.start : count.end].isalnum() for count, *_ in found)
    assert all(counted == (CHEAP,) for *_, counted in found)


def test_mentioned_values_restrict_the_counted_venues() -> None:
    response = f"There are {EXPENSIVE} expensive hotels."
    said = [mention("pricerange", "expensive", "hotel", TABLES)]
    for mentions, expected in ((said, (True, (CHEAP, EXPENSIVE))), ((), (False, (CHEAP,)))):
        ((_, *found),) = compare_counts(response, mentions, ASKED, Database(TABLES, "2021"))
        assert tuple(found) == expected


# Claims and their verdicts


def percentages(claims: Iterable[dict[str, Any]], key: str, hit: bool) -> dict[str, float]:
    """Return, by slot, the percentage of claims with a value of `key` that is `hit`."""
    outcomes: dict[str, list[bool]] = {}
    for claim in claims:
        if claim[key] is not None:
            for scope in (WHOLE, claim["slot"]):
                outcomes.setdefault(scope, []).append(claim[key] is hit)
    return {scope: 100 * sum(hits) / len(hits) for scope, hits in outcomes.items()}


def assert_adds_up(claims: Lines, grounded: dict[str, Any]) -> None:
    assert grounded["hallucination"] == percentages(claims, "known", False)
    assert grounded["consistency"] == percentages(claims, "agrees", True)
    judged = [claim for claim in claims if claim["known"] is not None]
    assert len(judged) == grounded["mentions"][WHOLE]
    unknown = [claim for claim in judged if claim["verdict"] == "unknown"]
    assert unknown == [claim for claim in judged if not claim["known"]]
    logged = [claim for claim in claims if claim["log_agrees"] is not None]
    if "log" not in grounded:
        assert logged == []
        return
    assert grounded[BY_LOG[0]] == percentages(claims, "log_agrees", True)
    assert grounded["log"] == {
        "claims": len(logged),
        "contradicts_tools": sum(not claim["log_agrees"] for claim in logged),
        "only_tools": sum(
            claim["log_agrees"] and (claim["known"] is False or claim["agrees"] is False)
            for claim in logged
        ),
    }


def assert_in_the_words(claims: Lines, responses: dict[str, list[str]]) -> None:
    places = []
    order = [*responses]
    for claim in claims:
        said = responses[claim["dialogue"]][claim["turn"]]
        assert said[claim["start"] : claim["end"]] == claim["text"] != ""
        dialogue = order.index(claim["dialogue"])
        places.append((dialogue, claim["turn"], claim["start"], claim["end"], claim["slot"]))
    assert len(set(places)) == len(places)
    assert [place[:4] for place in places] == sorted(place[:4] for place in places)


def test_sample_claims_add_up_to_the_report(tmp_path: Path) -> None:
    predictions = sample_predictions("lexicalized")
    more = " \U0001f642 Call 01632999999, <b>Bella Vista</b>\u00a0is cheap."
    said = f"Hotel Aurelia, phone {PHONE}.{more} Hotel Aurelia is a guesthouse."
    predictions[ID] = [turn(said, FIND)]
    input_file, report, file = (
        tmp_path / name for name in ("said.json", "report.json", "claims.jsonl")
    )
    input_file.write_text(json.dumps(predictions), encoding="utf-8")
    assert main(["evaluate", str(input_file), "-g", "-o", str(report), "-q"]) == 0
    assert main(["claims", str(input_file), "-o", str(file)]) == 0
    claims = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert_adds_up(claims, read_json(report)["grounded"])
    responses = {name: [t["response"] for t in turns] for name, turns in predictions.items()}
    assert_in_the_words(claims, responses)
    assert {claim["verdict"] for claim in claims} >= {"right", "inconsistent", "unknown"}


STATES = {"hotel": {"area": "south"}, "taxi": {"departure": "hotel aurelia"}}


@tabled
def test_claims_have_the_expected_verdicts(domain: str, said: str, calls: str, claims: str) -> None:
    made = [CALLS[name] for name in calls.split()]
    spoken = turn(said.replace("PHONE", PHONE), *made, **{domain: STATES[domain]})
    found = [
        (
            *(f"{claim.slot} {claim.verdict}", claim.value or ""),
            *map(",".join, (claim.venue, claim.right, claim.held_against)),
        )
        for _, claim in evaluator().score({ID: [spoken]}).claims()
    ]
    expected = claims.replace("PHONE", PHONE).split("; ") if claims else []
    assert found == [tuple(claim.split(" | ")) for claim in expected]


PIECES = (
    *("\U0001f642 ", "**Hotel Aurelia** ", "is in the north. ", "\u00a0", "phone 01632999999, "),
    *("<b>", "\n- ", "&amp;", "\uff21\uff22 ", "I've booked it. ", "reference QW12ER34 ", PHONE),
    *("Caf\u00e9 Zo\u00eb ", "| ", "\u200b", " a cheap hotel? ", "[our page](https://a.b) "),
    *("TR1234 ", "e\u0301"),
)


@examples(40)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_claim_spans_are_exact_and_claims_add_up_to_the_report(response: str) -> None:
    scored = evaluator().score({ID: [turn(response, FIND, hotel=STATES["hotel"])]})
    claims = [{"dialogue": name, **plain(claim)} for name, claim in scored.claims()]
    assert_in_the_words(claims, {ID: [response]})
    assert_adds_up(claims, scored.report().metrics["grounded"])
    (view,) = scored.explain(ID).turns
    assert [{"dialogue": ID, **plain(claim)} for claim in view.claims] == claims


def test_explanations_show_claims_contradicted_by_tools() -> None:
    said = turn("Hotel Aurelia, phone 01632961234. I've booked it: QW12ER34.", LYING)
    (view,) = evaluator().score({ID: [said]}).explain(ID).turns
    flagged = [c for c in view.claims if isinstance(c, Claim) and c.is_flagged]
    shown = [(fact.label, fact.value) for fact in view.facts if fact.label != "says"]
    assert [(claim.verdict, claim.line()) for claim in flagged] == shown[-len(flagged) :]
    assert [label for label, _ in shown[-3:]] == ["unknown", "inconsistent", "inconsistent"]
    for value in ("01632961234", "hotel aurelia", PHONE):
        assert value in shown[-3][1]
    assert "QW12ER34" in shown[-1][1]


def test_claims_command_rejects_delexicalized_responses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "predictions/sample-good.json"]) == 2
    out, err = capsys.readouterr()
    assert (out, "--responses" in err) == ("", True)
