"""The chain's word for a memo, short enough for the labels of facts."""

from __future__ import annotations


def short_memo_label(label: str) -> str:
    """``Tag`` for ``destination tag``, ``Memo`` for ``memo``."""
    return label.split()[-1].capitalize()
