"""What surrounds the package: workflows, forms, releases."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress

import pytest
import yaml

from mwzeval.cli import main
from mwzeval.version import __version__
from tests.places import ROOT
from tools import release

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [form for form in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if form.stem != "config"]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_files_are_what_those_who_read_them_ask_for(schema: str, files: list[object]) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_workflows_call_what_there_is() -> None:
    texts = [workflow.read_text(encoding="utf-8") for workflow in WORKFLOWS]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = {target for text in texts for target in re.findall(r"make \S+ ([\w-]+)$", text, re.M)}
    assert called <= targets
    (matrix,) = (
        yaml.safe_load(t)["jobs"]
        for t, f in zip(texts, WORKFLOWS, strict=True)
        if f.stem == "nightly"
    )
    assert set(matrix["exhaustive"]["strategy"]["matrix"]["target"]) <= targets
    modules = {name for text in texts for name in re.findall(r"python -m (tools\.\w+)", text)}
    assert modules == {"tools.release"}


def test_every_python_that_is_promised_is_tested() -> None:
    tests = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    versions = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={versions[0]}"' in project
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", project)
    assert versions == named


def test_nothing_of_a_workflow_may_write_but_what_publishes() -> None:
    for workflow in WORKFLOWS:
        content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
        assert content["permissions"] == {"contents": "read"}, workflow
        writers = {name for name, job in content["jobs"].items() if "permissions" in job}
        assert writers <= {"publish"}, workflow


def test_the_version_is_the_same_wherever_it_is_told() -> None:
    assert release.version() == __version__


def test_pages_that_the_package_names_exist_and_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sources = (ROOT / "mwzeval").rglob("*.py")
    named = {n for s in sources for n in re.findall(r"docs/\w+\.md", s.read_text("utf-8"))}
    assert len(named) > 10
    assert not {name for name in named if not (ROOT / name).is_file()}
    sample = str(ROOT / "predictions" / "sample-good.json")
    for arguments in (["explain", "--help"], ["evaluate", "--dst-rule", "none", sample]):
        with suppress(SystemExit):
            main(arguments)
        printed = capsys.readouterr()
        assert f"docs/ is {ROOT / 'docs'}\n" in printed.out + printed.err


def test_nothing_is_installed_by_a_name_that_an_index_does_not_have() -> None:
    """Documents and examples install from a clone; `installing.md` has the one wheel."""
    for path in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install ['\"]?mwzeval(?!-[\d.]+-py3)", text), path
