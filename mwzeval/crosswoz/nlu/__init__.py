"""NLU that learns: tags of characters and classes of utterances, by a small network or a BERT."""
