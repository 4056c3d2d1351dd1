"""The corpus: names, acts, dialogues, database, ontology."""
