"""One key as it is shown in a footer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyHint:
    """One key as shown: ``r`` ``refresh`` ``1 quote``.

    ``cost`` and ``locked`` follow the verb after a comma; a locked verb is drawn without accent.
    """

    key: str
    verb: str
    cost: str = ""
    locked: str = ""

    @property
    def text(self) -> str:
        after = self.locked or self.cost
        return f"{self.verb}, {after}" if after else self.verb
