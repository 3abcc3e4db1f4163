"""Memo, destination tag or comment: under the name its chain gives it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from swapdesk.tui.spans import LineLike
from swapdesk.tui.widgets.labelled_field import LabelledField
from swapdesk.tui.widgets.text_field import TextField

WAIVER = "NO MEMO"
"""Typed instead of a memo when the receiving wallet has none."""


class MemoNeed(Enum):
    """What the chain of the address says about memos."""

    NOT_USED = "not used"
    OPTIONAL = "optional"
    REQUIRED = "required"


class MemoField(LabelledField):
    """``label`` is the chain's word: ``Destination tag``. Not used: one row and no field."""

    DEFAULT_CSS = """
    MemoField.-not-used TextField, MemoField.-not-used Checks { display: none; }
    """

    def __init__(
        self, label: str, need: MemoNeed, *, chain: str, limit: int = 128, **place: Any
    ) -> None:
        super().__init__(label, TextField(limit=limit), note=_note(need, chain), **place)
        self.need = need
        self.set_class(need is MemoNeed.NOT_USED, "-not-used")
        self.field.disabled = need is MemoNeed.NOT_USED

    @property
    def waived(self) -> bool:
        return self.need is MemoNeed.REQUIRED and self.value == WAIVER

    @property
    def memo(self) -> str | None:
        """The memo to send: None when it is not used, waived or empty."""
        if self.need is MemoNeed.NOT_USED or self.waived or not self.value:
            return None
        return self.value


def _note(need: MemoNeed, chain: str) -> LineLike:
    if need is MemoNeed.NOT_USED:
        return f"not used on {chain}"
    return f"{need.value} on {chain}"
