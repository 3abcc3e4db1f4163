"""Funding a group: what is to be signed for it, by the kind of the chain it sells on.

Source: contract 9.9 to 9.19. On Solana the sender signs and sends the deposits itself, packed
by measured size into at most one packet and ten deposits each, with the group's id as memo
(contract 9.15).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Protocol

from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.rpc.solana import Blockhash, SolanaError
from swapdesk.chain.solana import (
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
    pack,
    token_account,
    unsigned,
)
from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.bundles import Bundles, BundleWatch
from swapdesk.service.multi.groups import GroupDesk, PayableOrders
from swapdesk.service.orders.draft import is_address
from swapdesk.service.store.records import StoredGroup, StoredOrder
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    MOST_DEPOSITS,
    MultiBuildRequest,
    MultiSubmission,
    MultiSubmitRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)

SOLANA = "solana"
_KIND = "sol"

_UNITS = 450_000
"""Compute units of ten deposits that each open a token account, with room."""
_MICRO_LAMPORTS = 1_000


class BlockhashNode(Protocol):
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
        catalog: ServiceCatalog,
        nodes: Mapping[str, BlockhashNode],
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

        payer, blockhash = Pubkey.from_string(sender), Hash.from_string(recent.blockhash)
        head = [
            ComputeLimit(_UNITS).build(),
            ComputePrice(_MICRO_LAMPORTS).build(),
            Memo(group.multi_id).build(),
        ]
        rows = [self._deposit(payer, order) for order in orders]
        transactions = []
        for run in pack(payer, head, rows, most=MOST_DEPOSITS):
            instructions = [*head, *(each for row in run for each in rows[row])]
            raw = unsigned(MessageV0.try_compile(payer, instructions, [], blockhash))
            transactions.append(
                MultiTransaction(
                    service_ids=[orders[row].service_id for row in run],
                    tx_data=SolanaTransactionData(data=base64.b64encode(bytes(raw)).decode()),
                )
            )
        return MultiTransactions(multi_id=group.multi_id, chain=SOLANA, transactions=transactions)

    def _deposit(self, payer: Pubkey, order: StoredOrder) -> list[Instruction]:
        """What pays an order. A token account that its receiver lacks is opened at the sender's
        cost."""
        token, units = self._payable.token(order), self._payable.units(order)
        receiver = Pubkey.from_string(str(order.deposit_address))
        if token.address is None:
            return [Transfer(payer, receiver, units).build()]
        mint = Pubkey.from_string(token.address)
        opened = CreateTokenAccount(payer, receiver, mint)
        paid = TransferChecked(
            source=token_account(payer, mint),
            mint=mint,
            destination=opened.account,
            owner=payer,
            units=units,
            decimals=token.decimals,
        )
        return [opened.build(), paid.build()]

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
