"""Compute the rows, measures, reports and explanations of checked dialogues."""
