"""Benchmarks of other distributions: found, and skipped with one line if they cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mwzeval import benchmark
from mwzeval.benchmark import BUILT_IN, GROUP
from mwzeval.cli import main
from tests.places import ROOT
from tests.samples import TOY, installed, write_sample

pytestmark = pytest.mark.usefixtures("elsewhere")

GOOD = str(ROOT / "predictions" / "sample-good.json")
CLASS = """
from mwzeval.benchmark import Benchmark, BenchmarkInfo, OwnVerb

class Bad(Benchmark):
    api, info = 1, BenchmarkInfo("bad", "Bad")
    verbs = {name: OwnVerb("", "bad_verb", "files") for name in ("evaluate", "bad-verb")}
"""
RAISING = (
    CLASS + "    def METHOD(self, *arguments, **options):\n        raise KeyError('the cause')\n"
)
VERB = "def add_arguments(parser):\n    pass\n\ndef run(arguments):\n    return 7\n"
UNUSABLE = {
    "no module": ("bad", None, "ModuleNotFoundError"),
    "raises": ("bad", "raise ValueError('the cause')", "ValueError: the cause"),
    "exits": ("bad", "raise SystemExit(3)", "SystemExit"),
    "no title": (
        "bad",
        CLASS[:-1] + "\ndel Bad.info",
        "info",
    ),
    "names that raise": (
        "bad",
        CLASS + "    names = property(lambda self: 1 / 0)\n",
        "ZeroDivisionError",
    ),
    "verbs that raise": (
        "bad",
        CLASS.replace("verbs =", "_ =") + "    verbs = property(lambda self: 1 / 0)\n",
        "ZeroDivisionError",
    ),
    "verbs of another shape": (
        "bad",
        CLASS.replace("verbs =", "_ =") + "    verbs = {'bad-verb': ('a', 'b')}\n",
        "OwnVerb",
    ),
    "a list of verbs": (
        "bad",
        CLASS.replace("verbs =", "_ =") + "    verbs = ['bad-verb']\n",
        "verbs",
    ),
    "numbers as names": ("bad", CLASS + "    names = (1, 2)\n", "names"),
    "no names": ("bad", CLASS + "    names = ()\n", "names"),
    "a text as names": ("bad", CLASS + "    names = 'bad'\n", "names"),
    "other information": ("bad", CLASS + "    info = 'bad'\n", "AttributeError"),
    "other version": ("bad", CLASS.replace("= 1,", "= 2,"), "version 2"),
    "other name": ("worse", CLASS, '"bad"'),
    "built-in name": ("multiwoz", CLASS, "mwzeval"),
    "name of a plug-in": ("toy", CLASS, "mwzeval-toy"),
}


def install(folder: Path, name: str, code: str | None) -> Path:
    """Install a distribution whose entry point of this name is a class `Bad`."""
    about = folder / "zbad-2.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: zbad\nVersion: 2.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = zbad_{folder.name}:Bad\n")
    (folder / "bad_verb.py").write_text(VERB)
    if code is not None:
        (folder / f"zbad_{folder.name}.py").write_text(code)
    return folder


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_used_is_skipped_with_one_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, code, cause = UNUSABLE[case]
    bad = install(tmp_path / case.replace(" ", "_").replace("-", "_"), name, code)
    sample = write_sample("toy", tmp_path)
    with installed(TOY, bad):
        assert main(["evaluate", sample.better, "-q"]) == 0
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("warning: zbad 2.0 ")
        assert cause in line
        assert main(["evaluate", GOOD, "-q", "--benchmark", "multiwoz"]) == 0
        assert main(["doctor", "-f", "json"]) == 0
        good, skipped = json.loads(capsys.readouterr().out)["plugins"]
        assert (good["name"], good["version"], good["problem"]) == ("toy", "1.0", "")
        assert (skipped["name"], skipped["version"]) == (name, "2.0")
        assert cause in skipped["problem"]


@pytest.mark.parametrize(
    ("method", "command", "code"),
    [
        ("scorer", "evaluate --benchmark bad better.json", 2),
        ("add_arguments", "evaluate --benchmark bad better.json", 2),
        ("shelf", "data status bad", 2),
        ("shelf", "doctor", 0),
        ("recognises", "evaluate --benchmark toy better.json", 0),
        ("recognises", "evaluate better.json", 0),
        ("recognises", "evaluate --benchmark multiwoz broken.json", 2),
    ],
)
def test_an_error_in_a_plugin_names_it_and_breaks_no_other_benchmark(
    method: str, command: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = install(tmp_path / f"raises_in_{method}", "bad", RAISING.replace("METHOD", method))
    write_sample("toy", tmp_path)
    (tmp_path / "broken.json").write_text("[1]", encoding="utf-8")
    with installed(TOY, bad):
        assert main(command.split()) == code
        error = capsys.readouterr().err
        assert ("Bad" in error and "the cause" in error) == (method != "recognises"), error
        assert main(["bad-verb"]) == 7
        assert main(["evaluate", GOOD, "-q"]) == 0


@pytest.mark.parametrize("returned", ["'hello'", "Shelf('t', 'n', None, {})"])
def test_files_of_another_shape_are_skipped(
    returned: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = f"    def shelf(self, data):\n        return {returned}\n"
    code = "from mwzeval.benchmark import Shelf\n" + CLASS + shelf
    with installed(install(tmp_path / f"shelf_{len(returned)}", "bad", code)):
        for command in ("data status multiwoz", "doctor"):
            assert main(command.split()) == 0
            error = capsys.readouterr().err
            assert "Bad" in error
            assert "`shelf`" in error


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (None, "ModuleNotFoundError"),
        ("def add_arguments(parser):\n    pass\n", "run"),
        (VERB.replace("return 7", "raise KeyError('the cause')"), "the cause"),
        (VERB.replace("return 7", "open('nowhere')"), "nowhere"),
    ],
)
def test_an_error_in_the_own_verb_of_a_plugin_names_it(
    code: str | None, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"verb_{sum(map(ord, cause))}"
    bad = install(tmp_path / f"with_{module}", "bad", CLASS.replace("bad_verb", module))
    if code is not None:
        (bad / f"{module}.py").write_text(code)
    with installed(bad):
        assert main(["bad-verb"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the plug-in Bad" in line
    assert cause in line


def test_the_own_verb_of_a_plugin_may_exit(tmp_path: Path) -> None:
    bad = install(tmp_path / "exits_in_verb", "bad", CLASS.replace("bad_verb", "verb_that_exits"))
    (bad / "verb_that_exits.py").write_text(VERB.replace("return 7", "raise SystemExit(3)"))
    with installed(bad), pytest.raises(SystemExit) as exit_of:
        main(["bad-verb"])
    assert exit_of.value.code == 3


def test_a_usage_error_of_a_scorer_is_no_error_of_the_plugin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method = "    def scorer(self, arguments):\n        arguments.parser.error('wrong use')\n"
    sample = write_sample("toy", tmp_path)
    with installed(install(tmp_path / "refuses", "bad", CLASS + method)):
        with pytest.raises(SystemExit) as exit_of:
            main(["evaluate", "--benchmark", "bad", sample.better])
        assert exit_of.value.code == 2
        assert "plug-in" not in capsys.readouterr().err


def test_own_entry_points_are_no_plugins(tmp_path: Path) -> None:
    about = tmp_path / "mwzeval-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mwzeval\nVersion: 9\n")
    entries = "".join(f"{name} = {value}\n" for name, value in BUILT_IN.items())
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}")
    with installed(tmp_path):
        assert benchmark.plugins() == ()
