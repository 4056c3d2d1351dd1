"""Show the installed and missing parts: versions, optional packages, public files.

This command downloads nothing and changes nothing.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mwzeval.arguments import add_data, add_format
from mwzeval.benchmark import plugins
from mwzeval.cluster import processors
from mwzeval.commands.data import shelves
from mwzeval.files.downloads import file_states
from mwzeval.files.reading import table_rows
from mwzeval.libraries import installing
from mwzeval.output import write_result
from mwzeval.scores.sheets import Document, printed, sheet
from mwzeval.version import __version__

PURPOSES = dict(table_rows(Path(__file__).with_name("extras.tsv"), 2))
"""The purpose of each extra."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    document = diagnosis(arguments.data)
    write_result(printed(document, arguments.format), arguments.format)
    return 0


def diagnosis(data: str | None = None) -> Document:
    """Return the versions, the packages of each extra, and the public files of each corpus."""
    packages, files = list(_packages()), list(_files(data))
    notes = []
    if any(row["missing"] for row in packages):
        notes.append(f"To install an extra: {installing('EXTRA')}.")
    if any(row["missing"] for row in files):
        notes.append(
            "Missing files are downloaded when they are needed; `mwzeval data download NAME` "
            "downloads them now. With --data or MWZEVAL_DATA, files are read from that folder. The "
            "samples of all benchmarks are part of mwzeval."
        )
    machine = f"{platform.system()} {platform.machine()}, {processors()} cores"
    external = [plugin._asdict() for plugin in plugins()]
    extras, found = [], []
    for row in packages:
        state = f"missing: {row['missing']}" if row["missing"] else "installed"
        extras.append([f"{row['extra']}: {row['purpose']}", state])
    for row in external:
        state = f"skipped: {row['problem']}" if row["problem"] else "works"
        found.append([f"{row['name']}: {row['distribution']} {row['version']}", state])
    corpora = [[f"{row['benchmark']}: {row['corpus']}", row["state"]] for row in files]
    sheets = [sheet("Extras", ["", ""], extras), sheet("Public files", ["", "files"], corpora)]
    return Document(
        (f"mwzeval {__version__}, Python {platform.python_version()}, {machine}",),
        (*sheets, *([sheet("Plug-ins", ["", ""], found)] if found else [])),
        tuple(notes),
        (*packages, *files, *external),
        {"version": __version__, "extras": packages, "corpora": files, "plugins": external},
    )


def _packages() -> Iterator[dict[str, str]]:
    try:
        requirements = [Requirement(line) for line in requires("mwzeval") or []]
    except PackageNotFoundError:  # a checkout that is not installed
        return
    optional = [
        (requirement, requirement.marker)
        for requirement in requirements
        if requirement.marker and not requirement.marker.evaluate({"extra": ""})
    ]
    for extra, purpose in PURPOSES.items():
        found: list[str] = []
        missing: list[str] = []
        for requirement, marker in optional:
            if not marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(requirement.name)
            try:
                installed = version(requirement.name)
            except PackageNotFoundError:
                missing.append(name)
                continue
            if requirement.specifier.contains(installed, prereleases=True):
                found.append(f"{requirement.name} {installed}")
            else:
                missing.append(f"{name}{requirement.specifier} (not {installed})")
        yield {
            "extra": extra,
            "purpose": purpose,
            "found": ", ".join(found),
            "missing": ", ".join(missing),
        }


def _files(data: str | None) -> Iterator[dict[str, str]]:
    for benchmark, root in shelves(data):
        states = file_states(root)
        for corpus in root.corpora:
            of_corpus = [state for state in states if corpus in state.corpora]
            missing = sum(state.state == "missing" for state in of_corpus)
            foreign = sum(state.is_foreign for state in of_corpus)
            differ = f", {foreign} differ from the published files" if foreign else ""
            yield {
                "corpus": corpus,
                "benchmark": benchmark.title,
                "state": f"{len(of_corpus) - missing} of {len(of_corpus)}{differ}",
                "missing": str(missing) if missing else "",
            }
