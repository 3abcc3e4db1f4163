"""Error codes of a bundler's JSON-RPC (ERC-7769), and what the EntryPoint's errors are there."""

from __future__ import annotations

from enum import IntEnum

from swapdesk.chain.rpc.reverts import revert_words
from swapdesk.chain.user_operation.entry_point import FailedOp
from swapdesk.sandbox.node.evm.problem import Problem


class BundlerCode(IntEnum):
    REJECTED = -32500
    """By the EntryPoint or the account."""
    PAYMASTER = -32501
    OPCODE = -32502
    DEADLINE = -32503
    BANNED = -32504
    STAKE = -32505
    AGGREGATOR = -32506
    SIGNATURE = -32507
    EXECUTION = -32521
    """The calls inside would fail."""
    FIELDS = -32602


_CODES = {"AA22": BundlerCode.DEADLINE, "AA24": BundlerCode.SIGNATURE}


def refused(failed: FailedOp) -> Problem:
    """The EntryPoint's own words under the code that stands for them."""
    code = _CODES.get(failed.code, BundlerCode.REJECTED)
    if failed.code.startswith("AA3"):
        code = BundlerCode.PAYMASTER
    inner = f": {revert_words(failed.inner)}" if failed.inner else ""
    data = "0x" + failed.inner.hex() if failed.inner else None
    return Problem(f"{failed.reason}{inner}", code, data)


def fields(words: str) -> Problem:
    return Problem(words, BundlerCode.FIELDS)
