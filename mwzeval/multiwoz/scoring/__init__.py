"""From checked dialogues to rows, measures, reports and explanations."""
