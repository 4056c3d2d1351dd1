"""The corpora: gold data of a fold, out of the public files."""
