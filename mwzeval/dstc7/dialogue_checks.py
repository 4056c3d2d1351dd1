"""Whether a dialogue file is of the track that it is used for, and holds the right answers."""

from __future__ import annotations

from collections.abc import Iterable

from mwzeval.dstc7.ids import NONE
from mwzeval.dstc7.reading.dialogues import Example
from mwzeval.dstc7.reading.findings import Findings
from mwzeval.dstc7.reading.tracks import SPEAKERS, Track
from mwzeval.errors import shorten


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
            findings.add("wrong-track", message, example=name, key="scenario")
        if self._other_speaker is not None:
            name, speaker = self._other_speaker
            known = " and ".join(sorted(self._speakers))
            message = f'"{shorten(speaker)}" speaks, but in {self._track.dataset} it is {known}'
            findings.add("wrong-track", message, example=name, key="messages-so-far")
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
        findings.add("gold-not-in-candidates", message, example=name, count=lacking)
