"""Claims of lexicalized responses, compared with the database and the log of tools."""
