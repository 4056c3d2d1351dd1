"""A file of live dialogues that has been scored: its rows, its report, its explanations."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mwzeval.conversation.accounts import Accounts
from mwzeval.conversation.protocols import ENDS, INFRASTRUCTURE, USER_ERROR
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.conversation.usage import Prices
from mwzeval.errors import Problem, UsageError
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, Sign, percentage
from mwzeval.metrics.trials import of_items
from mwzeval.multiwoz import NAME, SCORING_REVISION
from mwzeval.multiwoz.choices import LIVE, SAMPLE, WITHOUT_FAULTS
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.live.scored.explanation import with_facts
from mwzeval.multiwoz.live.scored.reading import LiveRun, described
from mwzeval.multiwoz.live.scored.scores import BY_SLOT, HEADLINE
from mwzeval.multiwoz.scoring.scored_predictions import SAMPLE_NOTE
from mwzeval.scores.explanation import Claim, Explanation, Fact
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report, score_records, summary
from mwzeval.scores.score import WHOLE, Score, Signature, is_named
from mwzeval.scores.sheets import Document
from mwzeval.scores.table import Table
from mwzeval.version import __version__, library_version

SUCCESS = ("success", WHOLE)
DEPENDENCIES = ("rapidfuzz", "python-Levenshtein", "numpy")


class Level(Protocol):
    """How dialogues are judged: in words, or in acts by a published evaluator."""

    name: str
    rules: str
    columns: Sequence[str]
    has_words: bool

    def check(self, run: LiveRun, findings: Findings) -> None:
        """Note what cannot be judged."""

    def row(self, dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        """Return the additive numbers of a dialogue."""

    def has_faults(self, dialogue: Trajectory, goal: Goal) -> bool | None:
        """Tell whether the user of a dialogue has made a fault; None where it is not known."""

    def explain(self, dialogue: Trajectory, goal: Goal, *, is_scored: bool) -> Explanation:
        """Return what became of a dialogue; one that is not scored has no outcomes."""

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the scores of the sums of columns."""

    def plain(
        self, sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        """Return the parts of a report, of name → scope → value."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """A run, what judges it, and what came of it, goal by goal (`scored_table`).

    Dialogues that failed for infrastructure are not scored; they are counted and shown.
    """

    run: LiveRun
    level: Level
    checksum: str
    scored_table: ScoredTable
    accounts: Accounts
    warnings: Sequence[Problem]

    @classmethod
    def of(
        cls,
        run: LiveRun,
        level: Level,
        checksum: str,
        tools: str | None,
        findings: Findings,
        each: Callable[[Sequence[str]], Iterable[str]] = iter,
        *,
        prices: Prices | None = None,
        exclude_user_faults: bool = False,
    ) -> ScoredRun:
        """Score the dialogues of a run; `each` may show how far it is.

        `checksum` is that of the database, `tools` that of functions of their own, None without.
        With `exclude_user_faults` there are also the outcomes of dialogues without faults of the
        user, beside those of all. What is noticed goes to `findings`.
        """
        names = [name for name, one in run.dialogues.items() if one.end != INFRASTRUCTURE]
        rows = [(name, level.row(run.dialogues[name], run.goals[name])) for name in each(names)]
        table = Table.from_rows(level.columns, rows)
        signature = _signature(run, level, checksum, tools, table)
        measures = tuple(level.measures(table.sums(), lambda name: signature))
        scored = {name: run.dialogues[name] for name in names}
        accounts = Accounts.of(scored, run.file.header, prices, findings)
        used = _used(accounts, table, measures)
        more = tuple(accounts.measures(used.sums(), lambda name: signature)) if names else ()
        if exclude_user_faults:
            chosen = _without_faults(run, level, names, findings)
            own, again = _of_chosen(table, measures, chosen)
            table, measures = table.beside(own), (*measures, *again)
        table, measures = table.beside(used), (*measures, *more)
        items = {name: _item(one.item) for name, one in run.dialogues.items()}
        by_item = ScoredTable(table, measures)
        if measures:
            by_item = of_items(by_item, items.__getitem__)
        goals = {name: _checksum(goal) for name, goal in run.goals.items()}
        about = goals | {items[name]: goal for name, goal in goals.items()}
        by_item = replace(by_item, about=about)
        return cls(run, level, checksum, by_item, accounts, findings.warnings)

    @property
    def rows(self) -> Table:
        """The numbers of each dialogue."""
        trials = self.scored_table.trials
        return self.scored_table.table if trials is None else trials.table

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report, with intervals when it is said how to find them."""
        scores = self.scored_table.scores(resampling)
        sums = self.scored_table.table.sums()
        run = self.run
        return Report(
            metrics=self._metrics(scores, sums),
            scores=scores,
            table=self.rows,
            warnings=tuple(self.warnings),
            meta={
                "corpus": run.corpus,
                "note": "; ".join(self._notes()) or None,
                "fold": LIVE,
                "sources": self.checksum,
                "rules": self.level.rules,
                "coverage": self._coverage(),
                "versions": {name: library_version(name) for name in DEPENDENCIES}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
            benchmark=NAME,
            figures=self.accounts.figures(scores, sums),
        )

    def units(self) -> Sequence[str]:
        """Return the names of the dialogues, those that are not scored among them."""
        return tuple(self.run.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return what became of a dialogue. Raises `UsageError` for an unknown one."""
        if unit not in self.run.dialogues:
            raise UsageError(f'there is no dialogue "{unit}"')
        dialogue = self.run.dialogues[unit]
        is_scored = dialogue.end != INFRASTRUCTURE
        explanation = self.level.explain(dialogue, self.run.goals[unit], is_scored=is_scored)
        used = self.accounts.told(unit) if is_scored else ()
        return with_facts(explanation, *(Fact(label, text) for label, text in used))

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every dialogue."""
        return map(self.explain, self.units())

    def claims(self) -> Iterator[tuple[str, Claim]]:
        """Yield (dialogue, claim) for all claims of the agent.

        Raises `UsageError` if the dialogues are in acts.
        """
        if not self.level.has_words:
            raise UsageError("claims are read in words, and these dialogues are judged by acts")
        for explanation in self.explain_all():
            for turn in explanation.turns:
                for claim in turn.claims:
                    yield explanation.unit, claim

    def _metrics(self, scores: Sequence[Score], sums: Mapping[str, float]) -> dict[str, Any]:
        values: dict[str, dict[str, float]] = {}
        chosen: dict[str, dict[str, float]] = {}
        for score in scores:
            if score.scope == WITHOUT_FAULTS:
                chosen[score.name] = {"value": score.value, "n": score.n}
            else:
                values.setdefault(score.name, {})[score.scope] = score.value
        usage = self.accounts.plain(scores, sums)
        plain = self.level.plain(self.rows.sums(), values)
        dialogues = self.run.dialogues.values()
        counted = Counter(dialogue.end for dialogue in dialogues)
        return {
            **dict.fromkeys(("bleu", "success", "richness", "dst")),
            **plain,
            LIVE: {
                "ends": {end: counted[end] for end in ENDS},
                "goals": len({dialogue.item for dialogue in dialogues}),
                **plain.get(LIVE, {}),
                **({"without_user_faults": chosen} if chosen else {}),
                **({} if usage is None else {"usage": usage}),
            },
        }

    def _coverage(self) -> dict[str, Any]:
        dialogues, turns = Counter[str](), Counter[str]()
        domains: dict[str, Counter[str]] = {}
        for name, dialogue in self.run.dialogues.items():
            is_scored = int(dialogue.end != INFRASTRUCTURE)
            dialogues.update({"scored": is_scored, "of": 1})
            turns.update({"scored": is_scored * dialogue.turns, "of": dialogue.turns})
            for domain in self.run.goals[name][ORDERING]:
                domains.setdefault(domain, Counter()).update({"scored": is_scored, "of": 1})
        return {
            "dialogues": dict(dialogues),
            "turns": dict(turns),
            "domains": {domain: dict(counts) for domain, counts in domains.items()},
        }

    def _notes(self) -> Iterator[str]:
        header = self.run.file.header
        told = [f"{key} {described(header[key])}" for key in ("agent", "user") if key in header]
        if told:
            yield ", ".join(told)
        if self.run.corpus == SAMPLE:
            yield SAMPLE_NOTE.rstrip(".")


def _used(accounts: Accounts, table: Table, measures: Sequence[Measure]) -> Table:
    """Return what was used, for the same dialogues as the rows of a table."""
    successes = next(
        (table.column(m.outcome) for m in measures if (m.name, m.scope) == SUCCESS and m.outcome),
        np.zeros(len(table.units)),
    )
    pairs = zip(table.units, successes.tolist(), strict=True)
    rows = [(name, accounts.row(name, success)) for name, success in pairs]
    return Table.from_rows(accounts.columns, rows)


def _without_faults(
    run: LiveRun, level: Level, names: Sequence[str], findings: Findings
) -> NDArray[np.bool_]:
    """Return of which dialogues the user has made no fault, and has not failed."""
    known = [level.has_faults(run.dialogues[name], run.goals[name]) for name in names]
    if unknown := known.count(None):
        message = f"whether the user makes faults is not known of {unknown:,} dialogues in acts"
        findings.warning("user-faults", f"{message}: only its failures are excluded of these")
    ends = (run.dialogues[name].end for name in names)
    without = [not has and end != USER_ERROR for has, end in zip(known, ends, strict=True)]
    if not any(without):
        message = "in no dialogue is the user without faults: there are no scores of such"
        findings.warning("user-faults", message)
    return np.array(without, dtype=bool)


def _of_chosen(
    table: Table, measures: Iterable[Measure], chosen: NDArray[np.bool_]
) -> tuple[Table, tuple[Measure, ...]]:
    """Return columns and scores of the 0/1 outcomes of the chosen dialogues, as a further scope.

    The columns are 0 in all other dialogues, so that they fit the table, and resamples are of all.
    Endings, scores of parts, and scores without a chosen case are left out.
    """
    outcomes = [
        (m, m.outcome, m.cases)
        for m in measures
        if m.scope == WHOLE and m.outcome and m.cases and not m.name.startswith("end.")
    ]
    names = dict.fromkeys(name for _, *columns in outcomes for name in columns)
    values = np.zeros((len(table.units), len(names)))
    for index, name in enumerate(names):
        values[:, index] = table.column(name) * chosen
    own = Table(table.units, tuple(f"{WITHOUT_FAULTS}: {name}" for name in names), values)
    sums = own.sums()
    return own, tuple(
        replace(
            m,
            scope=WITHOUT_FAULTS,
            of=percentage(f"{WITHOUT_FAULTS}: {outcome}", of=f"{WITHOUT_FAULTS}: {cases}"),
            outcome=f"{WITHOUT_FAULTS}: {outcome}",
            cases=f"{WITHOUT_FAULTS}: {cases}",
        )
        for m, outcome, cases in outcomes
        if sums[f"{WITHOUT_FAULTS}: {cases}"]
    )


def _checksum(goal: Goal) -> str:
    text = json.dumps(goal, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _item(name: str) -> str:
    """Return what a goal is called in comparisons: `MUL0001.json` is `mul0001`."""
    return dialogue_id(name) if name.endswith(".json") else name


def _signature(
    run: LiveRun, level: Level, checksum: str, tools: str | None, table: Table
) -> Signature:
    header = run.file.header
    choices: dict[str, object] = {
        "corpus": f"{run.corpus}@{checksum}",
        "goals": described(header.get("goals", "own")),
        "user": described(header.get("user", "own")),
        **({"fail-book": "goal"} if header.get("fail_book") else {}),
        "level": level.name,
        "limit": _limit(header.get("limits")),
        "n": table.count,
        "rules": level.rules,
        **({} if tools is None else {"tools": tools}),
        "levenshtein": library_version("python-Levenshtein"),
        "rapidfuzz": library_version("rapidfuzz"),
        "rev": SCORING_REVISION,
        "version": __version__,
    }
    return Signature.of(LIVE, {key: str(each).replace("|", "/") for key, each in choices.items()})


def _limit(limits: Any) -> object:
    return limits.get("user_turns", "none") if isinstance(limits, Mapping) else "none"


def live_document(report: Report, *, details: bool = False) -> Document:
    """Return the scores of a live run as tables: task success, pass^k, cost and endings first.

    Hallucination and consistency by slot are among them with `details`.
    """

    def order(score: Score) -> int:
        found = (n for n, name in enumerate(HEADLINE) if is_named(score.name, [name]))
        return next(found, len(HEADLINE))

    shown = [s for s in report.scores if details or s.scope == WHOLE or s.name not in BY_SLOT]
    document = summary(replace(report, scores=tuple(sorted(shown, key=order))))
    own = len(document.sheets) - len(report.figures)
    first, *parts, whole = document.sheets[:own]
    hidden = len(shown) < len(report.scores)
    more = ("`mwzeval judge -g` shows hallucination and consistency by slot",) * hidden
    return replace(
        document,
        sheets=(first, whole, *parts, *document.sheets[own:]),
        notes=(*more, *document.notes),
        records=score_records(report),
        plain=report.to_dict(),
    )
