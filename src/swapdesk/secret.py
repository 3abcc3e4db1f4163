"""Values that are used but never shown: keys, tokens and passphrases."""

from __future__ import annotations

from typing import Any


class Secret:
    """A text that is never shown in a log, a message or a pickle. ``reveal`` returns it."""

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


class SecretBytes:
    """Bytes that are never shown. The holder calls ``wipe`` after use; copies that Python made are
    not wiped."""

    __slots__ = ("_held",)

    def __init__(self, held: bytes | bytearray | memoryview) -> None:
        self._held = bytearray(held)

    @classmethod
    def of(cls, secret: Secret) -> SecretBytes:
        return cls(secret.reveal().encode())

    def reveal(self) -> bytearray:
        """Returns the bytes themselves, not a copy; empty after ``wipe``."""
        return self._held

    def wipe(self) -> None:
        self._held[:] = bytes(len(self._held))
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return "SecretBytes(***)"

    def __str__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a secret is never pickled or copied into a message")
