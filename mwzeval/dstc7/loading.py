"""Finds, reads and checks a submission together with its gold data, and checks that they agree.

Gold data are files that the user names, files with the usual names in a folder, or the embedded
sample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import fsum, inf, isfinite
from pathlib import Path

from mwzeval.dstc7.dialogues import Example, Targets, read_pool, read_targets, stream_examples
from mwzeval.dstc7.submission import (
    UNREADABLE,
    Ranking,
    Submission,
    read_submission,
)
from mwzeval.dstc7.tracks import CHOICES, NONE, RANKED, SPEAKERS, Options, Track, track_of_file
from mwzeval.errors import DataError, UsageError, shorten
from mwzeval.files.downloads import DATA_VARIABLE, SAMPLE_ADVICE, embedded
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, is_zip
from mwzeval.scores.findings import Findings

FOLDER = "dstc7"
SPLITS = ("test", "dev", "train")
SAMPLE_NOTE = "The sample's dialogues are invented: these are not scores on the data of DSTC7."
SUM_TOLERANCE = 0.01
"""The largest accepted difference between 1 and the sum of rounded probabilities."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The locations of the gold data: targets, a dialogue file with answers, or both.

    With a dialogue file (and, in subtask 2, the pool), candidates can be checked and explanations
    show texts. `is_sample` is true for the embedded sample. Raises `UsageError` if both the targets
    and the dialogue file are missing.
    """

    targets: str | Path | None = None
    dialogues: str | Path | None = None
    pool: str | Path | None = None
    is_sample: bool = False

    def __post_init__(self) -> None:
        if self.targets is None and self.dialogues is None:
            raise UsageError(
                "scoring needs the right answers: give a file of targets, or a dialogue file of "
                "train or dev, which contains them"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A submission and its gold data.

    `examples` has the context and candidates of each submitted example. `pool` has the candidates
    of subtask 2. If the dialogue file or the pool is not given, `examples` is empty or `pool` is
    None. If scores are computed as in 2018, `targets` include repeated ids.
    """

    track: Track
    options: Options
    submission: Submission
    targets: Targets
    examples: Mapping[str, Example] = field(default_factory=dict)
    pool: Mapping[str, str] | None = None
    split: str = "test"
    is_sample: bool = False

    @property
    def checksum(self) -> str:
        """A checksum of the targets, independent of their order: 8 hexadecimal digits."""
        lines = sorted(
            f"{name}\t{','.join(sorted(set(ids)))}" for name, ids in self.targets.items()
        )
        return sha256("\n".join(lines).encode(errors="backslashreplace")).hexdigest()[:8]


def load(
    submission: str | Path, gold: Gold, track: Track, options: Options, findings: Findings
) -> Loaded | None:
    """Return the submission with its gold data, read and checked; None if a file cannot be read.

    All problems are added to `findings`, which records whether a problem prevents scoring.
    """
    notes = findings.of_file(str(submission))
    # A file in an archive always has an official name.
    if str(submission) != STANDARD_INPUT and not is_zip(submission):
        _check_file_name(str(submission), track, notes)
    repeats = options.compat is not None
    has_pool = track.has_pool and gold.pool is not None
    ranked = targets = pool = dialogues = None
    with notes.collecting():
        ranked = read_submission(submission, notes, track)
    if gold.targets is not None:
        with notes.collecting():
            targets = read_targets(gold.targets, notes, repeats=repeats)
    if has_pool and gold.pool is not None:
        with notes.collecting():
            pool = read_pool(gold.pool, notes)
    if gold.dialogues is not None:
        of_dialogues = notes.of_file(str(gold.dialogues))
        with notes.collecting():
            dialogues = _read_dialogues(
                gold.dialogues, track, of_dialogues, ranked or {}, targets, repeats=repeats
            )
        if dialogues and gold.targets is None:
            targets = dialogues.targets
            if not targets:
                message = "the file has no options-for-correct-answers: add a file of targets"
                of_dialogues.error("no-targets", message)
    if targets:
        _check_targets(targets, track, pool, notes.of_file(str(gold.targets or gold.dialogues)))
    if has_pool != (pool is not None) or (gold.dialogues is None) != (dialogues is None):
        return None
    if ranked is None or targets is None:
        return None
    loaded = dialogues or _Dialogues()
    if targets:
        _check_examples(ranked, targets, notes, is_sample=gold.is_sample)
    for name, ranking in ranked.items():
        example = loaded.examples.get(name)
        listed = {c.candidate_id for c in example.candidates} if example else set()
        candidates = listed or (None if pool is None else pool.keys())
        _check_ranking(name, ranking, candidates, track, options, notes)
    split = loaded.split or "test"
    return Loaded(track, options, ranked, targets, loaded.examples, pool, split, gold.is_sample)


@dataclass(slots=True)
class _Dialogues:
    """The data from a dialogue file: submitted examples, their split, and all correct answers."""

    examples: dict[str, Example] = field(default_factory=dict)
    split: str | None = None
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _read_dialogues(
    file: str | Path,
    track: Track,
    findings: Findings,
    submission: Submission,
    targets: Targets | None,
    *,
    repeats: bool,
) -> _Dialogues:
    """Read and check a dialogue file; `targets` from another file take precedence."""
    dialogues = _Dialogues()
    others: dict[str, tuple[str, str]] = {}
    answers = 0
    lacking: list[tuple[str, str]] = []
    for example in stream_examples(file, findings):
        name = example.example_id
        correct: tuple[str, ...] = ()
        if example.correct is not None:
            correct = tuple(option.candidate_id for option in example.correct) or (NONE,)
            dialogues.targets[name] = correct if repeats else tuple(dict.fromkeys(correct))
        for key, message in _signs_of_other_tracks(example, track):
            others.setdefault(key, (message, name))
        if example.candidates:
            offered = {NONE, *(candidate.candidate_id for candidate in example.candidates)}
            given = [(name, answer) for answer in (targets or {}).get(name, correct)]
            answers += len(given)
            lacking += [pair for pair in given if pair[1] not in offered]
        dialogues.split = dialogues.split or example.split
        if name in submission:
            dialogues.examples[name] = example
    for key, (message, name) in sorted(others.items(), reverse=True):
        findings.doubt("wrong-track", message, example=name, key=key)
    _check_lacking(lacking, answers, "list", findings)
    for name in submission:
        if name not in dialogues.examples:
            message = "for submitted examples without a dialogue, the candidates are not checked"
            findings.warning("unchecked-example", message, example=name)
    return dialogues


def _signs_of_other_tracks(example: Example, track: Track) -> Iterator[tuple[str, str]]:
    """Yield the keys of an example that do not fit the track, with descriptions."""
    if example.scenario is not None and example.scenario not in track.scenarios:
        message = f"the file is of subtask {example.scenario}, but it is read as {track.name}"
        yield "scenario", message
    known = SPEAKERS[track.dataset]
    for spoken in example.messages:
        if spoken.speaker not in known:
            who = " and ".join(sorted(known))
            message = (
                f'the speaker is "{shorten(spoken.speaker)}", but in {track.dataset} it must be '
                f"{who}"
            )
            yield "messages-so-far", message


def _check_lacking(
    lacking: list[tuple[str, str]], answers: int, where: str, findings: Findings
) -> None:
    """Warn about correct answers that are not among the candidates, and name the first example."""
    if lacking:
        name, identity = lacking[0]
        message = (
            f"{len(lacking)} of {answers} correct answers are not among the candidates, such as "
            f'"{shorten(identity)}" in the {where} of this example'
        )
        findings.warning("gold-not-in-candidates", message, example=name, count=len(lacking))


def _check_file_name(file: str, track: Track, findings: Findings) -> None:
    """Warn if a submission does not have its official name."""
    named = track_of_file(file)
    if named is None:
        message = f"the official name of a submission for {track.name} is {track.file_name}"
        findings.warning("file-name", message)
    elif named.name != track.name:
        message = f"the name says {named.name}, but the file is scored as {track.name}"
        findings.warning("file-name", message)


def _check_examples(
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


def _check_targets(
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
        _check_lacking(lacking, len(answers), "pool", findings)


def _check_ranking(
    example: str,
    ranking: Ranking,
    candidates: Collection[str] | None,
    track: Track,
    options: Options,
    findings: Findings,
) -> None:
    """Report the problems of a ranking; `candidates` is None if the candidates are unknown."""
    error, doubt, warning = (
        partial(function, example=example)
        for function in (findings.error, findings.doubt, findings.warning)
    )
    if ranking.is_malformed:
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


def gold_in(folder: str | Path, track: Track, split: str = "test") -> Gold:
    """Return the gold data of a split: the files in a folder that have the usual names.

    For subtask 1 of Ubuntu (subtask 5 uses the same files), the names are
    `ubuntu_test_subtask_1.json` and `ubuntu_responses_subtask_1.tsv` (test split only); for subtask
    2, `ubuntu_subtask_2_candidates.tsv` is the pool. In Advising, the names of test set files end
    with `_case1` or `_case2` before the extension. A compression suffix (`.gz`, `.xz` or `.zst`)
    may follow. Raises `UsageError` if the split is unknown, and `DataError` if the folder has no
    such file.
    """
    if split not in SPLITS:
        raise UsageError(f"a split must be one of {', '.join(SPLITS)}, not {split}")
    dataset, is_test = track.dataset, split == "test"
    end = f"subtask_{1 if track.subtask == 5 else track.subtask}"
    end += f"_{track.case}" if track.case and is_test else ""
    names = {
        "targets": f"{dataset}_responses_{end}.tsv" if is_test else "",
        "dialogues": f"{dataset}_{split}_{end}.json",
        "pool": f"{dataset}_subtask_2_candidates.tsv" if track.has_pool else "",
    }
    found = {
        what: path
        for what, name in names.items()
        for ending in reversed(("", *COMPRESSED))
        if name and (path := Path(folder, f"{name}{ending}")).is_file()
    }
    if not found.keys() & ({"targets"} if is_test else {"dialogues"}):
        missing = [name for what, name in names.items() if name and what not in found]
        raise DataError(
            f"not found in {folder}: {', '.join(missing)}; these files are not public: put them "
            "there under these names, optionally with .gz, .xz or .zst (docs/dstc7.md), or name "
            "the right answers with --targets",
            SAMPLE_ADVICE.format(f"leave out --data and unset {DATA_VARIABLE}"),
        )
    return Gold(found.get("targets"), found.get("dialogues"), found.get("pool"))


def sample_gold(track: Track) -> Gold:
    """Return the gold data of the embedded sample."""
    gold = gold_in(embedded(FOLDER), Track(track.dataset, track.subtask))
    return replace(gold, is_sample=True)
