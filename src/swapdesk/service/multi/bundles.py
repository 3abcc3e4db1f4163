"""Submits the bundles that pay batches of orders, follows them, and stores their outcome.

Submitting a bundle again after a crash is harmless, since a nonce can be used only once (contract
17.2). The outcome is what the EntryPoint's event says, never the transaction's status.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from swapdesk.background import Silence
from swapdesk.chain.smart_account import read_operation
from swapdesk.clock import Clock
from swapdesk.service.bundling import EXECUTION, Bundler, BundleRefused, BundlerUnreachable, Landed
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import BundleState, StoredBatch, StoredBundle
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import within

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.3
_IDLE_SECONDS = 1.0
_FOR_GOOD = frozenset({-32602, *range(-32507, -32499)})
"""Error codes with which the bundler rejects an operation permanently. After any other code it may
be submitted again."""
_NO_GAS = "AA21"

Intervention = Literal["fail", "withdraw", "hold"]
Intervene = Callable[[str], Intervention | None]
"""A function that returns the operator's decision about the bundle of the batch with this id; None
if there is none."""

_INTERVENED = "The operator of the bundler gave this bundle up before it was sent."
_EXPIRED = "The orders expired before the smart account could pay"


def nobody_intervenes(_: str) -> Intervention | None:
    return None


class BundleWatch:
    """Follows the submitted bundles; a process has one BundleWatch.

    ``run`` works until cancelled; ``step`` makes a single round.
    """

    def __init__(
        self, store: Store, bundler: Bundler | None, clock: Clock, intervene: Intervene
    ) -> None:
        self._store = store
        self._bundler = bundler
        self._clock = clock
        self._intervene = intervene
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        silence = Silence(log, "bundles: the store")
        while True:
            self._woken.clear()
            try:
                left = await self.step()
            except StoreUnavailable as unavailable:
                silence.begin(unavailable)
                left = 1
            else:
                silence.end()
            with contextlib.suppress(TimeoutError):
                seconds = _LOOK_SECONDS if left else _IDLE_SECONDS
                await within(self._clock, seconds, self._woken.wait())

    async def step(self) -> int:
        """Checks the outcome of every open bundle once; returns how many are still open."""
        if self._bundler is None:
            return 0
        left = 0
        for bundle in await self._store.groups.bundles_under_way():
            try:
                settled = await self._follow(self._bundler, bundle)
            except StoreUnavailable:
                raise
            except Exception:
                # One bundle that cannot be worked on must not hold up the others.
                log.exception("group %s: its bundle could not be worked on", bundle.multi_id)
                settled = False
            left += not settled
        return left

    async def _follow(self, bundler: Bundler, bundle: StoredBundle) -> bool:
        try:
            landed = [await bundler.landed(bundle.chain, batch.hash) for batch in bundle.batches]
            if not any(landed):
                match self._intervene(bundle.multi_id):
                    case "hold":
                        return False
                    case "fail":
                        return await self._settle(bundle, "failed", _INTERVENED)
                    case "withdraw":
                        return await self._settle(bundle, "withdrawn", None)
                    case None:
                        pass
            outcomes = [
                outcome or await self._handed_in(bundler, bundle, batch)
                for outcome, batch in zip(landed, bundle.batches, strict=True)
            ]
        except BundlerUnreachable as silence:
            log.info("group %s: the bundler does not answer: %s", bundle.multi_id, silence)
            return False
        if any(outcome is None for outcome in outcomes):
            return False
        paid = [isinstance(outcome, Landed) and outcome.success for outcome in outcomes]
        bundle = replace(
            bundle,
            batches=tuple(
                replace(batch, paid=is_paid)
                for batch, is_paid in zip(bundle.batches, paid, strict=True)
            ),
        )
        wrong = [reason for outcome in outcomes if (reason := _wrong(outcome)) is not None]
        hashes = [outcome.transaction_hash for outcome in outcomes if isinstance(outcome, Landed)]
        if wrong:
            return await self._settle(bundle, "failed", wrong[0])
        return await self._settle(bundle, "confirmed", None, hashes[-1])

    async def _handed_in(
        self, bundler: Bundler, bundle: StoredBundle, batch: StoredBatch
    ) -> Landed | str | None:
        """Submits an operation, even if it was submitted before. Returns its outcome if it is in a
        block, the reason if it can never be executed, and None if neither is known yet."""
        operation = read_operation({**batch.operation, "signature": batch.signature})
        try:
            await bundler.submit(bundle.chain, operation)
        except BundleRefused as refused:
            # It may have landed between the two questions.
            landed = await bundler.landed(bundle.chain, batch.hash)
            return landed or self._given_up(bundle, refused)
        return await bundler.landed(bundle.chain, batch.hash)

    def _given_up(self, bundle: StoredBundle, refused: BundleRefused) -> str | None:
        if refused.code == EXECUTION or _NO_GAS in refused.words:
            if self._clock.now() >= bundle.expires:
                return f"{_EXPIRED}: {refused.words}"
            return None
        if refused.code in _FOR_GOOD:
            return f"The bundler refused the operation: {refused.words}"
        log.warning("group %s: not handed in: %s", bundle.multi_id, refused.words)
        return None

    async def _settle(
        self,
        bundle: StoredBundle,
        state: BundleState,
        reason: str | None,
        tx_hash: str | None = None,
    ) -> bool:
        settled = replace(
            bundle,
            state=state,
            modified=self._clock.now(),
            failure_reason=reason,
            tx_hash=tx_hash,
        )
        await self._store.groups.move_bundle(settled, expected="submitted")
        return True


def _wrong(outcome: Landed | str | None) -> str | None:
    if isinstance(outcome, Landed):
        if outcome.success:
            return None
        return f"The calls inside reverted: {outcome.reason or 'no reason was given'}"
    return outcome
