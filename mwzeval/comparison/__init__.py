"""Systems compared on the units that all of them have; knows no dataset.

`compare` takes what was scored of each system and returns a `Comparison`: for each score the
difference of each system to the first one, how sure it is, and which systems are ahead of which.
"""

from mwzeval.comparison.comparison import ComparedMeasure, ComparedSystem, Comparison, Difference
from mwzeval.comparison.systems import compare

__all__ = ["ComparedMeasure", "ComparedSystem", "Comparison", "Difference", "compare"]
