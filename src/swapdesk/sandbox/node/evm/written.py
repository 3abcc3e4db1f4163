"""A result that is JSON already."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    text: str
