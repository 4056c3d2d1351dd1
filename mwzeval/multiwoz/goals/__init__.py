"""What users of live dialogues want: the goals of the corpus, and goals drawn from a model."""
