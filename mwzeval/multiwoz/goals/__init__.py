"""The goals of users in live dialogues: goals of the corpus, and goals sampled from a model."""
