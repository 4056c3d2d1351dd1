"""GP-SARSA: a Gaussian process over beliefs estimates Q, and the variance of Q drives exploration.

Source: Casanueva et al. (2017); Gašić and Young, "Gaussian Processes for POMDP-Based Dialogue
Manager Optimization", 2014; Engel, Algorithms and Representations for Reinforcement Learning, 2005,
chapter 4. The module needs only NumPy.

The Gaussian process has a sparse dictionary of points and the kernel ⟨b, b'⟩·[a = a'] of beliefs b
and actions a. Points of different actions are independent: the inverse of the kernel matrix has a
block for each action, and a kernel vector is zero outside one block. The covariance matrix is
updated once at the end of a dialogue, in one product, because it is not read earlier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.decision_process import Mask
from mwzeval.pydial.policies import Arrays, State, VectorView
from mwzeval.pydial.simulator.rng import Rng

Vector = NDArray[np.float64]
GROWTH = 1.3
ROWS_TOGETHER = 256


@dataclass(frozen=True, slots=True)
class GPSarsaSettings:
    """Hyperparameters; the defaults are those of the published program."""

    discount: float = 1.0
    """γ, which is 0.99 in the paper and 1 in its program."""
    noise: float = 5.0
    """Standard deviation σ of returns."""
    threshold: float = 0.001
    """ν: the minimum distance between a new point and its projection on the dictionary."""
    training_scale: float = 3.0
    """When Q is sampled in training, its standard deviation is multiplied by this factor."""
    test_scale: float = 1.0
    """The corresponding factor in tests. If the factor is 0, the mean of Q is used."""


PAPER = GPSarsaSettings()


class GPSarsa:
    """The GP-SARSA policy. The last turn of a dialogue gets the whole return as its reward."""

    view: ClassVar[VectorView] = "kernel"

    def __init__(
        self, size: int, actions: int, *, settings: GPSarsaSettings = PAPER, seed: int = 0
    ) -> None:
        self.settings = settings
        self.process = SparseTemporalDifference(
            size,
            actions,
            discount=settings.discount,
            noise=settings.noise,
            threshold=settings.threshold,
        )
        self.begin()

    def begin(self) -> None:
        """Start a training dialogue."""
        self._beliefs: list[State] = []
        self._actions: list[int] = []
        self._return = 0.0

    def act(self, state: State, mask: Mask, rng: Rng, training: bool = False) -> int:
        """Return the allowed action with the highest sampled Q.

        `state` has shape (size,), and `mask` has shape (actions,). If `training` is true, Q is
        sampled with a larger variance.
        """
        scale = self.settings.training_scale if training else self.settings.test_scale
        best, highest = -1, -np.inf
        for action in np.flatnonzero(mask).tolist():
            mean, variance = self.process.predict(state, action)
            value = rng.gauss(mean, scale * variance**0.5) if scale else mean
            if value > highest:
                best, highest = action, value
        return best

    def record(self, state: State, mask: Mask, action: int, reward: float) -> None:
        """Store a turn of the current training dialogue."""
        self._beliefs.append(np.asarray(state, dtype=np.float64))
        self._actions.append(action)
        self._return += reward

    def end(self) -> None:
        """Learn from the dialogue that has just ended."""
        rewards = [0.0] * len(self._actions)
        if rewards:
            rewards[-1] = self._return
        self.process.learn(self._beliefs, self._actions, rewards)
        self.begin()

    def weights(self) -> Arrays:
        """Return the points of the Gaussian process and the statistics needed for predictions."""
        points, owners = self.process.points
        means, squares = self.process.means, self.process.squares()
        return {"points": points, "owners": owners, "means": means, "squares": squares}

    def load(self, arrays: Arrays) -> None:
        """Replace the points and statistics of the process.

        Raises `ValueError` for other shapes.
        """
        self.process.restore(**arrays)
        self.begin()


class Block:
    """The points of one action, shape (n, size), and their inverse kernel matrix, shape (n, n)."""

    def __init__(self, size: int) -> None:
        self.number = 0
        self._points = np.empty((8, size))
        self._places = np.empty(8, dtype=np.intp)
        self.inverse = np.empty((0, 0))

    @property
    def points(self) -> Vector:
        """The beliefs, shape (n, size)."""
        return self._points[: self.number]

    @property
    def places(self) -> NDArray[np.intp]:
        """The indices of the points among the points of all actions, shape (n,)."""
        return self._places[: self.number]

    def restore(self, points: Vector, places: NDArray[np.intp]) -> None:
        """Replace the points of the block by stored points, which can predict but cannot learn."""
        self.number, self._points, self._places = len(points), points, places

    def add(self, belief: Vector, place: int, coefficients: Vector, novelty: float) -> None:
        """Add a point to the dictionary.

        `belief` has shape (size,). `place` is the index of the new point among the points of all
        actions. `coefficients`, shape (n,), are the projection of the new point on the points of
        the same action, and `novelty` is the distance of the new point from its projection.
        """
        if self.number == len(self._points):
            capacity = 2 * self.number
            self._points = np.resize(self._points, (capacity, self._points.shape[1]))
            self._places = np.resize(self._places, capacity)
        self._points[self.number] = belief
        self._places[self.number] = place
        self.number += 1
        inverse = np.empty((self.number, self.number))
        column = -coefficients / novelty
        inverse[:-1, :-1] = self.inverse - np.outer(column, coefficients)
        inverse[:-1, -1] = inverse[-1, :-1] = column
        inverse[-1, -1] = 1.0 / novelty
        self.inverse = inverse


class _Pair:
    """A belief and an action with their relation to the present dictionary."""

    __slots__ = ("action", "belief", "coefficients", "kernel", "norm", "novelty")

    def __init__(self, belief: Vector, action: int, block: Block) -> None:
        self.belief, self.action = belief, action
        self.kernel = block.points @ belief
        self.norm = float(belief @ belief)
        self.coefficients = block.inverse @ self.kernel
        self.novelty = self.norm - float(self.kernel @ self.coefficients)


class SparseTemporalDifference:
    """The posterior distribution of Q, updated after each dialogue."""

    def __init__(
        self,
        size: int,
        actions: int,
        *,
        discount: float = 1.0,
        noise: float = 5.0,
        threshold: float = 0.001,
    ) -> None:
        self.size, self.actions = size, actions
        self.discount, self.variance, self.threshold = discount, noise**2, threshold
        self.number = 0
        self.blocks = [Block(size) for _ in range(actions)]
        self._means = np.zeros(64)
        self._covariance = np.zeros((64, 64))
        self._squares: list[Vector | None] = [None] * actions

    @property
    def means(self) -> Vector:
        """The weights α̃ of the points, shape (n,)."""
        return self._means[: self.number]

    @property
    def covariance(self) -> Vector:
        """The matrix C̃ for the n points of all actions, shape (n, n)."""
        return self._covariance[: self.number, : self.number]

    @property
    def points(self) -> tuple[Vector, NDArray[np.intp]]:
        """The points in the order of insertion, shape (n, size), and the action of each point."""
        points = np.empty((self.number, self.size))
        owners = np.empty(self.number, dtype=np.intp)
        for action, block in enumerate(self.blocks):
            points[block.places] = block.points
            owners[block.places] = action
        return points, owners

    def squares(self) -> Vector:
        """Return the block of C̃ for each action, flattened and ordered by action, shape (m,)."""
        parts = [self._square(action).ravel() for action in range(self.actions)]
        return np.concatenate([np.zeros(0), *parts])

    def _square(self, action: int) -> Vector:
        square = self._squares[action]
        if square is None:
            places = self.blocks[action].places
            square = self._squares[action] = self._covariance[np.ix_(places, places)]
        return square

    def predict(self, belief: Vector, action: int) -> tuple[float, float]:
        """Return the mean and the variance of Q for an action in a belief of shape (size,)."""
        block = self.blocks[action]
        norm = float(belief @ belief)
        if not block.number:
            return 0.0, norm
        square = self._square(action)
        kernel = block.points @ belief
        mean = float(kernel @ self._means[block.places])
        return mean, max(0.0, norm - float(kernel @ (square @ kernel)))

    def learn(self, beliefs: list[Vector], actions: list[int], rewards: list[float]) -> None:
        """Learn from a finished dialogue, for which each pair of belief and action has a reward."""
        if not beliefs:
            return
        # Every pair may become a point, and every step adds a vector to the covariance matrix.
        capacity = self.number + len(beliefs)
        self._reserve(capacity)
        added = np.zeros((len(beliefs), capacity))
        weights = np.zeros(len(beliefs))
        noise, discount = self.variance, self.discount
        pair = _Pair(beliefs[0], actions[0], self.blocks[actions[0]])
        projection = self._entered(pair, capacity)
        vector = np.zeros(capacity)
        error, scale = 0.0, math.inf
        for step, reward in enumerate(rewards):
            change = np.zeros(capacity)
            here = self.blocks[pair.action]
            change[here.places] = here.points @ pair.belief
            seen_here = change.copy()
            following = None
            if step + 1 < len(beliefs):
                belief, action = beliefs[step + 1], actions[step + 1]
                following = _Pair(belief, action, self.blocks[action])
                there = self.blocks[following.action].places
                change[there] -= discount * following.kernel
            carried = discount * noise / scale
            error = carried * error + reward - float(change @ self._means[:capacity])
            spread = self._times(change, capacity)
            spread += (weights[:step] * (added[:step] @ change)) @ added[:step]
            carry = carried * vector
            if following is not None and following.novelty > self.threshold:
                seen_there = np.zeros(capacity)
                seen_there[there] = following.kernel
                gain = float(projection @ (seen_here - 2 * discount * seen_there))
                gain += discount**2 * following.norm
                scale = (
                    (1 + discount**2) * noise
                    + gain
                    - float(change @ spread)
                    + 2 * float(carry @ change)
                    - carried * discount * noise
                )
                entered = self._entered(following, capacity)
                vector = carry + projection - spread - discount * entered
            else:
                entered = np.zeros(capacity)
                turns = 1.0
                if following is not None:
                    entered[there] = following.coefficients
                    turns += discount**2
                vector = carry + projection - discount * entered - spread
                scale = (
                    turns * noise + float(change @ (vector + carry)) - carried * discount * noise
                )
            projection = entered
            added[step] = vector
            weights[step] = 1.0 / scale
            self._means[:capacity] += vector * (error / scale)
            if following is not None:
                pair = following
        self._take_in(added, weights)

    def _entered(self, pair: _Pair, capacity: int) -> Vector:
        """Return the projection of a pair on the points. A novel pair first becomes a point."""
        projection = np.zeros(capacity)
        block = self.blocks[pair.action]
        if pair.novelty > self.threshold:
            block.add(pair.belief, self.number, pair.coefficients, pair.novelty)
            projection[self.number] = 1.0
            self.number += 1
        else:
            projection[block.places] = pair.coefficients
        return projection

    def _times(self, change: Vector, capacity: int) -> Vector:
        """Return the product of the covariance matrix with a sparse vector."""
        at = np.flatnonzero(change)
        return np.asarray(change[at] @ self._covariance[at, :capacity])

    def _take_in(self, added: Vector, weights: Vector) -> None:
        added = added[:, : self.number]
        weighted = weights[:, np.newaxis] * added
        for first in range(0, self.number, ROWS_TOGETHER):
            rows = slice(first, min(first + ROWS_TOGETHER, self.number))
            self._covariance[rows, : self.number] += added[:, rows].T @ weighted
        self._squares = [None] * self.actions

    def _reserve(self, capacity: int) -> None:
        held = len(self._means)
        if capacity <= held:
            return
        size = max(capacity, int(GROWTH * held))
        means, covariance = np.zeros(size), np.zeros((size, size))
        means[: self.number] = self.means
        covariance[: self.number, : self.number] = self.covariance
        self._means, self._covariance = means, covariance

    def restore(
        self,
        points: Vector,
        owners: NDArray[np.int64],
        means: Vector,
        squares: Vector,
    ) -> None:
        """Replace the posterior by a stored posterior, which can predict but cannot learn.

        `points` has shape (n, size); `owners` (the actions of the points) and `means` (their
        weights) have shape (n,). `squares` is the result of the method `squares`. Raises
        `ValueError` for inconsistent shapes.
        """
        number = len(points)
        sizes = np.array([np.count_nonzero(owners == action) for action in range(self.actions)])
        if (
            points.shape != (number, self.size)
            or not means.shape == owners.shape == (number,)
            or sizes.sum() != number
            or squares.shape != (np.sum(sizes**2),)
            or not all(np.isfinite(array).all() for array in (points, means, squares))
        ):
            raise ValueError("the shapes of the arrays do not match this task")
        self.number = number
        self._means = means
        parts = np.split(squares, np.cumsum(sizes**2)[:-1])
        self._squares = [p.reshape(size, size) for p, size in zip(parts, sizes, strict=True)]
        for action, block in enumerate(self.blocks):
            places = np.flatnonzero(owners == action)
            block.restore(points[places], places)
