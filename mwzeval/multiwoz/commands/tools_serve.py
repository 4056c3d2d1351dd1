"""Serve the functions of MultiWOZ over the Model Context Protocol (MCP).

By default, an MCP client starts the server and uses its standard input and output. With --http,
several clients and sessions can use one server. A session is one conversation. The name of a
session determines its booking references and its tool faults. See docs/agents.md.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from mwzeval.arguments import add_data
from mwzeval.output import notify

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import Sessions
    from mwzeval.conversation.protocols import Tools

CANNOT_GO_ON = 2
"""The exit code if the log cannot be written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    from mwzeval.multiwoz.choices import CORPUS_NAMES, DEFAULT_CORPUS
    from mwzeval.multiwoz.live.stress.conditions import LAYERS, TOOL_FAULTS

    faults = [condition for condition, layer in LAYERS.items() if layer == TOOL_FAULTS]
    parser.add_argument(
        "--http",
        nargs="?",
        const="",
        metavar="HOST:PORT",
        help="serve over HTTP at this address (default: a free port of 127.0.0.1)",
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="additional host name that HTTP clients may use; may be repeated",
    )
    parser.add_argument(
        "--session",
        metavar="NAME",
        help="session of clients that do not name a session, such as sng0073#2 (default: a new "
        "session)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of booking references, which also depend on the session (default: %(default)s)",
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="log file; each call adds a line of JSON: session, function, arguments, result",
    )
    parser.add_argument(
        "--stress",
        default="",
        metavar="CONDITIONS",
        help=f"tool faults: {TOOL_FAULTS}, or rates such as errors=.1 (conditions: "
        f"{', '.join(faults)}; sessions have no goal, so full applies to any first booking)",
    )
    parser.add_argument(
        "--corpus",
        default=DEFAULT_CORPUS,
        metavar="NAME",
        help=f"{', '.join(CORPUS_NAMES)} (default: %(default)s; sample needs no data)",
    )
    add_data(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the tool server until the client disconnects or Ctrl-C is pressed; return the exit code.

    Raises `DependencyError` if the package is not installed, `UsageError` if the address or log is
    invalid, and `DataError` if the database is missing.
    """
    from mwzeval.conversation.mcp import (
        Address,
        CallLog,
        HttpServer,
        Sessions,
        ToolServer,
        check_installed,
        made_up_name,
        serve_stdio,
    )
    from mwzeval.conversation.trajectory import Planned, Record
    from mwzeval.errors import UsageError
    from mwzeval.multiwoz import NAME
    from mwzeval.multiwoz.choices import CORPUS_NAMES, known_name
    from mwzeval.multiwoz.corpus import corpus_root, read_tables
    from mwzeval.multiwoz.live.stress.conditions import (
        ATTITUDE,
        CHANGES,
        NOISE,
        parse_conditions,
    )
    from mwzeval.multiwoz.live.tools import DatabaseTools, schema_of, tools_of
    from mwzeval.statistics.trials import item_and_trial

    conditions = parse_conditions(arguments.stress)
    if wrong := conditions.of(CHANGES, NOISE, ATTITUDE):
        raise UsageError(
            f"--stress: these conditions do not apply to functions: {', '.join(wrong)}"
        )
    check_installed()
    address = None if arguments.http is None else Address.of(arguments.http)
    corpus = known_name("corpus", arguments.corpus, CORPUS_NAMES)
    database = DatabaseTools(read_tables(corpus_root(corpus, arguments.data)))

    def tools(session: str) -> Tools:
        """Return the tools of the live dialogue whose name is the session's name."""
        notify(f"session {session} begins")
        item, trial = item_and_trial(session)
        planned = Planned(item, None, trial or 1, seed=arguments.seed)
        return tools_of(database, planned, conditions, Record())

    with ExitStack() as stack:
        log = None if arguments.log is None else stack.enter_context(CallLog(arguments.log))
        sessions = Sessions(tools, log)
        session = arguments.session or made_up_name()
        server = ToolServer(NAME, schema_of(conditions), sessions.call, session)
        what = f"{len(database.schema)} functions of {corpus} over MCP"
        if address is None:
            notify(f"{what}, on standard input and output")
            serve_stdio(server, lambda: _left(sessions, server.failure))
        else:
            http = HttpServer(
                server, address, allowed_hosts=arguments.allowed_host, default=arguments.session
            )
            notify(f"{what}, at {http.url}; press Ctrl-C to stop")
            with suppress(KeyboardInterrupt):
                http.serve()
        return _left(sessions, server.failure)


def _left(sessions: Sessions, failure: Exception | None) -> int:
    """Print a summary of the calls and the reason why the server stopped; return the exit code."""
    notify(str(sessions))
    if failure is None:
        return 0
    notify(f"error: {failure}")
    return CANNOT_GO_ON
