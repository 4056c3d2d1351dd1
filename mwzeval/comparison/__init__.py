"""Comparison of systems on their common units, independent of any data set.

`compare` compares the scored tables of systems and returns a `Comparison`. For each score, a
comparison has the ranks of the systems and the difference of each system from the first system,
with interval and p value.
"""

from mwzeval.comparison.comparison import ComparedMeasure, ComparedSystem, Comparison, Difference
from mwzeval.comparison.systems import compare

__all__ = ["ComparedMeasure", "ComparedSystem", "Comparison", "Difference", "compare"]
