"""The paper's Table 8: how many simulated dialogues finish, in acts and in words.

`python -m benchmarks.crosswoz_words FOLDER --policy P… --nlu N… --nlg G…` takes folders of models
that `mwzeval crosswoz policy|nlu|nlg train` has written, one a seed. Table `models` is of those of
the first seed, `seeds` of all, and `steps` says what an NLU breaks. Logs stay in FOLDER, and the
same call goes on where it was. Prints the tables of docs/crosswoz_simulation.md, and puts all
digits into `benchmarks/crosswoz/simulations.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from mwzeval.cli import main as mwzeval
from mwzeval.crosswoz.command_simulate import nlu_named, system_named, trained_nlg
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.folds import Gold, load_gold
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.evaluation import evaluate_simulation
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Nlu, Rng, Side
from mwzeval.crosswoz.simulation.run import simulate
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from mwzeval.text import to_json

DEFAULT_DATA = "../shared/data/crosswoz"
TEMPLATES = "extra/nlg_templates.zip"
RESULTS = Path(__file__).parent / "crosswoz" / "simulations.json"
GOALS_SEED = 1
NATURAL = "natural mix"
SCOPES = (*GOAL_TYPES, NATURAL)
FIGURES = ("finish_rate", "inform", "success")
PAPER = {
    "acts": (76.5, 49.4, 33.7, 17.2, 15.7, 34.6),
    "templates, trained NLU": (67.4, 33.3, 29.1, 10.0, 10.0, 23.6),
    "SC-LSTM, trained NLU": (60.6, 27.1, 23.1, 8.8, 9.0, 19.7),
}
WORDS = (
    "acts",
    "templates that come along, read",
    "templates, trained NLU",
    "SC-LSTM, trained NLU",
)
SYSTEMS = ("SL policy", "rule")
STEPS = {"nobody": (), "system": (USER,), "user": (SYSTEM,), "both": (USER, SYSTEM)}
"""Who understands with the NLU → the sides that it listens to; the others' acts are known."""


@dataclass(frozen=True, slots=True)
class Models:
    """The folders of the models of one seed."""

    policy: str
    nlu: str
    nlg: str


@dataclass(frozen=True, slots=True)
class Runs:
    """Where logs, models and data are."""

    folder: Path
    models: Sequence[Models]
    data: str
    processes: str
    per_type: int
    words: Sequence[str]

    @property
    def templates(self) -> str:
        """The public templates, of which the paper took those of `auto_manual`."""
        return str(Path(self.data, TEMPLATES))

    def log(self, system: str, words: str, seed: int) -> Path:
        """Return the log of a simulation, which is held first unless it is complete."""
        models = self.models[seed]
        name = f"{system} {words} {seed} {self.per_type}".replace(" ", "-").replace(",", "")
        log = self.folder / f"{name}.jsonl"
        spoken = {
            WORDS[0]: (),
            WORDS[1]: ("--level", "text"),
            WORDS[2]: ("--level", "text", "--templates", self.templates, "--nlu", models.nlu),
            WORDS[3]: ("--level", "text", "--nlg", models.nlg, "--nlu", models.nlu),
        }[words]
        who = models.policy if system == SYSTEMS[0] else system
        fixed = ("--data", self.data, "--offline", "--seed", str(GOALS_SEED), "--quiet", "--resume")
        sizes = ("--per-type", str(self.per_type), "--processes", self.processes)
        command = ("crosswoz", "simulate", "--system", who, *spoken, *fixed, *sizes, "-o", str(log))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = mwzeval(command)
        if code:
            raise SystemExit(f"mwzeval {' '.join(command)}: exit {code}")
        return log

    def varies(self, system: str, words: str) -> bool:
        """Tell whether seeds of models differ in anything that takes part."""
        return system == SYSTEMS[0] or words in WORDS[2:]


Rates = Mapping[tuple[str, str], float]
"""(figure, scope) → percent."""


def rates_of(log: Path, gold: Gold) -> Rates:
    """Return the scores of a log."""
    scores = evaluate_simulation(log, gold).scored_table.scores()
    return {(score.name.removeprefix("e2e."), score.scope): score.value for score in scores}


def finished(runs: Runs, gold: Gold) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the lines of the table of finished dialogues, and their figures."""
    yield f"| finished / Inform / Success, % | {' | '.join(SCOPES)} |", []
    yield f"|---|{'---:|' * len(SCOPES)}", []
    for words in runs.words:
        if words in PAPER:
            cells = [_shown(value) for value in PAPER[words]]
            yield f"| paper, {words} | {' | '.join(cells)} |", []
        for system in SYSTEMS:
            rates = rates_of(runs.log(system, words, 0), gold)
            cells = [
                " / ".join(_shown(rates.get((figure, scope))) for figure in FIGURES)
                for scope in SCOPES
            ]
            records = [
                _record("models", system, words, (figure, scope), [value], runs)
                for (figure, scope), value in rates.items()
            ]
            yield f"| {system}, {words} | {' | '.join(cells)} |", records


def spread(runs: Runs, gold: Gold) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the lines of the table of means over seeds, and their figures."""
    yield f"| finished, % | {' | '.join(SCOPES)} |", []
    yield f"|---|{'---:|' * len(SCOPES)}", []
    for words in runs.words:
        for system in SYSTEMS:
            if not runs.varies(system, words):
                continue
            of_seeds = [
                rates_of(runs.log(system, words, seed), gold) for seed in range(len(runs.models))
            ]
            values = {
                key: [rates[key] for rates in of_seeds if key in rates] for key in of_seeds[0]
            }
            cells = [_mean(values[FIGURES[0], scope]) for scope in SCOPES]
            records = [
                _record("seeds", system, words, key, found, runs) for key, found in values.items()
            ]
            yield f"| {system}, {words} | {' | '.join(cells)} |", records


@dataclass(slots=True)
class Partly:
    """Speaks with an NLG, understands some sides with an NLU, and knows what the others mean."""

    nlg: Nlg
    nlu: Nlu
    understood: Sequence[Side]
    _said: dict[Side, Acts] = field(default_factory=dict)

    def say(self, acts: Acts, side: Side, rng: Rng) -> str | None:
        """Return what the NLG says."""
        self._said[side] = acts
        return self.nlg.say(acts, side, rng)

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Iterable[Any]:
        """Return the acts of an utterance; none where the NLG had no words."""
        if side in self.understood:
            return self.nlu.understand(utterance, context, side)
        return self._said[side] if utterance else ()


def steps(runs: Runs, gold: Gold) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the lines of the table of who understands with the NLU, and their figures."""
    yield f"| finished, macro mean, % | {' | '.join(STEPS)} |", []
    yield f"|---|{'---:|' * len(STEPS)}", []
    templates = load_templates(runs.templates)
    models = runs.models[0]
    nlu = nlu_named(models.nlu, templates, gold.database)
    speakers: dict[str, Nlg] = {
        "templates": TemplateNlg(templates, "auto_manual"),
        "SC-LSTM": trained_nlg(models.nlg),
    }
    for words, nlg in speakers.items():
        for system in SYSTEMS:
            make = system_named(models.policy if system == SYSTEMS[0] else system).make
            cells, records = [], []
            for step, sides in STEPS.items():
                both = Partly(nlg, nlu, sides)
                setting = Setting(gold.database, make, level="text", nlu=both, nlg=both)
                summary = simulate(setting, per_type=runs.per_type, seed=GOALS_SEED, progress=False)
                value = 100 * (summary.macro or 0)
                cells.append(_shown(value))
                what = f"{words}, NLU: {step}"
                records.append(_record("steps", system, what, (FIGURES[0], "macro"), [value], runs))
            yield f"| {system}, {words} | {' | '.join(cells)} |", records


def _record(
    table: str,
    system: str,
    words: str,
    of: tuple[str, str],
    values: Sequence[float],
    runs: Runs,
) -> dict[str, Any]:
    figure, scope = of
    published = dict(zip(SCOPES, PAPER.get(words, ()), strict=False)).get(scope)
    is_published = system == SYSTEMS[0] and figure == FIGURES[0]
    return {
        "table": table,
        "system": system,
        "words": words,
        "figure": figure,
        "scope": scope,
        "dialogues_a_type": runs.per_type,
        "seeds": len(values),
        "mean": statistics.mean(values),
        "sd": statistics.stdev(values) if len(values) > 1 else None,
        "published": published if is_published else None,
    }


def _merged(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of the file, with new ones in their places."""
    before = json.loads(RESULTS.read_bytes())["results"] if RESULTS.exists() else []
    key = itemgetter("table", "system", "words", "figure", "scope")
    return list({key(record): record for record in (*before, *records)}.values())


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _mean(values: Sequence[float]) -> str:
    if len(values) == 1:
        return _shown(values[0])
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


TABLES = {"models": finished, "seeds": spread, "steps": steps}


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold what lacks, print the tables and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the logs are")
    for kind in ("policy", "nlu", "nlg"):
        parser.add_argument(f"--{kind}", nargs="+", default=[], help="folders, one a seed")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--words", nargs="+", choices=WORDS, default=WORDS)
    parser.add_argument("--per-type", type=int, default=1000, help="dialogues of each goal type")
    parser.add_argument("--data", default=DEFAULT_DATA)
    parser.add_argument("--processes", default="2")
    said = parser.parse_args(arguments)
    said.folder.mkdir(parents=True, exist_ok=True)
    models = [Models(*of) for of in zip_longest(said.policy, said.nlu, said.nlg, fillvalue="")]
    runs = Runs(said.folder, models, said.data, said.processes, said.per_type, said.words)
    gold = load_gold(data=said.data, offline=True)
    records: list[dict[str, Any]] = []
    for name in said.tables:
        for line, more in TABLES[name](runs, gold):
            print(line, flush=True)
            records += more
        print(flush=True)
    RESULTS.write_text(to_json({"results": _merged(records)}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
