"""Everything that the documents name exists, and everything public is documented."""

from __future__ import annotations

import argparse
import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import yaml

from mwzeval.benchmark import benchmark_named, own_verbs
from mwzeval.cli import VERBS, VERBS_OF_NONE, command_parser
from mwzeval.multiwoz.reasons import kinds
from mwzeval.version import __version__
from tests.command_lines import Run, parser_of, words
from tests.documents import blocks_of
from tests.places import ROOT
from tests.samples import NAMES
from tools import release

README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub generates for the headings of a document."""
    found = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken_links(links: list[str], folder: Path) -> list[str]:
    """Return the links whose target file or heading does not exist."""
    found = []
    for link in links:
        place, _, anchor = link.partition("#")
        target = folder / (place or README.name)
        if not target.exists() or (anchor and anchor not in headings(target)):
            found.append(link)
    return found


def named_in_the_package(pattern: str) -> set[str]:
    sources = (ROOT / "mwzeval").rglob("*.py")
    return {match for path in sources for match in re.findall(pattern, text_of(path))}


def commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield parser.prog
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from commands(inner)


def test_every_command_is_listed_in_the_reference() -> None:
    reference = text_of(ROOT / "docs" / "python.md")
    verbs = (*VERBS, *own_verbs(), *VERBS_OF_NONE)
    assert not [verb for verb in verbs if not re.search(rf"`(?:mwzeval )?{verb}\b", reference)]


def test_options_in_documented_commands_exist(run: Run) -> None:
    named = set(re.findall(r"`(mwzeval [a-z-]+ [^`…]+)`", text_of(README)))
    for document in (README, *DOCS):
        named |= {
            command for block in blocks_of(document) for command in block.commands_without_output
        }
    wrong = []
    for command in sorted(named):
        # The unknown option prevents the command from running; it must be the only unknown option.
        mistake = run(*words(command), "--one-too-many").err.splitlines()[0]
        if not re.search(r"arguments: --one-too-many(?: \(.*)?$", mistake):
            wrong.append((command, mistake))
    assert not wrong


def test_commands_and_pages_named_in_the_package_exist() -> None:
    named = named_in_the_package(r"`(mwzeval [a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)?)")
    known = set(commands(command_parser()))
    assert len(named) > 5
    for command in named:
        verb = " ".join(command.split()[:2])
        has_actions = any(name.startswith(f"{verb} ") for name in known)
        assert (command if has_actions else verb) in known
    pages = named_in_the_package(r"\bdocs/\w+\.md(?:#[\w-]+)?")
    assert len(pages) > 10
    assert not broken_links(sorted(pages), ROOT)


def test_links_in_the_readme_have_existing_targets() -> None:
    """`mkdocs build --strict` checks the links of the pages."""
    links = re.findall(r"\]\((?!https://)([^)\s]+)\)", text_of(README))
    assert not broken_links(links, ROOT)


def test_documents_list_all_packages_and_pages() -> None:
    packages = {f"mwzeval/{path.parent.name}/" for path in (ROOT / "mwzeval").glob("*/__init__.py")}
    architecture = text_of(ROOT / "docs" / "architecture.md")
    listed = set(re.findall(r"^\| `(mwzeval/\w+/)` \|", architecture, re.MULTILINE))
    assert listed == packages
    listed = set(re.findall(r"\]\((\w+\.md)", text_of(ROOT / "docs" / "index.md")))
    assert listed - {"options.md"} == {page.name for page in DOCS} - {"index.md"}


def test_every_kind_of_reason_is_explained_and_documented() -> None:
    with_sentence = {code for code, kind in kinds().items() if any(kind[2:])}
    assert with_sentence == set(kinds())
    for name in NAMES:
        page = text_of(ROOT / "docs" / ("explaining.md" if name == "multiwoz" else f"{name}.md"))
        arguments = parser_of("evaluate", ["--benchmark", name]).parse_args(["--benchmark", name])
        meanings = benchmark_named(name).scorer(arguments).reasons
        assert meanings
        for code in meanings:
            assert re.search(rf"^(?:### |\| )`{code}[:`]", page, re.MULTILINE), code


def test_every_supported_python_version_is_tested() -> None:
    tests = yaml.safe_load(text_of(ROOT / ".github" / "workflows" / "tests.yml"))
    versions = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    project = text_of(ROOT / "pyproject.toml")
    assert f'requires-python = ">={versions[0]}"' in project
    assert versions == re.findall(r"Programming Language :: Python :: (3\.\d+)", project)
    assert release.version() == __version__


def test_examples_in_docstrings_are_correct() -> None:
    failed, attempted = [], 0
    for path in sorted((ROOT / "mwzeval").rglob("*.py")):
        if ">>> " in text_of(path):
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            result = doctest.testmod(module)
            failed += [module.__name__] * result.failed
            attempted += result.attempted
    assert not failed
    assert attempted > 20


def test_workflows_call_existing_targets_and_only_publishing_may_write() -> None:
    targets = set(re.findall(r"^([\w-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    called: set[str] = set()
    for workflow in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        content = yaml.safe_load(text_of(workflow))
        assert content["permissions"] == {"contents": "read"}, workflow
        assert {name for name, job in content["jobs"].items() if "permissions" in job} <= {
            "publish"
        }
        called |= set(re.findall(r"make \S+ ([\w-]+)$", text_of(workflow), re.MULTILINE))
        for job in content["jobs"].values():
            called |= set(job.get("strategy", {}).get("matrix", {}).get("target", []))
    assert called
    assert called <= targets
