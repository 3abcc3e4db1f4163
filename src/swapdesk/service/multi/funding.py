"""Funding a group: what is to be signed for it, by the kind of the chain it sells on.

Source: contract 9.9 to 9.19.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.rpc.solana_answers import Blockhash
from swapdesk.chain.rpc.solana_errors import SolanaError
from swapdesk.service.access import Caller
from swapdesk.service.catalog import Catalog
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.bundle_watch import BundleWatch
from swapdesk.service.multi.bundles import Bundles
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.multi.payable import PayableOrders
from swapdesk.service.orders.recipients import is_address
from swapdesk.service.store.bundles import StoredGroup
from swapdesk.service.store.records import StoredOrder
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    MultiBuildRequest,
    MultiSubmission,
    MultiSubmitRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)

if TYPE_CHECKING:  # Solana's own library is not part of every installation of the service
    from swapdesk.service.multi.solana_batches import Deposit

SOLANA = "solana"
_KIND = "sol"


class SolanaNode(Protocol):
    """What is asked of a Solana chain. Raises SolanaError."""

    async def latest_blockhash(self) -> Blockhash: ...


class FundingDesk:
    """``nodes`` are the Solana chains by short name."""

    def __init__(
        self,
        groups: GroupDesk,
        payable: PayableOrders,
        bundles: Bundles,
        watch: BundleWatch,
        catalog: Catalog,
        nodes: Mapping[str, SolanaNode],
    ) -> None:
        self._groups = groups
        self._payable = payable
        self._bundles = bundles
        self._watch = watch
        self._catalog = catalog
        self._nodes = nodes

    async def build(
        self, caller: Caller, multi_id: str, request: MultiBuildRequest
    ) -> MultiTransactions:
        """What the sender signs to pay the deposits of the group, or of some of its orders.

        Raises ServiceError: NOT_FOUND, ALREADY_SUBMITTED, VALIDATION_ERROR, SERVICE_UNAVAILABLE.
        """
        group = await self._groups.found(caller, multi_id)
        if self._kind(group) == _KIND:
            return await self._on_solana(group, request.sender, request.service_ids)
        if not self._bundles.serves(group):
            raise invalid(
                "multiId",
                f"the deposits of this group are made one by one on {self._name(group)}",
                multi_id,
            )
        self._check_sender(group, request.sender)
        return await self._bundles.build(group, checksummed(request.sender), request.service_ids)

    async def transactions(self, caller: Caller, multi_id: str, sender: str) -> MultiTransactions:
        """The transactions of a group that sells on Solana. Raises as :meth:`build`."""
        group = await self._groups.found(caller, multi_id)
        if self._kind(group) != _KIND:
            raise invalid(
                "multiId", f"this group sells on {self._name(group)}, not on Solana", multi_id
            )
        return await self._on_solana(group, sender, None)

    async def submit(
        self, caller: Caller, multi_id: str, request: MultiSubmitRequest
    ) -> MultiSubmission:
        """Take the signatures of the bundle that awaits them. Raises ServiceError: NOT_FOUND,
        VALIDATION_ERROR, INVALID_SWAP."""
        group = await self._groups.found(caller, multi_id)
        submitted = await self._bundles.submit(group, request.signatures)
        self._watch.wake()
        return MultiSubmission(user_op_hashes=[batch.hash for batch in submitted.batches])

    async def _on_solana(
        self, group: StoredGroup, sender: str, service_ids: list[str] | None
    ) -> MultiTransactions:
        self._check_sender(group, sender)
        node = self._nodes.get(group.chain)
        if node is None:
            raise _unavailable()
        orders = await self._payable.find(group, service_ids)
        try:
            recent = await node.latest_blockhash()
        except SolanaError as silence:
            raise _unavailable() from silence
        from swapdesk.service.multi.solana_batches import batches_of

        found = batches_of(
            sender, [self._deposit(each) for each in orders], group.multi_id, recent.blockhash
        )
        return MultiTransactions(
            multi_id=group.multi_id,
            chain=SOLANA,
            transactions=[
                MultiTransaction(
                    service_ids=list(each.service_ids),
                    tx_data=SolanaTransactionData(data=base64.b64encode(each.transaction).decode()),
                )
                for each in found
            ],
        )

    def _deposit(self, order: StoredOrder) -> Deposit:
        from swapdesk.service.multi.solana_batches import Deposit

        token = self._payable.token(order)
        return Deposit(
            order.service_id,
            token.address,
            token.decimals,
            str(order.deposit_address),
            self._payable.units(order),
        )

    def _check_sender(self, group: StoredGroup, sender: str) -> None:
        coin = next(
            (
                token
                for token in self._catalog.tokens
                if token.mainnet and token.chain_data.short_name == group.chain
            ),
            None,
        )
        if coin is None or not is_address(sender, coin):
            raise invalid("sender", f"is no wallet on {self._name(group)}", sender)

    def _kind(self, group: StoredGroup) -> str:
        chain = self._catalog.chain(group.chain)
        return "" if chain is None else chain.kind

    def _name(self, group: StoredGroup) -> str:
        chain = self._catalog.chain(group.chain)
        return group.chain if chain is None else chain.name


def _unavailable() -> ServiceError:
    return ServiceError(
        ErrorCode.SERVICE_UNAVAILABLE, "The chain does not answer. Nothing changed; try again."
    )
