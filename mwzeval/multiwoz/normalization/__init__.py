"""One spelling for slots, values, placeholders and domains."""
