"""The programs: output, files and exit codes for any arguments and streams."""

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

from mwzeval.benchmark import own_verbs
from mwzeval.cli import GROUPS, VERBS, VERBS_OF_NONE
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.version import __version__
from tests.command_lines import Run
from tests.places import GOOD, ROOT, read_json, sample_file, sample_predictions, write_json
from tests.samples import TOY
from tests.waiting import HANGING
from tests.work import calls

EVALUATE = (sys.executable, str(ROOT / "evaluate.py"))
ADD_SLOT_DOMAINS = (sys.executable, str(ROOT / "add_slot_domains.py"))
MWZEVAL = (str(Path(sys.executable).with_name("mwzeval")),)
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
def test_scores_are_printed_and_the_report_is_written_to_a_file(
    elsewhere: Path, evaluator: Evaluator, program: tuple[str, ...]
) -> None:
    done = start(program, "--bleu", "--success", "--richness", "--dst", "--input", GOOD)
    assert (done.returncode, done.stderr) == (0, f"wrote {DEFAULT_OUTPUT}\n".encode())
    assert names(elsewhere) == [DEFAULT_OUTPUT]
    report = read_json(elsewhere / DEFAULT_OUTPUT)
    assert report == evaluator.evaluate(sample_predictions("good")).to_dict()
    assert f"{report['bleu']['sample']:.2f}" in done.stdout.decode()


def test_warnings_are_printed_to_standard_error(elsewhere: Path, run: Run) -> None:
    code, out, err = run("evaluate", "-bsrd", sample_file("policy-only"), "-o", "report.json")
    assert code == 0
    wrote, *warnings = err.splitlines()
    assert len(warnings) == len(read_json(elsewhere / "report.json")["meta"]["warnings"]) == 2
    assert wrote == "wrote report.json"
    assert "warning" not in out


@pytest.mark.integration
def test_output_is_identical_for_different_hash_seeds(elsewhere: Path) -> None:
    shown = [
        start(EVALUATE, "-bsrd", "-i", GOOD, "-o", f"{seed}.json", PYTHONHASHSEED=str(seed)).stdout
        for seed in range(3)
    ]
    assert len(set(shown)) == 1
    assert len({(elsewhere / f"{seed}.json").read_bytes() for seed in range(3)}) == 1


def test_quiet_mode_prints_only_errors(elsewhere: Path, run: Run) -> None:
    assert run("evaluate", "-s", "-q", sample_file("lexicalized")) == (0, "", "")
    assert read_json(elsewhere / DEFAULT_OUTPUT)["meta"]["warnings"]
    code, out, err = run("evaluate", "-s", "--quiet", "-i", "missing.json")
    assert (code, out) == (2, "")
    assert err.startswith("error: missing.json: ")


def test_unused_data_folders_cause_a_warning(
    elsewhere: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    code, _, _ = run("evaluate", "-s", GOOD, "--corpus", "sample", "--data", "unread-folder")
    assert code == 0
    assert "unread-folder" in caplog.text


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
    *("mwzeval_toy", "mwzeval.arguments", "mwzeval.statistics"),
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
def test_each_verb_imports_only_required_modules(words: str, others: set[str]) -> None:
    # The set of modules does not depend on the machine; the import time does.
    program = (sys.executable, "-c", IMPORTED)
    done = start(program, *words.split(), PYTHONPATH=f"{ROOT}:{TOY}")
    assert done.returncode == 0
    assert not others & set(json.loads(done.stderr))


def no_large_files() -> None:
    # Writing fails as with a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.integration
def test_a_failed_report_write_keeps_the_old_report(elsewhere: Path) -> None:
    assert start(EVALUATE, "-s", "-q", "-i", GOOD).returncode == 0
    before = (elsewhere / DEFAULT_OUTPUT).read_bytes()
    done = start(EVALUATE, "-bsrd", "-i", GOOD, before=no_large_files)
    assert (done.returncode, done.stdout) == (2, b"")
    assert DEFAULT_OUTPUT.encode() in done.stderr.splitlines()[-1]
    assert (elsewhere / DEFAULT_OUTPUT).read_bytes() == before
    assert names(elsewhere) == [DEFAULT_OUTPUT]
    # An unreadable input also keeps the old report.
    assert start(EVALUATE, "-s", "-i", "missing.json").returncode == 2
    assert (elsewhere / DEFAULT_OUTPUT).read_bytes() == before


def test_predictions_are_read_from_standard_input(elsewhere: Path, run: Run) -> None:
    reports = []
    for file in ("-", GOOD):
        arguments = ("evaluate", "-s", "-i", file)
        assert run(*arguments, stdin=Path(GOOD).read_bytes())[0] == 0
        reports.append(read_json(elsewhere / DEFAULT_OUTPUT))
    assert reports[0] == reports[1]
    code, _, err = run("evaluate", "-s", "-i", "-")
    assert (code, err[:10]) == (2, "error: -: ")


@pytest.mark.integration
def test_a_closed_pipe_ends_the_program_with_exit_code_141(elsewhere: Path) -> None:
    # `true` exits without reading.
    command = f"{' '.join(EVALUATE)} -bsrd -i {GOOD} | true; exit ${{PIPESTATUS[0]}}"
    done = start(("bash", "-c"), command)
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
    write_json(elsewhere / "in.json", with_placeholders())
    done = start(program, "-i", "in.json", "-o", "out.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"3 of 3" in done.stderr
    completed = read_json(elsewhere / "out.json")
    domains = [[set(t.pop("active_domains")) for t in turns] for turns in completed.values()]
    assert domains == [[{"restaurant"}, {"train", "taxi", "hotel"}], [{"police"}]]
    assert completed == with_placeholders()
    assert read_json(elsewhere / "in.json") == with_placeholders()


def test_existing_active_domains_are_overwritten_only_on_request(elsewhere: Path, run: Run) -> None:
    add = ("add-slot-domains", "-i", GOOD, "-o", "out.json")
    code, out, err = run(*add)
    assert (code, out, names(elsewhere)) == (2, "", [])
    assert "--yes" in err
    assert run(*add, "--yes")[0] == 0
    assert list(read_json(elsewhere / "out.json")) == list(sample_predictions("good"))


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        ("evalute x", ("evalute", '"evaluate"')),
        ("evaluate --blue x", ("--blue", '"--bleu"')),
        ("compare --alpah=.1 x y", ("--alpah=.1", '"--alpha"')),
        ("evaluate -f htm x", ("-f/--format", '"htm"', '"html"')),
        ("evaluate", ("INPUT",)),
        ("plot x", ("-o/--output",)),
        ("pydial runn", ("ACTION", '"runn"', '"run"')),
        ("pydial run -o x --tsks CR-1", ("--tsks CR-1", '"--tasks"')),
        ("crosswoz nlu train --epoch 3 -o x -o", ("-o",)),
        ("evaluate \x1b[31m --no\x1b[0m", (r"--no\x1b[0m",)),
    ],
)
def test_usage_errors_are_reported_in_three_lines(
    arguments: str, mistake: tuple[str, ...], run: Run
) -> None:
    code, out, err = run(*arguments.split(" "))
    assert (code, out) == (2, "")
    error, usage, advice = err.splitlines()
    assert all(name in error for name in mistake)
    assert usage.startswith("usage: mwzeval ")
    assert advice.startswith("for all options, run mwzeval ")
    assert max(map(len, (usage, advice))) < 100


def test_help_lists_every_verb_once_and_version_option_works(run: Run) -> None:
    assert run("--version") == (0, f"mwzeval {__version__}\n", "")
    code, out, err = run("--help")
    assert (code, out[:14], err) == (0, "usage: mwzeval", "")
    lines = out.splitlines()
    titles = [f"{title}:" for title in GROUPS.values()]
    assert [line for line in lines if line in titles] == titles
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] not in " -"]
    assert sorted(listed) == sorted([*VERBS, *own_verbs(), *VERBS_OF_NONE])


OUTPUTS = [
    *(
        ("evaluate -b unread.json -o OUT", place)
        for place in ("read-only", "folder", "not_there/", "none/x.json", "file/x.json", "x" * 300)
    ),
    (f"evaluate -b {GOOD} -o OUT", "/dev/full"),
    *(
        (f"{call} -o OUT", "folder")
        for call in (
            "claims unread.json",
            "compare unread.json unread.json",
            "report unread.json",
            "plot unread.json",
            "live --agent random --goals 5",
            "pydial plot runs",
        )
    ),
    ("delexicalize unread.json -o x.json --mentions OUT", "folder"),
]


@pytest.mark.parametrize(("call", "place"), OUTPUTS)
def test_impossible_outputs_are_rejected_before_any_work(
    call: str, place: str, elsewhere: Path, run: Run
) -> None:
    Path("folder").mkdir()
    for name in ("file", "read-only"):
        Path(name).write_text("mine", encoding="utf-8")
    Path("read-only").chmod(0o444)
    before = sorted(elsewhere.rglob("*"))
    code, out, err = run(*call.replace("OUT", place).split())
    assert (code, out) == (2, "")
    assert place[:99] in err
    assert sorted(elsewhere.rglob("*")) == before
    assert Path("file").read_text(encoding="utf-8") == "mine"


def test_written_and_replaced_files_are_reported(run: Run) -> None:
    for replaced in (False, True):
        (line,) = run("evaluate", "-s", GOOD).err.splitlines()
        assert DEFAULT_OUTPUT in line
        assert line.endswith(DEFAULT_OUTPUT) != replaced
        assert "c.txt" in run("compare", "-s", GOOD, GOOD, "-o", "c.txt").err


@pytest.mark.integration
def test_lone_surrogates_are_written_as_their_input_escapes(elsewhere: Path) -> None:
    text = r'{"smp0021": [{"response": "x", "state": {"\ud800": {"a": "b"}}}]}'
    (elsewhere / "in.json").write_text(text)
    assert start(EVALUATE, "-b", "-i", "in.json").returncode == 0
    warnings = read_json(elsewhere / DEFAULT_OUTPUT)["meta"]["warnings"]
    problems = json.loads(start(MWZEVAL, "validate", "in.json").stdout)["problems"]
    for found in (warnings, problems):
        assert "state.\ud800" in [problem.get("key") for problem in found]


@pytest.mark.integration
def test_validation_work_grows_linearly_with_invalid_slots(elsewhere: Path, run: Run) -> None:
    printed = []

    def work(size: int) -> int:
        slots = {f"slot{number}x": "v" for number in range(size)}
        turn = {"response": "x", "state": {"hotel": slots}}
        file = write_json(elsewhere / "in.json", {"smp0021": [turn]})
        counted = calls(lambda: printed.append(run("validate", file).out))
        assert len(json.loads(printed[-1])["problems"]) > size
        return counted

    work(10)
    assert work(4000) <= 4.4 * work(1000)


@pytest.mark.parametrize(
    ("streams", "code"),
    [
        ("-i - <&-", 2),
        (f"-i {GOOD} >&-", 0),
        (f"-i {GOOD} >/dev/full", 2),
        (f"-i {GOOD} 2>&-", 0),
        (f"-i {GOOD} 2>/dev/full", 0),
        (f"-i {GOOD} 2> >(exit)", 0),
        (f"-i {GOOD} -o /dev/stdout >out.json", 0),
    ],
)
@pytest.mark.integration
def test_closed_or_full_streams_cause_no_crash_and_lose_no_result(streams: str, code: int) -> None:
    done = start(("bash", "-c"), f"{' '.join(EVALUATE)} -s -o out.json {streams}")
    assert b"Traceback" not in done.stderr
    assert done.returncode == code
    if code == 0:
        assert read_json(Path("out.json"))["success"]
    if code == 0 and " 2>" in streams:
        assert b"Success" in done.stdout


@pytest.mark.integration
def test_the_prompt_treats_end_of_input_as_no() -> None:
    command = f"{' '.join(ADD_SLOT_DOMAINS)} -i {GOOD} -o out.json"
    done = start(("script", "-qec"), command, "/dev/null", stdin=b"\x04")
    assert b"Traceback" not in done.stdout
    assert not Path("out.json").exists()


COMPLETED = {
    "mwzeval eva": "evaluate",
    "mwzeval evaluate --dst": "--dst-rule",
    "mwzeval compare --table e": "ends",
    "mwzeval pydial tab": "table",
    "mwzeval pydial run --goodbye p": "policy",
    "mwzeval evaluate -i mi": "mine.json",
    "mwzeval report mi": "mine.json",
}


@pytest.mark.integration
def test_shell_completion_completes_the_next_word(run: Run) -> None:
    """The completion script is sourced by a real shell."""
    for shell in ("zsh", "tcsh", "bash"):
        code, script, _ = run("completion", shell)
        assert code == 0
        assert "mwzeval" in script
    Path("mwzeval.bash").write_text(script, encoding="utf-8")
    Path("mine.json").write_text("{}", encoding="utf-8")
    for line, expected in COMPLETED.items():
        words = " ".join(f"'{word}'" for word in line.split(" "))
        commands = (
            f"source mwzeval.bash; COMP_WORDS=({words}); COMP_CWORD={line.count(' ')}; "
            '_shtab_mwzeval; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        assert expected.encode() in start(("bash", "-c"), commands).stdout.split(), line


def test_conversion_to_run_format_and_back_keeps_the_scores(run: Run) -> None:
    submission = str(ROOT / "predictions" / "dstc7-overlap" / "Ubuntu_subtask_4.json")
    back = "Ubuntu_subtask_4.json"
    assert run("dstc7", "convert", submission, "--to", "run", "-o", "run.txt").code == 0
    assert run("dstc7", "convert", "run.txt", "--to", "submission", "-o", back).code == 0
    reports = [
        run("evaluate", "--benchmark", "dstc7", file, "-o", "-") for file in (submission, back)
    ]
    rankings = [json.loads(report.out)["ranking"] for report in reports]
    assert rankings[0] == rankings[1]
