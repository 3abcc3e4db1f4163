"""A state that is drawn as one glyph in one colour."""

from __future__ import annotations

from enum import Enum


class GlyphState(Enum):
    """Base of enumerations whose members are (glyph, role of the palette)."""

    @property
    def glyph(self) -> str:
        return str(self.value[0])

    @property
    def role(self) -> str:
        return str(self.value[1])
