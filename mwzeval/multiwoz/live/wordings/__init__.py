"""Acts of users and systems in words."""

from mwzeval.multiwoz.live.wordings.sentences import SystemWordings, UserWordings

__all__ = ["SystemWordings", "UserWordings"]
