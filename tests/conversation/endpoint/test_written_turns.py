"""What is text, what is a token, and what is not the user's at all."""

from __future__ import annotations

import pytest

from mwzeval.conversation.models import DONE, GIVES_UP, written_turn

TURNS = [
    ("I need a hotel.", ("I need a hotel.", None)),
    ("Thanks, bye!\n[DONE]", ("Thanks, bye!", DONE)),
    ("Thanks, bye!\r\n\r\n  **[DONE]**  \r\n", ("Thanks, bye!", DONE)),
    ("[GIVE UP]\nGoodbye then.", ("Goodbye then.", GIVES_UP)),
    ("[DONE]", ("", DONE)),
    ("Is it [DONE] yet?", ("Is it [DONE] yet?", None)),
    ("Thanks! [DONE]", ("Thanks! [DONE]", None)),
    ("[done]", ("[done]", None)),
    ("[DONE]\n[GIVE UP]", ("", DONE)),
    ("", ("", None)),
    ("  \n ", ("", None)),
    ("A hotel.\nAssistant: Which area?\nUser: North.\n[DONE]", ("A hotel.", None)),
    ("A hotel.\n\n**AI Assistant:** Which area?", ("A hotel.", None)),
    ("Bye.\n[DONE]\nAgent: Goodbye!", ("Bye.", DONE)),
    ("Assistant: How can I help?", ("", None)),
    ("User: I need a hotel.", ("I need a hotel.", None)),
    ("I told the assistant: a hotel.", ("I told the assistant: a hotel.", None)),
    ("One thing: a hotel.", ("One thing: a hotel.", None)),
    ("<think>\nI want a hotel.\n[DONE]\n</think>\n\nA hotel, please.", ("A hotel, please.", None)),
    ("I should be brief.</think>Bye.\n[DONE]", ("Bye.", DONE)),
    ("<think>What do I", ("", None)),
    ("I think so.", ("I think so.", None)),
    ("First line.\nSecond line.", ("First line.\nSecond line.", None)),
]


@pytest.mark.parametrize(("content", "written"), TURNS)
def test_tokens_stand_on_a_line_of_their_own(content: str, written: tuple[str, str | None]) -> None:
    assert written_turn(content) == written
