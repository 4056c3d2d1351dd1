"""The real programs, started from another folder: what they print, write and exit with."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.version import __version__
from tests.command_lines import Run
from tests.places import ROOT, read_json, sample_predictions
from tests.samples import TOY
from tests.waiting import HANGING

EVALUATE = (sys.executable, str(ROOT / "evaluate.py"))
ADD_SLOT_DOMAINS = (sys.executable, str(ROOT / "add_slot_domains.py"))
MWZEVAL = (str(Path(sys.executable).with_name("mwzeval")),)
GOOD = str(ROOT / "predictions" / "sample-good.json")
DEFAULT_OUTPUT = "evaluation_results.json"
PROGRAMS = {"evaluate.py": EVALUATE, "mwzeval": (*MWZEVAL, "evaluate")}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def start(
    program: tuple[str, ...],
    *arguments: str,
    stdin: bytes = b"",
    before: Callable[[], None] | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*program, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=HANGING,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        preexec_fn=before,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.integration
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_scores_go_to_the_terminal_and_the_report_into_a_file(
    elsewhere: Path, evaluator: Evaluator, program: tuple[str, ...]
) -> None:
    done = start(program, "--bleu", "--success", "--richness", "--dst", "--input", GOOD)
    assert (done.returncode, done.stderr) == (0, f"wrote {DEFAULT_OUTPUT}\n".encode())
    assert names(elsewhere) == [DEFAULT_OUTPUT]
    report = read_json(elsewhere / DEFAULT_OUTPUT)
    assert report == evaluator.evaluate(sample_predictions("good")).to_dict()
    assert f"{report['bleu']['sample']:.2f}" in done.stdout.decode()


def test_warnings_go_to_standard_error(elsewhere: Path, run: Run) -> None:
    file = str(ROOT / "predictions" / "sample-policy-only.json")
    code, out, err = run("evaluate", "-bsrd", "-i", file, "-o", "report.json")
    assert code == 0
    wrote, *warnings = err.splitlines()
    assert len(warnings) == len(read_json(elsewhere / "report.json")["meta"]["warnings"]) == 2
    assert wrote == "wrote report.json"
    assert "warning" not in out


@pytest.mark.integration
def test_the_same_input_gives_the_same_bytes(elsewhere: Path) -> None:
    shown = [
        start(EVALUATE, "-bsrd", "-i", GOOD, "-o", f"{seed}.json", PYTHONHASHSEED=str(seed)).stdout
        for seed in range(3)
    ]
    assert len(set(shown)) == 1
    assert len({(elsewhere / f"{seed}.json").read_bytes() for seed in range(3)}) == 1


def test_quiet_prints_nothing_but_errors(elsewhere: Path, run: Run) -> None:
    lexicalized = str(ROOT / "predictions" / "sample-lexicalized.json")
    assert run("evaluate", "-s", "-q", "-i", lexicalized) == (0, "", "")
    assert read_json(elsewhere / DEFAULT_OUTPUT)["meta"]["warnings"]
    code, out, err = run("evaluate", "-s", "--quiet", "-i", "missing.json")
    assert (code, out) == (2, "")
    assert err.startswith("error: missing.json: ")


def test_a_folder_that_the_sample_does_not_read_is_named(
    elsewhere: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    code, _, _ = run("evaluate", "-s", GOOD, "--corpus", "sample", "--data", "unread-folder")
    assert code == 0
    assert "unread-folder" in caplog.text


@pytest.mark.integration
def test_help_and_version_answer() -> None:
    done = start(MWZEVAL, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: mwzeval")
    assert start(MWZEVAL, "--version").stdout == f"mwzeval {__version__}\n".encode()


IMPORTED = """
import json, sys
from mwzeval.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as stopped:
    code = stopped.code
print(json.dumps(list(sys.modules)), file=sys.stderr)
sys.exit(code)
"""
NOT_FOR_HELP = {
    *("numpy", "sacremoses", "sacrebleu", "tqdm", "importlib.metadata"),
    *("mwzeval_toy", "mwzeval.multiwoz.benchmark", "mwzeval.statistics"),
}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("--help", NOT_FOR_HELP),
        ("--version", NOT_FOR_HELP),
        ("completion --help", NOT_FOR_HELP),
        (f"evaluate -s -q {GOOD}", {"mwzeval.multiwoz.live", "torch", "pandas", "tqdm"}),
    ],
)
def test_a_verb_imports_only_what_it_needs(words: str, others: set[str]) -> None:
    # Which modules, not how long: that is the same on any machine.
    program = (sys.executable, "-c", IMPORTED)
    done = start(program, *words.split(), PYTHONPATH=f"{ROOT}:{TOY}")
    assert done.returncode == 0
    assert not others & set(json.loads(done.stderr))


def no_large_files() -> None:
    # A full disk, as far as this process can tell.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.integration
def test_a_report_that_cannot_be_written_leaves_the_old_one_whole(elsewhere: Path) -> None:
    assert start(EVALUATE, "-s", "-q", "-i", GOOD).returncode == 0
    before = (elsewhere / DEFAULT_OUTPUT).read_bytes()
    done = start(EVALUATE, "-bsrd", "-i", GOOD, before=no_large_files)
    assert (done.returncode, done.stdout) == (2, b"")
    assert DEFAULT_OUTPUT.encode() in done.stderr.splitlines()[-1]
    assert (elsewhere / DEFAULT_OUTPUT).read_bytes() == before
    assert names(elsewhere) == [DEFAULT_OUTPUT]
    # So does an input that cannot be read.
    assert start(EVALUATE, "-s", "-i", "missing.json").returncode == 2
    assert (elsewhere / DEFAULT_OUTPUT).read_bytes() == before


def test_predictions_come_from_standard_input(elsewhere: Path, run: Run) -> None:
    reports = []
    for file in ("-", GOOD):
        arguments = ("evaluate", "-s", "-i", file)
        assert run(*arguments, stdin=Path(GOOD).read_bytes())[0] == 0
        reports.append(read_json(elsewhere / DEFAULT_OUTPUT))
    assert reports[0] == reports[1]
    code, _, err = run("evaluate", "-s", "-i", "-")
    assert (code, err[:10]) == (2, "error: -: ")


@pytest.mark.integration
def test_a_reader_that_goes_away_ends_it_as_other_tools_end(elsewhere: Path) -> None:
    # `true` reads nothing and is gone before the first line is printed.
    command = f'"{sys.executable}" "{ROOT / "evaluate.py"}" -bsrd -i "{GOOD}"'
    script = f"{command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, f"wrote {DEFAULT_OUTPUT}\n".encode())
    assert names(elsewhere) == [DEFAULT_OUTPUT]


def with_placeholders() -> dict[str, list[dict[str, Any]]]:
    return {
        "sng0001": [
            {"response": "[restaurant_name] is in [value_area]"},
            {"response": "[TRAIN_ID], [taxi_phone] and [hotel_name]", "state": {"x": {}}},
        ],
        "sng0002": [{"response": "nothing [bus_id] [restaurant name] [police]"}],
    }


@pytest.mark.integration
@pytest.mark.parametrize("program", [ADD_SLOT_DOMAINS, (*MWZEVAL, "add-slot-domains")])
def test_slot_domains_are_added_to_every_turn(elsewhere: Path, program: tuple[str, ...]) -> None:
    (elsewhere / "in.json").write_text(json.dumps(with_placeholders()))
    done = start(program, "-i", "in.json", "-o", "out.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"3 of 3" in done.stderr
    completed = read_json(elsewhere / "out.json")
    domains = [[set(t.pop("active_domains")) for t in turns] for turns in completed.values()]
    assert domains == [[{"restaurant"}, {"train", "taxi", "hotel"}], [{"police"}]]
    assert completed == with_placeholders()
    assert read_json(elsewhere / "in.json") == with_placeholders()


def test_active_domains_that_are_there_are_overwritten_only_on_request(
    elsewhere: Path, run: Run
) -> None:
    add = ("add-slot-domains", "-i", GOOD, "-o", "out.json")
    code, out, err = run(*add)
    assert (code, out, names(elsewhere)) == (2, "", [])
    assert "--yes" in err
    assert run(*add, "--yes")[0] == 0
    assert list(read_json(elsewhere / "out.json")) == list(sample_predictions("good"))
