"""Every verb with every option that all benchmarks share.

The whole matrix is tested with MultiWOZ and with an external plug-in (tests/toy); behaviour that
differs between benchmarks is tested with all of them. A command either works or prints why the
benchmark does not support it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import IO, Any

import pytest

from mwzeval.arguments import FORMATS
from mwzeval.benchmark import benchmark_named
from mwzeval.cli import VERBS, main
from mwzeval.errors import UsageError
from mwzeval.files import reading
from tests.command_lines import Ran, Run
from tests.places import read_json
from tests.samples import NAMES, TOY, Sample, installed, write_sample

FEW = "--samples 50"
REPORT = Path("evaluation_results.json")


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    with installed(TOY):
        yield


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sample]:
    return cache(lambda name: write_sample(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(params=(*NAMES, "toy"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sample(name: str, samples: Callable[[str], Sample]) -> Sample:
    return samples(name)


@pytest.fixture
def run(
    run: Run, name: str, sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run commands of the benchmark in a temporary folder."""
    monkeypatch.chdir(tmp_path)

    def of_benchmark(command: str) -> Ran:
        verb, *words = command.split()
        files = re.compile("BETTER|WORSE|INVALID")
        options = (files.sub(lambda f: getattr(sample, f[0].lower()), word) for word in words)
        return run(verb, "--benchmark", name, *options)

    return of_benchmark


def parsed(text: str, format_name: str) -> Any:
    """Return the parsed output; fail if it is empty or not in the given format."""
    assert text.strip()
    match format_name:
        case "json":
            return json.loads(text)
        case "jsonl":
            return [json.loads(line) for line in text.splitlines()]
        case "csv":
            header, *rows = csv.reader(io.StringIO(text))
            assert rows
            assert {len(row) for row in rows} == {len(header)}
            return rows
        case "markdown":
            assert "|---" in text.replace(" ", "").replace(":", "")
        case "latex":
            assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 0
        case "html":
            assert text.lstrip().lower().startswith("<!doctype html>")
            assert text.rstrip().endswith("</html>")
    return text


def works(run: Run, name: str, command: str, needs: str | None = None) -> Ran | None:
    """Return the result of a command, None if the benchmark lacks the member that it needs."""
    ran = run(command)
    if needs is not None and (sentence := lacks(name, needs)):
        assert (ran.code, ran.out) == (2, "")
        assert sentence in ran.err
        return None
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    return ran


def lacks(name: str, member: str) -> str:
    """Return the error message if a benchmark does not have an optional member, else ""."""
    benchmark = benchmark_named(name)
    if member == "runs":
        return benchmark.no_runs
    entry = (None,) * (member == "leaderboard")
    try:
        getattr(benchmark, member)(*entry, Namespace(verb=member))
    except UsageError as error:
        return str(error)
    except AttributeError:  # the member exists and reads its options
        return ""
    raise AssertionError(f"{member} of {name} reads no option")


PRINTED = (
    ("evaluate BETTER", None),
    ("evaluate -i BETTER --ci 90", None),
    ("runs BETTER WORSE", None),
    ("rows BETTER", None),
    (f"compare BETTER WORSE {FEW}", None),
    (f"compare BETTER -i WORSE {FEW} --scopes --alpha 0.1", None),
    (f"compare A=BETTER,WORSE B=WORSE {FEW}", "runs"),
    (f"compare BETTER WORSE {FEW} --table ends", None),
    ("power BETTER --difference 5", None),
    ("power BETTER -i WORSE --difference 5 --goals 10,20 --alpha 0.1", None),
    ("leaderboard", "leaderboard"),
)
"""Commands that print in all `FORMATS`, and the optional member that each needs."""


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("multiwoz", FORMATS),
        ("toy", FORMATS),
        *(pytest.param(name, ["json"], marks=pytest.mark.integration) for name in NAMES[1:]),
    ],
)
@pytest.mark.parametrize(("words", "needs"), PRINTED)
def test_results_are_printed_in_every_format(
    name: str, formats: Sequence[str], words: str, needs: str | None, run: Run
) -> None:
    for format_name in formats:
        ran = works(run, name, f"{words} --format {format_name}", needs)
        assert ran is None or parsed(ran.out, format_name)


def test_evaluate_writes_its_report_to_the_given_output(run: Run) -> None:
    assert parsed(run("evaluate BETTER -o -").out, "json").keys() >= {"meta"}
    assert not REPORT.exists()
    assert run("evaluate BETTER --quiet -o mine.json").out == ""
    assert read_json(Path("mine.json"))["meta"]["scores"]


def test_reports_and_tables_do_not_contain_folder_paths(run: Run, sample: Sample) -> None:
    folders = {str(Path(file).parent) for file in (sample.better, sample.worse)}
    assert all(Path(folder).is_absolute() for folder in folders)
    for command in (
        "runs BETTER WORSE -o -",
        "evaluate WORSE -f html",
        f"compare BETTER WORSE -f json {FEW}",
        f"report BETTER WORSE --title Ours -o - {FEW}",
    ):
        ran = run(command)
        assert ran.code == 0, ran.err
        assert not [folder for folder in folders if folder in ran.out + ran.err]
    assert "Ours" in parsed(ran.out, "html")


def test_gates_pass_or_fail_by_score_value(name: str, run: Run) -> None:
    assert run("evaluate WORSE -q").code == 0
    values = {
        record["score"]: record["value"]
        for record in read_json(REPORT)["meta"]["scores"]
        if record["scope"] == "total"
    }
    headline = (asked for asked in benchmark_named(name).headline if asked in values)
    score = next(headline, next(iter(values)))
    assert run(f"evaluate WORSE -q --fail-under {score}={values[score] - 1e-6}") == Ran(0, "", "")
    failed = run(f"evaluate WORSE -q --fail-under {score}={values[score] + 1e-3}")
    assert failed.code == 1
    assert failed.err.startswith(f"failed: {score} ")
    assert run("evaluate BETTER -q --fail-below BETTER").code == 0
    assert run("evaluate BETTER -q --fail-below WORSE").code == 0


def test_explain_counts_reasons_and_selects_by_unit_or_reason(run: Run) -> None:
    for format_name in ("text", "json"):
        assert parsed(run(f"explain WORSE -f {format_name}").out, format_name)
    worst = parsed(run("explain WORSE --worst 1 -f json").out, "json")[0]
    unit, code = worst["unit"], worst["reasons"][0]["code"]
    assert run(f"explain WORSE {unit}").out
    assert parsed(run(f"explain WORSE {unit} -f json").out, "json")["unit"] == unit
    chosen = parsed(run(f"explain WORSE --reason {code} -f json").out, "json")
    assert unit in [item["unit"] for item in chosen]
    assert run(f"explain WORSE --reason {code}").out


def test_explain_lists_outcomes_lost_to_another_system(run: Run) -> None:
    found = parsed(run("explain WORSE --against BETTER -f json").out, "json")
    outcome = found["outcomes"][0]
    listed = [item for item in found["lost"] if item["outcome"] == outcome["outcome"]]
    assert len(listed) == outcome["lost"] > 0
    assert all(item["reasons"] and item["instead"] for item in listed)
    unit = listed[0]["unit"]
    text = run(f"explain -i WORSE {unit} --against BETTER").out
    assert unit in text
    assert run("explain WORSE --against WORSE").out
    refused = run("explain WORSE --against INVALID")
    assert refused.code == 2
    assert "Traceback" not in refused.err


def test_live_with_an_unknown_agent_writes_no_file(name: str, run: Run) -> None:
    ran = run("live --agent nobody -o run.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {lacks(name, 'live')}")
    assert not Path("run.jsonl").exists()


def test_leaderboard_includes_the_evaluated_system(name: str, run: Run, sample: Sample) -> None:
    command = f"leaderboard -i BETTER {FEW} {' '.join(sample.leaderboard or ())} --name mine"
    if sample.leaderboard is None and not lacks(name, "leaderboard"):
        assert "published" in run(command).err  # the published results are for other data
    else:
        ran = works(run, name, command, "leaderboard")
        assert ran is None or "mine" in ran.out


REFUSED = (
    "evaluate INVALID",
    "evaluate missing.json",
    "evaluate BETTER WORSE",
    "runs BETTER BETTER",
    "runs BETTER",
    "evaluate BETTER --fail-below INVALID",
    "evaluate BETTER --fail-under nonsense=1",
    "evaluate BETTER --fail-under nonsense",
    "evaluate BETTER --ci 200",
    "compare BETTER WORSE --places 99",
    "evaluate BETTER -o BETTER",
    "explain INVALID",
    "explain BETTER nobody",
    "explain BETTER nobody --worst 1",
    "explain BETTER --reason nonsense",
    "report INVALID",
    "plot INVALID -o figure.svg",
    "plot BETTER -o figure.txt",
    "plot BETTER -o figure.svg --scores nonsense",
    "plot BETTER -o figure.svg --kind scopes --scores success",
    "compare BETTER",
    "compare BETTER INVALID",
    "compare BETTER WORSE --alpha 2",
    "leaderboard -i INVALID",
)


@pytest.mark.parametrize("name", ["multiwoz", "toy"])
def test_usage_errors_and_invalid_input_exit_with_2(name: str, run: Run) -> None:
    for command in REFUSED:
        ran = run(command)
        assert (ran.code, ran.out) == (2, ""), command
        assert "error" in ran.err, command
        assert "Traceback" not in ran.err, command
        assert not REPORT.exists(), command


def test_help_of_every_verb_lists_the_benchmark_options(name: str, run: Run) -> None:
    for verb in VERBS:
        ran = run(f"{verb} --help")
        assert ran.code == 0
        assert "--benchmark NAME" in ran.out
        assert ("--targets" in ran.out, "--maybe" in ran.out) == (name == "dstc7", name == "toy")


def test_the_benchmark_is_detected_from_the_input_file(
    run: Run, sample: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    """No score is named either, so all scores that the file allows are computed."""
    named = run("evaluate BETTER -o report.json")
    assert main(["evaluate", "-i", sample.better, "-o", "report.json"]) == named.code == 0
    assert capsys.readouterr().out == named.out


COMMANDS = (
    "evaluate BETTER --ci",
    "rows BETTER",
    "evaluate BETTER -f html",
    "evaluate BETTER --fail-below WORSE",
    "runs BETTER WORSE",
    "validate BETTER",
    "explain BETTER --worst 3",
    "report BETTER WORSE --samples 20",
    "plot BETTER WORSE -o figure.svg --samples 20 --kind reasons",
    "compare BETTER WORSE --samples 20",
    "leaderboard -i BETTER --samples 20",
)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is opened."""
    found: Counter[str] = Counter()
    really = reading._opened

    def counted(name: str) -> AbstractContextManager[IO[bytes]]:
        found[name] += 1
        return really(name)

    monkeypatch.setattr(reading, "_opened", counted)
    return found


@pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.integration) for name in NAMES[1:])]
)
def test_each_command_reads_each_input_file_once(
    name: str, run: Run, sample: Sample, opened: Counter[str]
) -> None:
    for command in COMMANDS:
        opened.clear()
        run(command)
        given = {"BETTER": sample.better, "WORSE": sample.worse}
        files = [file for word, file in given.items() if word in command.split()]
        found = {file: opened[file] for file in given.values() if opened[file]}
        assert found == dict.fromkeys(files, 1), command
