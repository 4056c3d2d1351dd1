"""What README.md and docs/*.md show is what the current version does (see tests/documents.py)."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import re
import shlex
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mwzeval.benchmark import known_benchmarks, own_verbs
from mwzeval.cli import VERBS as VERBS_OF_ALL
from mwzeval.cli import VERBS_OF_NONE, main, parser_of
from tests.documents import (
    Block,
    blocks_of,
    free_names,
    imports_of,
    shows,
    without_versions,
)
from tests.places import ROOT, shared

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {document: document.read_text(encoding="utf-8") for document in DOCUMENTS}
FOLDERS = "mwzeval|tests|tools|data|predictions|benchmarks|examples|docs"
VERBS = {"evaluate.py": "evaluate", "add_slot_domains.py": "add-slot-domains"}
BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


def cases(blocks: list[Block]) -> list[Any]:
    return [
        pytest.param(
            block,
            id=f"{block.document.name}:{block.line}",
            marks=[pytest.mark.exhaustive] if block.asked("exhaustive") else [],
        )
        for block in blocks
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Like a clone, as far as documents see it: the examples are there, and results may go in."""
    (tmp_path / "predictions").symlink_to(ROOT / "predictions")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def prepare(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put beside a block what it needs; skip the test where that is missing."""
    for reason in block.asked("not run"):
        pytest.skip(f"blocks of documents that say why they are not run ({reason})")
    for place in block.asked("needs"):
        data = shared(*place.split("/"))
        if data.is_file():
            (folder / data.name).symlink_to(data)
            continue
        monkeypatch.setenv("MWZEVAL_DATA", str(data))
        for system in data.glob("predictions/*.json"):
            (folder / system.name).symlink_to(system)
    for other in blocks_of(block.document):
        for name in other.asked("saved as"):
            (folder / name).write_text(other.text, encoding="utf-8")


def unfolded(word: str) -> list[str]:
    parts = re.split(r"\{([^{}]*,[^{}]*)\}", word)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*choices)]


def words(command: str) -> list[str]:
    """Return the arguments for `mwzeval`, `{a,b}` unfolded as a shell does."""
    split = shlex.split(command, comments=True)
    program, *arguments = [each for word in split for each in unfolded(word)]
    if program == "python":
        return [VERBS[arguments[0]], *arguments[1:]]
    assert program == "mwzeval"
    return arguments


def run(command: str) -> str:
    """Return what a command prints on standard output."""
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            code = main(words(command))
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 2
    assert code == 0, f"{command}\n{said.getvalue()}"
    return printed.getvalue()


@pytest.mark.parametrize("block", cases([b for b in BLOCKS if b.language == "json"]))
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", cases([b for b in BLOCKS if b.language == "python"]))
def test_python_runs_and_prints_what_is_shown(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile(block.text, str(block.document), "exec")
    if block.asked("not run") or free_names(block.text):
        # A part of a program that the reader has: at least what it imports is there.
        program = compile(imports_of(block.text), str(block.document), "exec")
    else:
        prepare(block, folder, monkeypatch)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {"__name__": "__main__"})
    if block.printed is not None:
        assert shows(block.printed, printed.getvalue()), printed.getvalue()


@pytest.mark.parametrize("block", cases([b for b in BLOCKS if b.commands]))
@pytest.mark.exhaustive(but=2)
def test_commands_print_what_is_shown(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(block, folder, monkeypatch)
    for command, shown in block.commands:
        printed = run(command)
        if not shows(shown, printed):
            # A comparison that pytest shows line by line.
            assert without_versions(printed) == without_versions(shown), block.line


@pytest.mark.parametrize(
    "command", sorted({command for block in BLOCKS for command in block.mentioned})
)
def test_commands_that_are_named_have_these_options(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # With one option too many the command is parsed and not run; all others must be known.
    with pytest.raises(SystemExit):
        main([*words(command), "--one-too-many"])
    mistake = capsys.readouterr().err.splitlines()[0]
    assert re.search(
        r"error: unrecognized arguments: --one-too-many(?: \(the file looks .*)?$", mistake
    )


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"`(mwzeval [a-z-]+ [^`…]+)`", TEXTS[ROOT / "README.md"])))
)
def test_commands_within_the_readme_have_these_options(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    test_commands_that_are_named_have_these_options(command, capsys)


@pytest.mark.parametrize(
    ("shown", "printed", "right"),
    [
        ("a 1\nb 2", "head\na 1\nb 2\ntail", True),
        ("a 1\nb 2", "a 1\nc\nb 2", False),
        ("a 1\n…\nb 2", "a 1\nc\nd\nb 2\n", True),
        ("a 1\n…", "a 1\nb", True),
        ("a 1\n…\nb 2", "a 1\nc", False),
        ("x|sacrebleu:2.6.0|rev:2", "x|sacrebleu:2.7.1.post1|rev:2", True),
        ("x|levenshtein:0.27.5|rev:2", "x|levenshtein:0.28.0|rev:3", False),
        ("x|fuzzy:90", "x|fuzzy:95", False),
    ],
)
def test_versions_and_ellipses_are_all_that_may_differ(
    shown: str, printed: str, right: bool
) -> None:
    assert shows(shown, printed) is right


def test_every_document_has_its_blocks_read() -> None:
    for document in DOCUMENTS:
        fences = re.findall(r"^```", document.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len([b for b in BLOCKS if b.document == document]), document


def headings(document: Path) -> set[str]:
    """Return the anchors of a document, made of its headings as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_links_of_the_readme_lead_somewhere() -> None:
    """`mkdocs build --strict` checks those of the pages."""
    document = ROOT / "README.md"
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", TEXTS[document]):
        if not link.startswith("https://"):
            place, _, anchor = link.partition("#")
            target = document.parent / place if place else document
            if not target.exists() or (anchor and anchor not in headings(target)):
                lost.append(link)
    assert not lost


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_files_and_names_of_modules_exist(document: Path) -> None:
    lost = []
    for name in re.findall(r"`([^`\n]+)`", TEXTS[document]):
        if re.fullmatch(rf"(?!.*-v\d$)(?:{FOLDERS})/[\w./{{}},*-]*", name):
            lost += [each for each in unfolded(name) if not any(ROOT.glob(each.rstrip("/")))]
        elif found := re.match(r"mwzeval(?:\.\w+)+", name):
            lost += [] if exists(found[0]) else [name]
    assert not lost


def exists(dotted: str) -> bool:
    """Tell whether a module, or a name in one, can be imported."""
    module, _, name = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ImportError:
        return hasattr(importlib.import_module(module), name)
    return True


def test_every_room_of_the_package_is_on_the_map() -> None:
    rooms = {
        f"{path.parent.relative_to(ROOT).as_posix()}/"
        for path in (ROOT / "mwzeval").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    on_the_map = re.findall(r"^\| `(mwzeval/[\w/]*)` \|", TEXTS[ROOT / "docs" / "house.md"], re.M)
    assert set(on_the_map) == rooms


def test_every_page_is_in_the_index() -> None:
    listed = set(re.findall(r"\]\((\w+\.md)", TEXTS[ROOT / "docs" / "index.md"]))
    assert listed == {page.name for page in DOCUMENTS[1:]} - {"index.md"}


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the long options of a verb, and of the actions below it."""
    found = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {option for below in action.choices.values() for option in options(below)}
        found |= {option for option in action.option_strings if option.startswith("--")}
    return found


@pytest.mark.parametrize(
    ("verb", "benchmark"),
    [
        *product(VERBS_OF_ALL, [known.name for known in known_benchmarks()]),
        *((verb, "") for verb in (*own_verbs(), *VERBS_OF_NONE)),
    ],
)
def test_every_verb_and_option_is_in_the_reference(verb: str, benchmark: str) -> None:
    reference = TEXTS[ROOT / "docs" / "command_line.md"]
    asked = ["--benchmark", benchmark] if benchmark else []
    assert re.search(rf"`(?:mwzeval )?{verb}\b", reference)
    documented = set(re.findall(r"--[a-z][\w-]*", reference))
    assert options(parser_of(verb, asked)) - documented - {"--help", "--version"} == set()
