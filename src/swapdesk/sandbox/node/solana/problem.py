"""Codes of Solana's JSON-RPC beside the general ones; ``Problem`` carries them."""

from __future__ import annotations

from enum import IntEnum

from swapdesk.sandbox.node.evm.problem import Code, Problem

__all__ = ["Code", "Problem", "SolanaCode", "bad_params"]


class SolanaCode(IntEnum):
    PREFLIGHT_FAILED = -32002
    """The transaction would fail; ``data`` is the whole simulation."""
    BAD_SIGNATURE = -32003
    OTHER_VERSION = -32015
    SLOT_NOT_REACHED = -32016


def bad_params(message: str) -> Problem:
    return Problem(message, Code.BAD_PARAMS)
