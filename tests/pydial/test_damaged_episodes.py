"""Damaged tests of a run are refused by whatever reads them, in the same words."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import InputError
from mwzeval.pydial.job import Job, run_job
from mwzeval.pydial.retest import retest
from mwzeval.pydial.scoring import validate

Lines = list[dict[str, Any]]
TESTS = 20
FILE = "CR-3/gp-sarsa/seed-1/test-000040.jsonl"


def dialogues(number: int) -> Lines:
    return [
        {"dialogue": n, "success": n % 2 == 0, "exchanges": 5, "reward": 20 * (n % 2 == 0) - 5}
        for n in range(number)
    ]


def write(file: Path, lines: Lines) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two seeds, in the current folder, beside another one."""
    for name in ("run", "other"):
        for seed in (0, 1):
            folder = tmp_path / name / f"CR-3/gp-sarsa/seed-{seed}"
            write(folder / "test-000040.jsonl", dialogues(TESTS))
            write(folder / "training.jsonl", dialogues(40))
        settings = {"format": 1, "tests": TESTS, "legacy": False}
        (tmp_path / name / "run.json").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


PYDIAL = ("--benchmark", "pydial")
READERS = {
    "evaluate": ("evaluate", *PYDIAL, "-q", "."),
    "evaluate one": ("evaluate", *PYDIAL, "-q", FILE),
    "validate": ("validate", *PYDIAL, "."),
    "explain": ("explain", *PYDIAL, "."),
    "compare": ("compare", *PYDIAL, "../other", "."),
    "report": ("report", *PYDIAL, ".", "-o", "page.html"),
    "leaderboard": ("leaderboard", *PYDIAL, "-i", "."),
    "table": ("pydial", "table", "."),
    "plot": ("pydial", "plot", ".", "-o", "curves.svg"),
}


def test_a_run_that_asks_for_very_many_tests_takes_no_memory_for_them(run: Path) -> None:
    for tests in (300_000_000, 10**30):
        settings = {"format": 1, "tests": tests, "legacy": False}
        (run / "run.json").write_text(json.dumps(settings), encoding="utf-8")
        tracemalloc.start()
        assert main(["evaluate", *PYDIAL, "-q", "."]) == 2
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()


def changed(**fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:7], lines[7] | fields, *lines[8:]]


DAMAGES: dict[str, tuple[Callable[[Lines], Lines], tuple[str, str | None, str]]] = {
    "a number that is true": (changed(dialogue=True), ("shape", "dialogue", "line 8")),
    "negative exchanges": (changed(exchanges=-5), ("shape", "exchanges", "line 8")),
    "an endless reward": (changed(reward=1e300), ("shape", "reward", "line 8")),
    "success in words": (changed(success="yes"), ("shape", "success", "line 8")),
    "a dialogue twice": (lambda lines: [*lines, lines[3]], ("repeated", None, "line 21")),
    "half of it": (lambda lines: lines[:10], ("incomplete", None, "10")),
    "one too many": (lambda _: dialogues(21), ("incomplete", None, "21")),
    "one left out": (lambda lines: [*lines[:5], *lines[6:]], ("incomplete", None, "19")),
    "other numbers": (changed(dialogue=99), ("incomplete", None, "20")),
    "of another task": (changed(task="CR-4"), ("other-place", "task", '"CR-4"')),
    "of another kind": (changed(legacy=True), ("other-place", "legacy", "true")),
    "a line that is a list": (lambda lines: [*lines, []], ("shape", None, "line 21")),  # type: ignore[list-item]
}
"""What is done to a file, and the kind, key and place of the error."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_with_its_place(damage: str, run: Path) -> None:
    change, (kind, key, place) = DAMAGES[damage]
    write(run / FILE, change(dialogues(TESTS)))
    (problem,) = validate(".")
    assert (problem.severity, problem.kind, problem.key) == ("error", kind, key)
    assert place in problem.message
    assert str(problem.file).endswith(FILE)


@pytest.mark.parametrize("reader", READERS)
def test_damaged_tests_are_refused_everywhere(
    reader: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(run.iterdir())
    for damage in ("negative exchanges", "half of it", "of another kind"):
        write(run / FILE, DAMAGES[damage][0](dialogues(TESTS)))
        assert main(list(READERS[reader])) == 2
        assert FILE in "".join(capsys.readouterr())
        assert set(run.iterdir()) <= before | {run / "validation_results.json"}


@pytest.mark.parametrize("reader", READERS)
def test_the_same_readers_take_a_run_that_is_whole(reader: str, run: Path) -> None:
    if reader == "plot":
        pytest.importorskip("matplotlib")
    assert main(list(READERS[reader])) == 0


def test_every_damaged_file_is_told_at_once(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = FILE.replace("seed-1", "seed-0")
    write(run / FILE, dialogues(3))
    (run / other).write_bytes(b"{")
    assert main(["pydial", "table", "."]) == 2
    told = capsys.readouterr().err
    assert FILE in told
    assert other in told


def test_tests_of_ones_own_policy_may_be_of_any_size(run: Path) -> None:
    write(run / "CR-3/mine/seed-0/test-000000.jsonl", dialogues(7))
    assert main(["evaluate", *PYDIAL, "-q", "CR-3/mine"]) == 0


RUN = ("pydial", "run", "--tasks", "Demo-CR-1", "--policies", "handcrafted,random", "--seeds", "1")


@pytest.mark.parametrize("part", ["half", "nothing", "more"])
@pytest.mark.parametrize("where", ["here", pytest.param("cluster", marks=pytest.mark.integration)])
def test_a_test_that_was_cut_is_done_again(
    part: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cut"
    cut = folder / "Demo-CR-1/handcrafted/seed-0/test-000000.jsonl"
    other = folder / "Demo-CR-1/random/seed-0/test-000000.jsonl"
    call = [*RUN, "--tests", "4", "--processes", "0", "-o", str(folder)]
    assert main(call) == 0
    whole, untouched = cut.read_bytes(), other.read_bytes()
    lines = whole.splitlines(keepends=True)
    cut.write_bytes({"half": b"".join(lines[:2]), "nothing": b"", "more": whole * 2}[part])
    other.unlink()
    if where == "cluster":
        pytest.importorskip("distributed")
        call[-4:-2] = ["--dask", "local"]
        call += ["--processes", "1"]
    assert main(call) == 0
    assert str(cut) in capsys.readouterr().err
    assert (cut.read_bytes(), other.read_bytes()) == (whole, untouched)


@pytest.mark.parametrize(
    ("first", "lines", "kind"),
    [
        ({"format": 2, "episodes": 20}, 20, None),
        ({"format": 2, "episodes": 20}, 10, "incomplete"),
        ({"episodes": 20}, 21, "incomplete"),
        ({"episodes": 20}, 0, "incomplete"),
        ({"format": 2}, 10, None),
        ({"policy": "mine"}, 10, None),
        ({"format": 3, "episodes": 20}, 20, "version"),
        ({"format": "new"}, 20, "version"),
        ({"episodes": "20"}, 20, "shape"),
        ({"episodes": -1}, 20, "shape"),
        ({"episodes": True}, 1, "shape"),
    ],
)
def test_a_file_that_says_how_many_it_has_is_whole_wherever_it_lies(
    first: dict[str, Any], lines: int, kind: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "any.jsonl"
    write(file, [{"_meta": first | {"task": "CR-3"}}, *dialogues(lines)])
    errors = [problem.kind for problem in validate(str(file)) if problem.severity == "error"]
    assert errors[:1] == ([] if kind is None else [kind])
    code = main(["evaluate", "--benchmark", "pydial-CR-3", "-q", str(file)])
    assert code == (0 if kind is None else 2)


def test_a_test_of_a_run_is_whole_wherever_it_lies(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert main([*RUN, "--tests", "4", "--processes", "0", "-o", str(folder)]) == 0
    test = folder / "Demo-CR-1/random/seed-0/test-000000.jsonl"
    lines = test.read_text(encoding="utf-8").splitlines(keepends=True)
    elsewhere = tmp_path / "moved.jsonl"
    for kept, code in ((lines, 0), (lines[:3], 2), (lines[:1] + lines[2:], 2), (lines[1:3], 0)):
        elsewhere.write_text("".join(kept), encoding="utf-8")
        assert main(["evaluate", "--benchmark", "pydial-Demo-CR-1", str(elsewhere)]) == code
    elsewhere.write_text("".join(lines * 2), encoding="utf-8")
    assert main(["evaluate", "--benchmark", "pydial-Demo-CR-1", str(elsewhere)]) == 2


def test_damaged_training_is_not_drawn(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    write(run / "CR-3/gp-sarsa/seed-1/training.jsonl", changed(exchanges=0)(dialogues(40)))
    assert main(list(READERS["plot"])) == 2
    assert "seed-1/training.jsonl" in capsys.readouterr().err


def test_doubts_about_a_run_are_warnings(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(run / FILE, changed(reward=3)(dialogues(TESTS)))
    assert [(p.kind, p.severity) for p in validate(".")] == [("other-reward", "warning")]
    for reader in ("evaluate", "table"):
        assert main([word for word in READERS[reader] if word != "-q"]) == 0
        assert "reward" in capsys.readouterr().err
    write(run / FILE, dialogues(10))
    (run / "run.json").unlink()
    for reader in ("evaluate", "table"):
        assert main([word for word in READERS[reader] if word != "-q"]) == 0
        assert "seeds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "noted", ['{"tests": "many"}', '{"legacy": 0}', "[]", '{"tests": true}', '{"goodbye": []}']
)
def test_settings_of_a_run_that_are_wrong_are_told(
    noted: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "run.json").write_text(noted, encoding="utf-8")
    (run / "CR-3/gp-sarsa/seed-0/model-000040.safetensors").touch()
    for command in (READERS["evaluate"], READERS["table"], ("pydial", "retest", ".")):
        assert main(list(command)) == 2
        assert "run.json" in capsys.readouterr().err


def test_a_damaged_test_in_another_environment_is_refused(tmp_path: Path) -> None:
    job = Job("Demo-CR-1", "gp-sarsa", 0, (5,), tests=3)
    run_job(job, tmp_path)
    retest(tmp_path, [job], tested_in=["Demo-CR-3"], tests=4)
    (file,) = tmp_path.glob("cross/*/*/*.jsonl")
    write(file, dialogues(2))
    with pytest.raises(InputError) as error:
        retest(tmp_path, [job], tested_in=["Demo-CR-3"], tests=4)
    assert [problem.kind for problem in error.value.problems] == ["incomplete"]
