"""A custom system for CrossWOZ's simulation in ten lines.

Run `mwzeval crosswoz simulate --system examples.crosswoz_own_system:NamesOnly --revision sample`
in the repository, or run this file. The system names venues and answers no other request.
"""

from collections.abc import Iterable

from mwzeval.crosswoz.corpus.acts import Act, Acts
from mwzeval.crosswoz.corpus.database import Database


class NamesOnly:
    """Names the first venue of each domain that the user mentions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def answer(self, user_acts: Acts) -> Iterable[Act]:
        """Return the system's acts."""
        for domain in dict.fromkeys(act.domain for act in user_acts if act.intent == "Request"):
            for venue in self._database.query(domain, {})[:1]:
                yield Act("Inform", domain, "名称", venue.name)


if __name__ == "__main__":
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    from mwzeval.crosswoz.corpus.folds import SAMPLE, corpus_root, load_database
    from mwzeval.crosswoz.simulation import Setting, simulate

    ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter).parse_args()
    database, _ = load_database(corpus_root(SAMPLE), SAMPLE)
    print(simulate(Setting(database, NamesOnly), per_type=20).to_text(), end="")
