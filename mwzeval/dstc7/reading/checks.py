"""Whether a submission, its targets and its dialogue file fit each other and their track."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum, inf, isfinite

from mwzeval.dstc7.reading.dialogues import Example
from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.submission import MALFORMED, UNREADABLE, Ranking, Submission
from mwzeval.dstc7.reading.targets import Targets
from mwzeval.dstc7.reading.tracks import (
    CHOICES,
    NONE,
    RANKED,
    SPEAKERS,
    Options,
    Track,
    track_of_file,
)
from mwzeval.errors import shorten
from mwzeval.scores.findings import Findings


class DialogueChecks:
    """Looks at one example after the other and reports at the end, each finding once."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._speakers = SPEAKERS[track.dataset]
        self._other_subtask: tuple[str, int] | None = None
        self._other_speaker: tuple[str, str] | None = None
        self._lacking: tuple[str, str] | None = None
        self._lacking_answers = self._answers = 0

    def add(self, example: Example, answers: Iterable[str]) -> None:
        """Look at an example, whose correct candidates are `answers` as far as known."""
        name, scenario = example.example_id, example.scenario
        if scenario is not None and scenario not in self._track.scenarios:
            self._other_subtask = self._other_subtask or (name, scenario)
        for message in example.messages:
            if message.speaker not in self._speakers:
                self._other_speaker = self._other_speaker or (name, message.speaker)
        if not example.candidates:
            return
        offered = {candidate.candidate_id for candidate in example.candidates}
        for identity in answers:
            self._answers += 1
            if identity != NONE and identity not in offered:
                self._lacking_answers += 1
                self._lacking = self._lacking or (name, identity)

    def report(self, findings: Findings) -> None:
        """Note what was found."""
        if self._other_subtask is not None:
            name, scenario = self._other_subtask
            message = f"the file is of subtask {scenario}, not of {self._track.name}"
            note(findings, "wrong-track", message, example=name, key="scenario")
        if self._other_speaker is not None:
            name, speaker = self._other_speaker
            known = " and ".join(sorted(self._speakers))
            message = f'"{shorten(speaker)}" speaks, but in {self._track.dataset} it is {known}'
            note(findings, "wrong-track", message, example=name, key="messages-so-far")
        report_lacking(findings, self._lacking, self._lacking_answers, self._answers, "list")


def report_lacking(
    findings: Findings, first: tuple[str, str] | None, lacking: int, answers: int, where: str
) -> None:
    """Warn about correct answers that nobody can choose, with the first of them."""
    if first is not None:
        name, identity = first
        message = (
            f"{lacking} of {answers} correct answers are not among the candidates, such as "
            f'"{shorten(identity)}" in the {where} of this example'
        )
        note(findings, "gold-not-in-candidates", message, example=name, count=lacking)


SUM_TOLERANCE = 0.01
"""So far from 1 the sum of rounded probabilities may be."""


@dataclass(frozen=True, slots=True)
class KnownCandidates:
    """The candidates of each example, or of all of them; nothing where they are not known."""

    of_example: Mapping[str, Collection[str]] = field(default_factory=dict)
    pool: Collection[str] | None = None

    def of(self, example: str) -> Collection[str] | None:
        """Return the candidates of an example; None when they are not known."""
        return self.of_example.get(example) or self.pool


def check_file_name(file: str, track: Track, findings: Findings) -> None:
    """Warn when a submission is not called as it should be."""
    said = track_of_file(file)
    if said is None:
        message = f"the official name of a submission for {track.name} is {track.file_name}"
        note(findings, "file-name", message)
    elif (said.dataset, said.subtask) != (track.dataset, track.subtask):
        message = f"the name says {said.name}, but it is taken as one for {track.name}"
        note(findings, "file-name", message)


def check_examples(
    submission: Submission, targets: Targets, findings: Findings, *, is_sample: bool = False
) -> None:
    """Report examples that one of both lacks; `is_sample` when nobody named the targets."""
    if submission and targets and not submission.keys() & targets.keys():
        where = "embedded sample's targets" if is_sample else "targets"
        advice = (
            "name the right answers with --targets or --data"
            if is_sample
            else "are these files of the same dataset, subtask and test set?"
        )
        message = f"none of the {len(submission)} examples is among the {len(targets)} {where}"
        note(findings, "no-common-example", f"{message}: {advice}", fatal=is_sample)
    for example in submission:
        if example not in targets:
            note(findings, "unknown-example", "not among the targets", example=example)
    for example in targets:
        if example not in submission:
            message = "not submitted; it counts as nothing found"
            note(findings, "missing-example", message, example=example)


def check_rankings(
    submission: Submission,
    track: Track,
    options: Options,
    known: KnownCandidates,
    findings: Findings,
) -> None:
    """Report what is wrong with the rankings one by one."""
    for example, ranking in submission.items():
        if ranking is MALFORMED:
            continue
        if not ranking.ids:
            note(findings, "empty-ranking", "the ranking is empty", example=example)
            continue
        candidates = known.of(example)
        _check_length(example, ranking, track, options, candidates, findings)
        _check_repeats(example, ranking, findings)
        _check_known(example, ranking, track, candidates, findings)
        if options.metric == "fscore":
            _check_distribution(example, ranking, findings)
        else:
            _check_sorted(example, ranking, findings)
        _check_confidences(example, ranking, options, findings)


def check_targets(
    targets: Targets, track: Track, pool: Collection[str] | None, findings: Findings
) -> None:
    """Report targets that the track cannot have, or that its pool does not hold."""
    for example, correct in targets.items():
        if NONE in correct and not track.has_none:
            message = f"NONE is an answer in subtask 4 only, not in {track.name}"
            note(findings, "malformed-targets", message, example=example)
    if pool is None:
        return
    lacking = [
        (example, identity)
        for example, correct in targets.items()
        for identity in correct
        if identity != NONE and identity not in pool
    ]
    if lacking:
        answers = sum(len(correct) for correct in targets.values())
        report_lacking(findings, lacking[0], len(lacking), answers, "pool")


def _check_length(
    example: str,
    ranking: Ranking,
    track: Track,
    options: Options,
    candidates: Collection[str] | None,
    findings: Findings,
) -> None:
    length, with_none = len(ranking.ids), track.has_none and NONE in ranking.ids
    if options.metric == "fscore":
        at_least = at_most = CHOICES
    else:
        # Of a pool the best hundred, of a list all of it.
        listed = RANKED if candidates is None else len(candidates)
        at_least = min(RANKED, listed) if track.has_pool else listed
        at_most = (RANKED if track.has_pool else max(RANKED, listed)) + with_none
    if length < at_least:
        message = f"{length} of {at_least} candidates"
        note(findings, "too-few-candidates", message, example=example)
    if length > at_most:
        message = f"{length} candidates, where there may be {at_most}"
        note(findings, "too-many-candidates", message, example=example, position=at_most + 1)


def _check_repeats(example: str, ranking: Ranking, findings: Findings) -> None:
    if not ranking.has_repeats:
        return
    first: dict[str, int] = {}
    for position, identity in enumerate(ranking.ids, start=1):
        if identity in first:
            message = f'"{shorten(identity)}" was ranked before, at position {first[identity]}'
            note(findings, "duplicate-candidate", message, example=example, position=position)
        first.setdefault(identity, position)


def _check_known(
    example: str,
    ranking: Ranking,
    track: Track,
    candidates: Collection[str] | None,
    findings: Findings,
) -> None:
    if NONE in ranking.ids and not track.has_none:
        message = f"NONE is an answer in subtask 4 only, not in {track.name}"
        position = ranking.ids.index(NONE) + 1
        note(findings, "none-not-allowed", message, example=example, position=position)
    if candidates is None:
        return
    where = "the pool" if track.has_pool else "the candidates of the example"
    for position, identity in enumerate(ranking.ids, start=1):
        if identity not in candidates and identity != NONE and identity[0] != UNREADABLE:
            message = f'"{shorten(identity)}" is not among {where}'
            note(findings, "unknown-candidate", message, example=example, position=position)


def _check_confidences(
    example: str, ranking: Ranking, options: Options, findings: Findings
) -> None:
    lacking = ranking.confidences.count(None)
    if lacking:
        message = f"{lacking} of {len(ranking.ids)} entries have no confidence"
        needed = options.metric == "fscore" or options.order == "confidence"
        if needed:
            what = "the F-score" if options.metric == "fscore" else "ranking by confidence"
            message += f", which {what} needs"
        note(
            findings,
            "missing-confidence",
            message,
            fatal=needed,
            example=example,
            position=ranking.confidences.index(None) + 1,
            key="confidence",
            count=lacking,
        )


def _check_sorted(example: str, ranking: Ranking, findings: Findings) -> None:
    known = _numbers(ranking)
    # Sorting what is sorted is cheap.
    if sorted(known, reverse=True) != known:
        position = next(i for i in range(1, len(known)) if known[i] > known[i - 1]) + 1
        message = "rankings whose order contradicts their confidences; --order says what counts"
        note(findings, "not-sorted", message, example=example, position=position)


def _check_distribution(example: str, ranking: Ranking, findings: Findings) -> None:
    known = _numbers(ranking)
    if len(known) < len(ranking.ids):
        return
    negative = [position for position, number in enumerate(known, start=1) if number < 0]
    for position in negative:
        message = f"a probability is not negative, found {known[position - 1]:g}"
        place = {"example": example, "position": position}
        note(findings, "not-a-distribution", message, fatal=True, **place)
    if negative:
        return
    try:
        total = fsum(known)
    except OverflowError:
        total = inf
    if total == 0:
        message = "all probabilities are 0"
        note(findings, "not-a-distribution", message, fatal=True, example=example)
    elif abs(total - 1) > SUM_TOLERANCE:
        message = f"the probabilities add up to {total:g}, not to 1"
        note(findings, "not-a-distribution", message, example=example)


def _numbers(ranking: Ranking) -> list[float]:
    """Return the confidences that there are and that are numbers."""
    return [n for n in ranking.confidences if n is not None and isfinite(n)]
