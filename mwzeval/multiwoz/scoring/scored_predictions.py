"""Predictions that are checked, then scored: for reports, comparisons and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mwzeval.errors import Problem, UsageError
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling, ScoredTable
from mwzeval.multiwoz import NAME, SCORING_REVISION
from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.choices import AUTO, SAMPLE
from mwzeval.multiwoz.grounding.claims import Claim, claims_of
from mwzeval.multiwoz.grounding.scores import Words
from mwzeval.multiwoz.placeholders import natural_spacing
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.plausibility import coverage
from mwzeval.multiwoz.predictions.reading import Dialogues, Turn
from mwzeval.multiwoz.scoring.goal_success import (
    DialogueOutcome,
    DomainOutcome,
    NeedsOffer,
    Progress,
)
from mwzeval.multiwoz.scoring.reasons import Case, failures, spelled
from mwzeval.multiwoz.scoring.rows import Rows, plain_metrics
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer
from mwzeval.multiwoz.tracking.errors import with_state_errors
from mwzeval.scores.explanation import SYSTEM, Explanation, Fact, TurnView, Utterance
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE
from mwzeval.version import __version__, library_version

SHOWN_VENUES = 3
"""How many venues are named before they are only counted."""


def explain(
    scorer: Scorer, dialogue: NormalizedDialogue, predicted: Sequence[Turn] = ()
) -> Explanation:
    """Return the outcomes of a dialogue, what each turn did, and why Inform or Success failed.

    With the turns as they were `predicted`, responses are shown as they were written, with calls
    and bookings; of a response with placeholders a fact tells as what it was scored.
    """
    case = Case.of(scorer, dialogue)
    outcome = case.outcome()
    results: dict[str, DialogueOutcome | DomainOutcome] = {WHOLE: outcome, **outcome.domains}
    outcomes = {scope: {"inform": r.inform, "success": r.success} for scope, r in results.items()}
    views = list(_turn_views(case, scorer.gold.dialogues[dialogue.name], predicted))
    reasons = [failure.reason() for failure in failures(case)]
    if dialogue.mentions is not None:
        words = words_of(scorer, dialogue)
        for scope, of_scope in words.outcomes().items():
            outcomes[scope or WHOLE].update(of_scope)
        for index, view in enumerate(views):
            claims = tuple(claim for claim in words.claims if claim.turn == index)
            facts = (*view.facts, *words.turn_facts(index))
            views[index] = view._replace(facts=facts, claims=claims)
        reasons += words.reasons()
    goal = tuple(_goal_facts(case))
    return Explanation(dialogue.name, outcomes, goal, tuple(views), tuple(reasons))


def words_of(scorer: Scorer, dialogue: NormalizedDialogue) -> Words:
    """Return what was made of the words of a dialogue, and what they are judged by."""
    gold = scorer.gold.dialogues[dialogue.name]
    grounded = scorer.grounded(dialogue)
    mentions = scorer.all_mentions(dialogue)
    of_log = scorer.log_claims(dialogue, grounded)
    facts = scorer.grounding.facts
    return Words(
        grounded=grounded,
        mentions=mentions,
        booked=gold.booked,
        facts=facts,
        constraints={domain: wanted.informable for domain, wanted in gold.goal.items()},
        database=scorer.database,
        claims=claims_of(dialogue.words, mentions, grounded, of_log, facts),
    )


def _calls_and_bookings(turn: Turn) -> Iterator[Fact]:
    for call in turn.calls:
        arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        yield Fact("called", f"{call.function}({arguments})")
    if not turn.calls:
        for domain, slots in turn.bookings or ():
            yield Fact("booked", spelled(slots), domain)


def _goal_facts(case: Case) -> Iterator[Fact]:
    for domain, wanted in case.goal.items():
        constraints = case.constraints[domain]
        yield Fact("wants", spelled(constraints), domain)
        if wanted.needs_offer is not NeedsOffer.NEVER:
            satisfying = case.database.find(domain, constraints)
            yield Fact("satisfied by", _venues(case, domain, satisfying), domain)
        if wanted.requested:
            yield Fact("asks for", ", ".join(sorted(wanted.requested)), domain)


def _turn_views(case: Case, gold: GoldDialogue, predicted: Sequence[Turn]) -> Iterator[TurnView]:
    progress = Progress(case.goal)
    has_offered: set[str] = set()
    states: dict[str, tuple[Mapping[str, str], Fact]] = {}
    for index, acts in enumerate(case.acts()):
        turn = case.turns[index]
        scored = natural_spacing(turn.response)
        response: str | None = scored
        facts = []
        if predicted:
            response = predicted[index].response
            if response is not None and response != scored and not case.in_words:
                facts.append(Fact("scored as", scored))
            facts += _calls_and_bookings(predicted[index])
        before = {domain: frozenset(slots) for domain, slots in progress.provided.items()}
        progress.advance(acts)
        facts.append(Fact("active", ", ".join(turn.active_domains) or "none"))
        for domain, slots in turn.state.items():
            # Most slots are those of the turn before, the very same object.
            if domain not in states or states[domain][0] is not slots:
                states[domain] = slots, Fact("state", spelled(slots), domain)
            facts.append(states[domain][1])
        for domain, act in acts.items():
            if act.found is not None:
                has_offered.add(domain)
                facts.append(Fact("matched", _venues(case, domain, act.found), domain))
        for domain in case.goal:
            if domain in has_offered:
                facts.append(_offer(case, domain, progress.offered[domain]))
            if new := progress.provided[domain] - before[domain]:
                facts.append(Fact("provided", ", ".join(sorted(new)), domain))
        utterances = [Utterance("user", gold.user_utterances[index])]
        if response is not None:
            utterances.append(Utterance(SYSTEM, response))
        utterances.append(Utterance("reference", gold.references[index]))
        yield TurnView(tuple(utterances), tuple(facts))


def _offer(case: Case, domain: str, offered: tuple[str, ...]) -> Fact:
    goal, remark = case.goal[domain], ""
    if offered and goal.needs_offer is not NeedsOffer.NEVER:
        satisfying = len(goal.satisfying.intersection(offered))
        share = {0: "none", len(offered): "all"}.get(satisfying, str(satisfying))
        remark = f" (satisfying the goal: {share})"
    return Fact("on offer", _venues(case, domain, offered, remark), domain)


def _venues(case: Case, domain: str, ids: Sequence[str], remark: str = "") -> str:
    """Return the number of venues, a remark, and the first of their names."""
    if not ids:
        return "no venue"
    shown = [case.database.names.get((domain, venue), venue) for venue in ids[:SHOWN_VENUES]]
    rest = ", …" if len(ids) > SHOWN_VENUES else ""
    kind = "venue" if len(ids) == 1 else "venues"
    return f"{len(ids)} {kind}{remark}: {', '.join(shown)}{rest}"


DEPENDENCIES = (
    *("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein"),
    *("lexical-diversity", "numpy"),
)

SAMPLE_NOTE = "The sample corpus is an invented town: these are not MultiWOZ scores."


@dataclass(frozen=True, slots=True, eq=False)
class CheckedPredictions:
    """Predictions that can be scored, what scores them, their counts, and warnings.

    `dialogues` is empty where they came in parts, of which sums are kept.
    """

    dialogues: Dialogues
    scorer: Scorer
    census: Census
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPredictions:
    """An input that has been scored: its rows, and the measures over these.

    Its report has intervals as `resampling` says; none by default.
    """

    checked: CheckedPredictions
    rows: Rows
    scored_table: ScoredTable
    resampling: Resampling | None = None

    @property
    def warnings(self) -> Sequence[Problem]:
        """What was noticed and did not prevent scoring."""
        return self.checked.warnings

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report, with intervals as `resampling` or else the evaluator says."""
        checked, scorer = self.checked, self.checked.scorer
        with no_garbage_collection():
            scores = self.scored_table.scores(resampling or self.resampling)
        return Report(
            metrics=plain_metrics(scorer, self.rows, scores),
            scores=scores,
            table=self.scored_table.table,
            warnings=checked.warnings,
            meta={
                "corpus": scorer.gold.corpus,
                "note": SAMPLE_NOTE if scorer.gold.corpus == SAMPLE else None,
                "fold": scorer.gold.fold,
                "sources": scorer.gold.checksum,
                "rules": scorer.rules,
                "responses": {
                    "taken_as": scorer.kind(self.rows.sources),
                    "said": scorer.responses != AUTO,
                    **checked.census.wording._asdict(),
                },
                "coverage": coverage(checked.census, scorer.gold),
                "versions": {name: library_version(name) for name in DEPENDENCIES}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
            benchmark=NAME,
            aliases={"bleu": f"bleu.{scorer.gold.reference_set}"},
        )

    def units(self) -> Sequence[str]:
        """Return the ids of the dialogues, in order."""
        return tuple(self.checked.dialogues)

    def explain(self, unit: str) -> Explanation:
        """Return what became of a dialogue. Raises `KeyError` for an unknown one."""
        return next(self._explained([unit]))

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every dialogue.

        Where state tracking is scored, turns tell what is wrong with their states. Where nothing
        else is, as of predictions without any response, outcomes and reasons are those of states.
        """
        return self._explained(self.units())

    def claims(self) -> Iterator[tuple[str, Claim]]:
        """Yield (dialogue id, claim) for all claims of responses in words.

        Raises `UsageError` if responses were read as text with placeholders.
        """
        if not self.checked.scorer.delexicalizes(self.rows.sources):
            raise UsageError(
                "claims are read in responses in words, and these were taken to have placeholders "
                "(--responses lexicalized says otherwise)"
            )
        scorer, sources = self.checked.scorer, self.rows.sources
        for unit in self.units():
            dialogue = scorer.normalize(unit, self.checked.dialogues[unit], sources)
            for claim in words_of(scorer, dialogue).claims:
                yield unit, claim

    def _explained(self, units: Iterable[str]) -> Iterator[Explanation]:
        scorer, dialogues = self.checked.scorer, self.checked.dialogues
        sources, metrics = self.rows.sources, self.rows.metrics
        with_responses = metrics.need_responses and any(
            turn.response is not None for turns in dialogues.values() for turn in turns
        )
        for unit in units:
            turns = dialogues[unit]
            explanation = explain(scorer, scorer.normalize(unit, turns, sources), turns)
            if metrics.tracking and sources.predicted_states:
                tracked = scorer.tracked(explanation.unit, turns)
                yield with_state_errors(explanation, *tracked, alone=not with_responses)
            else:
                yield (
                    explanation if with_responses else replace(explanation, outcomes={}, reasons=())
                )
