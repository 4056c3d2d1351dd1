"""A domain to talk about: its ontology and its entities."""

from __future__ import annotations

from dataclasses import dataclass

from mwzeval.pydial.dialogue.database import EntityTable
from mwzeval.pydial.dialogue.ontology import Ontology


@dataclass(frozen=True)
class Domain:
    """What all dialogues of a domain share; nothing in it changes."""

    ontology: Ontology
    table: EntityTable

    @property
    def name(self) -> str:
        """The name of the domain, as in its files ("CamRestaurants")."""
        return self.ontology.domain
