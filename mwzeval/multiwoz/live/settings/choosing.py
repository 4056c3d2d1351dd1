"""The setting that the options of `mwzeval live` mean."""

from __future__ import annotations

from argparse import Namespace

from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.runs import RunSetting
from mwzeval.errors import UsageError
from mwzeval.multiwoz.convlab.dialogue import USER_CALLS
from mwzeval.multiwoz.live.settings.options import ACTS, AGENDA, LiveOptions


def setting_of(arguments: Namespace) -> RunSetting:
    """Return the setting. Raises `UsageError` for what makes no sense, `DataError`."""
    in_acts = arguments.level == ACTS
    default = USER_CALLS if in_acts else USER_TURNS
    options = LiveOptions(
        agent=arguments.agent,
        user=arguments.user,
        goals=arguments.goals,
        corpus=arguments.corpus,
        data=arguments.data,
        offline=arguments.offline,
        seed=arguments.seed,
        strict_user=arguments.strict_user,
        fail_book=arguments.fail_book,
        goal_model=arguments.goal_model,
        as_published=arguments.compat is not None,
        user_turns=default if arguments.user_turns is None else arguments.user_turns,
        tool_rounds=arguments.tool_rounds,
    )
    if options.user_turns < 1:
        raise UsageError(f"--user-turns is at least 1, not {options.user_turns}")
    if options.tool_rounds < 0:
        raise UsageError(f"--tool-rounds is at least 0, not {options.tool_rounds}")
    if options.strict_user and options.user != AGENDA:
        raise UsageError(f"--strict-user is about the user {AGENDA}: leave it out")
    if in_acts:
        from mwzeval.multiwoz.live.settings.acts import ActSetting

        return ActSetting(options)
    from mwzeval.multiwoz.live.settings.words import WordSetting

    return WordSetting(options)
