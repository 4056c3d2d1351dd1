"""Agents and users behind an endpoint that speaks OpenAI's chat completions."""
