"""Tools for agents with a client of their own: a server that speaks the Model Context Protocol."""
