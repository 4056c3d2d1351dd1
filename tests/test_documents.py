"""The code blocks of README.md and docs/*.md match the current version (tests/documents.py)."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from mwzeval.benchmark import GROUP
from tests.command_lines import Run, unfolded, words
from tests.documents import Block, blocks_of, free_names, imports_of, shows, without_versions
from tests.places import ROOT, shared
from tools.notebooks import NOTEBOOKS, executed, printed

pytestmark = pytest.mark.integration

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "mwzeval|tests|tools|data|predictions|benchmarks|examples|docs"
BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


def cases(blocks: list[Block]) -> list[Any]:
    return [pytest.param(block, id=f"{block.document.name}:{block.line}") for block in blocks]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a clone to the documents: it has the example predictions."""
    (tmp_path / "predictions").symlink_to(ROOT / "predictions")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def prepare(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide the data and modules that a block needs, or skip the test if they are missing."""
    for reason in block.conditions("not run"):
        pytest.skip(f"blocks of documents with a reason for not running them ({reason})")
    for place in block.conditions("needs"):
        data = shared(*place.split("/"))
        if data.is_file():
            (folder / data.name).symlink_to(data)
            continue
        monkeypatch.setenv("MWZEVAL_DATA", str(data))
        for system in data.glob("predictions/*.json"):
            (folder / system.name).symlink_to(system)
    for other in blocks_of(block.document):
        for name in other.conditions("saved as"):
            (folder / name).write_text(other.text, encoding="utf-8")


def test_json_blocks_in_documents_are_valid() -> None:
    for block in BLOCKS:
        if block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize("block", cases([b for b in BLOCKS if b.language == "python"]))
def test_python_blocks_in_documents_print_the_output_shown(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile(block.text, str(block.document), "exec")
    if block.conditions("not run") or free_names(block.text):
        # The block is an excerpt of a longer program, so only its imports are executed.
        program = compile(imports_of(block.text), str(block.document), "exec")
    else:
        prepare(block, folder, monkeypatch)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(program, {"__name__": "__main__"})
    if block.printed is not None:
        assert shows(block.printed, output.getvalue()), output.getvalue()


@pytest.mark.parametrize("block", cases([b for b in BLOCKS if b.commands]))
def test_commands_in_documents_print_the_output_shown(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    prepare(block, folder, monkeypatch)
    for command, shown in block.commands:
        code, output, errors = run(*words(command))
        assert code == 0, f"{command}\n{errors}"
        if not shows(shown, output):
            # pytest shows the difference of the texts line by line.
            assert without_versions(output) == without_versions(shown), block.line


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_print_the_output_shown(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    kept = printed(json.loads(path.read_text(encoding="utf-8")))
    for shown, now in zip(kept, printed(executed(path)), strict=True):
        assert shows(shown, now), f"python -m tools.notebooks updates it\n{now}"


def exists(dotted: str) -> bool:
    """Return whether a module, or a name in a module, can be imported."""
    with contextlib.suppress(ImportError, AttributeError):
        resolve_name(dotted)
        return True
    return False


def test_files_and_modules_named_in_documents_and_docstrings_exist() -> None:
    lost = []
    for document in (*DOCUMENTS, *sorted((ROOT / "mwzeval").rglob("*.py"))):
        for name in re.findall(r"`([^`\n]+)`", document.read_text(encoding="utf-8")):
            if re.fullmatch(rf"(?!.*-v\d$)(?:{FOLDERS})/[\w./{{}},*-]*", name):
                lost += [path for path in unfolded(name) if not any(ROOT.glob(path.rstrip("/")))]
            elif found := re.match(r"mwzeval(?:\.\w+)+", name):
                lost += [] if name == GROUP or exists(found[0]) else [name]
    assert not lost


PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
SCORES = set(re.findall(r"`([\w.@]+)`", "\n".join(re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE))))
GENERAL = (
    (r"^(?:gold|copy_previous|ceiling)\.", ""),
    (r"^bleu\.\w+", "bleu.SET"),
    (r"^dst\.exact\.", "dst.RULE."),
    (r"@(?!90)\d+", "@k"),
)
DSTC7 = "evaluate --benchmark dstc7 predictions/dstc7-overlap"
CROSSWOZ = "evaluate --benchmark crosswoz predictions/crosswoz-sample"
LIVE = "live --agent rule-convlab --corpus sample --goals corpus:3 --level"


@pytest.mark.parametrize(
    "command",
    [
        "evaluate -bsrd --dst-rule exact predictions/sample-good.json",
        "evaluate -g predictions/sample-lexicalized.json",
        f"{DSTC7}/Ubuntu_subtask_4.json",
        f"{DSTC7}/Advising_subtask_3.json",
        f"{DSTC7}/Ubuntu_subtask_1.json --metric fscore",
        *(f"{CROSSWOZ}-{name}.json" for name in ("dst", "nlu", "policy", "sim", "nlg", "e2e")),
        f"{CROSSWOZ}-simulation.jsonl",
        f"{LIVE} words",
        f"{LIVE} acts",
    ],
)
@pytest.mark.usefixtures("folder")
def test_all_scores_are_listed_in_the_table_of_metrics(command: str, run: Run) -> None:
    options = ["-q", "-o", "-"] if command.startswith("evaluate") else ["-f", "json"]
    code, out, _ = run(*words(f"mwzeval {command}"), *options)
    assert code == 0
    names = {score["score"] for score in json.loads(out)["meta"]["scores"]}
    for pattern, instead in GENERAL:
        names = {re.sub(pattern, instead, name) for name in names}
    assert len(names) >= 3
    assert names - SCORES == set()
