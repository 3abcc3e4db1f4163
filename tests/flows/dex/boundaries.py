"""Moments of the work at which something dies: just before or just after the n-th call of a
method.

A boundary is ``room.method.before|after.n``, as ``wallet.sign.after.2``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.journal.bundle_log import BundleLog
from swapdesk.flows.journal.dex_log import DexLog
from swapdesk.flows.journal.intent_log import IntentLog
from swapdesk.flows.journal.outgoing_writes import OutgoingWrites
from swapdesk.flows.journal.wallet_payment_log import WalletPaymentLog
from swapdesk.wallet.client import WalletClient

ROOMS = {
    "api": PartnerApi,
    "steps": DexLog,
    "intents": IntentLog,
    "wallet": WalletClient,
    "calls": OutgoingWrites,
    "creation": BatchCreation,
    "bundles": BundleLog,
    "payments": WalletPaymentLog,
}


class Struck(Struct):
    """``met`` once the boundary was reached."""

    met: bool = False


@contextmanager
def striking(boundary: str, strike: Callable[[], Awaitable[None] | None]) -> Iterator[Struck]:
    """Call ``strike`` at a boundary, once; what it returns is awaited where the method is. The
    method itself does what it always does."""
    room, method, when, count = boundary.split(".")
    kind, left = ROOMS[room], int(count)
    plain: Callable[..., Any] = getattr(kind, method)
    struck = Struck()

    def reached(moment: str) -> Awaitable[None] | None:
        nonlocal left
        if moment == when:
            left -= 1
            if left == 0:
                struck.met = True
                return strike()
        return None

    async def awaited(*arguments: Any, **named: Any) -> Any:
        if (going := reached("before")) is not None:
            await going
        found = await plain(*arguments, **named)
        if (going := reached("after")) is not None:
            await going
        return found

    def called(*arguments: Any, **named: Any) -> Any:
        reached("before")
        found = plain(*arguments, **named)
        reached("after")
        return found

    setattr(kind, method, awaited if asyncio.iscoroutinefunction(plain) else called)
    try:
        yield struck
    finally:
        setattr(kind, method, plain)
