"""Tell what is here and what is missing: versions, optional packages, public files.

Nothing is downloaded, and nothing is changed.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from textwrap import wrap

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mwzeval.arguments import add_data, add_format
from mwzeval.benchmark import plugins
from mwzeval.commands.data import shelves, status
from mwzeval.libraries import installing
from mwzeval.output import write_result
from mwzeval.report.terminal import printed
from mwzeval.scores.sheets import Document, sheet
from mwzeval.version import __version__

PURPOSES = {
    "batched": "thousands of PyDial's dialogues at once",
    "completion": "shells complete verbs, options and files",
    "crosswoz": "words of Chinese responses, for BLEU and NLU",
    "distributed": "Dask clusters; files at s3://, gs://, …",
    "frames": "to_frame(): pandas' tables of reports",
    "inspect": "inspect eval mwzeval/multiwoz",
    "mcp": "tools-serve; live --serve-tools",
    "neural": "trained models of CrossWOZ, DSTC7 and PyDial",
    "offline": "PyDial's data sets in Minari's format",
    "plot": "plot; curves of PyDial",
    "retrieval": "BM25 baselines of DSTC7; estimates of PyDial",
    "rl": "PyDial's Gymnasium environments",
    "training": "fine-tuning of BERT, and the trainer's callback",
    "verifiers": "vf-eval mwzeval-multiwoz",
}
"""What the extras are for."""

INDENT, WIDTH = "  ", 68


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_data(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; return 0."""
    document = diagnosis(arguments.data)
    write_result(printed(document, arguments.format), arguments.format)
    return 0


def diagnosis(data: str | None = None) -> Document:
    """Return what is here: the program, packages of extras, and public files of each benchmark."""
    packages, files = list(_packages()), list(_files(data))
    notes = []
    if any(of["missing"] for of in packages):
        notes.append(f"To install an extra: {installing('EXTRA')}.")
    if any(of["missing"] for of in files):
        notes.append(
            "Missing files are downloaded when they are needed (`mwzeval data download NAME` does "
            "it now), or read from a folder that MWZEVAL_DATA or --data names. A sample of every "
            "benchmark comes along."
        )
    heading = f"mwzeval {__version__}, Python {platform.python_version()}, {_machine()}"
    extras = [[line] for of in packages for line in _lines_of(of)]
    corpora = [[of["corpus"], of["state"]] for of in files]
    external = [plugin._asdict() for plugin in plugins()]
    lines = []
    for plugin in plugins():
        lines.append([f"{plugin.name}: {plugin.distribution} {plugin.version}"])
        state = f"skipped: {plugin.problem}" if plugin.problem else "works"
        lines += [[INDENT + line] for line in wrap(state, WIDTH)]
    return Document(
        (heading,),
        (
            sheet("Extras", [""], extras),
            sheet("Public files", ["", "files"], corpora),
            *([sheet("Plug-ins", [""], lines)] if lines else []),
        ),
        tuple(notes),
        (*packages, *files, *external),
        {"version": __version__, "extras": packages, "corpora": files, "plugins": external},
    )


def _lines_of(of: Mapping[str, str]) -> Iterator[str]:
    """Yield what an extra is for, and below that its packages, in lines for narrow terminals."""
    yield f"{of['extra']}: {of['purpose']}"
    state = f"missing: {of['missing']}" if of["missing"] else of["found"]
    # A package and its version stay on one line, by a blank at which no line is broken.
    text = ", ".join(part.replace(" ", "\xa0") for part in state.split(", "))
    for line in wrap(text, WIDTH, break_on_hyphens=False):
        yield INDENT + line.replace("\xa0", " ")


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {cores} cores"


def _packages() -> Iterator[dict[str, str]]:
    """Yield each extra with the packages of it that are here, and those that are not."""
    try:
        lines = requires("mwzeval") or []
    except PackageNotFoundError:  # a checkout that is not installed
        return
    requirements = [Requirement(line) for line in lines]
    for extra, purpose in PURPOSES.items():
        of_extra = [each for each in requirements if _is_of(each, extra)]
        problems = {canonicalize_name(each.name): _problem(each) for each in of_extra}
        found = [f"{each.name} {version(each.name)}" for each in of_extra if not _problem(each)]
        yield {
            "extra": extra,
            "purpose": purpose,
            "found": ", ".join(found),
            "missing": ", ".join(problem for problem in problems.values() if problem),
        }


def _is_of(requirement: Requirement, extra: str) -> bool:
    """Tell whether an extra brings a package here, and not without it."""
    marker = requirement.marker
    if marker is None or marker.evaluate({"extra": ""}):
        return False
    return marker.evaluate({"extra": extra})


def _problem(requirement: Requirement) -> str:
    """Return the name of a package that is missing or has another version; "" for others."""
    name = canonicalize_name(requirement.name)
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return name
    if requirement.specifier.contains(found, prereleases=True):
        return ""
    return f"{name}{requirement.specifier} (not {found})"


def _files(data: str | None) -> Iterator[dict[str, str]]:
    """Yield each corpus with how many of its public files are here, and how many are not."""
    for shelf in shelves(data):
        states = status(shelf.root, shelf.corpora)
        for corpus in shelf.corpora:
            of_corpus = [state for state in states if corpus in state.corpora]
            missing = sum(state.state == "missing" for state in of_corpus)
            foreign = sum(state.is_foreign for state in of_corpus)
            parts = [
                f"{len(of_corpus) - missing} of {len(of_corpus)}",
                *([f"{foreign} not as published"] if foreign else []),
            ]
            yield {
                "corpus": corpus,
                "benchmark": shelf.title,
                "state": ", ".join(parts),
                "missing": str(missing) if missing else "",
            }
