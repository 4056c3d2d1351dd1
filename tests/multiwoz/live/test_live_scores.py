"""Scores of live dialogues: hand cases, independent counts and the published evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.conversation.messages import read_messages
from mwzeval.errors import InputError
from mwzeval.multiwoz import CONVLAB2, SAMPLE
from mwzeval.multiwoz.live.judge import Judge
from mwzeval.multiwoz.live.report import LiveScorer, described
from mwzeval.scores.explanation import NOT_JUDGED, Fact
from tests.multiwoz.convlab.records import golden
from tests.multiwoz.live.written_runs import (
    HEADER,
    USED,
    line,
    sample_goals,
    scored,
    tables,
    talk,
    values,
)
from tests.places import shared
from tests.tables import named


def test_aggregated_scores_equal_counts_from_the_dialogues() -> None:
    """Every goal has the same weight, independent of its number of trials."""
    spoiled = {1: (), 2: ("book",), 3: ("address", "phone")}
    of_goal = {name: range(1, 2 + index % 3) for index, name in enumerate(USED)}
    lines = [line(name, *spoiled[n], trial=n) for name, ns in of_goal.items() for n in ns]
    lines[1] |= {"end": "limit", "user": {"complete": False, "faults": ["x", "y"]}}
    call = {"id": "x", "type": "function", "function": {"name": "no_such", "arguments": "{}"}}
    lines[2]["turns"] += 1
    lines[2]["messages"] += [
        {"role": "user", "content": "one more"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": '{"error": "there is no such function"}'},
        {"role": "assistant", "content": "Sorry."},
    ]
    judge = Judge(tables())
    counted: dict[str, dict[str, list[float]]] = {}
    for trajectory in lines:
        messages = trajectory["messages"]
        judgement = judge.judge(trajectory["goal"], read_messages(messages))
        numbers = {
            "success": 100 * judgement.success,
            "inform": 100 * all(domain.inform for domain in judgement.domains.values()),
            "user_turns": sum(message["role"] == "user" for message in messages),
            "tool_calls": sum(len(message.get("tool_calls", ())) for message in messages),
            "tool_errors": sum(message["content"] == "Sorry." for message in messages),
            "complete": 100 * trajectory["user"]["complete"],
            "end.user_stop": 100 * (trajectory["end"] == "user_stop"),
            "end.limit": 100 * (trajectory["end"] == "limit"),
            "end.agent_error": 0,
        }
        item = trajectory["dialogue"].partition("#")[0]
        for name, number in numbers.items():
            counted.setdefault(name, {}).setdefault(item, []).append(number)
    run = scored(*lines)
    (use,) = run.explain(lines[2]["dialogue"]).turns[-1].calls
    assert (use.name, use.has_failed) == ("no_such", True)
    found = values(run)
    for name, of_items in counted.items():
        means = [sum(numbers) / len(numbers) for numbers in of_items.values()]
        assert found[name] == pytest.approx(sum(means) / len(means)), name


def test_user_reports_are_scored_where_available() -> None:
    faults = [{"kind": "repeated", "turn": 1, "detail": "hi"}]
    told = line("smp0021", user={"complete": False, "faults": faults}, turns=4)
    found = values(scored(told, line("smp0024", user={"complete": True, "faults": []}, turns=4)))
    assert (found["complete"], found["user_faults"]) == (50, 12.5)
    silent = {**line("smp0024"), "user": None}
    found = values(scored(told, silent))
    assert found["complete"] == 0
    assert "complete" not in values(scored(silent))
    explained = scored(told).explain("smp0021")
    assert Fact("complete", "the user does not believe so") in explained.turns[-1].facts
    assert Fact("fault of the user", "repeated: hi") in explained.turns[1].facts


def test_unreported_user_faults_are_detected_from_the_messages() -> None:
    plain = {**line("smp0021"), "user": None}
    assert values(scored(plain))["user_faults"] == 0
    say = [{"role": "user", "content": "I want it in the north."}] * 2
    plain["messages"] = [*plain["messages"][:-2], *say]
    plain["turns"] = 4
    assert values(scored(plain))["user_faults"] == 75  # value twice, message once
    told = [f.value for t in scored(plain).explain("smp0021").turns for f in t.facts]
    assert "repeated: I want it in the north." in told


@pytest.mark.parametrize(
    ("answer", "turn"),
    [("Sure, anything else?", NOT_JUDGED), ("It is a blue toyota, phone 01632961234.", 0)],
)
def test_taxi_constraints_are_only_met_after_an_agent_contribution(answer: str, turn: int) -> None:
    goal = sample_goals()["smp0025"]
    asked = "I need a taxi from {departure} to {destination}, arriving by {arriveBy}. The car type?"
    messages = talk(asked.format(**goal["taxi"]["info"]), answer)
    ordered = {**line("smp0024"), "dialogue": "smp0025", "goal": goal, "messages": messages}
    explained = scored(ordered).explain("smp0025")
    assert explained.reached is not None
    assert explained.goal[0].label == "wants"
    assert explained.reached[0] == turn


@pytest.mark.parametrize(
    "report",
    [
        {"understood": 5},
        {"understood": [5, None, [5, "abcd", ["Inform", "Hotel", ["Area"], {}]]]},
        {"token": "[DONE]", "goal": {"hotel": 5, "domain_ordering": 7}},
        {"token": "[DONE]", "goal": {"hotel": {"booked": [], "reqt": ["phone"]}}},
        {"token": [], "goal": [], "complete": "yes"},
    ],
)
def test_reports_of_custom_users_do_not_change_success(report: dict[str, Any]) -> None:
    plain = {**line("smp0021"), "user": None}
    acts = [["Inform", "Hotel", "Area", "south"], 5]
    plain["messages"] = [
        {**message, "acts": acts} if message["role"] == "assistant" else message
        for message in plain["messages"]
    ]
    found = values(scored({**plain, "user": report}))
    assert found["success"] == values(scored(plain))["success"]


def test_agent_errors_are_reasons_only_for_failed_dialogues() -> None:
    failed = {"end": "agent_error", "problem": "KeyError: 'phone'"}
    lost = scored({**line("smp0022", "book"), **failed}).explain("smp0022")
    assert lost.reasons[0].code == "agent-error"
    assert lost.reasons[0].text.endswith("KeyError: 'phone'")
    assert not scored({**line("smp0022"), **failed}).explain("smp0022").reasons


def test_explanations_show_the_turn_in_which_each_goal_line_is_met() -> None:
    whole = scored(line("smp0022")).explain("smp0022")
    assert [(fact.scope, fact.label) for fact in whole.goal] == [
        *(("attraction", "wants"), ("attraction", "asks for"), ("attraction", "asks for")),
        *(("restaurant", "wants"), ("restaurant", "books")),
    ]
    assert whole.reached == (0, 0, 0, 1, 2)
    failed = scored(line("smp0022", "book", "phone")).explain("smp0022")
    assert failed.reached == (0, None, 0, 1, None)


def test_reported_bookings_of_agents_with_private_tools_are_scored() -> None:
    slots = {"name": "osteria bellarosa", "people": "4", "day": "saturday", "time": "14:45"}
    for bookings, value in (([], 0), ([{"domain": "restaurant", "slots": slots}], 100)):
        run = scored({**line("smp0022", "book"), "bookings": bookings})
        assert values(run)["booking"] == value


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"spec": "agenda", "strict": False}, "agenda"),
        ({"spec": "agenda", "strict": True}, "agenda,strict"),
        ({"spec": "openai:x", "temperature": 1}, "openai:x,temperature=1"),
        ({"source": "corpus:test", "sha": "01234567"}, "corpus:test@01234567"),
        ("somebody", "somebody"),
    ],
)
def test_signatures_contain_options_that_affect_scores(about: Any, expected: str) -> None:
    assert described(about) == expected
    head = {**HEADER, "user": about, "fail_book": True}
    signature = named(scored(head, line("smp0021")).report().scores, "success").signature
    choices = dict(signature.choices)
    assert (choices["user"], choices["fail-book"], choices["limit"]) == (expected, "goal", "20")


def test_different_databases_cause_a_warning() -> None:
    run = scored({**HEADER, "database": "00000000"}, line("smp0021"))
    assert [warning.kind for warning in run.warnings] == ["other-database"]
    checksum = dict(named(run.report().scores, "success").signature.choices)["corpus"][-8:]
    assert scored({**HEADER, "database": checksum}, line("smp0021")).warnings == []


HOTEL = {"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}, "domain_ordering": ["hotel"]}
HELD = {"hotel": {**HOTEL["hotel"], "reqt": {"phone": "?"}}, "domain_ordering": ["hotel"]}  # type: ignore[dict-item]


def acts_line(name: str = "x", **keys: Any) -> dict[str, Any]:
    asked = [["Request", "Hotel", "Phone", "?"]]
    acts = [[asked, [["Inform", "Hotel", "Phone", "01223000001"]]], [asked, []]]
    return {"dialogue": name, "goal": HOTEL, "acts": acts, "user": {"goal": HELD}, **keys}


def test_act_level_dialogues_are_scored_by_their_acts() -> None:
    run = scored(acts_line())
    found = values(run)
    assert (found["inform_recall"], found["complete"], found["turns"]) == (100, 0, 4)
    signature = dict(named(run.report().scores, "success").signature.choices)
    assert (signature["level"], signature["rules"]) == ("acts", "corrected")
    explanation = run.explain("x")
    assert [reason.code for reason in explanation.reasons] == ["not-told:phone"]
    assert explanation.turns[0].utterances[0].text == "Request Hotel (Phone=?)"
    assert run.report().metrics["live"]["inform_recall"] == 100


@pytest.mark.parametrize(
    ("lines", "compat", "expected"),
    [
        ([acts_line(acts=[[[["Inform"]], []]])], None, '"x"'),
        ([acts_line(user={"goal": 3})], None, '"x"'),
        ([acts_line(), line("smp0021")], None, '"x"'),
        ([line("smp0021")], CONVLAB2, "--level acts"),
        ([{**HEADER, "benchmark": "pydial"}, line("smp0021")], None, '"pydial"'),
    ],
)
def test_files_that_cannot_be_scored_are_refused(
    lines: list[dict[str, Any]], compat: str | None, expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        scored(*lines, scorer=LiveScorer(SAMPLE, offline=True, compat=compat))


@pytest.mark.integration
def test_scores_of_acts_equal_those_of_the_published_evaluator() -> None:
    scorer = LiveScorer("multiwoz-2.1", data=shared("data", "multiwoz"), compat=CONVLAB2)
    lines, expected = [], []
    for number, vector in enumerate(golden("evaluator")):
        turns = vector["turns"]
        replies = [turn["system"] for turn in turns[1:]] + [[]]
        acts = [[turn["user"], acts] for turn, acts in zip(turns, replies, strict=True)]
        # The trajectory format has no system turn before the first user turn.
        if turns[0]["system"]:
            continue
        user = {"goal": vector["goal_end"]}
        goal = vector["goal"]
        lines.append({"dialogue": f"v{number}", "goal": goal, "acts": acts, "user": user})
        expected.append(vector["expect"])
    assert len(lines) > 50
    run = scored(*lines, scorer=scorer)
    found = values(run)
    for name in ("complete", "success"):
        assert found[name] == 100 * sum(case[name] for case in expected) / len(expected)
    books = [sum(case["book"]) / len(case["book"]) for case in expected if case["book"]]
    assert found["book_rate"] == pytest.approx(100 * sum(books) / len(books))
    asking = [case["prf"] for case in expected if case["prf"][1] is not None]
    for index, name in enumerate(("inform_precision", "inform_recall", "inform_f1")):
        mean = sum(prf[index] for prf in asking) / len(asking)
        assert found[name] == pytest.approx(100 * mean)
    assert found["turns"] == sum(case["steps"] for case in expected) / len(expected)
    right, superfluous, missing = (sum(case["inform"][i] for case in expected) for i in range(3))
    matches, mismatches = (sum(case["final_goal"][i] for case in expected) for i in range(2))
    steps = [case["steps"] for case in expected if case["success"]]
    satisfied = sum(case["final_goal"][1] == 0 for case in expected)
    rates = {
        "inform_micro_precision": 100 * right / (right + superfluous),
        "inform_micro_recall": 100 * right / (right + missing),
        "domains_satisfied": 100 * matches / (matches + mismatches),
        "goals_satisfied": 100 * satisfied / len(expected),
        "turns_of_successes": sum(steps) / len(steps),
    }
    assert {name: found[name] for name in rates} == pytest.approx(rates)
    trains = [e["domain_success"]["train"] for e in expected if "train" in e["domain_success"]]
    by_domain = named(run.report().scores, "success", "train")
    assert (by_domain.value, by_domain.n) == (100 * sum(trains) / len(trains), len(trains))
    assert named(run.report().scores, "book_rate").n == len(books)
