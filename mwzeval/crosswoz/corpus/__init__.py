"""The corpus: names, acts, dialogues, database, ontology."""

from mwzeval.moved import names_of

__getattr__ = names_of(__name__, "mwzeval.crosswoz.corpus.folds")
