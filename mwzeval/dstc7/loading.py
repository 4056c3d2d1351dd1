"""Finds, reads and checks a submission together with its gold data.

Gold data are files that the user names, files with the usual names in a folder, or the embedded
sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from mwzeval.dstc7.checks import (
    DialogueChecks,
    check_examples,
    check_file_name,
    check_ranking,
    check_targets,
)
from mwzeval.dstc7.dialogues import Example, Targets, read_pool, read_targets, stream_examples
from mwzeval.dstc7.submission import Submission, read_submission
from mwzeval.dstc7.tracks import NONE, Options, Track
from mwzeval.errors import DataError, UsageError
from mwzeval.files.downloads import DATA_VARIABLE, SAMPLE_ADVICE, embedded
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, is_zip
from mwzeval.scores.findings import Findings

FOLDER = "dstc7"
SPLITS = ("test", "dev", "train")
SAMPLE_NOTE = "The sample's dialogues are invented: these are not scores on the data of DSTC7."


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
        lines = sorted(f"{name}\t{','.join(sorted(set(of)))}" for name, of in self.targets.items())
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
        check_file_name(str(submission), track, notes)
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
        check_targets(targets, track, pool, notes.of_file(str(gold.targets or gold.dialogues)))
    if has_pool != (pool is not None) or (gold.dialogues is None) != (dialogues is None):
        return None
    if ranked is None or targets is None:
        return None
    loaded = dialogues or _Dialogues()
    if targets:
        check_examples(ranked, targets, notes, is_sample=gold.is_sample)
    for name, ranking in ranked.items():
        example = loaded.examples.get(name)
        listed = {c.candidate_id for c in example.candidates} if example else set()
        candidates = listed or (None if pool is None else pool.keys())
        check_ranking(name, ranking, candidates, track, options, notes)
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
    dialogues, checks = _Dialogues(), DialogueChecks(track)
    for example in stream_examples(file, findings):
        name = example.example_id
        answers: tuple[str, ...] = ()
        if example.correct is not None:
            answers = tuple(option.candidate_id for option in example.correct) or (NONE,)
            dialogues.targets[name] = answers if repeats else tuple(dict.fromkeys(answers))
        checks.add(example, (targets or {}).get(name, answers))
        dialogues.split = dialogues.split or example.split
        if name in submission:
            dialogues.examples[name] = example
    checks.report(findings)
    for name in submission:
        if name not in dialogues.examples:
            message = "for submitted examples without a dialogue, the candidates are not checked"
            findings.warning("unchecked-example", message, example=name)
    return dialogues


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
