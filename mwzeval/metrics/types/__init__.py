"""Scores of words and n-grams: how often each occurs in each unit."""
