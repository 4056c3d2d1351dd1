"""Files of live dialogues scored for the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.conversation.protocols import INFRASTRUCTURE
from mwzeval.conversation.usage import Prices
from mwzeval.errors import Problem, UsageError, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.multiwoz.choices import CONVLAB2
from mwzeval.multiwoz.live.scored.levels import InActs, InWords
from mwzeval.multiwoz.live.scored.reading import LiveRun, Settings, Town, check_run
from mwzeval.multiwoz.live.scored.runs import Level, ScoredRun
from mwzeval.output import followed
from mwzeval.scores.findings import Findings


@dataclass(frozen=True, eq=False)
class LiveScorer:
    """Scores files of live dialogues; each database is read once.

    `compat` is `convlab2` for the rules of ConvLab-2's evaluator on acts, or None: then dialogues
    in words are judged by their words, and those in acts alone by corrected rules. `refusal`
    says why they cannot be scored as the options of a command ask for it; None when they can.
    `prices` are those of the tokens of models; `exclude_user_faults` adds the outcomes of dialogues
    without faults of the user.
    """

    settings: Settings
    compat: str | None = None
    refusal: str | None = None
    prices: Prices | None = None
    exclude_user_faults: bool = False
    _towns: dict[str, Town] = field(default_factory=dict)
    _in_words: dict[str, InWords] = field(default_factory=dict)

    def score(self, text: str, file: str | None, *, progress: bool = False) -> ScoredRun:
        """Return a file scored. Raises `InputError`, `DataError`, `UsageError`."""
        if self.refusal:
            raise UsageError(f"{file} is of live dialogues: {self.refusal}")
        with no_garbage_collection():
            return self._scored(text, Findings(file), progress=progress)

    def _scored(self, text: str, findings: Findings, *, progress: bool) -> ScoredRun:
        run, level = self._checked(text, findings)
        findings.check()
        assert level is not None
        town = self._town(run.corpus)

        def each(names: Sequence[str]) -> Iterable[str]:
            return followed(names, "dialogues", shown=progress)

        return ScoredRun.of(
            *(run, level, town.checksum, self.settings.tools.checksum),
            *(findings, each),
            prices=self.prices,
            exclude_user_faults=self.exclude_user_faults,
        )

    def validate(self, text: str, file: str | None) -> list[Problem]:
        """Return every problem of a file. Raises `DataError`."""
        findings = Findings(file)
        self._checked(text, findings)
        return findings.problems

    def _checked(self, text: str, findings: Findings) -> tuple[LiveRun, Level | None]:
        """Return the dialogues and what judges them; problems go to `findings`."""
        run = check_run(text, self.settings, findings)
        level = self._level(run, findings)
        if level is not None:
            level.check(run, findings)
        lost = sum(one.end == INFRASTRUCTURE for one in run.dialogues.values())
        if lost and lost == len(run.dialogues):
            message = "every dialogue failed for infrastructure: there is nothing to score"
            findings.error("infrastructure", message)
        elif lost:
            message = "the dialogue failed for infrastructure, which is nobody's fault: not scored"
            for name, one in run.dialogues.items():
                if one.end == INFRASTRUCTURE:
                    findings.warning("infrastructure", message, dialogue=name)
        findings.sort_warnings()
        return run, level

    def _level(self, run: LiveRun, findings: Findings) -> Level | None:
        """Return what judges these dialogues: their words, or their acts."""
        dialogues = [one for one in run.dialogues.values() if one.messages or one.acts]
        in_acts = self.compat == CONVLAB2 or (
            run.file.header.get("level") == "acts"
            or (bool(dialogues) and not any(one.messages for one in dialogues))
        )
        lacking = [one for one in dialogues if not (one.acts if in_acts else one.messages)]
        if lacking and lacking == dialogues and self.compat == CONVLAB2:
            findings.error("level", "the dialogues are in words: leave out --compat")
            return None
        for one in lacking:
            what = "acts" if in_acts else "messages"
            findings.error("level", f"there are no {what} to be judged", dialogue=one.name)
        if lacking:
            return None
        town = self._town(run.corpus)
        held_on = run.file.header.get("database", town.checksum)
        if held_on != town.checksum:
            message = f'the dialogues were held on the database "{shorten(str(held_on))}", and are'
            findings.warning("other-database", f"{message} judged by {town.checksum}")
        if in_acts:
            return InActs(town.tables, as_published=self.compat == CONVLAB2)
        if run.corpus not in self._in_words:
            self._in_words[run.corpus] = InWords(
                town.tables, self.settings.rules, self.settings.tools
            )
        return self._in_words[run.corpus].anew()

    def _town(self, corpus: str) -> Town:
        if corpus not in self._towns:
            self._towns[corpus] = Town.of(corpus, self.settings)
        return self._towns[corpus]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the databases behind: another process reads them itself."""
        return {**self.__dict__, "_towns": {}, "_in_words": {}}
