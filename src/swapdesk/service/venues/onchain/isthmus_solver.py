"""The solver of the intent venue: prices by the pools, settles signed orders, follows them."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.calldata.venues import NONCE_USED
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_answers import Log, Receipt
from swapdesk.chain.rpc.evm_errors import EvmRefused
from swapdesk.service.venues.adapter import LegReport
from swapdesk.service.venues.onchain.adapter import Deal, DexRefused, Execution, Progress
from swapdesk.service.venues.onchain.documents import Domain, digest_of, order_document
from swapdesk.service.venues.onchain.formula import less
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.isthmus_order import SignedOrder, settle_call, signed_order
from swapdesk.service.venues.onchain.own_transaction import looked_up
from swapdesk.service.venues.onchain.pool_venue import Pools
from swapdesk.service.venues.onchain.reader import ChainReader
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus

DOMAIN_NAME, DOMAIN_VERSION = "Isthmus Settlement", "2"
SPREAD = Decimal("0.05")
"""Percent under the pools that the solver pays."""

_TRADE_EVENT = (
    "0x" + keccak(b"Trade(address,address,address,uint256,uint256,uint256,bytes32)").hex()
)


class Solver:
    """Hands orders in at ``settlement`` from the account of ``wallet``; the contract settles an
    order once, whoever hands it in. Every method raises EvmError."""

    def __init__(self, settlement: str, pools: Pools, wallet: HotWallet) -> None:
        self._settlement = settlement
        self._pools = pools
        self._wallet = wallet

    def domain(self, reader: ChainReader) -> Domain:
        """The domain that orders are signed in."""
        return Domain(DOMAIN_NAME, DOMAIN_VERSION, reader.place.chain_id, self._settlement)

    async def require_settleable(self, deal: Deal, signed: SignedOrder) -> None:
        """Raises DexRefused for an order that would fail on the chain as it is."""
        data = settle_call(signed, deal.plan.least, deal)
        call = Call(self._settlement, data, sender=self._wallet.address)
        try:
            await self._reader(deal).client.call(call)
        except EvmRefused as refused:
            raise DexRefused(f"the swap would fail now: {refused.words}") from refused

    async def progress(self, execution: Execution) -> Progress:
        if not execution.confirmed:
            return Progress(LegReport(LegStatus.WAITING))
        reader = self._reader(execution.deal)
        order = signed_order(execution.deal, execution.owner, execution.notes)
        settled = execution.notes.get("settlement")
        if settled is not None:
            report = await self._settled(reader, execution, settled)
            if report is not None:
                return Progress(report)
        if await self._used(reader, order):
            trade = await self._trade(reader, order)
            if trade is None or trade.transaction is None:
                # Taken back by its owner: nothing has moved.
                return Progress(LegReport(LegStatus.FAILED))
            report = await self._settled(reader, execution, trade.transaction)
            waiting = _exchanging(trade.transaction)
            return Progress(report or waiting, {"settlement": trade.transaction})
        if int(execution.now.timestamp()) > order.order.valid_to:
            return Progress(LegReport(LegStatus.FAILED))
        try:
            sent = await self._wallet.send(
                reader, self._settlement, await self._settle_call(execution.deal, order)
            )
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            # The owner's tokens are gone or nothing is allowed any more.
            return Progress(LegReport(LegStatus.CONFIRMING), {"hindrance": refused.words})
        return Progress(_exchanging(sent), {"settlement": sent})

    async def _settled(
        self, reader: ChainReader, execution: Execution, transaction: str
    ) -> LegReport | None:
        """The settlement as a leg; None when the chain does not know it, or it was in vain."""
        found = await looked_up(reader, transaction)
        if found is None:
            return None
        if found.receipt is None:
            return _exchanging(transaction)
        if found.final is None:
            return _exchanging(transaction, found.deep, found.needed)
        deal = execution.deal
        return LegReport(
            LegStatus.FINISHED,
            amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
            amount_out=from_base_units(_bought(found.final, deal), deal.token_out.decimals),
            deposit_hash=transaction,
            payout_hash=transaction,
            confirmations=found.deep,
            confirmations_needed=found.needed,
            deposit_arrived=True,
        )

    async def _settle_call(self, deal: Deal, signed: SignedOrder) -> bytes:
        """What is paid is what the pools pay now, at least the order's limit."""
        _, path = await self._pools.best(
            deal.token_in, deal.token_out, deal.plan.amount - deal.plan.fee
        )
        now = 0 if path is None else less(path.paid, SPREAD)
        return settle_call(signed, max(now, deal.plan.least), deal)

    async def _used(self, reader: ChainReader, signed: SignedOrder) -> bool:
        order = signed.order
        (used,) = await reader.numbers([(self._settlement, NONCE_USED, (order.owner, order.nonce))])
        return bool(used)

    async def _trade(self, reader: ChainReader, signed: SignedOrder) -> Log | None:
        """The settlement of this order, whoever sent it."""
        digest = digest_of(order_document(self.domain(reader), signed.order))
        owner = "0x" + signed.order.owner[2:].lower().rjust(64, "0")
        found = await reader.client.logs(
            self._settlement, [_TRADE_EVENT, owner, "0x" + digest.hex()]
        )
        return found[-1] if found else None

    def _reader(self, deal: Deal) -> ChainReader:
        return self._pools.reader(deal.token_in.chain_data.short_name)


def _exchanging(transaction: str, deep: int = 0, needed: int | None = None) -> LegReport:
    return LegReport(
        LegStatus.EXCHANGING,
        deposit_hash=transaction,
        confirmations=deep,
        confirmations_needed=needed,
        deposit_arrived=deep > 0,
    )


def _bought(receipt: Receipt, deal: Deal) -> int:
    for log in receipt.logs:
        if log.topics and log.topics[0] == _TRADE_EVENT and len(log.data) == 160:
            return int.from_bytes(log.data[96:128], "big")
    return deal.plan.least
