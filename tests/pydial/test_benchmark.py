"""Scores of episodes: their computation, and the commands that show them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.pydial.episode_files import Selection
from mwzeval.pydial.episodes import Episode
from mwzeval.pydial.leaderboard import published_document, published_results
from mwzeval.pydial.results import read_results
from mwzeval.pydial.scoring import MEANINGS, evaluate, measures, table_of, validate
from mwzeval.scores.score import Signature
from tests.command_lines import Run
from tests.pydial.runs import PYDIAL, episode, small_run, write_lines
from tests.tables import named

TASKS = ["Demo-CR-3", "Demo-CR-6"]
SIGNATURE = Signature.of("pydial", {"task": "CR-1"})
pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two policies, two tasks, three seeds and two checkpoints."""
    folder = tmp_path_factory.mktemp("runs")
    for task in TASKS:
        plan = {"dialogues": (5, 10), "seeds": 3, "tests": 20, "legacy": True}
        small_run(folder, ["handcrafted", "gp-sarsa"], task, **plan)
    return folder


@pytest.fixture
def folders(runs: Path) -> list[str]:
    """The folders of both policies in a task."""
    return [str(runs / "Demo-CR-3" / policy) for policy in ("gp-sarsa", "handcrafted")]


def line(dialogue: int = 0, success: bool = True, **fields: Any) -> dict[str, Any]:
    return episode(dialogue, success, **{"task": "CR-3", "seed": 1, **fields})


def written(*lines: Any, name: str = "mine.jsonl") -> str:
    return write_lines(name, lines)


def of_seeds(seeds: int, share: int, name: str = "mine.jsonl") -> str:
    """Write six episodes for each seed, some of which fail."""
    numbers = [(seed, number) for seed in range(seeds) for number in range(6)]
    return written(*(line(n, (seed * n) % share > 0, seed=seed) for seed, n in numbers), name=name)


def test_scores_are_means_over_episodes() -> None:
    results = (
        (1, True, 5),
        (1, True, 7),
        (1, False, 25),
        (2, True, 6),
        (2, False, 3),
        (2, True, 8),
    )
    table = table_of(
        Episode("CR-1", seed, number % 3, success, exchanges, 20.0 * success - exchanges)
        for number, (seed, success, exchanges) in enumerate(results)
    )
    assert table.units[0] == "CR-1/1/000000"
    scores = ScoredTable(table, tuple(measures(SIGNATURE, table.sums()))).scores()
    assert [(score.name, score.value, score.n) for score in scores] == [
        ("success", pytest.approx(100 * 4 / 6), 6),
        ("reward", pytest.approx(np.mean([15, 13, -25, 14, -3, 12])), 6),
        ("exchanges", 9.0, 6),
    ]
    assert table_of([]).values.shape == (0, 4)


def test_intervals_resample_whole_blocks_of_a_seed() -> None:
    """All episodes of one seed succeed, and all episodes of the other fail."""
    table = table_of(
        Episode("CR-1", seed, index, seed == 1, 5, 15.0 if seed == 1 else -5.0)
        for seed in (1, 2)
        for index in range(50)
    )
    apart, together = (
        ScoredTable(table, tuple(measures(SIGNATURE, table.sums(), block=block))).scores(
            Resampling(samples=400)
        )
        for block in (1, 50)
    )
    for name, widest in (("success", 100), ("reward", 20)):
        wide, narrow = named(together, name).interval, named(apart, name).interval
        assert wide is not None
        assert narrow is not None
        assert wide.high - wide.low == pytest.approx(widest)
        assert narrow.high - narrow.low < widest / 4


def test_scores_of_a_run_match_its_tables(runs: Path) -> None:
    results = read_results(runs)
    for policy, dialogues in (("handcrafted", 0), ("gp-sarsa", 10), ("gp-sarsa", 5)):
        report = evaluate(str(runs), Selection(policy, dialogues or None)).report()
        for task in TASKS:
            tested = results.tests[task, policy, dialogues]
            for name, figures in tested.items():
                due = pytest.approx(np.mean(list(figures.values())))
                assert named(report.scores, name, task).value == due
        assert named(report.scores, "success").n == 120
        assert (report.meta["policy"], report.meta["environment"]) == (policy, "legacy")


def test_intervals_resample_seeds_of_equal_size_by_default(runs: Path) -> None:
    file = runs / "Demo-CR-3/handcrafted/seed-1/test-000000.jsonl"
    unequal = written(line(), line(1), line(seed=2))
    for scored, block, warnings in (
        (evaluate(str(runs), Selection("handcrafted")), 40, ["few-seeds"]),
        (evaluate(str(runs), Selection("handcrafted"), independent=True), 1, []),
        (evaluate(str(file)), 1, []),
        (evaluate(unequal), 1, ["unequal-seeds"]),
    ):
        assert {measure.block for measure in scored.scored_table.measures} == {block}
        assert [warning.kind for warning in scored.warnings] == warnings
    of_one = evaluate(str(file))
    assert [m.scope for m in of_one.scored_table.measures] == ["total"] * 3
    assert of_one.meta["corpus"] == "pydial-Demo-CR-3"
    assert of_one.units()[0] == "Demo-CR-3/1/000000"


def test_policies_are_compared_on_the_same_dialogues(folders: list[str], run: Run) -> None:
    shown = run("compare", *PYDIAL, *folders)
    assert shown.code == 0
    assert "common:60" in shown.out
    assert "handcrafted" in shown.out
    assert shown.err.count("3 seeds") == 1, "a warning about all systems is printed once"


@pytest.mark.parametrize(("seeds", "few"), [(4, True), (5, False)])
def test_differences_over_few_seeds_show_intervals_only_in_json(
    seeds: int, few: bool, run: Run
) -> None:
    files = [of_seeds(seeds, share, f"{share}.jsonl") for share in (2, 3)]
    for words in ([], ["--table", "ends"]):
        shown = run("compare", *PYDIAL, *files, *words).out
        assert ("‡" in shown) == few
        assert not (few and ("win/tie/loss" in shown or "paired bootstrap" in shown))
        assert bool(re.search(r"\[[^]]*, [^]]*\]", shown)) != few
    found = json.loads(run("compare", *PYDIAL, *files, "-f", "json").out)
    assert ("no significance test" in found["verdict"][0]) == few
    success = found["comparisons"][1]
    assert success["score"] == "success"
    assert success["low"] <= success["difference"] <= success["high"]


@pytest.mark.parametrize(("seeds", "few"), [(2, True), (4, True), (5, False)])
def test_few_seeds_give_no_interval_unless_dialogues_are_independent(seeds: int, few: bool) -> None:
    file, resampling = of_seeds(seeds, 3), Resampling(samples=50)
    found = named(evaluate(file).report(resampling).scores, "success")
    assert (found.interval is None) == few
    assert ("ci:" in str(found.signature)) != few
    alone = evaluate(file, independent=True).report(resampling)
    assert named(alone.scores, "success").interval is not None


def test_episodes_of_different_environments_are_not_compared(run: Run) -> None:
    old, new = (written(line(legacy=kind), name=f"{kind}.jsonl") for kind in (True, False))
    for words in (["compare", *PYDIAL, old, new], ["explain", *PYDIAL, old, "--against", new]):
        shown = run(*words)
        assert (shown.code, shown.out) == (2, "")
        assert "environment" in shown.err


def test_mixed_environments_and_policies_are_warnings() -> None:
    file = written(line(legacy=True, policy="a"), line(1, legacy=False, policy="b"))
    scored = evaluate(file)
    kinds = [warning.kind for warning in scored.warnings]
    assert kinds == ["several-environments", "several-policies"]
    assert "1 legacy, 1 clean" in scored.warnings[0].message
    errors = [p.kind for p in validate(file, strict=True) if p.severity == "error"]
    assert errors == ["several-environments"]
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
        ({"success": True, "goal": GOAL}, []),
    ],
)
def test_failure_reasons_are_derived_from_episode_fields(
    fields: dict[str, Any], codes: list[str]
) -> None:
    (explained,) = evaluate(written(line(**{"success": False, **fields}))).explain_all()
    assert [reason.code for reason in explained.reasons] == codes
    assert {code.partition(":")[0] for code in codes} <= set(MEANINGS)


def test_explain_shows_the_acts_and_the_unanswered_requests(run: Run) -> None:
    turns = [
        {"system": "hello()", "user": "bye()", "heard": [["bye()", 0.8634198]]},
        {"system": "bye()"},
    ]
    file = written(line(success=False, goal=GOAL, turns=turns), line(1))
    shown = run("explain", *PYDIAL, file, "CR-3/1/000000").out
    assert re.search(r"phone → \D+$", shown, re.MULTILINE)
    assert re.search(r"bye\(\) 0\.86$", shown, re.MULTILINE)
    assert "unanswered:phone" in run("explain", *PYDIAL, file).out
    unknown = run("explain", *PYDIAL, file, "CR-3/1/7")
    assert unknown.code == 2
    assert '"CR-3/1/7"' in unknown.err
    assert run("explain", *PYDIAL, written(line()), "--worst", "5").out.startswith("0 of 1 ")


def test_meta_line_supplies_shared_fields() -> None:
    meta = {"_meta": {"task": "LAP-2", "seed": 7, "policy": "mine", "legacy": False}}
    scored = evaluate(written(meta, line(task=..., seed=...), line(task=..., seed=8)))
    assert scored.units() == ("LAP-2/7/000000", "LAP-2/8/000000")
    assert (scored.meta["policy"], scored.meta["environment"]) == ("mine", "clean")


def test_benchmark_name_may_supply_the_task(run: Run) -> None:
    file = written(line(task=...))
    assert run("evaluate", "--benchmark", "pydial-SFR-2", "-q", file).code == 0
    untold = run("evaluate", *PYDIAL, file)
    assert untold.code == 2
    assert "--benchmark pydial-CR-1" in untold.err
    other = run("evaluate", "--benchmark", "pydial-SFR-2", written(line()))
    assert other.code == 2
    assert re.search("CR-3.*SFR-2", other.err)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        (Selection(), "--policy"),
        (Selection("handcraftd"), '"handcrafted"'),
        (Selection("gp-sarsa", 7), r"\(5, 10\)"),
        (Selection("gp-sarsa", task="CR-1"), "CR-1"),
    ],
)
def test_evaluating_a_folder_requires_one_known_policy(
    runs: Path, chosen: Selection, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        evaluate(str(runs), chosen)


def test_leaderboard_shows_published_figures_next_to_the_run(run: Run) -> None:
    file = written(line(), line(1, success=False))
    shown = run("leaderboard", *PYDIAL, "-i", file, "-f", "jsonl").out
    rows = [json.loads(text) for text in shown.splitlines()]
    found = {(r["policy"], r["dialogues"], r["figure"]): r["value"] for r in rows}
    assert {row["task"] for row in rows} == {"CR-3"}
    assert found["mine", 4000, "success"] == 50
    assert found["DQN", 4000, "reward"] == published_results().mean(["CR-3"], "DQN", 4000, "reward")
    assert "LAP-6" in run("leaderboard", *PYDIAL).out
    assert run("leaderboard", *PYDIAL, "-i", written(line(task="Demo-CR-1"))).code == 2


def test_published_handcrafted_means_match_the_paper() -> None:
    values = {
        r["figure"]: r["value"]
        for r in published_document(None, None).records
        if (r["task"], r["policy"], r["dialogues"]) == ("mean", "Handcrafted", 4000)
    }
    assert values["success"] == pytest.approx(92.1, abs=0.05)
    assert values["reward"] == pytest.approx(9.8, abs=0.05)
