"""Baselines for sentence selection: random, TF-IDF, BM25 and a dual encoder.

Each ranks the 100 candidates of an example, or a pool of them, by the dot product of what it makes
of the context and of the candidate; each writes a submission that strict validation accepts.
"""
