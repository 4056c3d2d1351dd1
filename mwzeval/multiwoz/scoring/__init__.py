"""Rows, measures, reports and explanations of checked dialogues."""
