"""Episode files on the command line, and what their scores are made of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.pydial.episode_files import Selection
from mwzeval.pydial.leaderboard import published_document, published_results
from mwzeval.pydial.results import read_results
from mwzeval.pydial.run import run
from mwzeval.pydial.scoring import MEANINGS, evaluate, validate
from tests.tables import named

TASKS = ["Demo-CR-3", "Demo-CR-6"]
PYDIAL = ["--benchmark", "pydial"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two policies, two tasks, three seeds and two checkpoints."""
    folder = tmp_path_factory.mktemp("runs")
    policies = ["handcrafted", "gp-sarsa"]
    run(TASKS, policies, folder, dialogues=(5, 10), seeds=3, tests=20, legacy=True, processes=0)
    return folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(**fields: Any) -> dict[str, Any]:
    plain = {"task": "CR-3", "seed": 1, "dialogue": 0, "success": True, "exchanges": 5}
    plain |= fields
    plain.setdefault("reward", 20 * bool(plain["success"]) - 5)
    return {key: value for key, value in plain.items() if value is not ...}


def written(*lines: Any, name: str = "mine.jsonl") -> str:
    Path(name).write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    return name


def test_it_is_found_by_each_of_its_names() -> None:
    assert len(benchmark_named("pydial").names) == 37


def test_scores_of_a_run_are_those_of_its_tables(runs: Path) -> None:
    results = read_results(runs)
    for policy, dialogues in (("handcrafted", 0), ("gp-sarsa", 10), ("gp-sarsa", 5)):
        report = evaluate(str(runs), Selection(policy, dialogues or None)).report()
        for task in TASKS:
            tested = results.tests[task, policy, dialogues]
            for name, figures in (("success", tested.success), ("reward", tested.reward)):
                assert named(report.scores, name, task).value == pytest.approx(
                    np.mean(list(figures.values()))
                )
        assert named(report.scores, "success").n == 120
        assert (report.meta["policy"], report.meta["environment"]) == (policy, "legacy")


def test_intervals_resample_seeds_unless_told_otherwise(runs: Path) -> None:
    together = evaluate(str(runs), Selection("handcrafted"))
    apart = evaluate(str(runs), Selection("handcrafted"), independent=True)
    assert {m.block for m in together.scored_table.measures} == {40}
    assert {m.block for m in apart.scored_table.measures} == {1}
    assert [w.kind for w in together.warnings] == ["few-seeds"]
    # The seeds of all tasks are resampled together: three of them leave few different means.
    seeds = [
        np.mean([r.episode.reward for r in together.records.values() if r.episode.seed == s])
        for s in range(3)
    ]
    interval = named(together.scored_table.scores(Resampling(samples=500)), "reward").interval
    assert interval is not None
    assert min(seeds) <= interval.low <= interval.high <= max(seeds)


def test_one_seed_and_one_task_have_no_parts(runs: Path) -> None:
    file = runs / "Demo-CR-3" / "handcrafted" / "seed-1" / "test-000000.jsonl"
    scored = evaluate(str(file))
    assert [m.scope for m in scored.scored_table.measures] == ["total"] * 3
    assert scored.meta["corpus"] == "pydial-Demo-CR-3"
    assert scored.units()[0] == "Demo-CR-3/1/000000"
    assert scored.warnings == ()


def test_seeds_of_different_sizes_are_taken_dialogue_by_dialogue() -> None:
    file = written(line(), line(dialogue=1), line(seed=2))
    scored = evaluate(file)
    assert {m.block for m in scored.scored_table.measures} == {1}
    assert [w.kind for w in scored.warnings] == ["unequal-seeds"]


def test_evaluate_prints_a_table_and_writes_the_report(
    runs: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *PYDIAL, str(runs), "--policy", "handcrafted", "--ci"]) == 0
    shown = capsys.readouterr()
    assert re.search(r"^Success .*\d", shown.out, re.MULTILINE)
    assert "Demo-CR-6" in shown.out
    assert "3 seeds" in shown.err
    report = json.loads((elsewhere / "evaluation_results.json").read_text(encoding="utf-8"))
    assert 0 <= report["pydial"]["success"]["total"] <= 100


def test_policies_are_compared_on_the_same_dialogues(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(runs / "Demo-CR-3" / policy) for policy in ("gp-sarsa", "handcrafted")]
    assert main(["compare", *PYDIAL, *folders, "--independent"]) == 0
    shown = capsys.readouterr().out
    assert "common:60" in shown
    assert "handcrafted" in shown


@pytest.mark.parametrize(("seeds", "few"), [(4, True), (5, False)])
def test_a_difference_of_few_seeds_has_no_interval_but_in_json(
    seeds: int, few: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        written(
            *(
                line(seed=seed, dialogue=number, success=(seed * number) % share > 0)
                for seed in range(seeds)
                for number in range(6)
            ),
            name=f"{name}.jsonl",
        )
        for name, share in (("a", 2), ("b", 3))
    ]
    for words in ([], ["--table", "ends"]):
        assert main(["compare", *PYDIAL, *files, *words]) == 0
        shown = capsys.readouterr().out
        assert ("‡" in shown) == few
        assert not (few and ("win/tie/loss" in shown or "paired bootstrap" in shown))
        assert bool(re.search(r"\[[^]]*, [^]]*\]", shown)) != few
    assert main(["compare", *PYDIAL, *files, "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ("no significance test" in found["verdict"][0]) == few
    success = found["comparisons"][1]
    assert success["score"] == "success"
    assert success["low"] <= success["difference"] <= success["high"]


@pytest.mark.parametrize(("seeds", "few"), [(2, True), (4, True), (5, False)])
def test_scores_of_few_seeds_have_no_interval_unless_dialogues_are_independent(
    seeds: int, few: bool
) -> None:
    file = written(
        *(
            line(seed=seed, dialogue=number, success=(seed * number) % 3 > 0)
            for seed in range(seeds)
            for number in range(6)
        )
    )
    found = named(evaluate(file).report(Resampling(samples=50)).scores, "success")
    assert (found.interval is None) == few
    assert ("ci:" in str(found.signature)) != few
    alone = evaluate(file, independent=True).report(Resampling(samples=50))
    assert named(alone.scores, "success").interval is not None


def test_a_warning_about_all_systems_is_given_once(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(runs / "Demo-CR-3" / policy) for policy in ("gp-sarsa", "handcrafted")]
    assert main(["compare", *PYDIAL, *folders]) == 0
    assert capsys.readouterr().err.count("3 seeds") == 1


def test_where_nothing_was_lost_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *PYDIAL, written(line()), "--worst", "5"]) == 0
    assert capsys.readouterr().out.startswith("0 of 1 ")


def test_what_was_played_otherwise_is_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    one = written(line(legacy=True), name="one.jsonl")
    other = written(line(legacy=False), name="other.jsonl")
    for words in (["compare", *PYDIAL, one, other], ["explain", *PYDIAL, one, "--against", other]):
        assert main(words) == 2
        shown = capsys.readouterr()
        assert "environment" in shown.err
        assert shown.out == ""


def test_what_was_mixed_is_said() -> None:
    one, other = line(legacy=True, policy="a"), line(legacy=False, policy="b", dialogue=1)
    file = written(one, other)
    scored = evaluate(file)
    assert [warning.kind for warning in scored.warnings] == [
        "several-environments",
        "several-policies",
    ]
    assert "1 legacy, 1 clean" in scored.warnings[0].message
    assert [p.kind for p in validate(file, strict=True) if p.severity == "error"] == [
        "several-environments"
    ]
    assert (scored.meta["policy"], scored.meta["environment"]) == ("a+b", "clean+legacy")


GOAL = {"constraints": [["area", "=", "north"]], "requests": {"name": "x", "phone": None}}


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"exchanges": 25, "reward": -25}, ["out-of-time"]),
        ({}, ["ended-without-success"]),
        ({"goal": GOAL}, ["unanswered:phone"]),
        ({"goal": GOAL | {"requests": {"name": None, "phone": None}}}, ["no-offer"]),
        ({"goal": GOAL | {"requests": {"name": "x", "phone": "1"}}}, ["wrong-offer"]),
        ({"goal": GOAL, "out_of_time": True}, ["out-of-time", "unanswered:phone"]),
        ({"success": True, "reward": 15, "goal": GOAL}, []),
    ],
)
def test_why_an_episode_failed(fields: dict[str, Any], codes: list[str]) -> None:
    file = written(line(**{"success": False, **fields}))
    (explained,) = evaluate(file).explain_all()
    assert [reason.code for reason in explained.reasons] == codes
    assert {code.partition(":")[0] for code in codes} <= set(MEANINGS)


def test_an_episode_is_explained_with_what_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    turns = [
        {"system": "hello()", "user": "bye()", "heard": [["bye()", 0.8634198]]},
        {"system": "bye()"},
    ]
    file = written(line(success=False, goal=GOAL, turns=turns), line(dialogue=1))
    assert main(["explain", *PYDIAL, file, "CR-3/1/000000"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"phone → \D+$", shown, re.MULTILINE)
    assert re.search(r"bye\(\) 0\.86$", shown, re.MULTILINE)
    assert main(["explain", *PYDIAL, file]) == 0
    assert "unanswered:phone" in capsys.readouterr().out
    assert main(["explain", *PYDIAL, file, "CR-3/1/7"]) == 2
    assert '"CR-3/1/7"' in capsys.readouterr().err


def test_report_writes_one_page(runs: Path, elsewhere: Path) -> None:
    folders = [str(runs / "Demo-CR-3" / policy) for policy in ("gp-sarsa", "handcrafted")]
    assert main(["report", *PYDIAL, *folders, "-o", "page.html"]) == 0
    assert "handcrafted" in (elsewhere / "page.html").read_text(encoding="utf-8")


BAD = (
    (line(dialogue=...), "dialogue"),
    (line(dialogue=True), "dialogue"),
    (line(success=1), "success"),
    (line(exchanges=0), "exchanges"),
    (line(exchanges=10**400), "exchanges"),
    (line(reward=10**400), "reward"),
    (line(reward="20"), "reward"),
    (line(seed=-1), "seed"),
    (line(legacy="yes"), "legacy"),
    (line(task="CR-7"), "task"),
    (line(task=...), "task"),
    (line(goal={"constraints": [["area"]]}), "goal"),
    (line(turns=[1]), "turns"),
    (line(turns=[{"system": 1}]), "turns"),
    *((line(turns=[{"heard": heard}]), "turns") for heard in ("x", [1], [["bye()"]], [[1, 0.5]])),
    (line(turns=[{"heard": [["bye()", True]]}]), "turns"),
    (line(policy="\ud800"), None),
)


@pytest.mark.parametrize(("bad", "key"), BAD)
def test_each_fault_is_found_with_its_place(bad: dict[str, Any], key: str | None) -> None:
    file = written(line(), bad)
    (problem,) = validate(file)
    assert (problem.severity, problem.key) == ("error", key)
    assert problem.message.startswith("line 2: ")
    with pytest.raises(InputError):
        evaluate(file)


def test_all_faults_are_found_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(*(bad | {"dialogue": bad.get("dialogue", "x")} for bad, _ in BAD), 3)
    assert main(["validate", *PYDIAL, file]) == 2
    found = json.loads(capsys.readouterr().out)["problems"]
    assert {each.get("key") for each in found} >= {key for _, key in BAD if key}
    # Errors with the same message are one problem, here those of turns.
    assert len(found) == sum(key != "turns" for _, key in BAD) + 2


def test_repetitions_and_empty_files_are_errors() -> None:
    assert [p.kind for p in validate(written(line(), line()))] == ["repeated"]
    assert [p.kind for p in validate(written({"_meta": {"task": "CR-1"}}))] == ["no-episodes"]


def test_doubts_are_warnings_and_errors_when_strict() -> None:
    odd = [line(dialogue=n, exchanges=30, reward=1) for n in range(3)]
    file = written(*odd)
    assert [(p.kind, p.severity, p.count) for p in validate(file)] == [
        ("too-long", "warning", 3),
        ("other-reward", "warning", 3),
    ]
    assert {p.severity for p in validate(file, strict=True)} == {"error"}
    assert evaluate(file).report().scores


def test_what_all_lines_share_may_be_said_once() -> None:
    meta = {"_meta": {"task": "LAP-2", "seed": 7, "policy": "mine", "legacy": False}}
    scored = evaluate(written(meta, line(task=..., seed=...), line(task=..., seed=8)))
    assert scored.units() == ("LAP-2/7/000000", "LAP-2/8/000000")
    assert (scored.meta["policy"], scored.meta["environment"]) == ("mine", "clean")


def test_the_benchmark_may_name_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(line(task=...))
    assert main(["evaluate", "--benchmark", "pydial-SFR-2", "-q", file]) == 0
    assert main(["evaluate", *PYDIAL, file]) == 2
    assert "--benchmark pydial-CR-1" in capsys.readouterr().err
    assert main(["evaluate", "--benchmark", "pydial-SFR-2", written(line())]) == 2
    shown = capsys.readouterr().err
    assert "CR-3" in shown
    assert "SFR-2" in shown


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (Selection(), "--policy"),
        (Selection("handcraftd"), '"handcrafted"'),
        (Selection("gp-sarsa", 7), r"\(5, 10\)"),
        (Selection("gp-sarsa", task="CR-1"), "CR-1"),
    ],
)
def test_a_folder_needs_one_policy(runs: Path, chosen: Selection, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        evaluate(str(runs), chosen)


def test_the_paper_stands_beside_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(line(), line(dialogue=1, success=False))
    assert main(["leaderboard", *PYDIAL, "-i", file, "-f", "jsonl"]) == 0
    rows = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    found = {(r["policy"], r["dialogues"], r["figure"]): r["value"] for r in rows}
    assert {row["task"] for row in rows} == {"CR-3"}
    assert found["mine", 4000, "success"] == 50
    assert found["DQN", 4000, "reward"] == published_results().figure("CR-3", "DQN", 4000, "reward")
    assert main(["leaderboard", *PYDIAL]) == 0
    assert "LAP-6" in capsys.readouterr().out
    demo = written(line(task="Demo-CR-1"))
    assert main(["leaderboard", *PYDIAL, "-i", demo]) == 2


def test_the_published_handcrafted_mean_is_the_one_that_the_paper_gives() -> None:
    document = published_document(None, None)
    values = {
        r["figure"]: r["value"]
        for r in document.records
        if (r["task"], r["policy"], r["dialogues"]) == ("mean", "Handcrafted", 4000)
    }
    assert values["success"] == pytest.approx(92.1, abs=0.05)
    assert values["reward"] == pytest.approx(9.8, abs=0.05)
