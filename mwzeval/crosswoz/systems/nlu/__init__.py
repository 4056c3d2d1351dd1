"""Models that turn utterances into dialogue acts; PyTorch is needed to train and to use them."""
