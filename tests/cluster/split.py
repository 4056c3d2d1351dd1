"""Inputs of every benchmark in the embedded data, and the same cut into shards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.pydial.runs.run import run
from tests.places import ROOT

PREDICTIONS = ROOT / "predictions"


class Input(NamedTuple):
    """An input of a benchmark: what `evaluate` is told of it, and how it is written and cut.

    `name` is that of a file with all of it. `items` are what may be cut; `text` is that of a file
    with some of them.
    """

    arguments: tuple[str, ...]
    name: str
    items: Sequence[Any]
    text: Callable[[Sequence[Any]], str]


def read(name: str) -> Any:
    return json.loads((PREDICTIONS / name).read_text(encoding="utf-8"))


def json_text(items: Iterable[tuple[str, Any]]) -> str:
    return json.dumps(dict(items), ensure_ascii=False)


def multiwoz(folder: Path) -> Input:
    arguments = ("--benchmark", "multiwoz", "-bsrd", "--corpus", "sample")
    return Input(arguments, "good.json", list(read("sample-good.json").items()), json_text)


def crosswoz(folder: Path) -> Input:
    content = read("crosswoz-sample-dst.json")
    header = {"_meta": content.pop("_meta")}

    def text(items: Sequence[tuple[str, Any]]) -> str:
        return json.dumps(header | dict(items), ensure_ascii=False)

    return Input(("--benchmark", "crosswoz"), "dst.json", list(content.items()), text)


def simulation(folder: Path) -> Input:
    lines = (PREDICTIONS / "crosswoz-sample-simulation.jsonl").read_text(encoding="utf-8")
    header, *dialogues = lines.splitlines(keepends=True)
    return Input(
        ("--benchmark", "crosswoz"), "log.jsonl", dialogues, lambda some: header + "".join(some)
    )


def dstc7(folder: Path) -> Input:
    return Input(
        ("--benchmark", "dstc7-ubuntu-4"),
        "Ubuntu_subtask_4.json",
        read("dstc7-overlap/Ubuntu_subtask_4.json"),
        json.dumps,
    )


def pydial(folder: Path) -> Input:
    run(["Demo-CR-3", "Demo-CR-1"], ["handcrafted"], folder, seeds=2, tests=6, processes=0)
    lines = []
    for file in sorted(folder.rglob("test-*.jsonl")):
        task, _, seed = file.parts[-4:-1]
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:  # behind their number
            said = {"task": task, "seed": int(seed.removeprefix("seed-")), "legacy": False}
            lines.append(json.dumps(said | json.loads(line)) + "\n")
    return Input(("--benchmark", "pydial"), "test.jsonl", lines, "".join)


INPUTS: Mapping[str, Callable[[Path], Input]] = {
    "multiwoz": multiwoz,
    "crosswoz": crosswoz,
    "crosswoz, simulation": simulation,
    "dstc7": dstc7,
    "pydial": pydial,
}
"""Each makes its input in a folder of its own; the first word is the benchmark's name."""


def write(of: Input, folder: Path, places: Sequence[int] = ()) -> list[str]:
    """Write an input, cut before the items at these places, and return the files in order."""
    folder.mkdir()
    edges = [0, *places, len(of.items)]
    paths = []
    for number, (first, last) in enumerate(pairwise(edges)):
        path = folder / (f"part-{number:03}{Path(of.name).suffix}" if places else of.name)
        path.write_text(of.text(of.items[first:last]), encoding="utf-8")
        paths.append(str(path))
    return paths
