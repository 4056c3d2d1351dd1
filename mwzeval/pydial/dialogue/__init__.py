"""A dialogue as both sides see it: acts, ontology, entities, errors, beliefs."""
