"""A dual encoder: context and candidate become vectors apart, and their dot product is the score.

Trained with the other answers of the batch as wrong ones. A vector has two parts: a sparse one, a
learned weight for every word (so that exact matches are kept), and a dense one, a weighted sum of
learned word vectors (so that different words of one topic meet). Both begin at what TF-IDF knows.
"""
