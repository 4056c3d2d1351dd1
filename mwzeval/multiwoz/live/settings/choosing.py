"""The options of `mwzeval live`, and the setting that they mean."""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer

from mwzeval.arguments import InputFile
from mwzeval.conversation.endpoint.options import (
    add_model_options,
    add_request_options,
    is_endpoint,
    model_options,
    refuse_without_model,
)
from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.mcp import Address
from mwzeval.conversation.own_code import is_own_code
from mwzeval.conversation.pool import RunSetting
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.choices import AUTO, CORPUS_NAMES
from mwzeval.multiwoz.live.settings.options import (
    ACTS,
    AGENDA,
    AGENTS,
    FAIL_GOAL,
    GOALS,
    HUMAN,
    LEVELS,
    WORDS,
    LiveOptions,
)


def add_live(parser: _ActionsContainer) -> None:
    """Add who talks about what in a live run."""
    agents = ", ".join(f"{name} ({' or '.join(levels)})" for name, levels in AGENTS.items())
    add_model_options(parser)
    add_model_options(parser, "user")
    add_request_options(parser)
    parser = parser.add_argument_group("MultiWOZ", f"agents that come along: {agents}")
    parser.add_argument(
        "--user",
        default=AGENDA,
        metavar="NAME",
        help="%(default)s (default), human (you, at the terminal), openai:MODEL, or "
        "package.module:Name, file.py:Name",
    )
    parser.add_argument(
        "--strict-user",
        action="store_true",
        help="the agenda user of ConvLab-2 as it is published, with its faults",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default=WORDS,
        help="what the two talk in (default: %(default)s)",
    )
    parser.add_argument(
        "--goals",
        default=GOALS,
        metavar="GOALS",
        help="corpus[:FOLD][:NUMBER or IDS] (default: corpus, the test fold's), corpus-raw (as "
        "annotated, with first wishes that can be had), sampled:NUMBER",
    )
    parser.add_argument(
        "--goal-model",
        type=InputFile,
        metavar="FILE",
        help="what sampled goals are drawn from: ConvLab-2's goal model, as published (.pkl) or as "
        "JSON (default: the one among the public files; the sample has its own)",
    )
    parser.add_argument(
        "--fail-book",
        choices=(FAIL_GOAL,),
        help="bookings fail that the goal says fail first (default: all that is there succeeds)",
    )
    parser.add_argument(
        "--user-turns",
        type=int,
        metavar="N",
        default=USER_TURNS,
        help="turns of the user at most, the farewell among them (default: %(default)s)",
    )
    parser.add_argument(
        "--tool-rounds",
        type=int,
        default=8,
        metavar="N",
        help="how often an agent may call tools in one turn (default: %(default)s)",
    )
    parser.add_argument(
        "--serve-tools",
        nargs="?",
        const="",
        metavar="HOST:PORT",
        help="serve the functions over MCP to an agent of your own, which gets tools_url, and "
        "record its calls (default: a free port of 127.0.0.1; a port that is given needs one job)",
    )
    parser.add_argument(
        "--corpus",
        default=AUTO,
        metavar="NAME",
        help=f"{', '.join(CORPUS_NAMES)} (default: multiwoz-2.2; sample needs no data)",
    )


def setting_of(arguments: Namespace) -> RunSetting:
    """Return the setting. Raises `UsageError` for what makes no sense, `DataError`."""
    in_acts = arguments.level == ACTS
    for side in ("agent", "user"):
        refuse_without_model(arguments, side)
    options = LiveOptions(
        agent=arguments.agent,
        user=arguments.user,
        goals=arguments.goals,
        corpus=arguments.corpus,
        data=arguments.data,
        seed=arguments.seed,
        strict_user=arguments.strict_user,
        fail_book=arguments.fail_book == FAIL_GOAL,
        goal_model=arguments.goal_model,
        as_published=arguments.compat is not None,
        user_turns=arguments.user_turns,
        tool_rounds=arguments.tool_rounds,
        serve_tools=None if arguments.serve_tools is None else Address.of(arguments.serve_tools),
        model=model_options(arguments),
        user_model=model_options(arguments, "user"),
    )
    if options.user_turns < 1:
        raise UsageError(f"--user-turns is at least 1, not {options.user_turns}")
    if options.tool_rounds < 0:
        raise UsageError(f"--tool-rounds is at least 0, not {options.tool_rounds}")
    if options.strict_user and options.user != AGENDA:
        raise UsageError(f"--strict-user is about the user {AGENDA}: leave it out")
    if HUMAN in (options.agent, options.user):
        if options.agent == options.user:
            raise UsageError("people are one side of a dialogue: choose another agent or user")
        if arguments.jobs > 1 or (arguments.concurrency or 1) > 1:
            raise UsageError("people hold one dialogue at a time: leave the number out")
    if options.serve_tools is not None:
        _check_served(options, in_acts, arguments.jobs)
    if options.as_published and not in_acts:
        raise UsageError(f"--compat judges acts, and the two talk in {WORDS}: say --level {ACTS}")
    if in_acts and (is_endpoint(options.agent) or is_endpoint(options.user)):
        raise UsageError(f"models talk in {WORDS}: leave --level out")
    if in_acts:
        from mwzeval.multiwoz.live.settings.acts import ActSetting

        return ActSetting(options)
    from mwzeval.multiwoz.live.settings.words import WordSetting

    return WordSetting(options)


def _check_served(options: LiveOptions, in_acts: bool, jobs: int) -> None:
    """Raise `UsageError` where no agent calls what is served, or two servers want one port."""
    if in_acts or is_endpoint(options.agent) or not is_own_code(options.agent):
        raise UsageError(
            f"--serve-tools is for agents of your own that talk in {WORDS}: "
            f"{shorten(options.agent)} needs none"
        )
    if options.serve_tools and options.serve_tools.port and jobs > 1:
        raise UsageError(
            "each of --jobs serves at a port of its own: leave the port of --serve-tools out"
        )
