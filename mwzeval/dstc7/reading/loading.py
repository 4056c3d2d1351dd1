"""A submission and the gold data that it is scored with: found, read and checked together.

Gold data are files that the user names, those in a folder under their usual names, or the embedded
sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from mwzeval.dstc7.reading.checks import (
    DialogueChecks,
    KnownCandidates,
    check_examples,
    check_file_name,
    check_rankings,
    check_targets,
)
from mwzeval.dstc7.reading.dialogues import Example, read_pool, stream_examples
from mwzeval.dstc7.reading.kinds import note
from mwzeval.dstc7.reading.submission import Submission, read_submission
from mwzeval.dstc7.reading.targets import Targets, read_targets
from mwzeval.dstc7.reading.tracks import NONE, Options, Track
from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DATA_VARIABLE, embedded, sample_advice
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, is_zip
from mwzeval.scores.findings import Findings


@dataclass(frozen=True, slots=True)
class Gold:
    """Where gold data are: targets, or a dialogue file that has the answers itself; or both.

    A dialogue file (and in subtask 2 the pool) lets candidates be checked, and texts be shown.
    `is_sample` says that these are the embedded sample, which fits no other submission. Raises
    `UsageError` when neither is named.
    """

    targets: str | Path | None = None
    dialogues: str | Path | None = None
    pool: str | Path | None = None
    is_sample: bool = False

    def __post_init__(self) -> None:
        if self.targets is None and self.dialogues is None:
            raise UsageError(
                "scoring needs the right answers: a file of targets, or a dialogue file of train "
                "or dev, which has them itself"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A submission, and what it is scored with.

    `examples` has what was said and offered in each submitted example, and `pool` the candidates
    of subtask 2, as far as files with these were named. `targets` keep their repeats when scoring
    is to be as in 2018.
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
    def known(self) -> KnownCandidates:
        """The candidates that there are to choose from."""
        of_example = {
            name: frozenset(candidate.candidate_id for candidate in example.candidates)
            for name, example in self.examples.items()
            if example.candidates
        }
        return KnownCandidates(of_example, None if self.pool is None else self.pool.keys())

    @property
    def checksum(self) -> str:
        """Eight hexadecimal digits that tell these targets from others, in whatever order."""
        lines = sorted(f"{name}\t{','.join(sorted(set(of)))}" for name, of in self.targets.items())
        return sha256("\n".join(lines).encode(errors="backslashreplace")).hexdigest()[:8]


Read = TypeVar("Read")


def load(
    submission: str | Path, gold: Gold, track: Track, options: Options, findings: Findings
) -> Loaded | None:
    """Return a submission that was read and checked; None when not all files could be read.

    All problems go to `findings`, which also knows whether any of them prevents scoring.
    """
    notes = findings.of_file(str(submission))
    # What is read from an archive has an official name in it.
    if str(submission) != STANDARD_INPUT and not is_zip(submission):
        check_file_name(str(submission), track, notes)
    ranked = _tried(notes, lambda: read_submission(submission, notes, track))
    files = _Files(gold, track, options, notes)
    files.read(ranked)
    if ranked is None or files.targets is None or files.is_incomplete:
        return None
    loaded = Loaded(
        track,
        options,
        ranked,
        files.targets,
        files.examples,
        files.pool,
        files.split or "test",
        gold.is_sample,
    )
    if loaded.targets:
        check_examples(loaded.submission, loaded.targets, notes, is_sample=gold.is_sample)
    check_rankings(loaded.submission, track, options, loaded.known, notes)
    return loaded


class _Files:
    """The gold files, read one after the other as far as they can be read."""

    def __init__(self, gold: Gold, track: Track, options: Options, findings: Findings) -> None:
        self._gold = gold
        self._track = track
        self._repeats = options.compat is not None
        self._findings = findings
        self.targets: Targets | None = None
        self.pool: dict[str, str] | None = None
        self.examples: dict[str, Example] = {}
        self.split: str | None = None
        self.is_incomplete = False

    def read(self, submission: Submission | None) -> None:
        """Read everything; of the dialogues, the examples of the submission are kept."""
        gold, findings = self._gold, self._findings
        if gold.targets is not None:
            targets, repeats = gold.targets, self._repeats
            self.targets = self._tried(lambda: read_targets(targets, findings, repeats=repeats))
        if gold.pool is not None and self._track.has_pool:
            pool = gold.pool
            self.pool = self._tried(lambda: dict(read_pool(pool, findings)))
        if gold.dialogues is not None:
            dialogues = gold.dialogues
            self._tried(lambda: self._read_dialogues(dialogues, submission))
        if self.targets:
            notes = findings.of_file(str(gold.targets or gold.dialogues))
            check_targets(self.targets, self._track, self.pool, notes)

    def _tried(self, read: Callable[[], Read]) -> Read | None:
        result = _tried(self._findings, read)
        self.is_incomplete |= result is None
        return result

    def _read_dialogues(self, file: str | Path, submission: Submission | None) -> bool:
        findings = self._findings.of_file(str(file))
        checks = DialogueChecks(self._track)
        own: dict[str, tuple[str, ...]] | None = {} if self._gold.targets is None else None
        for example in stream_examples(file, findings):
            name = example.example_id
            answers = (
                None
                if example.correct is None
                else tuple(candidate.candidate_id for candidate in example.correct) or (NONE,)
            )
            if own is None:
                answers = (self.targets or {}).get(name, answers)
            elif answers is not None:
                own[name] = answers if self._repeats else tuple(dict.fromkeys(answers))
            checks.add(example, answers or ())
            self.split = self.split or example.split
            if submission is not None and name in submission:
                self.examples[name] = example
        checks.report(findings)
        for name in submission or ():
            if name not in self.examples:
                message = "examples were submitted that the dialogues lack: candidates unchecked"
                note(findings, "unchecked-example", message, example=name)
        if own is not None:
            self.targets = own
            if not own:
                message = "no options-for-correct-answers in it: name a file of targets too"
                note(findings, "no-targets", message)
        return True


def _tried(findings: Findings, read: Callable[[], Read]) -> Read | None:
    """Return what was read; None when it could not be, with the reason among the findings."""
    with findings.collecting():
        return read()
    return None


FOLDER = "dstc7"
SPLITS = ("test", "dev", "train")
SAMPLE_NOTE = "The sample's talks are invented: these are not scores on the data of DSTC7."
ENDINGS = ("", *COMPRESSED)


def gold_in(folder: str | Path, track: Track, split: str = "test") -> Gold:
    """Return the gold data of a split in a folder, as far as they are there under usual names.

    These are, for subtask 1 of Ubuntu (5 uses the files of 1): `ubuntu_test_subtask_1.json`,
    `ubuntu_responses_subtask_1.tsv` (of the test split), and `ubuntu_subtask_2_candidates.tsv` for
    subtask 2; a test set of Advising has `_case1` or `_case2` before the ending. `.gz`, `.xz`
    or `.zst` may follow. Raises `UsageError` for an unknown split, `DataError` when nothing is
    there.
    """
    if split not in SPLITS:
        raise UsageError(f"a split is one of {', '.join(SPLITS)}, not {split}")
    base, dataset = Path(folder), track.dataset
    subtask = 1 if track.subtask == 5 else track.subtask
    is_test = split == "test"
    case = f"_{track.case}" if track.case and is_test else ""
    spoken = f"{dataset}_{split}_subtask_{subtask}{case}.json"
    answers = f"{dataset}_responses_subtask_{subtask}{case}.tsv"
    dialogues = _first(base, spoken)
    targets = _first(base, answers) if is_test else None
    candidates = f"{dataset}_subtask_2_candidates.tsv"
    pools = {candidates: _first(base, candidates)} if track.has_pool else {}
    if targets is None and (is_test or dialogues is None):
        wanted = {answers: targets, spoken: dialogues} if is_test else {spoken: dialogues}
        missing = [name for name, found in (wanted | pools).items() if found is None]
        raise DataError(
            f"not found in {folder}: {', '.join(missing)}; these are not public files: put them "
            "there under these names (.gz, .xz or .zst may follow), as docs/dstc7.md says, or name "
            "the right answers with --targets",
            *sample_advice(f"leave out --data and unset {DATA_VARIABLE}"),
        )
    return Gold(targets, dialogues, pools.get(candidates))


def sample_gold(track: Track) -> Gold:
    """Return the gold data of the embedded sample."""
    base = Track(track.dataset, track.subtask)
    gold = gold_in(embedded(FOLDER), base)
    return Gold(gold.targets, gold.dialogues, gold.pool, is_sample=True)


def _first(folder: Path, name: str) -> Path | None:
    """Return the file with a name, perhaps compressed; None when there is none."""
    for ending in ENDINGS:
        path = folder / f"{name}{ending}"
        if path.is_file():
            return path
    return None
