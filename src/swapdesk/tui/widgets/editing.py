"""What keys and pastes do to a value: pure, so that every rule has a plain test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """A value and the position of the cursor in it, from 0 to its length."""

    value: str
    cursor: int

    def insert(self, text: str) -> Edit:
        value = self.value[: self.cursor] + text + self.value[self.cursor :]
        return Edit(value, self.cursor + len(text))

    def after(self, act: str) -> Edit:
        """The result of one editing key; :class:`KeyError` for a name that is no key."""
        value, at = self.value, self.cursor
        left, right = self._word_left(), self._word_right()
        return {
            "left": Edit(value, max(0, at - 1)),
            "right": Edit(value, min(len(value), at + 1)),
            "home": Edit(value, 0),
            "end": Edit(value, len(value)),
            "backspace": Edit(value[: max(0, at - 1)] + value[at:], max(0, at - 1)),
            "delete": Edit(value[:at] + value[at + 1 :], at),
            "word": Edit(value[:left] + value[at:], left),
            "to_start": Edit(value[at:], 0),
            "to_end": Edit(value[:at], at),
            "word_left": Edit(value, left),
            "word_right": Edit(value, right),
        }[act]

    def _word_left(self) -> int:
        at = self.cursor
        while at and self.value[at - 1] == " ":
            at -= 1
        while at and self.value[at - 1] != " ":
            at -= 1
        return at

    def _word_right(self) -> int:
        at = self.cursor
        while at < len(self.value) and self.value[at] != " ":
            at += 1
        while at < len(self.value) and self.value[at] == " ":
            at += 1
        return at


def pasted(text: str, *, grouped: bool = False) -> tuple[str, str]:
    """What a paste inserts, and a sentence when that is not what was pasted.

    Blank edges go without a word; a field has one row, so inner line ends become spaces (nothing
    in a grouped field). Characters that cannot be seen are left out and said.
    """
    inner = text.strip()
    rows = inner.splitlines()
    flat = ("" if grouped else " ").join(row.strip() for row in rows)
    if grouped:
        flat = "".join(flat.split())
    shown = "".join(char for char in flat.replace("\t", " ") if char.isprintable())
    hidden = len(flat.replace("\t", " ")) - len(shown)
    said = []
    if hidden:
        word = "character" if hidden == 1 else "characters"
        said.append(f"{hidden} invisible {word} left out of the paste. Check the value.")
    if len(rows) > 1:
        said.append(f"{len(rows)} lines were joined into one.")
    if not shown and text:
        return "", "The paste had nothing to insert."
    return shown, " ".join(said)
