"""The bundles of groups on EVM chains: built, signed by their owner, submitted exactly once.

A bundle waits as ``pending`` for its signatures. Submitting is a compare-and-set of its state
with the signatures beside it, before the bundler hears of it: whoever comes second is told so,
and what a crash leaves is handed in again from the row. Handing in is harmless to repeat, since
an operation is known by its hash and its nonce counts once (contract 17.2).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime

from swapdesk.chain.user_operation.rpc_form import operation_json
from swapdesk.clock import Clock
from swapdesk.service.bundling.bundler import (
    BuiltOperation,
    Bundler,
    BundleRefused,
    BundlerUnreachable,
    OperationPayment,
)
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.bundle_watch import signed_by
from swapdesk.service.multi.payable import PayableOrders, already_submitted
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import (
    BundleUnderWay,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
)
from swapdesk.wire.encoding.codec import validate
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiTransaction,
    MultiTransactions,
    UserOperation,
)

log = logging.getLogger(__name__)

EVM = "evm"
_TRIES = 5


class Bundles:
    """Builds bundles and takes their signatures; what follows is ``bundle_watch``'s."""

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
