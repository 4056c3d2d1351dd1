"""Write the figures of benchmarks/pydial/ from runs.

`python -m benchmarks.pydial_tables RUN… -o FOLDER` writes tables.md (of the first run, and of all
runs side by side), results.json (a line per run, task, policy and number of training dialogues),
means.png (of the first run), and the part of README.md between two comments.
With `--extend`, RUN… contribute further seeds to FOLDER/results.json, and means.png stays as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mwzeval.files.writing import write_atomically
from mwzeval.pydial import SCORING_REVISION
from mwzeval.pydial.curves import plot_curves
from mwzeval.pydial.episode_files import RunSettings
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results import FIGURES, Results, SeedScores, all_seeds, read_results
from mwzeval.pydial.tables import (
    MEAN,
    MISSING,
    figure_cell,
    labels_of,
    published_text,
    records_of,
    seconds_sheet,
    side_by_side,
    table_document,
)
from mwzeval.scores.sheets import Document, Sheet, render, sheet
from mwzeval.text import json_line
from mwzeval.version import __version__

BEGIN, END = "<!-- figures: python -m benchmarks.pydial_tables -->", "<!-- end of figures -->"
ABOUT = (
    f"mwzeval {__version__}, scoring revision {SCORING_REVISION}. ± is the 95 % interval over "
    "seeds, ▲ ▼ differ significantly from the paper, ‡ has fewer than 5 seeds "
    "([more](../../docs/pydial_training.md#tables))."
)
LINKS = """[All tasks, success and reward](tables.md), [figures of each seed](results.json).

![Learning curves: means of the domains and of all tasks](means.png)"""


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pydial_tables")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--extend", action="store_true", help="keep the seeds in FOLDER")
    arguments = parser.parse_args()
    folder: Path = arguments.output
    before, rest = (folder / "README.md").read_text(encoding="utf-8").split(f"{BEGIN}\n")
    after = rest.split(f"{END}\n")[1]
    runs = [read_results(run) for run in arguments.runs]
    if arguments.extend:
        runs = _extended(folder / "results.json", runs)
    labels = labels_of(runs) if len(runs) > 1 else ("",)
    tables = [render(table_document(runs[0]), "markdown")]
    if len(runs) > 1:
        both = render(side_by_side(runs), "markdown")
        tables = [f"# {labels[0]}", *tables, "# Side by side", both]
    lines = [
        json_line(line).strip()
        for label, results in zip(labels, runs, strict=True)
        for line in _lines(label, results)
    ]
    about = json.dumps({"scoring_revision": SCORING_REVISION, "version": __version__})
    content: dict[str, str | bytes] = {
        "tables.md": "\n\n".join(map(str.strip, tables)) + "\n",
        "results.json": f'{{"about": {about},\n"results": [\n' + ",\n".join(lines) + "\n]}\n",
        "README.md": f"{before}{BEGIN}\n{_figures(runs, labels)}\n{END}\n{after}",
    }
    if not arguments.extend:
        content["means.png"] = plot_curves(runs[0].folder, panels="means")
    for name, text in content.items():
        write_atomically(folder / name, text)
        print(f"wrote {folder / name}", file=sys.stderr)


def _extended(file: Path, runs: Sequence[Results]) -> list[Results]:
    """Return the runs in results.json, with the seeds of the given runs of the same settings."""
    earlier = json.loads(file.read_text(encoding="utf-8"))
    if earlier["about"]["scoring_revision"] != SCORING_REVISION:
        raise SystemExit(f"{file} has another scoring revision")
    tests: dict[str, dict[tuple[str, str, int], SeedScores]] = {}
    for line in earlier["results"]:
        key = line["task"], line["policy"], line["dialogues"]
        scores = {f: dict(zip(line["seeds"], line[f], strict=True)) for f in FIGURES}
        tests.setdefault(line["run"], {})[key] = scores
    extended = []
    for label, of_run in tests.items():
        settings = RunSettings(500, "legacy" in label, "policy" if "policy" in label else "user")
        run = next((run for run in runs if run.settings == settings), Results({}, settings))
        for key, more in run.tests.items():
            known = of_run.get(key, more)
            of_run[key] = {figure: {**known[figure], **more[figure]} for figure in FIGURES}
        extended.append(replace(run, tests=of_run))
    return extended


def _lines(label: str, results: Results) -> Iterator[dict[str, object]]:
    """Yield the figures of a task, policy and number of dialogues, as lists over seeds."""
    for (task, policy, dialogues), tests in results.tests.items():
        seeds, of_seeds = sorted(tests["success"]), results.seconds.get((task, policy), {})
        taken = [of_seeds.get(seed, {}).get(dialogues, 0.0) for seed in seeds]
        seconds = [round(took, 1) or None for took in taken]
        yield {
            "run": label,
            "task": task,
            "policy": policy,
            "dialogues": dialogues,
            "seeds": seeds,
            **{figure: [round(tests[figure][seed], 4) for seed in seeds] for figure in FIGURES},
            "training_seconds": seconds if any(seconds) else None,
        }


def _figures(runs: Sequence[Results], labels: Sequence[str]) -> str:
    """Return the part of README.md: means by policy, and seconds of training."""
    labelled = list(zip(labels, runs, strict=True))
    sheets = [_means(label, results) for label, results in labelled]
    for label, results in labelled:
        sheets += seconds_sheet(results, f", {label}" if label else "")
    tables = render(Document((), tuple(sheets), (), (), {}), "markdown").strip()
    return "\n\n".join([ABOUT, tables, LINKS])


def _means(label: str, results: Results) -> Sheet:
    """Return the means of policies over all tasks, next to the paper's."""
    row = results.groups()[-1][0]
    over = f"Mean over {len(results.tasks)} tasks" if len(results.tasks) > 1 else row
    over += f", {label}" * bool(label)
    known = results.dialogues or (0,)
    records = {
        (record.row, record.of, record.dialogues, record.policy, record.figure): record
        for at in known
        for figure in FIGURES
        for record in records_of(results, at, figure)
    }
    rows: list[list[str]] = []
    for policy in results.policies:
        cells, numbers = [], []
        for at in known if PRESETS[policy].learns else known[:1]:
            pair = [records.get((row, MEAN, at, policy, figure)) for figure in FIGURES]
            figures = (figure_cell(record, ranked=False) for record in pair)
            cells.append(" / ".join(cell.text + cell.mark for cell in figures))
            cells.append(" / ".join(map(published_text, pair)))
            numbers.append(MISSING if pair[0] is None else str(pair[0].seeds))
        cells += [""] * (2 * len(known) - len(cells))
        if set(numbers) != {MISSING}:
            rows.append([PRESETS[policy].label, " / ".join(dict.fromkeys(numbers)), *cells])
    heads = (head for at in known for head in (f"after {at:,}", "paper"))
    over += f", seeds {all_seeds(results.seeds)}"
    return sheet(over, ["success (%) / reward", "seeds", *heads], rows)


if __name__ == "__main__":
    main()
