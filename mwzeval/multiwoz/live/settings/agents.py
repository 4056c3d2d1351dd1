"""Agents in words, by the names that options give them, whoever they talk to."""

from __future__ import annotations

from mwzeval.conversation.agents import OwnAgent
from mwzeval.conversation.endpoint.agent import EndpointAgent
from mwzeval.conversation.endpoint.client import Client
from mwzeval.conversation.endpoint.options import is_endpoint
from mwzeval.conversation.mcp import AgentServer, check_installed
from mwzeval.conversation.own_code import is_own_code
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import ToolSession
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.live.settings import people
from mwzeval.multiwoz.live.settings.built_in import BuiltInAgent, Tables
from mwzeval.multiwoz.live.settings.options import (
    AGENTS,
    HUMAN,
    RULE_CONVLAB,
    WORDS,
    LiveOptions,
    unknown_agent,
)
from mwzeval.multiwoz.live.tools import DatabaseTools


def check_agent(name: str) -> None:
    """Raise `UsageError` for a name of no agent in words, before any file is read."""
    if not (is_endpoint(name) or is_own_code(name) or WORDS in AGENTS.get(name, ())):
        raise unknown_agent(name, WORDS)


class AgentSide:
    """The agent of all dialogues: one that comes along, a model behind an endpoint, own code.

    Its name is one that `check_agent` lets pass. `trusts` tells whether it is nobody's own code.
    Raises `DataError` for missing files, `DependencyError` where tools cannot be served.
    """

    def __init__(self, options: LiveOptions, tables: Tables) -> None:
        name = options.agent
        self._options = options
        self._client: Client | None = None
        self._server: AgentServer | None = None
        if options.serve_tools is not None:
            check_installed()
        self._agents: OwnAgent | EndpointAgent | BuiltInAgent | people.Agents | None = None
        self.trusts = is_endpoint(name) or not is_own_code(name)
        if name == HUMAN:
            self._agents = people.Agents()
        elif name in AGENTS:
            resources = None
            if name == RULE_CONVLAB:
                resources = load_resources(options.corpus_name, options.root)
            self._agents = BuiltInAgent(name, tables, resources, options.tool_rounds)

    def begin(self) -> None:
        """Import the agent, or be ready to ask a model. Raises `MwzevalError`."""
        options = self._options
        if is_endpoint(options.agent):
            self._client = options.model.client(options.agent)
            self._agents = EndpointAgent(
                self._client,
                options.agent_prompt.text,
                tool_rounds=options.tool_rounds,
                dialogue_seconds=options.model.dialogue_seconds,
                sends_seed=options.model.sends_seed,
            )
        elif not self.trusts:
            if options.serve_tools is not None:
                self._server = AgentServer(NAME, DatabaseTools.schema, options.serve_tools)
            self._agents = OwnAgent.named(options.agent, options.tool_rounds, self._server)

    def stop(self) -> None:
        """End all requests, and the server of tools."""
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.close()

    def partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        """Return the agent's side of a dialogue, whose messages go to the `record`.

        Raises whatever an agent of one's own raises when it is made.
        """
        assert self._agents is not None, "begin() makes it"
        return self._agents.partner(planned, tools, record)
