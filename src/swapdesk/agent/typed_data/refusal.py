"""Why a typed-data document cannot be signed."""

from __future__ import annotations


class TypedDataRefused(ValueError):
    """``code`` names the reason for ever, ``path`` the place in the document, ``words`` tell it.

    The words quote names of the document only where they are plain identifiers.
    """

    def __init__(self, code: str, words: str, path: str = "") -> None:
        super().__init__(f"{path}: {words}" if path else words)
        self.code = code
        self.words = words
        self.path = path
