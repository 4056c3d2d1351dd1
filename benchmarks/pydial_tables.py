"""Everything in benchmarks/pydial/ that comes out of runs, so that no figure is copied by hand.

`python -m benchmarks.pydial_tables RUN… -o FOLDER` writes tables.md (of the first run, and of all
side by side), results.json (a line for each run, task, policy and number of training dialogues),
means.png and tasks.png (of the first run), and the part of README.md between two comments. With
`--cross N` the first run's policies are tested in other environments after N training dialogues
(the paper's Table 8), as far as they are not yet.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from mwzeval.files.writing import write_atomically
from mwzeval.pydial import SCORING_REVISION
from mwzeval.pydial.arguments import seeds_named
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.curves import plot_curves
from mwzeval.pydial.results.means import MISSING
from mwzeval.pydial.results.over_seeds import all_seeds
from mwzeval.pydial.results.records import MEAN, Record, records_of, seconds_of
from mwzeval.pydial.results.run_results import Results, read_results
from mwzeval.pydial.results.side_by_side import labels_of, side_by_side
from mwzeval.pydial.results.tables import figure_cell, published_text, table_document
from mwzeval.scores.sheets import render
from mwzeval.text import json_line
from mwzeval.version import __version__

BEGIN, END = "<!-- figures: python -m benchmarks.pydial_tables -->", "<!-- end of figures -->"
PACKAGES = ("numpy", "scipy", "torch")
LEGEND = (
    "± is the 95 % interval over seeds, ▲ ▼ differ significantly from the paper, ‡ has fewer than "
    "5 seeds ([more](../../docs/pydial_tables.md))."
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pydial_tables")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=seeds_named, action="append", metavar="SEEDS")
    parser.add_argument("--cross", type=int, metavar="N")
    arguments = parser.parse_args()
    readme = arguments.output / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(f"{BEGIN}\n")
    after = rest.split(f"{END}\n")[1]
    runs = [
        read_results(folder, seeds=chosen)
        for folder in arguments.runs
        for chosen in arguments.seeds or [None]
    ]
    labels = labels_of(runs) if len(runs) > 1 else ("",)
    crossed = "" if arguments.cross is None else _crossed(arguments.runs[0], arguments.cross)
    tables = [render(table_document(runs[0]), "markdown"), crossed]
    if len(runs) > 1:
        tables = [f"# {labels[0]}", *tables, "# Side by side"]
        tables.append(render(side_by_side(runs), "markdown"))
    _write(arguments.output / "tables.md", "\n\n".join(filter(None, map(str.strip, tables))) + "\n")
    _write(arguments.output / "results.json", _json(runs, labels))
    for panels in ("means", "tasks"):
        picture = plot_curves(runs[0].folder, panels=panels)
        write_atomically(arguments.output / f"{panels}.png", picture)
    _write(readme, f"{before}{BEGIN}\n{_figures(runs, labels)}\n{END}\n{after}")
    return 0


def _write(file: Path, text: str) -> None:
    write_atomically(file, text)
    print(f"wrote {file}", file=sys.stderr)


def _crossed(folder: str, dialogues: int) -> str:
    command = ["pydial", "cross", folder, "--dialogues", str(dialogues), "-f", "markdown"]
    done = subprocess.run(
        [sys.executable, "-m", "mwzeval", *command], check=True, stdout=subprocess.PIPE
    )
    return done.stdout.decode()


def _json(runs: Sequence[Results], labels: Sequence[str]) -> str:
    lines = [
        json_line(line)
        for label, results in zip(labels, runs, strict=True)
        for line in _lines(label, results)
    ]
    about = json.dumps({"scoring_revision": SCORING_REVISION, "version": __version__})
    return f'{{"about": {about},\n"results": [\n' + ",\n".join(map(str.strip, lines)) + "\n]}\n"


def _lines(label: str, results: Results) -> Iterator[dict[str, object]]:
    """Yield the figures of a task, policy and number of dialogues, a list with one a seed."""
    for (task, policy, dialogues), tests in results.tests.items():
        times = results.times.get((task, policy), {})
        seconds = [
            round(times[seed].training.get(dialogues, 0.0), 1) or None
            for seed in sorted(tests.success)
        ]
        yield {
            "run": label,
            "task": task,
            "policy": policy,
            "dialogues": dialogues,
            "seeds": sorted(tests.success),
            "success": [round(tests.success[seed], 4) for seed in sorted(tests.success)],
            "reward": [round(tests.reward[seed], 4) for seed in sorted(tests.reward)],
            "training_seconds": seconds if any(seconds) else None,
        }


def _figures(runs: Sequence[Results], labels: Sequence[str]) -> str:
    """Return the part of README.md: what was run, means by policy, and seconds of training."""
    parts = [f"{_versions()} {LEGEND}"]
    for label, results in zip(labels, runs, strict=True):
        groups = tuple(results.groups())
        over = f"Mean over {len(results.tasks)} tasks" if len(results.tasks) > 1 else groups[-1][0]
        over += f", {label}" if label else ""
        parts.append(f"{over}, seeds {all_seeds(results.seeds)}:")
        parts.append("\n".join(_means(results, groups[-1][0])))
    if any(seconds_of(results) for results in runs):
        parts.append("CPU seconds of training, mean of tasks and seeds (and their number):")
        parts.append("\n".join(_seconds(runs, labels)))
    parts.append(
        "[All tasks, success and reward](tables.md), [figures of each seed](results.json)."
    )
    parts.append("![Learning curves: means of the domains and of all tasks](means.png)")
    parts.append("![Learning curves: every task](tasks.png)")
    return "\n\n".join(parts)


def _versions() -> str:
    found = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"mwzeval {__version__}, scoring revision {SCORING_REVISION}, Python "
        f"{platform.python_version()}, {found}."
    )


def _means(results: Results, row: str) -> Iterator[str]:
    known = results.dialogues or (0,)
    tables = {
        at: {
            (record.policy, record.figure): record
            for figure in ("success", "reward")
            for record in records_of(results, at, figure)
            if (record.row, record.of) == (row, MEAN)
        }
        for at in known
    }
    heads = (head for at in known for head in (f"after {at:,}", "paper"))
    yield _line("success (%) / reward", "seeds", *heads)
    yield _line("---", "---", *["---:"] * (2 * len(known)))
    for policy in results.policies:
        cells, numbers = [], []
        for at in known if PRESETS[policy].learns else known[:1]:
            found = [tables[at].get((policy, figure)) for figure in ("success", "reward")]
            success, reward = found
            cells += [_pair(success, reward), " / ".join(map(published_text, found))]
            numbers.append(MISSING if success is None else str(success.seeds))
        cells += [""] * (2 * len(known) - len(cells))
        if any(number != MISSING for number in numbers):
            yield _line(PRESETS[policy].label, " / ".join(dict.fromkeys(numbers)), *cells)


def _pair(success: Record | None, reward: Record | None) -> str:
    shown = [
        MISSING if record is None else (cell := figure_cell(record, ranked=False)).text + cell.mark
        for record in (success, reward)
    ]
    return " / ".join(shown)


def _seconds(runs: Sequence[Results], labels: Sequence[str]) -> Iterator[str]:
    tables = [seconds_of(results) for results in runs]
    columns = [
        (label, table, at)
        for label, table in zip(labels, tables, strict=True)
        for at in sorted({dialogues for _, dialogues in table})
    ]
    heads = [f"{label}, {at:,}" if label else f"{at:,} dialogues" for label, _, at in columns]
    yield _line("policy", *heads)
    yield _line("---", *["---:"] * len(columns))
    for policy, preset in PRESETS.items():
        found = [table.get((policy, at)) for _, table, at in columns]
        if any(found):
            cells = (MISSING if each is None else f"{each[0]:.4g} ({each[1]})" for each in found)
            yield _line(preset.label, *cells)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
