"""Defects of the chains of the sandbox: what was mined, and what a node says of it."""

from __future__ import annotations

from .defect import Defect

EVM: tuple[Defect, ...] = ()

SOLANA: tuple[Defect, ...] = ()
