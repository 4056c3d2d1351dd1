"""Synthetic data in the forms of the track, of any size, from a seed: nobody's words.

`write_track` writes the files of one track; `World` and `Drafter` make what is in them.
"""

from mwzeval.dstc7.synthetic.drafts import Draft, Drafter
from mwzeval.dstc7.synthetic.files import Sizes, write_track
from mwzeval.dstc7.synthetic.world import Recipe, World

__all__ = ["Draft", "Drafter", "Recipe", "Sizes", "World", "write_track"]
