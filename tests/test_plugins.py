"""Plug-ins: their public imports, and usable and unusable benchmarks of other distributions."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from mwzeval import benchmark
from mwzeval.benchmark import BUILT_IN, GROUP
from tests.command_lines import Ran, Run
from tests.places import GOOD, ROOT
from tests.samples import TEMPLATE, TOY, installed, write_sample

pytestmark = pytest.mark.usefixtures("elsewhere")

CLASS = """
from mwzeval.benchmark import Benchmark, OwnVerb

class Bad(Benchmark):
    api, name, title = 1, "bad", "Bad"
    verbs = {name: OwnVerb("", "bad_verb", "files") for name in ("evaluate", "bad-verb")}
"""
RAISING = (
    CLASS + "    def METHOD(self, *arguments, **options):\n        raise KeyError('the cause')\n"
)
VERB = "def add_arguments(parser):\n    pass\n\ndef run(arguments):\n    return 7\n"
RAISES = "property(lambda self: 1 / 0)\n"
OTHER_NAMES = CLASS + "    names = "
OTHER_VERBS = CLASS.replace("verbs =", "_ =") + "    verbs = "
UNUSABLE = {
    "no module": ("bad", None, "ModuleNotFoundError"),
    "raises": ("bad", "raise ValueError('the cause')", "ValueError: the cause"),
    "exits": ("bad", "raise SystemExit(3)", "SystemExit"),
    "no title": ("bad", CLASS[:-1] + "\ndel Bad.title", "title"),
    "names that raise": ("bad", OTHER_NAMES + RAISES, "ZeroDivisionError"),
    "verbs that raise": ("bad", OTHER_VERBS + RAISES, "ZeroDivisionError"),
    "verbs of another shape": ("bad", OTHER_VERBS + "{'bad-verb': ('a', 'b')}\n", "OwnVerb"),
    "a list of verbs": ("bad", OTHER_VERBS + "['bad-verb']\n", "verbs"),
    "numbers as names": ("bad", OTHER_NAMES + "(1, 2)\n", "names"),
    "no names": ("bad", OTHER_NAMES + "()\n", "names"),
    "a text as names": ("bad", OTHER_NAMES + "'bad'\n", "names"),
    "a number as title": ("bad", CLASS + "    title = 1\n", "title"),
    "other version": ("bad", CLASS.replace("= 1,", "= 2,"), "version 2"),
    "other name": ("worse", CLASS, '"bad"'),
    "built-in name": ("multiwoz", CLASS, "mwzeval"),
    "name of a plug-in": ("toy", CLASS, "mwzeval-toy"),
}


def install(folder: Path, name: str, code: str | None) -> Path:
    """Install a distribution with an entry point of this name for a class `Bad`."""
    about = folder / "zbad-2.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: zbad\nVersion: 2.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = zbad_{folder.name}:Bad\n")
    (folder / "bad_verb.py").write_text(VERB)
    if code is not None:
        (folder / f"zbad_{folder.name}.py").write_text(code)
    return folder


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_plugins_are_skipped_with_one_warning(case: str, tmp_path: Path, run: Run) -> None:
    name, code, cause = UNUSABLE[case]
    bad = install(tmp_path / case.replace(" ", "_").replace("-", "_"), name, code)
    sample = write_sample("toy", tmp_path)
    with installed(TOY, bad):
        exit_code, _, err = run("evaluate", sample.better, "-q")
        (line,) = err.splitlines()
        assert (exit_code, line[:18]) == (0, "warning: zbad 2.0 ")
        assert cause in line
        assert run("evaluate", GOOD, "-q", "--benchmark", "multiwoz").code == 0
        good, skipped = json.loads(run("doctor", "-f", "json").out)["plugins"]
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
def test_plugin_errors_name_the_plugin_and_affect_no_other_benchmark(
    method: str, command: str, code: int, tmp_path: Path, run: Run
) -> None:
    bad = install(tmp_path / f"raises_in_{method}", "bad", RAISING.replace("METHOD", method))
    write_sample("toy", tmp_path)
    (tmp_path / "broken.json").write_text("[1]", encoding="utf-8")
    with installed(TOY, bad):
        found, _, error = run(*command.split())
        assert found == code
        assert ("Bad" in error and "the cause" in error) == (method != "recognises"), error
        assert run("bad-verb").code == 7
        assert run("evaluate", GOOD, "-q").code == 0


def test_plugin_shelves_of_the_wrong_type_are_skipped(tmp_path: Path, run: Run) -> None:
    code = CLASS + "    def shelf(self, data):\n        return 'hello'\n"
    with installed(install(tmp_path / "shelf", "bad", code)):
        for command in ("data status multiwoz", "doctor"):
            exit_code, _, error = run(*command.split())
            assert exit_code == 0
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
def test_errors_in_plugin_verbs_name_the_plugin(
    code: str | None, cause: str, tmp_path: Path, run: Run
) -> None:
    module = f"verb_{sum(map(ord, cause))}"
    bad = install(tmp_path / f"with_{module}", "bad", CLASS.replace("bad_verb", module))
    if code is not None:
        (bad / f"{module}.py").write_text(code)
    with installed(bad):
        exit_code, _, err = run("bad-verb")
    assert exit_code == 2
    (line,) = err.splitlines()
    assert "the plug-in Bad" in line
    assert cause in line


def test_plugin_verbs_may_exit_with_their_own_code(tmp_path: Path, run: Run) -> None:
    bad = install(tmp_path / "exits_in_verb", "bad", CLASS.replace("bad_verb", "verb_that_exits"))
    (bad / "verb_that_exits.py").write_text(VERB.replace("return 7", "raise SystemExit(3)"))
    with installed(bad):
        assert run("bad-verb") == Ran(3, "", "")


def test_usage_errors_of_a_scorer_are_not_reported_as_plugin_errors(
    tmp_path: Path, run: Run
) -> None:
    method = "    def scorer(self, arguments):\n        arguments.parser.error('wrong use')\n"
    sample = write_sample("toy", tmp_path)
    with installed(install(tmp_path / "refuses", "bad", CLASS + method)):
        code, _, err = run("evaluate", "--benchmark", "bad", sample.better)
    assert code == 2
    assert "wrong use" in err
    assert "plug-in" not in err


def test_built_in_entry_points_are_not_plugins(tmp_path: Path) -> None:
    about = tmp_path / "mwzeval-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mwzeval\nVersion: 9\n")
    entries = "".join(f"{name} = {value}\n" for name, value in BUILT_IN.items())
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}")
    with installed(tmp_path):
        assert benchmark.plugins() == ()


PAGE = (ROOT / "docs" / "add_benchmark.md").read_text(encoding="utf-8")
NAMES = {
    (module, name)
    for module, names in re.findall(r"^\| `(mwzeval\.[a-z.]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
}
PLUGINS = sorted((ROOT / "plugins").glob("*/*/*.py")) + sorted(TEMPLATE.glob("*.py"))


def imports(path: Path) -> set[tuple[str, str]]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        (node.module or "", alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_names_documented_for_plugins_exist() -> None:
    assert len(NAMES) == 32
    assert all(hasattr(import_module(module), name) for module, name in NAMES)


@pytest.mark.parametrize("path", [path for path in PLUGINS if "tests" not in path.parts])
def test_plugins_import_only_documented_names(path: Path) -> None:
    used = {(module, name) for module, name in imports(path) if module.startswith("mwzeval.")}
    assert used <= NAMES


def test_the_plugin_page_contains_the_template_code() -> None:
    code = (TEMPLATE / "mwzeval_toy.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in PAGE
