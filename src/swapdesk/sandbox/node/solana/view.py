"""The chain as one call sees it: its time, and how far the asked commitment lags behind."""

from __future__ import annotations

from typing import Any

from swapdesk.sandbox.node.solana.chain import Chain
from swapdesk.sandbox.node.solana.params import BEHIND, Commitment, commitment_of
from swapdesk.sandbox.node.solana.problem import Problem, SolanaCode, bad_params
from swapdesk.sandbox.node.solana.slots import Instant

VERSION = "3.0.0+swapdesk"
"""Of the field's node whose answers these are; the rest says that it is ours."""


def seen(chain: Chain, options: dict[str, Any]) -> Instant:
    """The newest block that the asked commitment knows. Raises Problem."""
    at = behind(chain.slots.now(), commitment_of(options))
    least = options.get("minContextSlot")
    if least is not None:
        if type(least) is not int:
            raise bad_params("Invalid params: minContextSlot should be a number")
        if at.slot < least:
            raise Problem(
                "Minimum context slot has not been reached",
                SolanaCode.SLOT_NOT_REACHED,
                {"contextSlot": at.slot},
            )
    return at


def behind(at: Instant, commitment: Commitment) -> Instant:
    lag = BEHIND[commitment]
    return Instant(at.height - lag, at.slot - lag, at.seconds)


def with_context(at: Instant, value: Any) -> dict[str, Any]:
    return {"context": {"apiVersion": VERSION, "slot": at.slot}, "value": value}
