"""Joint goal accuracy under the conventions of published papers."""
