"""Read, check and count predictions."""
