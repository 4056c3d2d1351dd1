"""Checks that a submission, its targets, its dialogue file and its track agree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from math import fsum, inf, isfinite

from mwzeval.dstc7.dialogues import Example, Targets
from mwzeval.dstc7.submission import MALFORMED, UNREADABLE, Ranking, Submission
from mwzeval.dstc7.tracks import CHOICES, NONE, RANKED, SPEAKERS, Options, Track, track_of_file
from mwzeval.errors import shorten
from mwzeval.scores.findings import Findings

SUM_TOLERANCE = 0.01
"""The largest accepted difference between 1 and the sum of rounded probabilities."""


class DialogueChecks:
    """Checks examples one by one and reports each kind of problem once at the end."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._first: dict[str, tuple[str, str]] = {}
        self._lacking: list[tuple[str, str]] = []
        self._answers = 0

    def add(self, example: Example, answers: Sequence[str]) -> None:
        """Check an example; `answers` are the ids of its correct candidates, if known."""
        name, track = example.example_id, self._track
        if example.scenario is not None and example.scenario not in track.scenarios:
            message = f"the file is of subtask {example.scenario}, but it is read as {track.name}"
            self._first.setdefault("scenario", (name, message))
        known = SPEAKERS[track.dataset]
        for spoken in example.messages:
            if spoken.speaker not in known:
                who = " and ".join(sorted(known))
                message = (
                    f'the speaker is "{shorten(spoken.speaker)}", but in {track.dataset} it must '
                    f"be {who}"
                )
                self._first.setdefault("messages-so-far", (name, message))
        if example.candidates:
            offered = {NONE, *(candidate.candidate_id for candidate in example.candidates)}
            self._answers += len(answers)
            self._lacking += [(name, answer) for answer in answers if answer not in offered]

    def report(self, findings: Findings) -> None:
        """Add the problems to `findings`."""
        for key in ("scenario", "messages-so-far"):
            if key in self._first:
                name, message = self._first[key]
                findings.doubt("wrong-track", message, example=name, key=key)
        _report_lacking(findings, self._lacking, self._answers, "list")


def _report_lacking(
    findings: Findings, lacking: list[tuple[str, str]], answers: int, where: str
) -> None:
    """Warn about correct answers that are not among the candidates, and name the first example."""
    if lacking:
        name, identity = lacking[0]
        message = (
            f"{len(lacking)} of {answers} correct answers are not among the candidates, such as "
            f'"{shorten(identity)}" in the {where} of this example'
        )
        findings.warning("gold-not-in-candidates", message, example=name, count=len(lacking))


def check_file_name(file: str, track: Track, findings: Findings) -> None:
    """Warn if a submission does not have its official name."""
    named = track_of_file(file)
    if named is None:
        message = f"the official name of a submission for {track.name} is {track.file_name}"
        findings.warning("file-name", message)
    elif named.name != track.name:
        message = f"the name says {named.name}, but the file is scored as {track.name}"
        findings.warning("file-name", message)


def check_examples(
    submission: Submission, targets: Targets, findings: Findings, *, is_sample: bool = False
) -> None:
    """Report the examples that occur only in the submission or only in the targets.

    `is_sample` is true if the embedded sample is used because no targets were named.
    """
    if submission and targets and not submission.keys() & targets.keys():
        where = "embedded sample's targets" if is_sample else "targets"
        advice = (
            "name the right answers with --targets or --data"
            if is_sample
            else "check that the files belong to the same dataset, subtask and test set"
        )
        message = f"none of the {len(submission)} examples is among the {len(targets)} {where}"
        report = findings.error if is_sample else findings.doubt
        report("no-common-example", f"{message}: {advice}")
    for example in submission:
        if example not in targets:
            findings.doubt("unknown-example", "not among the targets", example=example)
    for example in targets:
        if example not in submission:
            message = "the example is not submitted, so its right answer counts as not found"
            findings.doubt("missing-example", message, example=example)


def check_targets(
    targets: Targets, track: Track, pool: Collection[str] | None, findings: Findings
) -> None:
    """Report targets that the track does not allow, or that are not in the pool."""
    for example, correct in targets.items():
        if NONE in correct and not track.has_none:
            message = f"NONE is an answer in subtask 4 only, not in {track.name}"
            findings.error("malformed-targets", message, example=example)
    if pool is not None:
        answers = [(example, answer) for example, ids in targets.items() for answer in ids]
        lacking = [pair for pair in answers if pair[1] != NONE and pair[1] not in pool]
        _report_lacking(findings, lacking, len(answers), "pool")


def check_ranking(
    example: str,
    ranking: Ranking,
    candidates: Collection[str] | None,
    track: Track,
    options: Options,
    findings: Findings,
) -> None:
    """Report the problems of a ranking; `candidates` is None if the candidates are unknown."""
    error, doubt, warning = (
        partial(of, example=example) for of in (findings.error, findings.doubt, findings.warning)
    )
    if ranking is MALFORMED:
        return
    ids = ranking.ids
    if not ids:
        doubt("empty-ranking", "the ranking is empty")
        return
    is_fscore = options.metric == "fscore"
    at_least, at_most = _lengths(ids, candidates, track) if not is_fscore else (CHOICES, CHOICES)
    if len(ids) < at_least:
        doubt("too-few-candidates", f"{len(ids)} of {at_least} candidates")
    if len(ids) > at_most:
        message = f"{len(ids)} candidates; the maximum is {at_most}"
        doubt("too-many-candidates", message, position=at_most + 1)
    first: dict[str, int] = {}
    for position, identity in enumerate(ids if ranking.has_repeats else (), start=1):
        if first.setdefault(identity, position) != position:
            message = f'"{shorten(identity)}" was ranked before, at position {first[identity]}'
            doubt("duplicate-candidate", message, position=position)
    if NONE in ids and not track.has_none:
        message = f"NONE is an answer in subtask 4 only, not in {track.name}"
        doubt("none-not-allowed", message, position=ids.index(NONE) + 1)
    if candidates is not None:
        where = "the pool" if track.has_pool else "the candidates of the example"
        for position, identity in enumerate(ids, start=1):
            if identity not in candidates and identity != NONE and identity[0] != UNREADABLE:
                message = f'"{shorten(identity)}" is not among {where}'
                doubt("unknown-candidate", message, position=position)

    numbers = [n for n in ranking.confidences if n is not None and isfinite(n)]
    if not is_fscore:
        if sorted(numbers, reverse=True) != numbers:
            rising = next(i for i in range(1, len(numbers)) if numbers[i] > numbers[i - 1])
            message = (
                "the order of candidates in rankings contradicts their confidences; --order "
                "selects which of the two counts"
            )
            warning("not-sorted", message, position=rising + 1)
    elif len(numbers) == len(ids):
        negative = [index for index, number in enumerate(numbers) if number < 0]
        for index in negative:
            message = f"a probability must not be negative, found {numbers[index]:g}"
            error("not-a-distribution", message, position=index + 1)
        try:
            total = fsum(numbers)
        except OverflowError:
            total = inf
        if not negative and total == 0:
            error("not-a-distribution", "all probabilities are 0")
        elif not negative and abs(total - 1) > SUM_TOLERANCE:
            doubt("not-a-distribution", f"the probabilities add up to {total:g}, not to 1")

    if lacking := ranking.confidences.count(None):
        message = f"{lacking} of {len(ids)} entries have no confidence"
        is_needed = is_fscore or options.order == "confidence"
        if is_needed:
            what = "the F-score" if is_fscore else "ranking by confidence"
            message += f", which {what} needs"
        position = ranking.confidences.index(None) + 1
        report = error if is_needed else doubt
        report("missing-confidence", message, position=position, key="confidence", count=lacking)


def _lengths(
    ids: Collection[str], candidates: Collection[str] | None, track: Track
) -> tuple[int, int]:
    """Return the minimum and maximum length of a ranking: 100 for a pool, else all candidates."""
    listed = RANKED if candidates is None else len(candidates)
    with_none = track.has_none and NONE in ids
    if track.has_pool:
        return min(RANKED, listed), RANKED + with_none
    return listed, max(RANKED, listed) + with_none
