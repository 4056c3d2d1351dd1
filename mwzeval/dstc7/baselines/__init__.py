"""Baselines for sentence selection: random, TF-IDF, BM25 and a dual encoder.

Each baseline ranks the 100 candidates of an example, or a pool, by the dot product of a context
vector and a candidate vector. The submissions pass strict validation.
"""
