"""Scores of runs with conditions, and `mwzeval stress` and `compare` on runs of the same goals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.multiwoz.live.drops import paired_scores
from mwzeval.multiwoz.live.events import CHANGE_KINDS
from mwzeval.multiwoz.live.report import ScoredRun
from mwzeval.scores.score import WHOLE, Score, by_place
from mwzeval.statistics.intervals import wilson
from mwzeval.statistics.tests import holm, mcnemar
from tests.examples import examples
from tests.multiwoz.live.written_runs import HEADER, USED, Line, line, live, scored, write
from tests.places import read_json

pytestmark = pytest.mark.usefixtures("elsewhere")

UNDER = {**HEADER, "stress": {"version": 1, "name": "hard", "tables": "01234567", "errors": 0.2}}
TOOLS = {**HEADER, "stress": {"version": 1, "name": "tools", "tables": "01234567", "errors": 0.2}}


def run_of(name: str, head: Line | None, *failed: str, goals: Sequence[str] = USED) -> str:
    """Write a run in which some dialogues fail."""
    skipped = {"smp0021": "address", "smp0022": "phone", "smp0023": "book", "smp0024": "phone"}
    lines = (line(goal, *[skipped[goal]] * (goal in failed)) for goal in goals)
    return write(Path(f"{name}.jsonl"), lines, head=head)


def stress(*arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["stress", *arguments, "-q", "-o", "out.json"]) == code
    plain: dict[str, Any] = read_json(Path("out.json"))
    return plain


def by_score(found: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(record["score"], record["scope"]): record for record in found["scores"]}


@pytest.fixture
def runs() -> tuple[str, ...]:
    """Return a run without conditions and two with conditions."""
    return (
        run_of("clean", HEADER, "smp0024"),
        run_of("hard", UNDER, "smp0021", "smp0022"),
        run_of("tools", TOOLS, "smp0024"),
    )


def test_stress_runs_are_paired_with_the_run_without_conditions(
    runs: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = stress(*runs)
    scores = by_score(found)
    assert {
        name: {scope: record["value"] for (score, scope), record in scores.items() if score == name}
        for name in ("success", "drop", "robustness", "pass^1")
    } == {
        "success": {"clean": 75, "hard": 50, "tools": 75},
        "drop": {"hard": 25, "tools": 0, WHOLE: 25},
        "robustness": {
            "hard": pytest.approx(100 / 3),
            "tools": 100,
            WHOLE: pytest.approx(100 / 3),
        },
        "pass^1": {WHOLE: 25},  # only smp0023 succeeds in all runs
    }
    robust, interval = scores["robustness", "hard"], wilson(1, 3).scaled(100)
    assert (robust["low"], robust["high"], robust["n"]) == (interval.low, interval.high, 3)
    assert {name: run["conditions"] for name, run in found["runs"].items()} == {
        **{"clean": "none", "hard": "hard@1", "tools": "tools@1"}
    }
    hard, tools = found["runs"]["hard"], found["runs"]["tools"]
    assert hard["newly_failed"] == ["smp0021", "smp0022"]
    assert hard["newly_successful"] == ["smp0024"]
    assert hard["p"] == 1
    assert [hard["p_holm"], tools["p_holm"]] == list(holm([hard["p"], tools["p"]]))
    for form in ("text", "markdown", "latex", "csv", "json", "jsonl"):
        assert main(["stress", *runs, "-f", form]) == 0
        text = capsys.readouterr().out
        assert "robustness" in text
        assert "75" in text


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("drop=25,drop.tools=0,robustness=33,success.hard=50", 0),
        ("drop=24", 1),
        ("drop.hard=24,robustness.hard=30", 1),
        ("robustness=34", 1),
        ("robustness.hard=34", 1),
    ],
)
def test_stress_gates_determine_the_exit_code(gate: str, code: int, runs: tuple[str, ...]) -> None:
    stress(*runs, "--fail-under", gate, code=code)


@pytest.mark.parametrize("entry", [None, {}, True, "x", [[]], {"errors": 10**400}])
def test_malformed_conditions_in_headers_do_not_crash_the_program(entry: Any) -> None:
    clean, odd = run_of("clean", HEADER), run_of("odd", {**HEADER, "stress": entry})
    is_readable = bool(entry) and isinstance(entry, dict)
    assert main(["stress", clean, odd, "-o", "out.json"]) == (0 if is_readable else 2)
    assert main(["evaluate", odd, "-o", "out.json"]) == 0


def test_runs_that_do_not_match_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    clean, hard = run_of("clean", HEADER), run_of("hard", UNDER)
    refused: dict[tuple[str, ...], str] = {
        (hard, clean): "hard has stress conditions: name the run without conditions first",
        (clean, run_of("again", HEADER)): "again has no stress conditions",
        (clean, hard, run_of("third", {**UNDER, "limits": {"user_turns": 12}})): "user_turns",
        (clean, run_of("total", UNDER)): "rename the file",
        (clean, run_of("fewer", UNDER, goals=USED[:3])): "clean and fewer need the same goals",
    }
    different: dict[str, Any] = {
        "agent": {"spec": "rule"},
        "user": {"spec": "openai:m"},
        "seed": 3,
        "goals": {"source": "corpus:test:9", "sha": "01234567"},
    }
    for key, value in different.items():
        other = run_of(f"other-{key}", {**UNDER, key: value})
        refused[clean, other] = f"only in their conditions: {key}"
    for files, message in refused.items():
        assert main(["stress", *files]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["stress", clean])
    assert "then one or more runs with stress conditions" in capsys.readouterr().err
    assert not Path("evaluation_results.json").exists()


def test_compare_warns_of_different_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    clean, hard = run_of("clean", HEADER), run_of("hard", UNDER, "smp0021")
    assert main(["compare", clean, hard]) == 0
    out, err = capsys.readouterr()
    assert "under different conditions: clean.jsonl none, hard.jsonl hard@1" in err
    assert main(["compare", hard, run_of("again", UNDER)]) == 0
    out, err = capsys.readouterr()
    assert "stress:hard@1" in out
    assert "conditions" not in err
    edited = run_of("edited", {**UNDER, "stress": {**UNDER["stress"], "tables": "89abcdef"}})
    assert main(["compare", hard, edited]) == 0
    assert "tables=01234567, edited.jsonl hard@1,tables=89abcdef" in capsys.readouterr().err


def scores_of(*runs: Sequence[tuple[int, int]]) -> dict[tuple[str, str], Score]:
    """Return the scores of runs; a run has successes and trials for each goal."""
    named = [{str(goal): counts for goal, counts in enumerate(run)} for run in runs]
    scored: ScoredTable = paired_scores({f"run{n}": run for n, run in enumerate(named)})
    return by_place(scored.scores(Resampling(samples=50)))


RUNS = st.integers(1, 3).flatmap(
    lambda goals: st.lists(
        st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=goals, max_size=goals),
        min_size=2,
        max_size=3,
    )
)


@example([[[True, True]], [[True, False]]])
@example([[[True, False], [True, True]], [[True, True], [True, False]]])
@given(RUNS)
@examples(60)
def test_scores_equal_the_mean_over_all_combinations_of_trials(
    runs: list[list[list[bool]]],
) -> None:
    found = scores_of(*([(sum(goal), len(goal)) for goal in run] for run in runs))
    by_goal = [*zip(*runs, strict=True)]
    most = min(len(trials) for goal in by_goal for trials in goal)
    for k in range(1, most + 1):
        shares = []
        for goal in by_goal:
            chosen = [*product(*(combinations(trials, k) for trials in goal))]
            shares.append(sum(all(map(all, choice)) for choice in chosen) / len(chosen))
        assert found[f"pass^{k}", WHOLE].value == pytest.approx(100 * sum(shares) / len(shares))
    assert (f"pass^{most + 1}", WHOLE) not in found
    for number, run in enumerate(runs[1:], start=1):
        pairs = [[(a, b) for a, b in product(*goal)] for goal in zip(runs[0], run, strict=True)]
        both = sum(sum(a and b for a, b in goal) / len(goal) for goal in pairs)
        before = sum(sum(a for a, _ in goal) / len(goal) for goal in pairs)
        after = sum(sum(b for _, b in goal) / len(goal) for goal in pairs)
        drop = found["drop", f"run{number}"]
        assert drop.value == pytest.approx(100 * (before - after) / len(pairs))
        if before:
            assert found["robustness", f"run{number}"].value == pytest.approx(100 * both / before)
        else:
            assert ("robustness", f"run{number}") not in found


def test_p_values_are_those_of_the_paired_tests() -> None:
    found = stress(run_of("clean", HEADER), run_of("hard", UNDER, *USED[:3]))
    assert found["runs"]["hard"]["p"] == mcnemar(np.array([0.0, 0, 0, 1]), np.ones(4))
    trials = [line(goal, trial=trial) for goal in USED for trial in (1, 2)]
    failed = [line(goal, "phone", trial=trial) for goal in USED for trial in (1, 2)]
    first, second = write(Path("two.jsonl"), trials), write(Path("under.jsonl"), failed, head=UNDER)
    found = stress(first, second)
    assert found["runs"]["under"]["newly_failed"] == ["smp0022", "smp0024"]
    assert 0 < found["runs"]["under"]["p"] < 1
    assert {score for score, _ in by_score(found) if "^" in score} == {"pass^1", "pass^2"}


def test_act_level_runs_have_stress_scores() -> None:
    options = ("--goals", "corpus:test:9", "--level", "acts")
    live("rule-convlab", "clean.jsonl", *options)
    live("rule-convlab", "goals.jsonl", *options, "--stress", "goals")
    found = stress("clean.jsonl", "goals.jsonl")
    assert found["runs"]["goals"]["conditions"] == "goals@1"
    scores = by_score(found)
    assert scores["recovered", "goals"]["n"] > 0
    assert scores["turns", "goals"]["value"] > scores["turns", "clean"]["value"]


MIXED = {**UNDER, "stress": {**UNDER["stress"], "change": 0.3}}
UNAVAILABLE = '{"status": "unavailable", "reason": "try again"}'


def fault(kind: str, domain: str, turn: int = 0) -> dict[str, Any]:
    return {"kind": kind, "domain": domain, "turn": turn}


def change(kind: str, domain: str, slot: str = "area", turn: int = 0) -> dict[str, Any]:
    return {**fault(kind, domain, turn), "slot": slot}


def events(*faults: Any, changes: Any = ()) -> dict[str, Any]:
    return {"stress": {"faults": list(faults), "changes": list(changes)}}


def by_scope(run: ScoredRun, name: str) -> dict[str, tuple[float, int]]:
    return {s.scope: (s.value, s.n) for s in run.report().scores if s.name == name}


def test_events_and_recovered_domains_are_counted() -> None:
    # smp0021: hotel, a success; smp0022: attraction fails (no phone), restaurant is a success;
    # smp0023: the hotel and the train are not booked; smp0024 has no event.
    run = scored(
        MIXED,
        line("smp0021", **events(fault("errors", "hotel"), fault("errors", "hotel"))),
        line(
            "smp0022",
            "phone",
            **events(
                fault("errors", "attraction"),
                changes=[change("change", "restaurant"), change("aside", "restaurant", "gym")],
            ),
        ),
        line("smp0023", "book", **events(fault("full", "hotel"))),
        line("smp0024"),
    )
    assert by_scope(run, "tool_faults") == {WHOLE: (1, 4), "errors": (0.75, 4), "full": (0.25, 4)}
    assert by_scope(run, "changed_wishes") == {WHOLE: (0.25, 4), "change": (0.25, 4)}
    assert by_scope(run, "recovered") == {
        WHOLE: (50, 4),
        "errors": (50, 2),
        "full": (0, 1),
        "change": (100, 1),
        "no event": (50, 2),
    }
    intervals = {s.scope: s.interval for s in run.report(Resampling()).scores}
    assert intervals["change"] is not None


def test_unreadable_events_are_ignored() -> None:
    odd = [1, {}, {"kind": [], "turn": 0}, {"kind": "errors"}, fault("unknown", "hotel")]
    for entry in (odd, {"faults": 1}, {"faults": odd, "changes": odd}, None):
        run = scored(MIXED, line("smp0021", stress=entry))
        assert by_scope(run, "tool_faults") == {WHOLE: (0, 1)}


def test_runs_without_conditions_have_no_stress_scores() -> None:
    run = scored(HEADER, line("smp0021", **events(fault("errors", "hotel"))))
    names = {score.name for score in run.report().scores}
    assert names.isdisjoint({"tool_faults", "recovered", "denied", "false_bookings"})
    assert "with_conditions" not in run.scored_table.table.columns
    facts = [fact.label for turn in run.explain("smp0021").turns for fact in turn.facts]
    assert "fault of a tool" not in facts


HOTEL = ["Inform", "Hotel", "Area", "south"]
RESTAURANT = [
    ["Inform", "Restaurant", "Food", "italian"],
    ["Inform", "Restaurant", "Area", "centre"],
]
BOOK = ["Book", "Booking", "Ref", "ABC"]
NOTHING = ["NoOffer", "Restaurant", "none", "none"]


def user_report(said: list[Any], understood: list[Any]) -> dict[str, Any]:
    return {"user": {"complete": True, "faults": [], "said": said, "understood": understood}}


def test_bookings_reported_before_any_actual_booking_are_false() -> None:
    # In smp0022 the restaurant is booked in turn 2.
    true = user_report([[], RESTAURANT, []], [[], [], [BOOK]])
    early = user_report([[], RESTAURANT, []], [[], [BOOK], []])
    other = user_report([[HOTEL], [HOTEL]], [[], [["OfferBooked", "Hotel", "Ref", "ABC"]]])
    run = scored(
        MIXED,
        line("smp0022", trial=1, **true),
        line("smp0022", trial=2, **early),
        line("smp0021", trial=1, **other),
        line("smp0021", trial=2),
    )
    rows = run.scored_table.trial_rows
    assert rows.column("false_booking").tolist() == [0, 1, 1, 0]
    # The last dialogue has no record of the user's understanding.
    assert rows.column("can_book").tolist() == [1, 1, 1, 0]
    assert rows.column("failed_bookings").tolist() == [0, 0, 0, 0]


def test_repeated_reports_of_a_booking_are_not_false() -> None:
    # The restaurant is booked in turn 2; in turn 3 the user speaks of the attraction.
    plain = line("smp0022")
    (result,) = (m["content"] for m in plain["messages"] if '"booked"' in m["content"])
    museum = ["Inform", "Attraction", "Type", "museum"]
    for code, false in ((json.loads(result)["reference"], 0), ("OTHER123", 1)):
        again = [museum, ["Book", "Booking", "Ref", code]]
        run = scored(MIXED, {**plain, **user_report([[], [], [], [museum]], [[], [], [], again])})
        assert run.scored_table.table.column("false_booking").tolist() == [false]


def test_bookings_reported_after_a_failed_booking_are_false() -> None:
    for understood, false in ((BOOK, 1), (["NoBook", "Booking", "none", "none"], 0)):
        failed = line("smp0022", **user_report([[], RESTAURANT, []], [[], [], [understood]]))
        for message in failed["messages"]:
            if '"booked"' in message["content"]:
                message["content"] = '{"status": "failed", "reason": "nothing left"}'
        run = scored(MIXED, failed)
        for name in ("false_bookings_failed", "false_bookings"):
            assert by_scope(run, name) == {WHOLE: (100 * false, 1)}


@pytest.mark.parametrize(
    ("acts", "denied"),
    [
        ([RESTAURANT], 1),
        # The database of the sample has no restaurant with such food.
        ([[*RESTAURANT, ["Inform", "Restaurant", "Food", "martian"]]], 0),
        # The second wish replaces the first one.
        ([[*RESTAURANT, ["Inform", "Restaurant", "Food", "martian"], *RESTAURANT]], 1),
        # Details of a booking are no constraints.
        ([[*RESTAURANT, ["Inform", "Restaurant", "People", "40"]]], 1),
        ([[HOTEL]], 1),
    ],
)
def test_denied_venues_match_all_constraints_of_the_user(acts: list[Any], denied: int) -> None:
    run = scored(MIXED, line("smp0022", **user_report(acts, [[NOTHING]])))
    assert by_scope(run, "denied") == {WHOLE: (100 * denied, 1)}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I recommend it. I am sorry, I cannot tell whether it has a gym.", "declined"),
        ("There is no gym.", "declined"),
        ("I'm unable to help with that. The phone number is 1.", "declined"),
        ("Yes, it has a gym. I could not book it.", "promised"),
        ("The gym is open until nine.", "promised"),
        ("It is in the north. There are no others.", "ignored"),
        ("Hm.", "ignored"),
    ],
)
def test_answers_to_asides_are_classified(text: str, answer: str) -> None:
    aside = line("smp0021", **events(changes=[change("aside", "hotel", "gym", 1)]))
    aside["messages"][-1]["content"] = text
    run = scored(MIXED, aside)
    for how in ("declined", "ignored", "promised"):
        assert by_scope(run, f"asides.{how}") == {WHOLE: (100 * (how == answer), 1)}


def test_explanations_list_events_and_causes_in_failed_domains() -> None:
    failed = line(
        "smp0022",
        "phone",
        **events(
            fault("empty", "attraction"),
            fault("stale", "restaurant", 1),
            changes=[
                change("change", "attraction", "type", 1),
                change("aside", "attraction", "gym"),
            ],
        ),
    )
    explained = scored(MIXED, failed).explain("smp0022")
    facts = [[tuple(fact) for fact in turn.facts] for turn in explained.turns]
    assert ("fault of a tool", "empty (turn 0)", "attraction") in facts[0]
    assert ("aside of the user", "aside gym (turn 0)", "attraction") in facts[0]
    assert ("change of the user", "change type (turn 1)", "attraction") in facts[1]
    assert [(r.code, r.scope, r.turn) for r in explained.reasons][:2] == [
        ("after-empty", "attraction", 0),
        ("after-change", "attraction", 1),
    ]
    assert {reason.scope for reason in explained.reasons} == {"attraction"}


@pytest.mark.parametrize("kind", CHANGE_KINDS)
def test_changes_of_the_goal_are_explained_by_a_sentence(kind: str) -> None:
    failed = line("smp0022", "phone", **events(changes=[change(kind, "attraction", turn=1)]))
    cause, *_ = scored(MIXED, failed).explain("smp0022").reasons
    assert cause.code == f"after-{kind}"
    assert cause.text.startswith("Possible cause: in turn 1, the user")


@pytest.mark.parametrize("is_repeated", [False, True])
def test_failed_calls_are_causes_unless_the_agent_repeats_them(is_repeated: bool) -> None:
    failed = line("smp0022", "book", **events(fault("errors", "restaurant", 1)))
    place = max(n for n, message in enumerate(failed["messages"]) if "tool_calls" in message)
    call, result, *rest = failed["messages"][place:]
    first = [call, {**result, "content": UNAVAILABLE}]
    failed["messages"][place:] = [*first, *([call, result] * is_repeated), *rest]
    codes = {reason.code for reason in scored(MIXED, failed).explain("smp0022").reasons}
    assert "not-booked" in codes
    assert ("after-errors" in codes) != is_repeated
