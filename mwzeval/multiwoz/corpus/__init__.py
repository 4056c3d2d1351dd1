"""The corpora: gold data of a fold, out of the public files."""

from mwzeval.moved import names_of

__getattr__ = names_of(__name__, "mwzeval.multiwoz.corpus.corpora")
