"""What a model is told before a conversation: the text of a file, known by its checksum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mwzeval.errors import UsageError
from mwzeval.files.json_files import read_text


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system message of a model; `name` is that of its file, without ending."""

    name: str
    text: str

    @property
    def about(self) -> Mapping[str, str]:
        """What the header of a run says: `agent-1`, and a checksum of eight digits."""
        return {"name": self.name, "sha": sha256(self.text.encode()).hexdigest()[:8]}

    def filled(self, **values: str) -> str:
        """Return the text, with a value for each `{name}`; other braces stay as they are."""
        text = self.text
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


def read_prompt(path: str | Path, *filled: str) -> Prompt:
    """Return the prompt of a file, which has a place for each of what is `filled` into it.

    Raises `InputError` for a file that cannot be read, `UsageError` where a place is missing.
    """
    prompt = Prompt(Path(path).stem, read_text(path).strip())
    for name in filled:
        if f"{{{name}}}" not in prompt.text:
            raise UsageError(f"{path} has no {{{name}}}, which the {name} is filled into")
    return prompt
