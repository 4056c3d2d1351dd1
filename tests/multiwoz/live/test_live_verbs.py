"""Verbs on files of live dialogues, which need no other input."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.cli import main
from tests import work
from tests.multiwoz.live.written_runs import HEADER, USED, goals, line, report, write
from tests.places import ROOT, read_json

Printed = pytest.CaptureFixture[str]
Compared = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture
def good() -> str:
    return write(Path("good.jsonl"), [line(name) for name in USED])


@pytest.fixture
def bad() -> str:
    """A run without bookings and addresses."""
    return write(Path("bad.jsonl"), [line(name, "book", "address") for name in USED])


@pytest.fixture
def trials() -> str:
    """A run with three trials, the second without bookings and addresses."""
    left = {2: ("book", "address")}
    lines = [line(name, *left.get(n, ()), trial=n) for name in USED for n in (1, 2, 3)]
    return write(Path("trials.jsonl"), lines)


@pytest.fixture
def compared(capsys: Printed) -> Compared:
    """Return a function that compares files and returns the printed JSON."""

    def compare(*files: str) -> Any:
        assert main(["compare", *files, "-f", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return compare


def test_evaluate_reports_scores_and_metadata_of_a_live_run(good: str) -> None:
    plain = report(good, "--ci", "95")
    jsonschema.validate(plain, read_json(ROOT / "mwzeval" / "report" / "schema.json"))
    assert plain["success"]["success"] == {
        **{"total": 100, "restaurant": 100, "hotel": 100, "attraction": 100, "train": 100},
        **{"1-domain": 100, "2-domain": 100},
    }
    assert plain["grounded"]["booking"]["total"] == 100
    assert plain["live"]["ends"]["user_stop"] == plain["live"]["goals"] == len(USED)
    meta = plain["meta"]
    assert (meta["corpus"], meta["fold"]) == ("sample", "live")
    assert "agent script, user agenda-words" in meta["note"]
    assert meta["coverage"]["dialogues"] == {"scored": 4, "of": 4}
    signature = meta["signatures"]["success"]
    assert signature.startswith("live|corpus:sample@")
    assert "|goals:corpus:test:4@01234567|user:agenda-words|level:words|limit:20|n:4|" in signature
    success = meta["scores"][0]
    assert success["signature"].endswith("ci:95%-wilson")
    assert 0 < success["low"] < success["high"] == 100


def test_missing_bookings_lower_success(bad: str, good: str) -> None:
    plain = report(bad)
    success = plain["success"]
    assert success["inform"]["total"] == 100
    assert success["success"] == {
        **{"total": 0, "restaurant": 0, "hotel": 0, "attraction": 50, "train": 0},
        **{"1-domain": 0, "2-domain": 0},
    }
    assert plain["grounded"]["booking"]["total"] == 0
    assert plain["live"]["complete"] == 100  # the user believes that the goal is complete
    gate = ["--fail-under", "success=60,success.2-domain=50", "-q"]
    assert main(["evaluate", good, *gate]) == 0
    assert main(["evaluate", bad, *gate]) == 1


def test_trials_are_grouped_by_goal(trials: str) -> None:
    plain = report(trials, "--ci", "95")
    live = plain["live"]
    assert plain["success"]["success"]["total"] == pytest.approx(200 / 3)
    assert [live[f"pass^{k}"] for k in (1, 2, 3)] == pytest.approx([200 / 3, 100 / 3, 0])
    assert live["flips^3"] == 100
    scores = {row["score"]: row for row in plain["meta"]["scores"] if row["scope"] == "total"}
    assert scores["success"]["n"] == len(USED)
    assert "|trials:3|pass:unbiased" in scores["pass^2"]["signature"]
    # All goals have the same rate, so resampled means are constant.
    assert (scores["pass^1"]["low"], scores["pass^1"]["high"]) == (None, None)


def test_files_may_be_compressed_truncated_or_without_header(good: str) -> None:
    known, raw = report(good), Path(good).read_bytes()
    Path("other.jsonl.gz").write_bytes(gzip.compress(raw[raw.index(b"\n") + 1 :]))
    other = report("other.jsonl.gz")
    assert other["success"] == known["success"]
    assert "|user:own|" in other["meta"]["signatures"]["success"]
    Path("cut.jsonl").write_bytes(raw[:-100])
    plain = report("cut.jsonl")
    assert plain["meta"]["coverage"]["dialogues"]["of"] == len(USED) - 1
    assert [warning["kind"] for warning in plain["meta"]["warnings"]] == ["cut-off"]


def test_external_dialogues_may_contain_or_name_or_omit_their_goal() -> None:
    """A goal may be an annotation, an id, or the goal of the dialogue with this name."""
    lines = [line(name) for name in USED]
    for other in lines:
        for key in ("end", "trial", "turns", "user"):
            del other[key]
    lines[0]["goal"] = {"hotel": lines[0]["goal"]["hotel"], "message": ["a hotel"]}
    lines[1].update(dialogue="smp-of-mine", goal="smp0022")
    lines[2]["goal"] = None
    lines[3]["goal"] = "SMP0024.json"
    lines[0]["dialogue"] = "SMP0021.json"
    plain = report(write(Path("other.jsonl"), lines, head=None))
    assert plain["success"]["success"]["total"] == 100
    assert plain["live"]["complete"] is None
    (warning,) = plain["meta"]["warnings"]
    assert (warning["kind"], warning["count"]) == ("no-end", 4)


def test_messages_are_live_runs_only_with_the_input_format_option() -> None:
    plain = [{key: line(name)[key] for key in ("dialogue", "messages")} for name in USED]
    file = write(Path("messages.jsonl"), plain, head=None)
    assert report(file, "-g")["meta"]["fold"] == "test"
    assert report(file, "--input-format", "live")["meta"]["fold"] == "live"
    assert main(["evaluate", "--input-format", "messages", write(Path("x.jsonl"), plain)]) == 2


def test_infrastructure_failures_are_counted_but_not_scored(capsys: Printed) -> None:
    lost = line("smp0022", messages=[], turns=0, end="infrastructure", problem="no server")
    failed = {**lost, "dialogue": "smp0024", "turns": 1, "end": "agent_error"}
    lines = [line("smp0021"), lost, line("smp0023", end="limit"), failed]
    file = write(Path("lost.jsonl"), lines)
    plain = report(file)
    assert plain["meta"]["coverage"]["dialogues"] == {"scored": 3, "of": 4}
    assert plain["meta"]["coverage"]["domains"]["restaurant"] == {"scored": 1, "of": 2}
    ends = {"user_stop": 1, "limit": 1, "agent_error": 1, "user_error": 0, "infrastructure": 1}
    assert plain["live"]["ends"] == ends
    scores = {row["score"]: row["value"] for row in plain["meta"]["scores"]}
    assert scores["end.user_stop"] == scores["end.limit"] == pytest.approx(100 / 3)
    assert plain["success"]["success"]["total"] == pytest.approx(200 / 3)
    (warning,) = plain["meta"]["warnings"]
    assert (warning["kind"], warning["dialogue"]) == ("infrastructure", "smp0022")
    assert main(["explain", file, "smp0022"]) == 0
    assert "no server" in capsys.readouterr().out
    assert main(["evaluate", write(Path("only.jsonl"), [lost])]) == 2
    acts = write(Path("acts.jsonl"), [{**failed, "acts": []}], head={**HEADER, "level": "acts"})
    assert report(acts)["live"]["success"] == 0


def test_validate_reports_all_problems(capsys: Printed) -> None:
    lines = [
        *[line("smp0021")] * 2,
        line("smp0022", goal={"hotels": {}}),
        {**line("smp0024"), "dialogue": "smp9999", "goal": None},
    ]
    assert main(["validate", write(Path("odd.jsonl"), lines)]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    kinds = {problem["dialogue"]: problem["kind"] for problem in problems}
    assert kinds == {"smp0021": "repeated-dialogue", "smp0022": "goal", "smp9999": "no-goal"}
    assert main(["validate", write(Path("good.jsonl"), [line("smp0021")])]) == 0


def test_compare_pairs_all_trials_of_systems_by_goal(
    trials: str, good: str, compared: Compared
) -> None:
    other = write(Path("other.jsonl"), [line(n, trial=t) for n in USED[:3] for t in (1, 2)])
    found = compared(trials, other)
    (group,) = found["groups"]
    assert (group["common"], group["left_out"]["trials"]) == (3, 1)
    success = [row for row in found["comparisons"] if row["score"] == "success"]
    assert [row["value"] for row in success] == pytest.approx([200 / 3, 100])
    assert (success[1]["wins"], success[1]["n"]) == (3, 3)
    assert {"pass^1", "pass^2"} < {row["score"] for row in found["comparisons"]}
    assert "pass^3" in found["not_compared"]
    assert compared(good, trials)


@pytest.mark.parametrize(
    ("header", "dialogue", "named"),
    [
        ({"user": {"spec": "openai:someone"}}, USED[0], "openai:someone"),
        ({"goals": {"source": "sampled:1", "sha": "76543210"}}, USED[1], '"other"'),
    ],
)
def test_compare_refuses_runs_with_different_users_or_without_common_goals(
    header: dict[str, Any], dialogue: str, named: str, good: str, capsys: Printed
) -> None:
    lines = [{**line(dialogue), "dialogue": USED[0]}]
    other = write(Path("other.jsonl"), lines, head={**HEADER, **header})
    assert main(["compare", good, other]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("function", ["find_hotel", "find_hotels"])
def test_evaluation_cost_is_linear_in_the_number_of_calls_per_message(function: str) -> None:
    def evaluated(number: int) -> int:
        asked = {"type": "function", "function": {"name": function, "arguments": "{}"}}
        dialogue = line(USED[0])
        dialogue["messages"][1:1] = [
            {"role": "assistant", "tool_calls": [{**asked, "id": str(n)} for n in range(number)]},
            *({"role": "tool", "tool_call_id": str(n), "content": "{}"} for n in range(number)),
        ]
        file = write(Path(f"{number}.jsonl"), [dialogue])
        return work.calls(lambda: main(["evaluate", file, "-q", "-o", "report.json"]))

    evaluated(1)
    few, more, many = map(evaluated, (100, 200, 300))
    assert many - more == pytest.approx(more - few, rel=0.02)
    assert (many - few) / 200 < 300


def test_runs_of_different_goals_are_compared_on_their_common_goals(
    good: str, bad: str, compared: Compared, capsys: Printed
) -> None:
    of_others = {**HEADER, "goals": {"source": "corpus:test:3", "sha": "76543210"}}
    # One goal has the name of a goal of the other run but different content.
    lines = [line(name) for name in USED[1:]]
    *others, last = lines[0]["goal"]["domain_ordering"]
    lines[0]["goal"] = {**lines[0]["goal"], "domain_ordering": others}
    del lines[0]["goal"][last]
    other = write(Path("other.jsonl"), lines, head=of_others)
    found = compared(bad, other)
    (group,) = found["groups"]
    assert (group["common"], group["left_out"]) == (2, {"bad": 2, "other": 1})
    assert all("|goals:" not in row["signature"] for row in found["comparisons"])
    assert main(["explain", bad, "--against", other]) == 0
    assert "2 dialogues in common" in capsys.readouterr().out
    # Goals with the same name in the same selection are equal.
    found = compared(bad, good)
    assert [group["common"] for group in found["groups"]] == [4]
    assert "|goals:corpus:test:4@01234567|" in found["comparisons"][0]["signature"]


def test_explanations_count_reasons_and_pair_trials(trials: str, capsys: Printed) -> None:
    assert main(["explain", trials]) == 0
    assert "4 of 12 failed" in capsys.readouterr().out
    assert main(["explain", trials, "smp0022#2"]) == 0
    assert "restaurant, booking: not-booked" in " ".join(capsys.readouterr().out.split())
    other = write(Path("other.jsonl"), [line(n, trial=t) for n in USED for t in (1, 2)])
    assert main(["explain", trials, "--against", other]) == 0
    told = capsys.readouterr().out
    assert "8 dialogues in common" in told
    assert "smp0022#2" in told


def test_unknown_functions_are_mapped_by_the_tools_option() -> None:
    """An unknown function causes a warning; `--tools` maps it to a known function."""
    text = json.dumps(line("smp0022")).replace("book_restaurant", "reserve")
    own = write(Path("own.jsonl"), [json.loads(text)])
    plain = report(own)
    assert plain["grounded"]["booking"]["total"] == 0
    (warning,) = plain["meta"]["warnings"]
    assert (warning["kind"], warning["dialogue"]) == ("unknown-function", "smp0022")
    assert "--tools" in warning["message"]
    Path("tools.json").write_text('{"reserve": {"function": "book_restaurant"}}', encoding="utf-8")
    known = report(own, "--tools", "tools.json")
    assert known["success"]["success"]["total"] == 100
    assert known["meta"]["warnings"] == []
    assert "|tools:" in known["meta"]["signatures"]["success"]


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"function": None}, "call-without-function"),
        *(
            ({"function": {"name": "book_restaurant", "arguments": raw}}, "arguments-not-json")
            for raw in ('{"type": ', "[]", 5, None)
        ),
    ],
)
def test_ignored_calls_are_reported_with_a_warning(changed: dict[str, Any], kind: str) -> None:
    calling = line("smp0022")
    for message in calling["messages"]:
        for call in message.get("tool_calls", ()):
            call |= changed
    plain = report(write(Path("own.jsonl"), [calling]))
    assert plain["success"]["success"]["total"] == 0
    (warning,) = plain["meta"]["warnings"]
    assert (warning["kind"], warning["dialogue"]) == (kind, "smp0022")
    assert warning["count"] > 1


def test_claims_file_marks_unknown_values(good: str) -> None:
    raw = Path(good).read_text(encoding="utf-8")
    spoken = "its postcode is "
    at = raw.index(spoken) + len(spoken)
    Path("wrong.jsonl").write_text(f"{raw[:at]}qx99zz{raw[at + 6 :]}", encoding="utf-8")
    assert main(["claims", "wrong.jsonl", "-o", "claims.jsonl"]) == 0
    claims = [json.loads(row) for row in Path("claims.jsonl").read_text("utf-8").splitlines()]
    (wrong,) = [claim for claim in claims if claim["verdict"] == "unknown"]
    assert (wrong["dialogue"], wrong["turn"], wrong["text"]) == ("smp0022", 0, "qx99zz")
    assert {claim["dialogue"] for claim in claims} == set(USED)


@pytest.mark.integration
def test_plots_show_systems(good: str, bad: str) -> None:
    for kind in ("scores", "domains", "reasons"):
        assert main(["plot", good, bad, "--kind", kind, "-o", "x.svg", "--samples", "50"]) == 0


def test_parts_of_a_run_are_concatenated_and_refused_as_shards(
    trials: str, capsys: Printed
) -> None:
    header, *lines = Path(trials).read_text(encoding="utf-8").splitlines(keepends=True)
    parts = [header + "".join(lines[:4]), header + "".join(lines[4:])]
    Path("part-1.jsonl").write_text(parts[0], encoding="utf-8")
    assert main(["shards", "part-1.jsonl"]) == 2
    assert "cat" in capsys.readouterr().err
    Path("joined.jsonl").write_text("".join(parts), encoding="utf-8")
    assert report("joined.jsonl")["success"] == report(trials)["success"]


def test_goals_in_lines_override_goals_of_the_corpus() -> None:
    """The goal in a line is used, even if the dialogue has the name of a corpus dialogue."""
    other = line("smp0021", goal=goals()["smp0024"])
    assert report(write(Path("x.jsonl"), [other]))["success"]["success"]["total"] == 0
