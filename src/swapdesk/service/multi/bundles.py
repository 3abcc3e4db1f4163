"""The bundles of groups on EVM chains: built, signed by their owner, submitted exactly once.

A bundle waits as ``pending`` for its signatures (EIP-191 or EIP-712). Submitting is a
compare-and-set of its state with the signatures beside it, before the bundler hears of it: whoever
comes second is told so, and what a crash leaves is handed in again from the row. Handing in is
harmless to repeat, since an operation is known by its hash and its nonce counts once (contract
17.2).

``BundleWatch`` hands in, looks for and settles. The outcome is what the EntryPoint's event says of
the calls inside, never the transaction's own status. A bundle whose account is not funded yet is
tried again until its orders expire.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from swapdesk.chain.user_operation import (
    EntryPointVersion,
    operation_json,
    read_operation,
    signed_digest,
)
from swapdesk.clock import Clock
from swapdesk.service.bundling import (
    BuiltOperation,
    Bundler,
    BundleRefused,
    BundlerUnreachable,
    Landed,
    OperationPayment,
)
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.groups import PayableOrders, already_submitted
from swapdesk.service.store.records import (
    BundleState,
    BundleUnderWay,
    Store,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
    StoreUnavailable,
)
from swapdesk.service.venues.registry import within
from swapdesk.wire.encoding.codec import validate
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiTransaction,
    MultiTransactions,
    UserOperation,
)

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.3
_EXECUTION = -32521
_FOR_GOOD = frozenset({-32602, *range(-32507, -32499)})
"""Codes by which a bundler rejects an operation itself; another one speaks of its own state."""
_NO_GAS = "AA21"
"""The account cannot pay for gas yet."""

Intervention = Literal["fail", "withdraw", "hold"]
Intervene = Callable[[str], Intervention | None]
"""What the operator of the service does with the bundle of a group, by its id."""

_INTERVENED = "The operator of the bundler gave this bundle up before it was sent."
_EXPIRED = "The orders expired before the smart account could pay"


def nobody_intervenes(_: str) -> Intervention | None:
    return None


class BundleWatch:
    """One per process; ``run`` until cancelled, or ``step`` by hand."""

    def __init__(
        self, store: Store, bundler: Bundler | None, clock: Clock, intervene: Intervene
    ) -> None:
        self._store = store
        self._bundler = bundler
        self._clock = clock
        self._intervene = intervene
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """A bundle was submitted, or its bundler has news of one."""
        self._woken.set()

    async def run(self) -> None:
        """Work while bundles are under way; a store that does not answer is asked again."""
        while True:
            self._woken.clear()
            try:
                left = await self.step()
            except StoreUnavailable as unavailable:
                log.error("bundles: the store does not answer: %s", unavailable)
                left = 1
            if left:
                with contextlib.suppress(TimeoutError):
                    await within(self._clock, _LOOK_SECONDS, self._woken.wait())
            else:
                await self._woken.wait()

    async def step(self) -> int:
        """Look at every bundle that is under way; how many are left."""
        if self._bundler is None:
            return 0
        left = 0
        for bundle in await self._store.bundles_under_way():
            try:
                settled = await self.follow(bundle)
            except StoreUnavailable:
                raise
            except Exception:
                # One bundle that cannot be worked on must not hold up the others.
                log.exception("group %s: its bundle could not be worked on", bundle.multi_id)
                settled = False
            left += not settled
        return left

    async def follow(self, bundle: StoredBundle) -> bool:
        """Whether the bundle has an outcome now."""
        try:
            landed = [await self._landed(bundle, batch) for batch in bundle.batches]
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
                one or await self._handed_in(bundle, batch)
                for one, batch in zip(landed, bundle.batches, strict=True)
            ]
        except BundlerUnreachable as silence:
            log.info("group %s: the bundler does not answer: %s", bundle.multi_id, silence)
            return False
        if any(one is None for one in outcomes):
            return False
        paid = [isinstance(one, Landed) and one.success for one in outcomes]
        bundle = replace(
            bundle,
            batches=tuple(
                replace(batch, paid=one) for batch, one in zip(bundle.batches, paid, strict=True)
            ),
        )
        wrong = [reason for one in outcomes if (reason := _wrong(one)) is not None]
        hashes = [one.transaction_hash for one in outcomes if isinstance(one, Landed)]
        if wrong:
            return await self._settle(bundle, "failed", wrong[0])
        return await self._settle(bundle, "confirmed", None, hashes[-1])

    async def _landed(self, bundle: StoredBundle, batch: StoredBatch) -> Landed | None:
        if self._bundler is None:
            raise BundlerUnreachable("none is configured")
        return await self._bundler.landed(bundle.chain, batch.hash)

    async def _handed_in(self, bundle: StoredBundle, batch: StoredBatch) -> Landed | str | None:
        """Hand a batch in, again as well: as it landed, or why it never will, None while it may."""
        if self._bundler is None:
            raise BundlerUnreachable("none is configured")
        operation = read_operation({**batch.operation, "signature": batch.signature})
        try:
            await self._bundler.submit(bundle.chain, operation)
        except BundleRefused as refused:
            # It may have landed between the two questions.
            return await self._landed(bundle, batch) or self._given_up(bundle, refused)
        return await self._landed(bundle, batch)

    def _given_up(self, bundle: StoredBundle, refused: BundleRefused) -> str | None:
        """Why an operation that was refused will never be taken; None while it may be."""
        if refused.code == _EXECUTION or _NO_GAS in refused.words:
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
        await self._store.move_bundle(settled, expected="submitted")
        return True


def _wrong(outcome: Landed | str | None) -> str | None:
    """What a batch failed for."""
    if isinstance(outcome, Landed):
        if outcome.success:
            return None
        return f"The calls inside reverted: {outcome.reason or 'no reason was given'}"
    return outcome


_HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def signed_by(owner: str, signature: str, operation_hash: str, version: str) -> bool:
    """``owner`` with its checksum, both texts 0x-hex. Only the one form that contracts take."""
    from eth_keys.datatypes import Signature
    from eth_keys.exceptions import BadSignature
    from eth_utils.exceptions import ValidationError

    raw = bytes.fromhex(signature[2:])
    if len(raw) != 65 or raw[64] not in (27, 28):
        return False
    if int.from_bytes(raw[32:64], "big") > _HALF_ORDER:
        return False
    digest = signed_digest(bytes.fromhex(operation_hash[2:]), EntryPointVersion(version))
    try:
        signer = Signature(raw[:64] + bytes([raw[64] - 27])).recover_public_key_from_msg_hash(
            digest
        )
    except (BadSignature, ValidationError):
        return False
    return signer.to_checksum_address() == owner


EVM = "evm"
_TRIES = 5


class Bundles:
    """Builds bundles and takes their signatures; what follows is :class:`BundleWatch`'s."""

    def __init__(
        self, store: Store, payable: PayableOrders, bundler: Bundler | None, clock: Clock
    ) -> None:
        self._store = store
        self._payable = payable
        self._bundler = bundler
        self._clock = clock

    def serves(self, group: StoredGroup) -> bool:
        return self._bundler is not None and self._bundler.serves(group.chain)

    async def build(
        self, group: StoredGroup, owner: str, service_ids: list[str] | None
    ) -> MultiTransactions:
        """One operation for each token, with what its owner has to send before.

        Stored in place of what was built before and not submitted; the nonces are the same, so
        that at most one of both is ever executed. Raises as ``PayableOrders.find``,
        VALIDATION_ERROR when the bundler will not have it, SERVICE_UNAVAILABLE.
        """
        if self._bundler is None:
            raise _unavailable()
        earlier = await self._store.bundles_of_group(group.partner_id, group.multi_id)
        claimed = frozenset(each for bundle in earlier for each in bundle.claimed)
        orders = await self._payable.find(group, service_ids, claimed)
        payments = [self._payment(order) for order in orders]
        try:
            built = await self._bundler.build(group.chain, group.multi_id, owner, payments)
        except BundlerUnreachable as silence:
            log.warning("group %s: the bundler does not answer: %s", group.multi_id, silence)
            raise _unavailable() from silence
        except BundleRefused as refused:
            raise invalid("sender", f"the bundle cannot be made: {refused.words}", owner) from None
        bundle = self._bundle(group, owner, orders, built.operations)
        try:
            await self._store.save_bundle(bundle)
        except BundleUnderWay:
            raise already_submitted() from None
        return MultiTransactions(
            multi_id=group.multi_id,
            chain=EVM,
            transactions=[_told(each, orders) for each in built.operations],
            deposit_needed=str(built.deposit_needed),
            sa_current_balance=str(built.account_balance),
        )

    def _payment(self, order: StoredOrder) -> OperationPayment:
        token = self._payable.token(order)
        return OperationPayment(
            token.address, str(order.deposit_address), self._payable.units(order)
        )

    def _bundle(
        self,
        group: StoredGroup,
        owner: str,
        orders: list[StoredOrder],
        operations: tuple[BuiltOperation, ...],
    ) -> StoredBundle:
        now = self._clock.now()
        return StoredBundle(
            number=0,
            multi_id=group.multi_id,
            partner_id=group.partner_id,
            chain=group.chain,
            created=now,
            modified=now,
            expires=min(order.expires for order in orders),
            state="pending",
            owner=owner,
            batches=tuple(
                StoredBatch(
                    service_ids=_ids(each, orders),
                    operation=operation_json(each.operation, with_signature=False),
                    hash="0x" + each.hash.hex(),
                    entry_point=each.entry_point,
                    version=each.version.value,
                )
                for each in operations
            ),
        )

    async def submit(self, group: StoredGroup, signatures: list[str]) -> StoredBundle:
        """The bundle, submitted by this call alone and handed to nobody yet.

        Raises NOT_FOUND when nothing awaits its signatures, also when another call was first
        (contract 9.18), VALIDATION_ERROR for signatures that are not the owner's or not as many
        as batches, INVALID_SWAP when orders ended since it was built.
        """
        for _ in range(_TRIES):
            bundles = await self._store.bundles_of_group(group.partner_id, group.multi_id)
            pending = next((each for each in bundles if each.state == "pending"), None)
            if pending is None:
                raise _nothing_awaits(submitted_before=bool(bundles))
            _check(pending, signatures, self._clock.now())
            submitted = replace(
                pending,
                state="submitted",
                modified=self._clock.now(),
                batches=tuple(
                    replace(batch, signature=signature)
                    for batch, signature in zip(pending.batches, signatures, strict=True)
                ),
            )
            if await self._store.move_bundle(submitted, expected="pending"):
                return submitted
        raise _unavailable()


def _check(bundle: StoredBundle, signatures: list[str], now: datetime) -> None:
    if len(signatures) != len(bundle.batches):
        raise invalid(
            "signatures",
            f"the bundle has {len(bundle.batches)} batches, each with one signature",
        )
    for place, (batch, signature) in enumerate(zip(bundle.batches, signatures, strict=True)):
        if not signed_by(bundle.owner, signature, batch.hash, batch.version):
            raise invalid(
                f"signatures.{place}", "is not the signature of the sender over this batch"
            )
    if bundle.expires <= now:
        raise ServiceError(
            ErrorCode.INVALID_SWAP,
            "Orders of this bundle have expired. Nothing was submitted; the smart account keeps"
            " what it holds.",
        )


def _ids(built: BuiltOperation, orders: list[StoredOrder]) -> tuple[str, ...]:
    return tuple(orders[place].service_id for place in built.payments)


def _told(built: BuiltOperation, orders: list[StoredOrder]) -> MultiTransaction:
    funding = built.funding
    operation = operation_json(built.operation, with_signature=False)
    return MultiTransaction(
        service_ids=list(_ids(built, orders)),
        tx_data=EvmTransactionData(
            user_op_hash="0x" + built.hash.hex(),
            to=funding.to,
            data="0x" + funding.data.hex(),
            value=str(funding.value),
            chain_id=built.chain_id,
            token_amount=None if funding.token_amount is None else str(funding.token_amount),
            entry_point=built.entry_point,
            entry_point_version=built.version.value,
            user_operation=validate(UserOperation, operation, side="service"),
        ),
    )


def _nothing_awaits(*, submitted_before: bool) -> ServiceError:
    """A bundle that is kept and not pending was submitted, whatever became of it."""
    words = "No bundle of this group awaits its signatures."
    if submitted_before:
        words = (
            "The bundle of this group was submitted already and awaits no signatures. Look at its"
            " status."
        )
    return ServiceError(ErrorCode.NOT_FOUND, words)


def _unavailable() -> ServiceError:
    return ServiceError(
        ErrorCode.SERVICE_UNAVAILABLE, "The bundler does not answer. Nothing changed; try again."
    )
