"""Random choices follow from seed, goal and trial."""

from __future__ import annotations

from collections import Counter

from mwzeval.multiwoz.convlab.draws import SeededSystemDraws, SeededUserDraws

NAMES = ("area", "food", "name")


def test_choices_are_the_same_for_the_same_dialogue_and_others_for_another() -> None:
    def choices(seed: int, goal: str, trial: int) -> tuple[object, ...]:
        user = SeededUserDraws(seed, goal, trial)
        system = SeededSystemDraws(seed, goal, trial)
        return (tuple(user.pick(1000) for _ in range(4)), tuple(system.randint() for _ in range(4)))

    keys = [(seed, goal, trial) for seed in (0, 1) for goal in ("a", "a/1") for trial in (0, 1)]
    seen = [choices(*key) for key in keys]
    assert seen == [choices(*key) for key in keys]
    # The two sides of a dialogue draw from generators of their own, too.
    assert len({numbers for sides in seen for numbers in sides}) == 2 * len(keys)


def test_choices_of_a_user_are_as_likely_as_they_should_be() -> None:
    draws = SeededUserDraws(7, "goal", 0)
    orders = Counter(tuple(draws.order(NAMES)) for _ in range(6000))
    assert len(orders) == 6
    assert all(abs(count - 1000) < 150 for count in orders.values())
    assert abs(sum(draws.same() for _ in range(6000)) - 1800) < 180
    assert set(Counter(draws.pick(3) for _ in range(600))) == {0, 1, 2}


def test_choices_of_a_system_are_in_their_ranges() -> None:
    draws = SeededSystemDraws(7, "goal", 0)
    assert all(0 <= draws.random() < 1 for _ in range(600))
    numbers = [draws.randint() for _ in range(600)]
    assert 0 <= min(numbers) < 20_000
    assert 980_000 < max(numbers) < 1_000_000
    assert sorted(draws.shuffle(NAMES)) == sorted(NAMES)
    assert len({tuple(draws.shuffle(NAMES)) for _ in range(200)}) == 6
