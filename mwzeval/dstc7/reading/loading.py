"""Reading a submission with what it is scored with, and checking all of it together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mwzeval.dstc7.dialogue_checks import DialogueChecks
from mwzeval.dstc7.ids import NONE
from mwzeval.dstc7.inputs import Gold, Loaded
from mwzeval.dstc7.options import Options
from mwzeval.dstc7.pool import read_pool
from mwzeval.dstc7.reading.checks import (
    check_examples,
    check_file_name,
    check_rankings,
    check_targets,
)
from mwzeval.dstc7.reading.dialogues import Example, stream_examples
from mwzeval.dstc7.reading.findings import Findings
from mwzeval.dstc7.reading.submission import Submission, read_submission
from mwzeval.dstc7.reading.targets import Targets, read_targets
from mwzeval.dstc7.reading.tracks import Track
from mwzeval.errors import InputError
from mwzeval.files.reading import STANDARD_INPUT, is_zip

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

    def check() -> Loaded:
        if loaded.targets:
            check_examples(loaded.submission, loaded.targets, notes, is_sample=gold.is_sample)
        check_rankings(loaded.submission, track, options, loaded.known, notes)
        return loaded

    return _tried(notes, check)


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
                findings.counted("unchecked-example", message, example=name)
        if own is not None:
            self.targets = own
            if not own:
                message = "no options-for-correct-answers in it: name a file of targets too"
                findings.add("no-targets", message)
        return True


def _tried(findings: Findings, read: Callable[[], Read]) -> Read | None:
    """Return what was read; None when it could not be, with the reason among the findings."""
    try:
        return read()
    except InputError as error:
        findings.extend(error.problems)
        return None
