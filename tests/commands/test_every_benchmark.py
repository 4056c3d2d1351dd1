"""Every verb with every option that is not a benchmark's own, for every benchmark.

A benchmark is tested by being registered. It works, or says in the sentence of `lacks` why it has
no meaning.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mwzeval.arguments import FORMATS
from mwzeval.benchmark import benchmark_named
from mwzeval.cli import VERBS, main
from tests.places import read_json
from tests.samples import NAMES, Sample, write_sample

FEW = "--samples 50"
REPORT = Path("evaluation_results.json")


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[[str], Ran]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sample]:
    written: dict[str, Sample] = {}

    def sample(name: str) -> Sample:
        if name not in written:
            written[name] = write_sample(name, tmp_path_factory.mktemp(name))
        return written[name]

    return sample


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sample(name: str, samples: Callable[[str], Sample]) -> Sample:
    return samples(name)


@pytest.fixture
def run(
    name: str,
    sample: Sample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command of the benchmark in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> Ran:
        verb, *words = command.split()
        options = [
            (
                word.replace("BETTER", sample.better)
                .replace("WORSE", sample.worse)
                .replace("INVALID", sample.invalid)
                .replace("WORDED", sample.worded or sample.better)
            )
            for word in words
        ]
        try:
            code = main([verb, "--benchmark", name, *options])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


def parsed(text: str, format_name: str) -> Any:
    """Return the value of an output; fail where it is not of its format, or empty."""
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
    """Return what a command left behind; None where a benchmark said why it has no meaning."""
    lacks = benchmark_named(name).lacks
    ran = run(command)
    if needs in lacks:
        assert needs is not None
        said = ran.err.partition("docs/ is ")[0]  # the last line is where a named page is
        assert (ran.code, ran.out, said) == (2, "", f"error: {lacks[needs]}\n")
        return None
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    return ran


class Command(NamedTuple):
    """A command that prints something, and what a benchmark may lack for it."""

    words: str
    needs: str | None = None


PRINTED: dict[str, Command] = {
    "evaluate": Command("evaluate BETTER"),
    "evaluate --ci": Command(f"evaluate -i BETTER --ci 90 {FEW}"),
    "evaluate --runs": Command("evaluate BETTER WORSE --runs"),
    "evaluate --ceiling": Command("evaluate BETTER --ceiling", "ceiling"),
    "evaluate --shards": Command("evaluate BETTER --shards SHARDED", "shards"),
    "evaluate per unit": Command("evaluate BETTER PER-UNIT"),
    "compare": Command(f"compare BETTER WORSE {FEW} --jobs 1"),
    "compare --scopes": Command(f"compare BETTER -i WORSE {FEW} --jobs 1 --scopes --alpha 0.1"),
    "compare runs": Command(f"compare A=BETTER,WORSE B=WORSE {FEW} --jobs 1", "runs"),
    "compare --table": Command(f"compare BETTER WORSE {FEW} --jobs 1 --table ends"),
    "power": Command("power BETTER --difference 5"),
    "power of two": Command("power BETTER -i WORSE --difference 5 --goals 10,20 --alpha 0.1"),
    "ceiling": Command("ceiling CORPUS", "ceiling"),
    "leaderboard": Command("leaderboard", "leaderboard"),
}
"""Commands whose result is printed in any of `FORMATS`."""


def filled(words: str, name: str, sample: Sample) -> str:
    """Return a command with the options that differ between benchmarks."""
    return (
        words.replace("PER-UNIT", f"--per-{benchmark_named(name).words.unit}")
        .replace("CORPUS", " ".join(sample.corpus))
        .replace("SHARDED", " ".join(sample.shards))
    )


@pytest.mark.parametrize("command", PRINTED)
def test_results_are_printed_in_every_format(
    name: str, command: str, run: Run, sample: Sample
) -> None:
    words, needs = PRINTED[command]
    ran = works(run, name, f"{filled(words, name, sample)} -f json", needs)
    if ran is not None:
        assert parsed(ran.out, "json")


@pytest.mark.exhaustive(but=len(NAMES))
@pytest.mark.parametrize("command", PRINTED)
@pytest.mark.parametrize("format_name", [each for each in FORMATS if each != "json"])
def test_results_are_printed_in_further_formats(
    name: str, command: str, format_name: str, run: Run, sample: Sample
) -> None:
    words, needs = PRINTED[command]
    ran = works(run, name, f"{filled(words, name, sample)} --format {format_name}", needs)
    if ran is not None:
        parsed(ran.out, format_name)


def test_evaluate_writes_its_report_where_it_is_told(name: str, run: Run) -> None:
    assert parsed(run("evaluate BETTER -o -").out, "json").keys() >= {"meta"}
    assert not REPORT.exists()
    assert run("evaluate BETTER --quiet -o mine.json").out == ""
    assert read_json(Path("mine.json"))["meta"]["scores"]
    page = works(run, name, "evaluate BETTER -f html")
    assert page is not None
    parsed(page.out, "html")
    places = works(run, name, "evaluate BETTER --places 0")
    assert places is not None
    assert "." not in places.out.split("\n\n")[1]


def test_what_is_shared_has_no_folders_of_this_machine(run: Run, sample: Sample) -> None:
    folders = {str(Path(file).parent) for file in (sample.better, sample.worse)}
    assert all(Path(folder).is_absolute() for folder in folders)
    for command in (
        "evaluate BETTER -o -",
        "evaluate BETTER WORSE --runs -o -",
        f"evaluate WORSE -f html {FEW}",
        f"compare BETTER WORSE --jobs 1 -f json {FEW}",
        f"report BETTER WORSE -o - {FEW}",
    ):
        ran = run(command)
        assert ran.code == 0, ran.err
        for folder in folders:
            assert folder not in ran.out
            assert folder not in ran.err


def test_warnings_are_errors_where_they_are_asked_to_be(run: Run) -> None:
    for command in ("evaluate BETTER", "evaluate BETTER WORSE --runs", "validate BETTER"):
        plain, strict = run(command), run(f"{command} --strict")
        assert plain.code == 0
        warned = "warning" in (plain.out if command.startswith("validate") else plain.err)
        assert strict.code == (2 if warned else 0)


def test_a_gate_holds_or_fails(name: str, run: Run) -> None:
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
    assert failed.err.startswith(f"failed: {score} is ")
    refused = run(f"evaluate WORSE -q --fail-over {score}=1")
    assert refused.code == 2
    assert "better when higher" in refused.err


def test_a_system_that_is_worse_than_the_baseline_fails(run: Run) -> None:
    assert run(f"evaluate BETTER -q --fail-below BETTER {FEW}").code == 0
    assert run(f"evaluate BETTER -q --fail-below WORSE {FEW}").code == 0


@pytest.mark.parametrize(
    ("words", "format_name"),
    [
        ("", "text"),
        ("-f json", "json"),
        ("--worst 2", "text"),
        ("--worst 2 -f json", "json"),
    ],
)
def test_reasons_are_counted_and_listed(words: str, format_name: str, run: Run) -> None:
    ran = run(f"explain WORSE {words}")
    assert ran.code == 0
    parsed(ran.out, format_name)


def test_one_unit_is_explained_and_a_reason_chooses(run: Run) -> None:
    worst = parsed(run("explain WORSE --worst 1 -f json").out, "json")[0]
    unit, code = worst["unit"], worst["reasons"][0]["code"]
    assert run(f"explain WORSE {unit}").out
    assert parsed(run(f"explain WORSE {unit} -f json").out, "json")["unit"] == unit
    chosen = parsed(run(f"explain WORSE --reason {code} -f json").out, "json")
    assert unit in [each["unit"] for each in chosen]
    assert run(f"explain WORSE --reason {code}").out


def test_what_another_system_won_is_listed(run: Run) -> None:
    found = parsed(run("explain WORSE --against BETTER -f json").out, "json")
    outcome = found["outcomes"][0]
    listed = [each for each in found["lost"] if each["outcome"] == outcome["outcome"]]
    assert len(listed) == outcome["lost"] > 0
    assert all(each["reasons"] and each["instead"] for each in listed)
    unit = listed[0]["unit"]
    text = run(f"explain -i WORSE {unit} --against BETTER").out
    assert unit in text
    assert run("explain WORSE --against WORSE").out
    refused = run("explain WORSE --against INVALID")
    assert refused.code == 2
    assert "Traceback" not in refused.err


def test_claims_are_written_or_there_are_none(name: str, run: Run) -> None:
    for verb in ("evaluate", "explain"):
        written = Path(f"{verb}.jsonl")
        printed = works(run, name, f"{verb} WORDED --claims -", "claims")
        beside = works(run, name, f"{verb} WORDED --claims {written}", "claims")
        if printed is None or beside is None:
            assert not written.exists()
            continue
        lines = parsed(printed.out, "jsonl")
        assert parsed(written.read_text(encoding="utf-8"), "jsonl") == lines
        assert all({"dialogue", "turn", "start", "end", "verdict"} <= line.keys() for line in lines)
        assert parsed(beside.out, "text") == run(f"{verb} WORDED").out
        assert run(f"{verb} INVALID --claims no.jsonl").code == 2
        assert run(f"{verb} WORDED --claims=").code == 2
        assert not Path("no.jsonl").exists()


def test_validate_says_as_json_whether_a_file_can_be_scored(run: Run) -> None:
    assert parsed(run("validate BETTER").out, "json")["valid"] is True
    refused = run("validate -i INVALID")
    assert refused.code == 2
    assert parsed(refused.out, "json")["valid"] is False


def test_a_page_shows_systems(run: Run) -> None:
    assert run(f"report BETTER WORSE --title Ours {FEW}").code == 0
    assert "Ours" in parsed(Path("report.html").read_text(encoding="utf-8"), "html")


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("kind", ["scores", "scopes", "reasons", "PARTS"])
def test_figures_are_drawn(kind: str, name: str, run: Run) -> None:
    words = kind.replace("PARTS", f"{benchmark_named(name).words.scope}s")
    ran = run(f"plot BETTER WORSE --kind {words} -o figure.svg {FEW}")
    assert ran.code == 0, ran.err
    assert "<svg" in Path("figure.svg").read_text(encoding="utf-8")


@pytest.mark.exhaustive
def test_several_processes_compare_as_one_does(run: Run) -> None:
    one, two = (run(f"compare BETTER WORSE {FEW} --jobs {jobs} -f json") for jobs in (1, 2))
    assert one.code == two.code == 0
    assert one.out == two.out
    assert run(f"compare BETTER WORSE {FEW} --jobs 1 -o result.txt").out == ""
    assert Path("result.txt").read_text(encoding="utf-8")


def test_there_are_live_dialogues_or_a_sentence_why_not(name: str, run: Run) -> None:
    """Those that there are have tests of their own: `test_live_of_every_benchmark.py`."""
    ran = run("live --agent nobody -o run.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {benchmark_named(name).lacks.get('live', '')}")
    assert not Path("run.jsonl").exists()


def test_a_system_has_its_place_on_the_board(name: str, run: Run, sample: Sample) -> None:
    """It is given as a file, or as the report of one."""
    board = " ".join(sample.board or ())
    assert run(f"evaluate BETTER --ci {FEW} -q {board}").code == 0
    given = f"-i BETTER {FEW} {board}", f"--report {REPORT}"
    if sample.board is None and "leaderboard" not in benchmark_named(name).lacks:
        for words in given:
            refused = run(f"leaderboard {words} --name mine")
            assert refused.code == 2
            assert "published" in refused.err
        return
    for words in given:
        ran = works(run, name, f"leaderboard {words} --name mine", "leaderboard")
        assert ran is None or "mine" in ran.out


REFUSED = (
    "evaluate INVALID",
    "evaluate missing.json",
    "evaluate",
    "evaluate BETTER WORSE",
    "evaluate BETTER BETTER --runs",
    "evaluate BETTER --runs",
    "evaluate BETTER WORSE --runs --ci",
    "evaluate BETTER WORSE --runs -f html",
    "evaluate BETTER --fail-below INVALID",
    "evaluate BETTER --fail-under nonsense=1",
    "evaluate BETTER --fail-under nonsense",
    "evaluate BETTER --workers 2",
    "evaluate BETTER --ci 200",
    "evaluate BETTER --places 99",
    "evaluate BETTER --ci --samples 0",
    "evaluate BETTER -f nonsense",
    "evaluate BETTER -o BETTER",
    "explain INVALID",
    "explain BETTER nobody",
    "explain BETTER nobody --worst 1",
    "explain BETTER --worst 0",
    "explain BETTER --reason nonsense",
    "report INVALID",
    "report",
    "plot INVALID -o figure.svg",
    "plot BETTER",
    "plot BETTER -o figure.txt",
    "plot BETTER -o figure.svg --scores nonsense",
    "plot BETTER -o figure.svg --kind scopes --scores success",
    "compare BETTER",
    "compare BETTER INVALID --jobs 1",
    "compare BETTER WORSE --jobs 0",
    "compare BETTER WORSE --alpha 2",
    "leaderboard -i INVALID",
    "leaderboard --report BETTER",
    "leaderboard --report foreign.json",
    "leaderboard -i BETTER --report BETTER",
    "leaderboard --report missing.json",
    "ceiling BETTER",
)


@pytest.mark.parametrize("command", REFUSED)
def test_bad_use_and_bad_input_exit_with_2_and_say_why(command: str, run: Run) -> None:
    signed = {"score": "of-nothing", "scope": "total", "signature": "other|rev:1", "value": 1.0}
    foreign = {"meta": {"corpus": "other", "scores": [{**signed, "n": 1}]}}
    Path("foreign.json").write_text(json.dumps(foreign), encoding="utf-8")
    ran = run(command)
    assert ran.code == 2
    assert ran.out == ""
    assert "error" in ran.err
    assert "Traceback" not in ran.err
    assert not REPORT.exists()


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_the_options_of_the_benchmark(verb: str, run: Run) -> None:
    ran = run(f"{verb} --help")
    assert ran.code == 0
    assert "--benchmark NAME" in ran.out
