"""Check whether predictions fit the corpus, and warn about predictions that are valid but
suspicious.

`check_fit` and `check_turns` check single dialogues, and `check_whole` checks the counts of a whole
input.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mwzeval.errors import SHOWN_PROBLEMS, Problem, did_you_mean, shorten
from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz import AUTO, DELEXICALIZED, LEXICALIZED, SAMPLE, Rules
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.census import AFTER, BEFORE, OTHER, TIME, Census, Key, shapes
from mwzeval.multiwoz.corpus import SAMPLE_PREFIX, GoldFold, References, dialogue_of
from mwzeval.multiwoz.normalization import ONTOLOGY, normalize_slot, normalize_value
from mwzeval.multiwoz.placeholders import PLACEHOLDERS, known_placeholders
from mwzeval.multiwoz.predictions import Dialogues, bare, spelling, visible
from mwzeval.multiwoz.schema import FLAG_SLOTS, NAME_SLOTS, NO_CONSTRAINT, TIME_SLOTS, UNFILLED
from mwzeval.multiwoz.scoring.scorer import Metrics, Scorer, Sources
from mwzeval.multiwoz.words.numbers import has_identifier
from mwzeval.scores.findings import Coverage, Findings

ACTIVE_DOMAINS = ONTOLOGY.keys() | {"general", "booking"}
"""Valid active domains. `general` and `booking` are domains of dialogue acts, not of goals."""
LEXICALIZED_SHARE = 0.02
"""Maximum proportion of dialogues without placeholders in delexicalized references."""
MOST_ALIKE, MOST_EARLY = 0.5, 0.8
"""Limits for the proportion of turns with the same placeholders, and for the proportion of requests
that are answered too early; a warning is printed above them. Published systems have 0.11 to 0.18
and 0.05 to 0.13, respectively; LAVA has 0.35 and 0.61."""
FEWEST_TURNS, FEWEST_REQUESTS = 100, 30
"""The proportions are only checked if there are at least so many turns and so many requests."""
UNREAD = ("missing-response", "shape")
"""After these errors, checks of all responses and states would be misleading."""


def with_ids_of_fold(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> Dialogues:
    """Return dialogues with the fold's ids if ids differ only in capitals or a suffix `.json`.

    Ids are changed only if all new ids are in the fold and different from each other.
    """
    if not dialogues or any(gold.name_of(name) in gold.dialogues for name in dialogues):
        return dialogues
    ids = {name: dialogue_id(name) for name in dialogues}
    if len(set(ids.values())) < len(ids) or not set(ids.values()) <= gold.dialogues.keys():
        return dialogues
    findings.positions = {ids.get(name, name): at for name, at in findings.positions.items()}
    findings.warning(
        "other-ids",
        "ids are converted to lower case without file ending, as in the fold",
        count=len(ids),
        dialogue=next(iter(ids)),
    )
    return {ids[name]: turns for name, turns in dialogues.items()}


def check_fit(dialogues: Dialogues, gold: GoldFold, findings: Findings) -> None:
    """Report dialogues that are not in the fold, and dialogues with too many turns."""
    where = f"the {gold.fold} fold of {gold.corpus}"
    strangers = len(dialogues) > 1 and not any(
        gold.name_of(name) in gold.dialogues or dialogue_id(name) in gold.dialogues
        for name in dialogues
    )
    if strangers:
        findings.error(
            "wrong-fold",
            f"none of the {len(dialogues)} dialogues is in {where}: set --fold or --corpus",
        )
    for name, turns in dialogues.items():
        annotated = gold.dialogues.get(gold.name_of(name))
        if annotated is not None:
            if len(turns) > len(annotated.states):
                findings.error(
                    "too-many-turns",
                    f"has {len(turns)} system turns; {where} has {len(annotated.states)} — predict "
                    "one response per system turn",
                    dialogue=name,
                )
            continue
        if not gold.rollouts and dialogue_of(name) in gold.dialogues:
            message = (
                f'a rollout of "{dialogue_of(name)}": use `mwzeval shards --rollouts` to score '
            )
            message += "rollouts"
        elif dialogue_id(name) in gold.dialogues:
            message = "write the id in lower case without file ending, as in the fold"
        elif name.startswith(SAMPLE_PREFIX) and gold.corpus != SAMPLE:
            message = (
                f"not in {where} but in the sample, which is scored separately: --corpus sample"
            )
        else:
            # Similar ids are searched for only a few ids: the search is slow, and the file may be
            # for another fold.
            hint = not strangers and len(findings.errors) < SHOWN_PROBLEMS
            message = f"not in {where}{did_you_mean(name, gold.dialogues) if hint else ''}"
        findings.error("unknown-dialogue", message, dialogue=name)


def coverage(census: Census, gold: GoldFold) -> dict[str, Any]:
    """Return the scored and total numbers of dialogues and turns, and of dialogues per domain.

    If the input contains rollouts, the total number of turns includes the turns of each rollout.
    """
    domains = Coverage()
    turns = rollouts = 0
    for name, annotated in gold.dialogues.items():
        times = census.seen.rollouts(name)
        rollouts += times
        turns += max(1, times) * len(annotated.states)
        for domain in annotated.goal:
            domains.count(domain, times > 0)
    return {
        **({"rollouts": {"scored": rollouts}} if gold.rollouts else {}),
        "dialogues": {"scored": len(census.seen), "of": len(gold.dialogues)},
        "turns": {"scored": census.turns, "of": turns},
        "domains": dict(sorted(domains.items())),
    }


def check_turns(dialogues: Dialogues, rules: Rules, findings: Findings) -> None:
    """Warn about slots and domains that MultiWOZ does not have, and about suspicious values."""

    @cache
    def close(name: str, domain: str | None = None) -> str:
        # Similar names are searched for only a few names: the search is slow, and invalid input has
        # many.
        known = ONTOLOGY if domain is None else ONTOLOGY[domain]
        return did_you_mean(name, known) if findings.warned < SHOWN_PROBLEMS else ""

    def odd(domain: str, slots: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        key, known = f"state.{domain}", ONTOLOGY.get(domain)
        if known is None:
            yield "unknown-domain", f'unknown domain "{shorten(domain)}"{close(domain)}', key
        for slot, value in slots.items():
            if known and slot not in known and (name := normalize_slot(slot)) not in known:
                message = f'unknown slot "{shorten(slot)}" in domain "{domain}"'
                yield "unknown-slot", f"{message}{close(name, domain)}", f"{key}.{slot}"
            if found := _odd_value(slot, value, rules):
                yield *found, f"{key}.{slot}"

    for name, turns in dialogues.items():
        usual: dict[str, Mapping[str, str]] = {}
        for index, turn in enumerate(turns):
            for domain, slots in (turn.state or {}).items():
                if slots == usual.get(domain):
                    continue  # Most slots are unchanged since the previous turn.
                warnings = [*odd(domain, slots)]
                if not warnings:
                    usual[domain] = slots
                for kind, message, key in warnings:
                    findings.warning(kind, message, dialogue=name, turn=index, key=key)
            for domain in turn.active_domains or ():
                if domain not in ACTIVE_DOMAINS:
                    findings.warning(
                        "unknown-active-domain",
                        f'unknown domain "{shorten(domain)}"{close(domain)}',
                        dialogue=name,
                        turn=index,
                        key="active_domains",
                    )


@lru_cache(maxsize=2**15)
def _odd_value(slot: str, value: str, rules: Rules) -> tuple[str, str] | None:
    """Return the kind and message of a warning about a suspicious spelling of a value, or None.

    Spellings that normalization corrects, such as capitals in names, cause no warning.
    """
    if (meant := bare(value)) in UNFILLED:
        empty = "an empty value" if not meant else f'"{meant}"'
        return "unfilled-value", (
            f"{empty} is scored as the value of a slot: leave out slots that are not filled, or "
            f"use --unfilled '{spelling(meant)}'"
        )
    if visible(value) != value:
        return (
            "invisible-characters",
            "invisible characters, such as zero-width spaces, make values different: remove them",
        )
    name, stripped = normalize_slot(slot), value.strip()
    normal = normalize_value(name, stripped, rules)
    if normalize_value(name, value, rules) != normal:
        message = "spaces around a value make it different: remove them"
        return "blanks-around-value", message
    if normal != normalize_value(name, stripped.lower(), rules):
        return "upper-case-value", "capital letters make a value different: write it in lower case"
    return None


def check_each_turn(dialogues: Dialogues, lexicalized: bool, findings: Findings) -> list[Problem]:
    """Return a warning for each turn whose response is not of the kind stated by `lexicalized`."""
    problems = []
    for name, turns in dialogues.items():
        for index, turn in enumerate(turns):
            response = turn.response or ""
            known = known_placeholders(response)
            if lexicalized and known:
                message = (
                    f"the response has placeholders ({', '.join(sorted(known))}), but most "
                    "responses have none"
                )
            elif not (lexicalized or known) and has_identifier(response):
                message = (
                    "the response has values but no placeholders, although most responses "
                    f"have placeholders: {shorten(response)}"
                )
            else:
                continue
            at = findings.position(name, index)
            problem = Problem("mixed-response", message, "warning", findings.file, name, at)
            problems.append(problem)
    return problems


def answers_alike(census: Census) -> bool:
    """Return whether too many turns have equal placeholders, or too many answers come early."""
    return (
        census.turns >= FEWEST_TURNS and most_frequent(census)[0] > MOST_ALIKE * census.turns
    ) or (census.requests >= FEWEST_REQUESTS and census.early > MOST_EARLY * census.requests)


def most_frequent(census: Census) -> tuple[int, tuple[str, ...]]:
    """Return the number of turns with the most frequent set of placeholders, and this set."""
    some = [(times, names) for names, times in census.answers.items() if names]
    return max(some, default=(0, ()))


class Sign(NamedTuple):
    """A line of `data/signs.tsv`, which explains its columns."""

    stage: str
    sign: str
    cases: str
    share: float
    fewest: int
    details: str
    kind: str
    message: str


@cache
def signs() -> tuple[Sign, ...]:
    """Return the signs of errors in predictions, in the order of the checks."""
    return tuple(
        Sign(stage, sign, cases, float(share), int(fewest), *more)
        for stage, sign, cases, share, fewest, *more in table_rows(embedded("signs.tsv"), 8)
    )


FEWEST = 50
"""Minimum number of responses for a comparison with references."""
FEWEST_DIALOGUES = 10
"""Minimum sample size for checks of content. If a sample is smaller, only the form of responses and
values is checked."""
FIT, NEIGHBOUR = 1.3, 0.85
"""Minimum ratio of the own fit to the fit to another dialogue, and maximum ratio of the fit to an
adjacent turn to the own fit. The own fit states how well responses fit their own references."""
UNKNOWN, UNKNOWN_NAMES = 0.25, 0.8
"""Maximum proportion of values without annotation: for most slots, and for names and food."""
ODD_VALUES = {"odd-values", "blanks-around-value", "upper-case-value", "invisible-characters"}
"""Warnings about values that explain why the values do not occur in the annotation."""
NUMBERS = frozenset({"stars", "people", "stay"})


class _Sample:
    """The summed tallies of sampled dialogues, and the warnings that follow from them."""

    def __init__(self, census: Census, findings: Findings) -> None:
        self._tallies = sorted(census.sample.items())
        self._findings = findings
        self.total: Counter[Key] = Counter()
        for tally in census.sample.values():
            self.total.update(tally.counts)
        self.details: defaultdict[str, Counter[Key]] = defaultdict(Counter)
        for key, times in self.total.items():
            self.details[str(key[0])][key] = times

    def check(self, stage: str, **values: object) -> set[str]:
        """Report the warnings of a stage and return their names. `values` fill the messages."""
        given: set[str] = set()
        for sign in signs():
            if sign.stage == stage and sign.kind not in given:
                counts = self.details[sign.sign].most_common(None if sign.details == "all" else 1)
                most = sign.share * max(self.total[sign.cases,], sign.fewest)
                if sum(times for _, times in counts) > most:
                    given.add(sign.kind)
                    keys = [key for key, _ in counts]
                    message = sign.message.format_map(_found(keys) | values)
                    self.warn(sign.kind, message, *keys)
        return given

    def warn(self, kind: str, message: str, *keys: Key) -> None:
        """Warn with the counts of these keys, the number of dialogues, and the first position."""
        places = [
            (name, min(tally.turns[key] for key in keys if key in tally.turns))
            for name, tally in self._tallies
            if not tally.turns.keys().isdisjoint(keys)
        ]
        for name, turn in places[:1]:
            message += f" (in {len(places)} of {len(self._tallies)} dialogues of a sample)"
            count = sum(self.total[key] for key in keys)
            problem = Problem(
                kind, message, "warning", self._findings.file, name, turn, count=count
            )
            self._findings.extend([problem])

    def check_lengths(self) -> None:
        """Warn if many responses of the maximum length end within a sentence."""
        responses = list(self.details["length"])
        for unit, place, slack in (("characters", 2, 1), ("words", 3, 0)):
            lengths = [int(key[place]) for key in responses]
            longest = max(lengths, default=0)
            at_end = sum(length >= longest - slack for length in lengths)
            if len(lengths) >= FEWEST and at_end > 0.1 * len(lengths):
                self.check("lengths", longest=longest, unit=unit)
                return

    def check_references(self) -> None:
        """Warn if responses fit other references better than their own, or differ in form."""
        if "same-response" in self.check("responses") or self.total["responses",] < FEWEST:
            return
        fit, own = (
            Counter({str(key[1]): times for key, times in self.details[detail].items()})
            for detail in ("fit", "own")
        )
        nearest = max((BEFORE, AFTER), key=lambda rival: fit[rival] / (own[rival] or 1))
        often: Counter[str | int] = Counter()
        for key, times in self.details["length"].items():
            often[key[1]] += times
        if own[OTHER] < FIT * fit[OTHER] and fit[nearest] < 1.5 * own[nearest]:
            self.check(OTHER)
        elif fit[nearest] > NEIGHBOUR * own[nearest]:
            self.check(nearest)
        elif any(times == often[key[1]] for key, times in self.details["no fit"].most_common(1)):
            self.check("unfit response")

    def check_values(self) -> None:
        """Warn about values that are hardly ever annotated, or only annotated in other slots."""
        known = {key[1:] for key in self.details["annotated"]}
        predicted: defaultdict[str, Counter[Key]] = defaultdict(Counter)
        for key, times in self.details["predicted"].items():
            slot = "parking, internet" if key[1] in FLAG_SLOTS else str(key[1])
            predicted[slot][key] = times
        for slot, values in predicted.items():
            # A value copied from the user is a prediction error, not an error in the file.
            unknown = +Counter(
                {
                    key: times - self.total["copied", key[1], key[2]]
                    for key, times in values.items()
                    if key[1:] not in known and not _is_valid(str(key[1]), str(key[2]))
                }
            )
            limit = UNKNOWN_NAMES if slot in NAME_SLOTS | {"food"} else UNKNOWN
            if unknown.total() > limit * max(25, values.total()):
                (key, _), *_ = unknown.most_common(1)
                message = f'values of the slot "{slot}" that occur in no annotated state, such as '
                self.warn("unknown-values", f'{message}"{shorten(str(key[2]))}"', *unknown)
                return
        self.check("values")


def _found(keys: Sequence[Key]) -> dict[str, object]:
    """Return the values for the placeholders in warnings about these keys."""
    meanings = {shape.name: shape.meaning for shape in shapes()}
    names = ", ".join(meanings.get(str(key[-1]), "") for key in keys)
    most = keys[0][-1]
    turns = ""
    if isinstance(most, int):
        number = "1 turn" if abs(most) == 1 else f"{abs(most)} turns"
        turns = f"{number} {'later' if most > 0 else 'earlier'}"
    return {"names": names, "most": most, "turns": turns}


def _is_valid(slot: str, value: str) -> bool:
    return (
        value in NO_CONSTRAINT
        or bare(value) in UNFILLED
        or (slot in NUMBERS and value.isdigit())
        or (slot in TIME_SLOTS and TIME.match(value) is not None)
    )


def check_sample(census: Census, findings: Findings, *, responses: bool) -> None:
    """Warn about errors found in the sample. `responses` is true if responses are scored."""
    sample = _Sample(census, findings)
    if responses:
        sample.check("form of responses")
    sample.check("form of values")
    if responses:
        sample.check_lengths()
    if len(census.sample) < FEWEST_DIALOGUES:
        return
    if responses and not answers_alike(census):
        sample.check_references()
    if ODD_VALUES.isdisjoint(problem.kind for problem in findings.warnings):
        sample.check_values()
    right, values = (sample.total[sign,] for sign in ("right", "values"))
    if "same-state" not in sample.check("turns") and right > 0.25 * max(values, FEWEST):
        sample.check("places of values")


def check_references(
    census: Census, sets: Mapping[str, References], default: str, findings: Findings
) -> None:
    """Warn about reference sets with missing turns or with dialogues without placeholders.

    Also warn if the corpus' default reference set is missing.
    """
    if sets and default not in sets:
        findings.warning(
            "other-references",
            f"references: {', '.join(sets)}; the default of the corpus is {default}",
        )
    for name, references in sets.items():
        there = census.references[name]
        if there < census.turns:
            findings.warning(
                "fewer-references",
                f'the reference set "{name}" has only {there} of the {census.turns} turns; BLEU '
                "is computed on these",
            )
        # Normalized text is in lower case, except for placeholders.
        lexicalized = sum(
            all(text == text.lower() for text in texts) for texts in references.responses.values()
        )
        if lexicalized > LEXICALIZED_SHARE * len(references.responses):
            findings.warning(
                "lexicalized-references",
                f'the reference set "{name}" has {lexicalized} of {len(references.responses)} '
                "dialogues without any placeholder, perhaps because their spans are not annotated: "
                "its BLEU is not comparable, see --references",
            )


@cache
def _whole_warnings() -> Sequence[tuple[str, str, str, str]]:
    """Return the lines of `data/warnings.tsv`, which explains its columns."""
    return tuple(table_rows(embedded("warnings.tsv"), 4))  # type: ignore[arg-type]


def check_whole(census: Census, scorer: Scorer, findings: Findings) -> None:
    """Sort the previous warnings, and add warnings about the counts of the whole input."""
    gold, stated, turns, wording = scorer.gold, scorer.responses, census.turns, census.wording
    metrics = scorer.metrics
    lexicalized = Sources.of_census(census, stated).lexicalized
    no_state, placeholders = turns - census.with_state, wording.with_placeholder
    # An input without metrics is only validated, so the warnings of all metrics apply.
    judges_goals = metrics.success or metrics.grounded or metrics == Metrics()
    in_both = placeholders and wording.identifier_in_words
    alike, names = most_frequent(census)
    annotated = (gold.dialogues[name] for name in census.seen if name in gold.dialogues)
    is_so: dict[str, object] = {
        "some states": judges_goals and 0 < no_state < turns,
        "no states": judges_goals and no_state == turns,
        "some domains": 0 < census.with_domains < turns,
        "domains empty": census.with_domains and not census.with_any_domain,
        "states empty": not (no_state or census.with_values)
        and any(any(state.values()) for dialogue in annotated for state in dialogue.states),
        "states untracked": metrics.tracking and no_state,
        "alike": answers_alike(census),
        "words": not placeholders and stated == AUTO,
        "words undeclared": not placeholders and stated == DELEXICALIZED,
        "placeholders undeclared": placeholders and stated == LEXICALIZED,
        "mixture of words": in_both and stated == AUTO and lexicalized,
        "mixture of placeholders": in_both and not lexicalized,
        "not in words": not lexicalized,
        "no bookings": no_state and not census.with_bookings,
        "some bookings": 0 < census.with_bookings < turns,
    }
    numbers = {
        **wording._asdict(),
        "turns": turns,
        "no_state": no_state,
        "no_domains": turns - census.with_domains,
        "no_bookings": turns - census.with_bookings,
        "alike": alike,
        "names": ", ".join(names),
        "early": census.early,
        "requests": census.requests,
    }

    def warn(stage: str) -> None:
        for subject, case, kind, message in _whole_warnings():
            if subject == stage and is_so[case]:
                findings.warning(kind, message.format_map(numbers))

    findings.sort_warnings()
    findings.other_files(gold.corpus, gold.checksum, gold.other_files)
    if not any(error.kind in UNREAD for error in findings.errors):
        warn("states")
        if metrics.need_responses:
            _check_placeholders(census, lexicalized, findings)
            warn("responses")
        if metrics.grounded:
            warn("grounded")
        check_sample(census, findings, responses=metrics.need_responses)
        check_references(census, scorer.reference_sets, gold.reference_set, findings)
    covered = coverage(census, gold)
    for what in ("dialogues", "turns"):
        there, number = covered[what]["scored"], covered[what]["of"]
        if there < number:
            findings.warning(
                f"fewer-{what}",
                f"{number - there} of the fold's {number} {what} are missing in the predictions, "
                f"so the scores are computed on the other {there} and are not comparable with "
                "scores on the whole fold",
            )


def _check_placeholders(census: Census, lexicalized: bool, findings: Findings) -> None:
    bracketed: Counter[str] = Counter()
    for number, (name, count) in enumerate(sorted(census.unknown_placeholders.items())):
        close = did_you_mean(name, PLACEHOLDERS) if number < SHOWN_PROBLEMS else ""
        if lexicalized and not close:  # for example links in Markdown, which are frequent
            bracketed[name] = count
            continue
        message = f'unknown placeholder "[{shorten(name)}]" is ignored{close}'
        findings.warning("unknown-placeholder", message, count=count)
    for name, _ in bracketed.most_common(1):
        findings.warning(
            "unknown-placeholder",
            f'text in brackets, such as "[{shorten(name)}]", is left out of BLEU and richness, '
            "unless it contains a value of the database",
            count=bracketed.total(),
        )
