"""Damaged episode files: every reader reports the errors with their position."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import InputError
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.episodes import KEPT
from mwzeval.pydial.job import Job
from mwzeval.pydial.retest import retest
from mwzeval.pydial.scoring import evaluate, validate
from tests.command_lines import Run
from tests.places import write_json
from tests.pydial.runs import (
    PYDIAL,
    TASK,
    episode,
    episodes,
    read_lines,
    run_job,
    small_run,
    write_lines,
)

Lines = list[dict[str, Any]]
TESTS = 20
FILE = "CR-3/gp-sarsa/seed-1/test-000040.jsonl"
SETTINGS = {"format": 1, "tests": TESTS, "legacy": False}


def dialogues(number: int) -> Lines:
    return episodes(n % 2 == 0 for n in range(number))


@pytest.fixture
def folder(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two seeds in the current folder, next to another run."""
    for name in ("run", "other"):
        for seed in (0, 1):
            place = elsewhere / name / f"CR-3/gp-sarsa/seed-{seed}"
            write_lines(place / "test-000040.jsonl", dialogues(TESTS))
            write_lines(place / "training.jsonl", dialogues(40))
        write_json(elsewhere / name / "run.json", SETTINGS)
    monkeypatch.chdir(elsewhere / "run")
    return elsewhere / "run"


READERS = {
    "evaluate": ("evaluate", *PYDIAL, "-q", "."),
    "evaluate file": ("evaluate", *PYDIAL, "-q", FILE),
    "validate": ("validate", *PYDIAL, "."),
    "explain": ("explain", *PYDIAL, "."),
    "compare": ("compare", *PYDIAL, "../other", "."),
    "report": ("report", *PYDIAL, ".", "-o", "page.html"),
    "leaderboard": ("leaderboard", *PYDIAL, "-i", "."),
    "table": ("pydial", "table", "."),
    "plot": ("pydial", "plot", ".", "-o", "curves.svg"),
}


@pytest.mark.parametrize("tests", [300_000_000, 10**30])
def test_huge_test_counts_in_settings_use_little_memory(tests: int, folder: Path, run: Run) -> None:
    write_json(folder / "run.json", SETTINGS | {"tests": tests})
    tracemalloc.start()
    assert run("evaluate", *PYDIAL, "-q", ".").code == 2
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def changed(**fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:7], lines[7] | fields, *lines[8:]]


DAMAGES: dict[str, tuple[Callable[[Lines], Lines], tuple[str, str | None, str]]] = {
    "negative exchanges": (changed(exchanges=-5), ("shape", "exchanges", "line 8")),
    "a dialogue twice": (lambda lines: [*lines, lines[3]], ("repeated", None, "line 21")),
    "truncated": (lambda lines: lines[:10], ("incomplete", None, "10")),
    "too many episodes": (lambda _: dialogues(21), ("incomplete", None, "21")),
    "missing episode": (lambda lines: [*lines[:5], *lines[6:]], ("incomplete", None, "19")),
    "wrong dialogue number": (changed(dialogue=99), ("incomplete", None, "20")),
    "other task": (changed(task="CR-4"), ("other-place", "task", '"CR-4"')),
    "other settings": (changed(legacy=True), ("other-place", "legacy", "true")),
    "a line that is a list": (lambda lines: [*lines, []], ("shape", None, "line 21")),  # type: ignore[list-item]
}
"""Damage → function that changes the lines, and kind, key and place of the error."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_test_files_are_reported_with_line_and_key(damage: str, folder: Path) -> None:
    change, (kind, key, place) = DAMAGES[damage]
    write_lines(folder / FILE, change(dialogues(TESTS)))
    (problem,) = validate(".")
    assert (problem.severity, problem.kind, problem.key) == ("error", kind, key)
    assert place in problem.message
    assert str(problem.file).endswith(FILE)


@pytest.mark.parametrize("reader", READERS)
def test_all_readers_of_a_run_refuse_damaged_tests(reader: str, folder: Path, run: Run) -> None:
    if reader == "plot":
        pytest.importorskip("matplotlib")
    before = set(folder.iterdir())
    for damage in ("negative exchanges", "truncated", "other settings"):
        write_lines(folder / FILE, DAMAGES[damage][0](dialogues(TESTS)))
        refused = run(*READERS[reader])
        assert refused.code == 2
        assert FILE in refused.out + refused.err
        assert set(folder.iterdir()) <= before | {folder / "validation_results.json"}
    write_lines(folder / FILE, dialogues(TESTS))
    assert run(*READERS[reader]).code == 0


def test_all_damaged_files_are_reported_together(folder: Path, run: Run) -> None:
    other = FILE.replace("seed-1", "seed-0")
    write_lines(folder / FILE, dialogues(3))
    (folder / other).write_bytes(b"{")
    told = run("pydial", "table", ".").err
    assert FILE in told
    assert other in told


BAD: dict[str, tuple[Any, ...]] = {
    "dialogue": (..., True),
    "success": (1,),
    "exchanges": (0, 10**400),
    "reward": (10**400, 1e300, "20"),
    "seed": (-1,),
    "legacy": ("yes",),
    "task": ("CR-7", ...),
    "goal": ({"constraints": [["area"]]},),
    "turns": (
        *([1], [{"system": 1}], [{"heard": "x"}], [{"heard": [1]}]),
        *([{"heard": [wrong]}] for wrong in (["bye()"], [1, 0.5], ["bye()", True])),
    ),
    "policy": ("\ud800",),
}
"""Invalid values of episodes; a text with invalid Unicode is an error of the whole line."""
FAULTS = [(key, value) for key, values in BAD.items() for value in values]


def line(dialogue: Any, key: str = "seed", value: Any = 1) -> dict[str, Any]:
    return episode(dialogue, **{"task": "CR-3", "seed": 1, key: value})


@pytest.mark.parametrize(("key", "value"), FAULTS)
def test_each_invalid_field_is_reported_with_its_line(key: str, value: Any, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "mine.jsonl", [line(0), line(1, key, value)])
    (problem,) = validate(file)
    assert (problem.severity, problem.key) == ("error", None if key == "policy" else key)
    assert problem.message.startswith("line 2: ")
    with pytest.raises(InputError):
        evaluate(file)


def test_all_invalid_fields_are_reported_together(elsewhere: Path, run: Run) -> None:
    file = write_lines("mine.jsonl", [*(line("x", key, value) for key, value in FAULTS), 3])
    shown = run("validate", *PYDIAL, file)
    assert shown.code == 2
    found = [problem.get("key") for problem in json.loads(shown.out)["problems"]]
    assert set(found) >= set(BAD) - {"policy"}
    assert found.count("turns") == 1, "errors with the same message are one problem"


def test_empty_files_are_errors_and_strict_mode_makes_warnings_errors(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.jsonl", [{"_meta": {"task": "CR-1"}}])
    assert [problem.kind for problem in validate(empty)] == ["no-episodes"]
    odd = [episode(n, task="CR-3", exchanges=30, reward=1) for n in range(3)]
    file = write_lines(tmp_path / "odd.jsonl", odd)
    for strict, severity in ((False, "warning"), (True, "error")):
        found = [(p.kind, p.severity, p.count) for p in validate(file, strict=strict)]
        assert found == [("too-long", severity, 3), ("other-reward", severity, 3)]
    assert evaluate(file).report().scores


def test_tests_of_custom_policies_may_have_any_size(folder: Path, run: Run) -> None:
    write_lines(folder / "CR-3/mine/seed-0/test-000000.jsonl", dialogues(7))
    assert run("evaluate", *PYDIAL, "-q", "CR-3/mine").code == 0


RUN = ("pydial", "run", "--tasks", TASK, "--policies", "handcrafted,random", "--seeds", "1")


@pytest.mark.parametrize("part", ["half", "nothing", "more"])
@pytest.mark.parametrize("where", ["here", pytest.param("cluster", marks=pytest.mark.integration)])
def test_truncated_tests_are_repeated(part: str, where: str, tmp_path: Path, run: Run) -> None:
    cut, other = (
        tmp_path / TASK / policy / "seed-0/test-000000.jsonl"
        for policy in ("handcrafted", "random")
    )
    call = [*RUN, "--tests", "4", "-o", str(tmp_path), "--processes"]
    assert run(*call, "0").code == 0
    whole, untouched = cut.read_bytes(), other.read_bytes()
    lines = whole.splitlines(keepends=True)
    cut.write_bytes({"half": b"".join(lines[:2]), "nothing": b"", "more": whole * 2}[part])
    other.unlink()
    if where == "cluster":
        pytest.importorskip("distributed")
    again = run(*call, *(["1", "--dask", "local"] if where == "cluster" else ["0"]))
    assert again.code == 0
    assert str(cut) in again.err
    assert (cut.read_bytes(), other.read_bytes()) == (whole, untouched)


@pytest.mark.parametrize(
    ("first", "lines", "kind"),
    [
        ({"format": 2, "episodes": 20}, 20, None),
        ({"format": 2, "episodes": 20}, 10, "incomplete"),
        ({"episodes": 20}, 21, "incomplete"),
        ({"episodes": 20}, 0, "incomplete"),
        ({"policy": "mine"}, 10, None),
        ({"format": 3, "episodes": 20}, 20, "version"),
        ({"format": "new"}, 20, "version"),
        *(({"episodes": wrong}, 1, "shape") for wrong in ("20", -1, True)),
    ],
)
def test_files_are_checked_against_their_stated_number_of_episodes(
    first: dict[str, Any], lines: int, kind: str | None, tmp_path: Path, run: Run
) -> None:
    meta = {"_meta": first | {"task": "CR-3"}}
    file = write_lines(tmp_path / "any.jsonl", [meta, *dialogues(lines)])
    errors = [problem.kind for problem in validate(file) if problem.severity == "error"]
    assert errors[:1] == ([] if kind is None else [kind])
    code = run("evaluate", "--benchmark", "pydial-CR-3", "-q", file, "-o", "-").code
    assert code == (0 if kind is None else 2)


POLICIES = ("handcrafted", "random", "gp-sarsa")
PLAYED = KEPT + 3


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Test episodes of three policies."""
    output = tmp_path_factory.mktemp("run")
    small_run(output, POLICIES, tests=PLAYED)
    return {file.parts[-3]: file for file in output.glob("*/*/*/test-*.jsonl")}


@pytest.mark.parametrize("policy", POLICIES)
def test_moved_test_files_are_scored_explained_and_checked(
    policy: str, played: dict[str, Path], tmp_path: Path
) -> None:
    moved = tmp_path / "moved.jsonl"
    shutil.copy(played[policy], moved)
    there, here = evaluate(str(played[policy])), evaluate(str(moved))
    assert here.report().metrics == there.report().metrics
    assert here.units() == there.units()
    assert here.meta["policy"] == policy
    kept = [number < KEPT for number in range(PLAYED)]
    assert [len(explanation.turns) > 1 for explanation in here.explain_all()] == kept
    lines = moved.read_text(encoding="utf-8").splitlines(keepends=True)
    for damaged in (lines[:3], lines[:1] + lines[2:], lines * 2):
        moved.write_text("".join(damaged), encoding="utf-8")
        with pytest.raises(InputError):
            evaluate(str(moved))


@pytest.mark.parametrize("policy", POLICIES)
def test_first_dialogues_of_a_test_include_goal_and_turns(
    policy: str, played: dict[str, Path]
) -> None:
    lines = read_lines(played[policy])
    kept = [number < KEPT for number in range(PLAYED)]
    assert [("goal" in line, "turns" in line) for line in lines] == [(k, k) for k in kept]
    for line in lines[:KEPT]:
        turns, requests = line["turns"], line["goal"]["requests"]
        assert turns[0]["system"] == "hello()"
        assert sum("user" in turn for turn in turns) == line["exchanges"]
        assert all(turn["heard"] for turn in turns if "user" in turn)
        said = [turn["system"] for turn in turns]
        assert all(str(parse_act(act)) == act for act in said)
        assert requests["name"] is None or any(f'"{requests["name"]}"' in act for act in said)
        if line["success"]:
            assert None not in requests.values()


def test_an_error_on_every_line_is_reported_once(tmp_path: Path, run: Run) -> None:
    lines = dialogues(TESTS)
    lines[4]["reward"] = "much"
    file = write_lines(tmp_path / "untold.jsonl", lines)
    found = validate(file)
    assert [(problem.key, problem.count) for problem in found] == [("task", TESTS), ("reward", 1)]
    assert "line 1" in found[0].message
    assert "line 5" in found[1].message
    assert len(run("evaluate", *PYDIAL, file, "-o", "-").err.splitlines()) == 2


def test_plot_refuses_damaged_training_files(folder: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    place = "CR-3/gp-sarsa/seed-1/training.jsonl"
    write_lines(folder / place, changed(exchanges=0)(dialogues(40)))
    refused = run(*READERS["plot"])
    assert refused.code == 2
    assert place in refused.err


def test_implausible_rewards_and_missing_settings_are_warnings(folder: Path, run: Run) -> None:
    write_lines(folder / FILE, changed(reward=3)(dialogues(TESTS)))
    assert [(p.kind, p.severity) for p in validate(".")] == [("other-reward", "warning")]
    commands = [
        [word for word in READERS[reader] if word != "-q"] for reader in ("evaluate", "table")
    ]
    for command in commands:
        assert "reward" in run(*command).err
    write_lines(folder / FILE, dialogues(10))
    (folder / "run.json").unlink()
    for command in commands:
        told = run(*command)
        assert told.code == 0
        assert "seeds" in told.err


@pytest.mark.parametrize(
    "noted", ['{"tests": "many"}', '{"legacy": 0}', "[]", '{"tests": true}', '{"goodbye": []}']
)
def test_invalid_settings_of_a_run_are_reported(noted: str, folder: Path, run: Run) -> None:
    (folder / "run.json").write_text(noted, encoding="utf-8")
    (folder / "CR-3/gp-sarsa/seed-0/model-000040.safetensors").touch()
    for command in (READERS["evaluate"], READERS["table"], ("pydial", "retest", ".")):
        refused = run(*command)
        assert refused.code == 2
        assert "run.json" in refused.err


def test_damaged_cross_environment_tests_are_refused(tmp_path: Path) -> None:
    job = Job("Demo-CR-1", "gp-sarsa", 0, (5,), tests=3)
    run_job(job, tmp_path)
    retest(tmp_path, [job], tested_in=["Demo-CR-3"], tests=4)
    (file,) = tmp_path.glob("cross/*/*/*.jsonl")
    write_lines(file, dialogues(2))
    with pytest.raises(InputError) as error:
        retest(tmp_path, [job], tested_in=["Demo-CR-3"], tests=4)
    assert [problem.kind for problem in error.value.problems] == ["incomplete"]
