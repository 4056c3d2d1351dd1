"""Scores of live dialogue files: reading, judging and reporting, without any agent."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.conversation.protocols import ENDS, INFRASTRUCTURE, USER_ERROR
from mwzeval.conversation.trajectory import GOAL, LiveFile, Trajectory, check_live
from mwzeval.conversation.usage import Accounts, Prices
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.files.cache import combined_fingerprint
from mwzeval.files.downloads import DataRoot
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, of_items, percentage
from mwzeval.multiwoz import (
    AUTO,
    CONVLAB2,
    CORPUS_NAMES,
    CORPUS_USER,
    DEFAULT_CORPUS,
    FOLDS,
    LIVE,
    NAME,
    RULES,
    SAMPLE,
    SCORING_REVISION,
    TITLE,
    WITHOUT_FAULTS,
    Rules,
    known_name,
)
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.corpus import SAMPLE_PREFIX, corpus_root, database_files, read_tables
from mwzeval.multiwoz.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.goals import ORDERING, Goal, annotated_goals, given_goal
from mwzeval.multiwoz.live.events import with_events
from mwzeval.multiwoz.live.judge import SUCCESS, Judge
from mwzeval.multiwoz.live.modalities import Modality, act_level, text_level
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.stress import STRESS, label
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.scoring.scored_predictions import SAMPLE_NOTE
from mwzeval.output import followed
from mwzeval.scores.explanation import Claim, Explanation, Fact
from mwzeval.scores.findings import Coverage, Findings
from mwzeval.scores.report import Report, score_records, summary
from mwzeval.scores.score import WHOLE, Score, Signature, is_named
from mwzeval.scores.sheets import Document
from mwzeval.scores.table import Table
from mwzeval.version import __version__, library_version

HEADLINE = (SUCCESS, "pass^", "flips^", "agent_usd", "user_usd", "both_usd", "end.")
"""Prefixes of the scores that are shown first, in this order."""
BY_SLOT = ("hallucination", "consistency")
"""Scores that also exist per slot. The scores per slot are shown only on request."""
DEPENDENCIES = ("rapidfuzz", "python-Levenshtein", "numpy")
_OF_SERVER = ("model", "host", "dialogue_seconds")
"""Keys in a header that describe the server or the limits of a model, not the model itself."""


class KnowledgeBase:
    """The database of a corpus and the judges that use it. A judge is created when it is first
    used.

    Raises `DataError` if files are missing.
    """

    def __init__(self, root: DataRoot, rules: Rules, tools: Tools) -> None:
        self.tables = read_tables(root)
        self.checksum = combined_fingerprint(database_files(root))[:8]
        self.reader = cache(partial(AgentReader, self.tables, rules))
        self.judge = cache(partial(Judge, self.tables, rules, tools=tools))
        self.services = cache(partial(DatabaseTools, self.tables, rules))


class LiveRun(NamedTuple):
    """The valid dialogues of a file, their goals by name, and their modality."""

    header: Mapping[str, Any]
    dialogues: Mapping[str, Trajectory]
    corpus: str
    goals: Mapping[str, Goal]
    modality: Modality
    checksum: str


@dataclass(eq=False)
class LiveScorer:
    """Scores files of live dialogues and reads each database only once.

    The first fields have the same meaning as in `Evaluator`. Dialogues with messages are judged by
    their text. Dialogues that only have acts are judged by corrected rules or, with `compat`
    (`convlab2`), by the rules of ConvLab-2's evaluator. `refusal` is the reason why the
    command-line options do not allow scoring, or None if scoring is allowed. `prices` are token
    prices of models. `exclude_user_faults` adds the outcomes of dialogues in which the user made no
    mistake.

    Raises `UsageError` for an unknown name.
    """

    corpus: str = AUTO
    fold: str = FOLDS[0]
    rules: str | int = RULES[0]
    data: str | Path | None = None
    offline: bool | None = None
    tools: Tools = OUR_TOOLS
    compat: str | None = None
    refusal: str | None = None
    prices: Prices | None = None
    exclude_user_faults: bool = False
    _bases: dict[str, KnowledgeBase] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.corpus = known_name("corpus", self.corpus, (AUTO, *CORPUS_NAMES))
        self._fold = known_name("fold", self.fold, FOLDS)
        self._rules = known_name("rules", str(self.rules), RULES)

    def score(self, text: str, file: str | None, *, progress: bool = False) -> ScoredRun:
        """Score the live dialogues in the text of a file.

        Raises `InputError`, `DataError` or `UsageError` if the file, the gold data or the options
        do not allow scoring.
        """
        if self.refusal:
            raise UsageError(f"{file} contains live dialogues: {self.refusal}")
        findings = Findings(file)
        with no_garbage_collection():
            run = self._checked(text, findings)
            findings.check()
            assert run is not None
            names = [name for name, d in run.dialogues.items() if d.end != INFRASTRUCTURE]
            shown = followed(names, units="dialogues", shown=progress)
            return self._scored(run, names, shown, findings)

    def validate(self, text: str, file: str | None) -> list[Problem]:
        """Return all problems of a file of live dialogues.

        Raises `DataError` if the goals of the corpus are needed but missing.
        """
        findings = Findings(file)
        self._checked(text, findings)
        return findings.problems

    def _checked(self, text: str, findings: Findings) -> LiveRun | None:
        """Return the dialogues and their modality. Problems are added to `findings`.

        Raises `InputError` if the dialogues belong to another benchmark, and `DataError` if the
        goals of a corpus are required but missing.
        """
        file = check_live(text, findings)
        header, dialogues = file.header, file.dialogues
        benchmark = header.get("benchmark", NAME)
        if benchmark != NAME:
            message = f'the header says that the benchmark is "{shorten(str(benchmark))}", not'
            message = f"{message} {TITLE}: leave out --benchmark"
            findings.error("other-benchmark", message, key="benchmark")
            findings.check()
        user = header.get("user")
        if isinstance(user, Mapping) and user.get("spec") == CORPUS_USER:
            findings.error(
                "corpus-turns",
                "the user turns of these dialogues are from the corpus and do not depend on the "
                "agent's answers, so the dialogues cannot be judged: score the predictions that "
                "`mwzeval predict` wrote next to this file",
                key="user",
            )
            findings.check()
        corpus = self.corpus if self.corpus != AUTO else _corpus_of(file)
        goals = self._goals(dialogues, corpus, findings)
        modality, checksum = self._modality(file, corpus, findings)
        if modality is not None:
            modality.check(dialogues, goals, findings)
        failed = [name for name, d in dialogues.items() if d.end == INFRASTRUCTURE]
        if failed and len(failed) == len(dialogues):
            message = (
                "every dialogue failed with an infrastructure error, so there is nothing to score"
            )
            findings.error("infrastructure", message)
        else:
            message = "the dialogue failed with an infrastructure error and is not scored"
            for name in failed:
                findings.warning("infrastructure", message, dialogue=name)
        findings.sort_warnings()
        if modality is None:
            return None
        return LiveRun(header, dialogues, corpus, goals, modality, checksum)

    def _goals(
        self, dialogues: Mapping[str, Trajectory], corpus: str, findings: Findings
    ) -> dict[str, Goal]:
        goals: dict[str, Goal] = {}
        annotated: dict[str, Goal] | None = None
        for name, dialogue in dialogues.items():
            if dialogue.goal is not None and not isinstance(dialogue.goal, str):
                try:
                    goals[name] = given_goal(dialogue.goal)
                except ValueError as error:
                    findings.error("goal", str(error), dialogue=name, key=GOAL)
                continue
            if annotated is None:
                root = self._root(corpus)
                found = annotated_goals(corpus, self._fold, root)
                annotated = {id_: annotation.goal for id_, annotation in found.items()}
            id_ = dialogue_id(dialogue.goal or dialogue.item)
            if id_ in annotated:
                goals[name] = annotated[id_]
            else:
                where = f"the {self._fold} fold of {corpus}{did_you_mean(id_, annotated)}"
                message = f'the dialogue has no goal, and "{shorten(id_)}" is not in {where}'
                findings.error("no-goal", message, dialogue=name, key=GOAL)
        return goals

    def _modality(
        self, file: LiveFile, corpus: str, findings: Findings
    ) -> tuple[Modality | None, str]:
        dialogues = [d for d in file.dialogues.values() if d.messages or d.acts]
        in_acts = self.compat == CONVLAB2 or (
            file.header.get("level") == "acts"
            or (bool(dialogues) and not any(dialogue.messages for dialogue in dialogues))
        )
        lacking = [d for d in dialogues if not (d.acts if in_acts else d.messages)]
        if lacking and lacking == dialogues and self.compat == CONVLAB2:
            findings.error(
                "level",
                "--compat judges acts, but the dialogues contain text: leave it out, or run "
                "dialogues with `mwzeval live --level acts`",
            )
            return None, ""
        for dialogue in lacking:
            message = f"the dialogue has no {'acts' if in_acts else 'messages'} to judge"
            findings.error("level", message, dialogue=dialogue.name)
        if lacking:
            return None, ""
        if corpus not in self._bases:
            self._bases[corpus] = KnowledgeBase(self._root(corpus), self._rules, self.tools)
        base = self._bases[corpus]
        held_on = file.header.get("database", base.checksum)
        if held_on != base.checksum:
            message = f'the dialogues used the database "{shorten(str(held_on))}", but are'
            findings.warning("other-database", f"{message} judged by {base.checksum}")
        if in_acts:
            modality = act_level(base.tables, as_published=self.compat == CONVLAB2)
        else:
            modality = text_level(base.judge(), self.tools, base.reader)
        if isinstance(conditions := file.header.get(STRESS), Mapping):
            modality = with_events(modality, self.tools, base.services(), conditions, dialogues)
        return modality, base.checksum

    def _scored(
        self, run: LiveRun, names: Sequence[str], shown: Iterable[str], findings: Findings
    ) -> ScoredRun:
        modality = run.modality
        rows = [(name, modality.row(run.dialogues[name], run.goals[name])) for name in shown]
        table = Table.from_rows(modality.columns, rows)
        signature = _signature(run, self.tools.checksum, table.count)
        measures = tuple(modality.measures(table.sums(), lambda name: signature))
        scored = {name: run.dialogues[name] for name in names}
        accounts = Accounts.of(scored, run.header, self.prices, findings)
        # The token usage of the dialogues in the table.
        successes: NDArray[Any] = next(
            (table.column(m.outcome) for m in measures if m.key == (SUCCESS, WHOLE) and m.outcome),
            np.zeros(len(names)),
        )
        pairs = zip(table.units, successes.tolist(), strict=True)
        used = Table.from_rows(
            accounts.columns, [(name, accounts.row(name, success)) for name, success in pairs]
        )
        if self.exclude_user_faults:
            chosen = _without_faults(run, names, findings)
            own, more = _of_chosen(table, measures, chosen)
            table, measures = table.beside(own), (*measures, *more)
        table = table.beside(used)
        if names:
            measures = (*measures, *accounts.measures(used.sums(), lambda name: signature))
        items = {
            # Comparisons use the name `mul0001` for `MUL0001.json`.
            name: dialogue_id(d.item) if d.item.endswith(".json") else d.item
            for name, d in run.dialogues.items()
        }
        by_item = ScoredTable(table, measures)
        if measures:
            by_item = of_items(by_item, items.__getitem__)
        about = {}
        for name, goal in run.goals.items():
            text = json.dumps(goal, sort_keys=True, separators=(",", ":"))
            about[name] = about[items[name]] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return ScoredRun(run, replace(by_item, about=about), accounts, findings.warnings)

    def _root(self, corpus: str) -> DataRoot:
        return corpus_root(corpus, self.data, offline=self.offline)

    def __getstate__(self) -> dict[str, Any]:
        """Exclude the databases, because another process reads the databases itself."""
        return {**self.__dict__, "_bases": {}}


def _corpus_of(file: LiveFile) -> str:
    """Return the corpus in the header. Without a header entry, derive the corpus from the ids."""
    corpus = file.header.get("corpus")
    if corpus in CORPUS_NAMES:
        return str(corpus)
    items = [dialogue.item for dialogue in file.dialogues.values()]
    is_sample = bool(items) and all(item.lower().startswith(SAMPLE_PREFIX) for item in items)
    return SAMPLE if is_sample else DEFAULT_CORPUS


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """A live run with its modality and its scores (`scored_table`).

    Dialogues with an infrastructure error are counted and shown but not scored.
    """

    run: LiveRun
    scored_table: ScoredTable
    accounts: Accounts
    warnings: Sequence[Problem]

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report on the live run, with intervals if `resampling` is given."""
        scores = self.scored_table.scores(resampling)
        sums = self.scored_table.table.sums()
        versions = {name: library_version(name) for name in DEPENDENCIES}
        own = {"mwzeval": __version__, "scoring_revision": SCORING_REVISION}
        return Report(
            metrics=self._metrics(scores, sums),
            scores=scores,
            table=self.scored_table.trial_rows,
            warnings=tuple(self.warnings),
            meta={
                "corpus": self.run.corpus,
                "note": "; ".join(self._notes()) or None,
                "fold": LIVE,
                "sources": self.run.checksum,
                "rules": self.run.modality.rules,
                "coverage": self._coverage(),
                "versions": versions | own,
            },
            benchmark=NAME,
            figures=self.accounts.figures(scores, sums),
        )

    def units(self) -> Sequence[str]:
        """Return the names of all dialogues, including dialogues that are not scored."""
        return tuple(self.run.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return the explanation of one live dialogue. Raises `UsageError` for an unknown name."""
        if unit not in self.run.dialogues:
            raise UsageError(f'there is no dialogue "{unit}"')
        dialogue = self.run.dialogues[unit]
        is_scored = dialogue.end != INFRASTRUCTURE
        explained = self.run.modality.explain(dialogue, self.run.goals[unit], is_scored)
        if not is_scored:
            return explained
        *before, last = explained.turns
        used = (Fact(label, text) for label, text in self.accounts.used_in(unit))
        return replace(explained, turns=(*before, last._replace(facts=(*last.facts, *used))))

    def explain_all(self) -> Iterator[Explanation]:
        """Yield the explanations of all dialogues."""
        return map(self.explain, self.units())

    def claims(self) -> Iterator[tuple[str, Claim]]:
        """Yield pairs (dialogue, claim) for all claims of the agent.

        Raises `UsageError` for act-level dialogues.
        """
        if self.run.modality.name == "acts":
            raise UsageError(
                "only claims in text can be listed, but these dialogues are judged by their acts"
            )
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
        plain = self.run.modality.plain(self.scored_table.trial_rows.sums(), values)
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
        units, domains = Coverage(), Coverage()
        for name, dialogue in self.run.dialogues.items():
            is_scored = dialogue.end != INFRASTRUCTURE
            units.count("dialogues", is_scored)
            units.count("turns", is_scored, dialogue.turns)
            for domain in self.run.goals[name][ORDERING]:
                domains.count(domain, is_scored)
        return {**units, "domains": domains}

    def _notes(self) -> Iterator[str]:
        header = self.run.header
        sides = [f"{key} {described(header[key])}" for key in ("agent", "user") if key in header]
        if isinstance(conditions := header.get(STRESS), Mapping):
            sides.append(f"stress conditions {label(conditions)}")
        if sides:
            yield ", ".join(sides)
        if self.run.corpus == SAMPLE:
            yield SAMPLE_NOTE.rstrip(".")


def _without_faults(run: LiveRun, names: Sequence[str], findings: Findings) -> NDArray[np.bool_]:
    """Return a mask of the dialogues in which the user neither makes a mistake nor fails."""
    known = [run.modality.has_faults(run.dialogues[name], run.goals[name]) for name in names]
    if unknown := known.count(None):
        message = (
            f"it cannot be determined whether the simulated user makes mistakes in {unknown:,} "
            "dialogues at act level"
        )
        findings.warning(
            "user-faults",
            f"{message}, so these dialogues are only excluded if the user failed with an error",
        )
    ends = (run.dialogues[name].end for name in names)
    without = [not has and end != USER_ERROR for has, end in zip(known, ends, strict=True)]
    if not any(without):
        message = (
            "the simulated user makes a mistake in every dialogue, so no dialogue is left for "
            "scores without mistakes of the user"
        )
        findings.warning("user-faults", message)
    return np.array(without, dtype=bool)


def _of_chosen(
    table: Table, measures: Iterable[Measure], chosen: NDArray[np.bool_]
) -> tuple[Table, tuple[Measure, ...]]:
    """Return columns and scores for the 0/1 outcomes of the chosen dialogues, as a new scope.

    In all other dialogues, the columns are 0, so that they fit into the table and resampling uses
    all dialogues. Endings, scores of parts, and scores without cases in the chosen dialogues are
    left out.
    """
    columns: dict[str, NDArray[np.float64]] = {}
    scores = []
    for measure in measures:
        outcome, cases = measure.outcome, measure.cases
        if measure.scope != WHOLE or not (outcome and cases) or measure.name.startswith("end."):
            continue
        own = {name: f"{WITHOUT_FAULTS}: {name}" for name in (outcome, cases)}
        columns |= {own[name]: table.column(name) * chosen for name in (outcome, cases)}
        if columns[own[cases]].any():
            scores.append(
                replace(
                    measure,
                    scope=WITHOUT_FAULTS,
                    of=percentage(own[outcome], of=own[cases]),
                    outcome=own[outcome],
                    cases=own[cases],
                )
            )
    values = np.stack([*columns.values()], axis=1) if columns else np.zeros((len(table.units), 0))
    return Table(table.units, tuple(columns), values), tuple(scores)


def _signature(run: LiveRun, tools: str | None, count: int) -> Signature:
    header = run.header
    limits, stress = header.get("limits"), header.get(STRESS)
    choices: dict[str, object] = {
        "corpus": f"{run.corpus}@{run.checksum}",
        "goals": described(header.get("goals", "own")),
        "user": described(header.get("user", "own")),
        **({"fail-book": "goal"} if header.get("fail_book") else {}),
        **({STRESS: _conditions(stress)} if isinstance(stress, Mapping) else {}),
        "level": run.modality.name,
        "limit": limits.get("user_turns", "none") if isinstance(limits, Mapping) else "none",
        "n": count,
        "rules": run.modality.rules,
        **({} if tools is None else {"tools": tools}),
        "levenshtein": library_version("python-Levenshtein"),
        "rapidfuzz": library_version("rapidfuzz"),
        "rev": SCORING_REVISION,
        "version": __version__,
    }
    plain = {key: str(choice).replace("|", "/") for key, choice in choices.items()}
    return Signature.of(LIVE, plain)


def _conditions(about: Mapping[str, Any]) -> str:
    """Return stress conditions with the checksum of their tables: `hard@1,tables=01234567`."""
    tables = f",tables={about['tables']}" if "tables" in about else ""
    return f"{label(about)}{tables}"


def described(about: Any) -> str:
    """Return a text that describes an agent, a user or goals with all settings in a file header.

    For example, `{"spec": "agenda", "strict": true}` becomes `agenda,strict`; false and empty
    values are left out. For a model behind an endpoint, arguments and prompt are included
    (`prompt=user-1@1f2e3d4c`), but not the server and its time limits.
    """
    if not isinstance(about, Mapping):
        return str(about)
    parts = [str(about.get("spec", about.get("source", "unnamed")))]
    if "sha" in about:
        parts[0] += f"@{about['sha']}"
    left_out = ("spec", "source", "sha", *(_OF_SERVER if "host" in about else ()))
    for key, value in about.items():
        if key in left_out:
            continue
        if isinstance(value, Mapping) and {"name", "sha"} == value.keys():
            parts.append(f"{key}={value['name']}@{value['sha']}")
        elif isinstance(value, Mapping):
            # The arguments of a model, for which 0 is a meaningful value.
            for name, raw in value.items():
                text = raw if isinstance(raw, str) else json.dumps(raw, separators=(",", ":"))
                parts.append(f"{name}={text}")
        elif value:
            parts.append(key if value is True else f"{key}={value}")
    return ",".join(parts)


def live_document(report: Report, *, details: bool = False) -> Document:
    """Return the scores of a live run as tables, with success, pass^k, cost and endings first.

    With `details`, the tables include hallucination and consistency by slot.
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
