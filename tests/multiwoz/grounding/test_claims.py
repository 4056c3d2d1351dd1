"""The claims of a dialogue: verdicts, places in the words, and that they add up to the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.grounding.scores import BY_LOG
from mwzeval.scores.score import WHOLE
from mwzeval.text import plain
from tests.cases import tabled
from tests.examples import examples
from tests.multiwoz.grounding.test_evidence import AURELIA, BOOK, DATA, FIND, ID, LOGS, call, turn
from tests.places import sample_predictions

Lines = list[dict[str, Any]]
TRUE = (ID, [turn(f"Hotel Aurelia, phone {AURELIA['phone']}.", FIND)])


@cache
def evaluator() -> Evaluator:
    return Evaluator(grounded=True, corpus="sample", responses="lexicalized")


def written(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def percentages(claims: Iterable[dict[str, Any]], of: str, hit: Sequence[bool]) -> dict[str, float]:
    """Return the share of claims whose `of` is among `hit`, of those that have one, by slot."""
    held: dict[str, list[bool]] = {}
    for claim in claims:
        if claim[of] is not None:
            for scope in (WHOLE, claim["slot"]):
                held.setdefault(scope, []).append(claim[of] in hit)
    return {scope: 100 * sum(hits) / len(hits) for scope, hits in held.items()}


def assert_adds_up(claims: Lines, grounded: dict[str, Any]) -> None:
    assert grounded["hallucination"] == percentages(claims, "known", [False])
    assert grounded["consistency"] == percentages(claims, "agrees", [True])
    judged = [claim for claim in claims if claim["known"] is not None]
    assert len(judged) == grounded["mentions"][WHOLE]
    unknown = [claim for claim in judged if claim["verdict"] == "unknown"]
    assert unknown == [claim for claim in judged if not claim["known"]]
    if "log" not in grounded:
        assert all(claim["log_agrees"] is None for claim in claims)
        return
    assert grounded[BY_LOG[0]] == percentages(claims, "log_agrees", [True])
    held = [claim for claim in claims if claim["log_agrees"] is not None]
    assert grounded["log"] == {
        "claims": len(held),
        "contradicts_tools": sum(not claim["log_agrees"] for claim in held),
        "only_tools": sum(
            claim["log_agrees"] and (claim["known"] is False or claim["agrees"] is False)
            for claim in held
        ),
    }


def assert_in_the_words(claims: Lines, responses: dict[str, list[str]]) -> None:
    places = []
    for claim in claims:
        said = responses[claim["dialogue"]][claim["turn"]]
        assert said[claim["start"] : claim["end"]] == claim["text"] != ""
        places.append((claim["dialogue"], claim["turn"], claim["start"], claim["end"]))
    order = {dialogue: number for number, dialogue in enumerate(responses)}
    assert places == sorted(places, key=lambda place: (order[place[0]], *place[1:]))
    named = [(*place, claim["slot"]) for place, claim in zip(places, claims, strict=True)]
    assert len(set(named)) == len(named)


def test_claims_of_the_sample_add_up_to_its_report(tmp_path: Path) -> None:
    predictions = sample_predictions("lexicalized")
    predictions[ID] = TRUE[1]
    predictions[ID][0]["response"] += (
        " \U0001f642 Call 01632999999, <b>Bella Vista</b>\u00a0is cheap."
        " Hotel Aurelia is a guesthouse."
    )
    (tmp_path / "said.json").write_text(json.dumps(predictions), encoding="utf-8")
    report, file = tmp_path / "report.json", tmp_path / "claims.jsonl"
    said = str(tmp_path / "said.json")
    assert main(["evaluate", said, "-g", "-o", str(report), "-q"]) == 0
    assert main(["claims", said, "-o", str(file)]) == 0
    claims = written(file)
    assert_adds_up(claims, json.loads(report.read_text(encoding="utf-8"))["grounded"])
    responses = {name: [t["response"] for t in turns] for name, turns in predictions.items()}
    assert_in_the_words(claims, responses)
    assert {claim["verdict"] for claim in claims} >= {"right", "inconsistent", "unknown"}


@pytest.mark.integration
@pytest.mark.skipif(not LOGS, reason="no logs with marked claims beside the project")
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_claims_of_logs_add_up_to_their_report(path: Path) -> None:
    logs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    dialogues = {log["dialogue"]: log["messages"] for log in logs[::6]}
    scored = Evaluator(grounded=True, data=DATA, offline=True).score(dialogues)
    claims = [{"dialogue": name, **plain(claim)} for name, claim in scored.claims()]
    assert_adds_up(claims, scored.report().metrics["grounded"])
    responses = {
        name: [message["content"] for message in log if message.get("content") and said(message)]
        for name, log in dialogues.items()
    }
    assert_in_the_words(claims, responses)


def said(message: dict[str, Any]) -> bool:
    return bool(message["role"] == "assistant" and not message.get("tool_calls"))


PHONE = str(AURELIA["phone"])
STATES = {"hotel": {"area": "south"}, "taxi": {"departure": "hotel aurelia"}}
LYING = call("find_hotel", [{**AURELIA, "phone": "01632961234"}], area="south")
CALLS = {"FIND": FIND, "BOOK": BOOK, "LYING": LYING}


@tabled
def test_a_claim_has_its_verdict(domain: str, said: str, calls: str, claims: str) -> None:
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
def test_claims_stand_where_they_say_and_add_up(response: str) -> None:
    scored = evaluator().score({ID: [turn(response, FIND, hotel=STATES["hotel"])]})
    claims = [{"dialogue": name, **plain(claim)} for name, claim in scored.claims()]
    assert_in_the_words(claims, {ID: [response]})
    assert_adds_up(claims, scored.report().metrics["grounded"])
    (view,) = scored.explain(ID).turns
    assert [plain(claim) for claim in view.claims] == [
        {key: claim[key] for key in claim if key != "dialogue"} for claim in claims
    ]


def test_claims_of_placeholders_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "predictions/sample-good.json"]) == 2
    out, err = capsys.readouterr()
    assert (out, "--responses" in err) == ("", True)
