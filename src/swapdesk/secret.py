"""What is known and never shown: keys, tokens and pass words on their way to where they count."""

from __future__ import annotations

from typing import Any


class Secret:
    """A text that no repr, log line, format or pickle shows; :meth:`reveal` hands it out."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a secret is never pickled or copied into a message")
