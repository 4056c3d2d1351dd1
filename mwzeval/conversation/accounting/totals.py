"""The accounts of a run as tables and as plain values: in all, a dialogue, a success."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.conversation.accounting.accounts import (
    BOTH,
    LABELS,
    PERCENTILES,
    SUCCESSES,
    Account,
    Accounts,
    percentiles,
)
from mwzeval.conversation.accounting.usage import AGENT, Usage
from mwzeval.scores.score import WHOLE, Score
from mwzeval.scores.sheets import Cell, Sheet, sheet

COLUMNS = ("", "a dialogue", "a success", "in all")
TIMES = ("mean", *(f"p{each}" for each in PERCENTILES))


def figures(
    accounts: Accounts, scores: Sequence[Score], sums: Mapping[str, float]
) -> tuple[Sheet, ...]:
    """Return tables of what was used; none where nothing was.

    `scores` are those of the accounts' measures, `sums` the sums of their columns.
    """
    if not accounts.sides:
        return ()
    known = {score.name: score for score in scores if score.scope == WHOLE}
    rows = [row for account in accounts.sides for row in _rows(account, known, sums)]
    if accounts.is_priced:
        rows.append(["Both: cost, USD", *_cost(BOTH, _of_both(accounts), known)])
    models = (f"{each.side}: {each.model or 'unnamed'}" for each in accounts.sides)
    title = f"What it cost ({'; '.join(models)})"
    used = sheet(title, COLUMNS, rows, tuple(_notes(accounts)))
    times = list(_times(accounts, known))
    return (used, sheet("", ("", *TIMES), times)) if times else (used,)


def _rows(
    account: Account, known: Mapping[str, Score], sums: Mapping[str, float]
) -> Iterator[list[Cell | str]]:
    side, label, total = account.side, account.label, account.total
    name = f"{side}_requests"
    a_success = _cell(_ratio(sums[name], sums[SUCCESSES]), 1)
    yield [f"{label}: requests", _score_cell(known.get(name)), a_success, _cell(total.requests)]
    for part, in_all in (("tokens_in", total.tokens_in), ("tokens_out", total.tokens_out)):
        column = f"{side}_{part}"
        yield [
            f"{label}: {LABELS[part]}",
            _score_cell(known.get(column)),
            _cell(_ratio(sums[column], sums[f"{side}_successes"]), 1),
            _cell(in_all if total.is_known else None),
        ]
        if part == "tokens_in" and total.cached:
            mean = _cell(total.cached / len(account.usages), 1)
            what = f"{label}: {LABELS[part]} from the server's cache"
            yield [what, mean, _cell(None), _cell(total.cached)]
    for what, count in (("retries", total.retries), ("messages cut off", total.cut_off)):
        ratios = (_ratio(count, len(account.usages)), _ratio(count, sums[SUCCESSES]))
        yield [f"{label}: {what}", *(_cell(ratio, 2) for ratio in ratios), _cell(count)]
    if account.price is not None:
        yield [f"{label}: {LABELS['usd']}", *_cost(side, account.usd(total), known)]


def _cost(whose: str, total: float | None, known: Mapping[str, Score]) -> tuple[Cell, ...]:
    a_dialogue = known.get(f"{whose}_usd")
    a_success = known.get(f"{whose}_usd_per_success")
    return (_score_cell(a_dialogue), _score_cell(a_success), _cell(total, 4))


def _times(accounts: Accounts, known: Mapping[str, Score]) -> Iterator[list[Cell | str]]:
    for account in accounts.sides:
        turns = account.total.turns
        if account.side == AGENT and turns:
            mean = _score_cell(known.get(f"{account.side}_seconds"))
            percentile_cells = (_cell(seconds, 2) for seconds in percentiles(turns))
            yield [f"{account.label}: seconds a turn", mean, *percentile_cells]


def _notes(accounts: Accounts) -> Iterator[str]:
    for account in accounts.sides:
        total = account.total
        if total.uncounted:
            dialogues = sum(not usage.is_counted for usage in account.usages.values())
            yield (
                f"The {account.side}'s tokens are not counted for {total.uncounted:,} of "
                f"{total.requests:,} requests, which are in {dialogues:,} of "
                f"{len(account.usages):,} dialogues: tokens and cost a dialogue and a success are "
                "of the others, and those in all of the requests that are counted."
            )


def plain(
    accounts: Accounts, scores: Sequence[Score], sums: Mapping[str, float]
) -> dict[str, Any] | None:
    """Return the same numbers for a JSON report; None where nothing was used.

    Side → `model`, `requests` and so on in all, and those `a_dialogue` and `a_success`; None stands
    for what is not known. US dollars are `usd`.
    """
    if not accounts.sides:
        return None
    known = {score.name: score.value for score in scores if score.scope == WHOLE}
    told: dict[str, Any] = {
        account.side: _plain_of(account, known, sums) for account in accounts.sides
    }
    if accounts.is_priced:
        told[BOTH] = {
            "usd": _of_both(accounts),
            "a_dialogue": {"usd": known.get(f"{BOTH}_usd")},
            "a_success": {"usd": known.get(f"{BOTH}_usd_per_success")},
        }
    return {**told, **({"prices": accounts.prices} if accounts.prices else {})}


def _plain_of(
    account: Account, known: Mapping[str, float], sums: Mapping[str, float]
) -> dict[str, Any]:
    side, total = account.side, account.total
    is_priced = account.price is not None
    names = ("requests", "tokens_in", "tokens_out", *(("usd",) if is_priced else ()))
    a_dialogue = {name: known.get(f"{side}_{name}") for name in names}
    a_success = {
        name: _ratio(
            sums[f"{side}_{name}"],
            sums[SUCCESSES if name == "requests" else f"{side}_successes"],
        )
        for name in names
    }
    times = (known.get(f"{side}_seconds"), *percentiles(total.turns))
    return {
        "model": account.model,
        "dialogues": len(account.usages),
        **_in_all(total),
        **({"usd": account.usd(total)} if is_priced else {}),
        "a_dialogue": a_dialogue,
        "a_success": a_success,
        **(
            {"seconds_a_turn": {"turns": len(total.turns), **dict(zip(TIMES, times, strict=True))}}
            if side == AGENT and total.turns
            else {}
        ),
    }


def _in_all(total: Usage) -> dict[str, Any]:
    is_known = total.is_known
    return {
        "requests": total.requests,
        "not_counted": total.uncounted,
        "tokens_in": total.tokens_in if is_known else None,
        "tokens_out": total.tokens_out if is_known else None,
        "cached": total.cached if is_known else None,
        "retries": total.retries,
        "cut_off": total.cut_off,
    }


def _of_both(accounts: Accounts) -> float | None:
    of_sides = [account.usd(account.total) for account in accounts.sides]
    known = [usd for usd in of_sides if usd is not None]
    return sum(known) if len(known) == len(of_sides) else None


def _cell(value: float | None, places: int = 0) -> Cell:
    return Cell(value, form=f",.{places}f")


def _score_cell(score: Score | None) -> Cell:
    if score is None:
        return Cell(None)
    form = f",.{score.places}f"
    return Cell(score.value, form=form, interval=score.interval, score=score.name)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
