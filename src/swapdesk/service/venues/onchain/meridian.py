"""A cross-chain portal: tokens are locked on one chain, and a relayer pays out the same asset on
the other, minus its share. The transaction also carries the bridge fee and the venue's fee, in
coins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import method
from swapdesk.chain.calldata.venues import FULFIL, SEND
from swapdesk.chain.rpc.evm import Call, EvmRefused, TransactionReceipt
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.service.venues.onchain.adapter import (
    AUTO_SLIPPAGE,
    CALLDATA_SECONDS,
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Permission,
    Plan,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.service.venues.onchain.hot_wallet import HotWallet, Spender, Unsigned, looked_up
from swapdesk.service.venues.onchain.pool_venue import tried, watched
from swapdesk.service.venues.onchain.reader import OnchainReader, less
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

_SENT_EVENT = "0x" + (
    keccak(b"Sent(bytes32,address,address,uint256,uint256,uint256,address,uint256,address)").hex()
)
_FULFILLED_EVENT = "0x" + keccak(b"Fulfilled(bytes32,address,uint256,address)").hex()
_FULFILLED = method("fulfilled(bytes32)", "transfer")

_GAS, _PAYOUT_GAS = 190_000, 130_000
_MINUTES = Decimal(2)
_SHARE = Decimal("0.04")
"""Percent of the amount that the relayer keeps."""
_FEE_USD = Decimal("0.15")
_BUFFER = Decimal("1.25")
_WEI = Decimal(10**18)

PriceOfCoin = Callable[[str], Decimal | None]
"""A function that returns the price of a chain's native coin in dollars, by the chain's short name;
None if unknown."""


class Meridian(Unsigned):
    """The portal as an on-chain venue. ``assets`` maps, for each chain, token contracts to names of
    assets. The relayer holds all these tokens."""

    def __init__(
        self,
        provider: SwapProvider,
        portal: str,
        readers: Mapping[str, OnchainReader],
        assets: Mapping[str, Mapping[str, str]],
        relayer: HotWallet,
        price_of: PriceOfCoin,
    ) -> None:
        self.provider = provider
        self._portal = portal
        self._spender = Spender(portal)
        self._readers = readers
        self._assets = assets
        self._relayer = relayer
        self._price_of = price_of

    def supports(self, token_in: Token, token_out: Token) -> bool:
        asset = self._asset(token_in)
        return (
            self.provider.enabled
            and token_in.chain_data.short_name != token_out.chain_data.short_name
            and asset is not None
            and asset == self._asset(token_out)
        )

    def _asset(self, token: Token) -> str | None:
        if token.address is None or token.chain_data.short_name not in self._readers:
            return None
        held = self._assets.get(token.chain_data.short_name, {})
        return held.get(checksummed(token.address))

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        token_in, token_out = question.token_in, question.token_out
        start, end = token_in.chain_data.short_name, token_out.chain_data.short_name
        coin_in, coin_out = self._price_of(start), self._price_of(end)
        if not coin_in or not coin_out:
            return Unavailable("the bridge fee cannot be priced")
        here, there = await self._readers[start].view(), await self._readers[end].view()
        out = less(_rescaled(question.amount, token_in.decimals, token_out.decimals), _SHARE)
        if out <= 0:
            return Unavailable("nothing is left of this amount")
        if await self._cannot_pay(token_out, out):
            return Unavailable("more than the relayer holds on the other chain")
        payout = Decimal(_PAYOUT_GAS * there.fees.most) * coin_out * _BUFFER
        bridge_fee = int(ROUGH.divide(payout, coin_in)) + 1
        fee = int(ROUGH.divide(_FEE_USD * _WEI, coin_in))
        slippage = AUTO_SLIPPAGE if question.slippage is None else question.slippage
        addresses = (checksummed(token_in.address or ""), checksummed(token_out.address or ""))
        plan = Plan(
            question.amount,
            out,
            less(out, slippage),
            slippage,
            addresses,
            value=bridge_fee + fee,
        )
        return DexPrice(
            plan,
            minutes=_MINUTES,
            impact=Decimal(0),
            gas=_GAS,
            gas_wei=_GAS * (here.fees.base_fee + here.fees.priority),
            fee_wei=fee,
            bridge_fee_wei=bridge_fee,
            needs_permission=True,
        )

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        return Permission(await self._spender.approvals(self._source(deal), deal, owner))

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return await self._spender.may_take(self._source(deal), deal, owner)

    async def _cannot_pay(self, token_out: Token, out: int) -> bool:
        """Returns whether the relayer lacks tokens for a payout. Must be checked before a swap is
        prepared, because the swap locks the sold tokens."""
        reader, contract = self._readers[token_out.chain_data.short_name], token_out.address or ""
        asked = checksummed(contract), erc20.BALANCE_OF, (self._relayer.address,)
        (held,) = await reader.numbers([asked])
        return held is None or held < out

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        self.refuse(swap.signatures)
        deadline = swap.now + timedelta(seconds=CALLDATA_SECONDS)
        deal, plan = swap.deal, swap.deal.plan
        if await self._cannot_pay(deal.token_out, plan.out):
            raise DexRefused("the relayer does not hold enough on the other chain now")
        data = SEND.call(
            plan.path[0],
            plan.amount,
            self._destination(deal).place.chain_id,
            plan.path[1],
            plan.least,
            swap.receiver,
            int(deadline.timestamp()),
        )
        call = Call(self._portal, data, sender=swap.owner, value=plan.value)
        source = self._source(deal)
        return PreparedSwap(await tried(source, call, deadline=deadline, slippage=plan.slippage))

    async def progress(self, execution: RouteExecution) -> Progress:
        report, receipt = await watched(self._source(execution.deal), execution)
        if receipt is None:
            return Progress(report)
        transfer = _transfer_of(receipt, self._portal)
        if transfer is None:
            return Progress(
                LegReport(LegStatus.FAILED, deposit_hash=receipt.hash, deposit_arrived=True)
            )
        there = self._destination(execution.deal)
        paid = execution.notes.get("payout")
        if paid is not None:
            done = await self._paid(there, execution, receipt, paid)
            if done is not None:
                return Progress(done)
        (fulfilled,) = await there.numbers([(self._portal, _FULFILLED, (transfer,))])
        if fulfilled:
            logs = await there.client.logs(self._portal, [_FULFILLED_EVENT, "0x" + transfer.hex()])
            paid = logs[-1].transaction if logs else None
            if paid is not None:
                done = await self._paid(there, execution, receipt, paid)
                sending = _sending(receipt, paid)
                return Progress(done or sending, {"payout": paid})
        return await self._pay(there, execution, receipt, transfer)

    async def _pay(
        self,
        there: OnchainReader,
        execution: RouteExecution,
        receipt: TransactionReceipt,
        transfer: bytes,
    ) -> Progress:
        plan = execution.deal.plan
        data = FULFIL.call(transfer, plan.path[1], plan.out, execution.receiver)
        try:
            sent = await self._relayer.send(there, self._portal, data)
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            # The tokens are at the relayer: asked again until it can pay.
            exchanging = LegReport(
                LegStatus.EXCHANGING, deposit_hash=receipt.hash, deposit_arrived=True
            )
            return Progress(exchanging, {"hindrance": refused.words})
        return Progress(_sending(receipt, sent), {"payout": sent})

    async def _paid(
        self,
        there: OnchainReader,
        execution: RouteExecution,
        receipt: TransactionReceipt,
        payout: str,
    ) -> LegReport | None:
        sent = await looked_up(there, payout)
        if sent is None:
            return None
        if sent.final is None:
            return _sending(receipt, payout)
        deal = execution.deal
        return LegReport(
            LegStatus.FINISHED,
            amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
            amount_out=from_base_units(deal.plan.out, deal.token_out.decimals),
            deposit_hash=receipt.hash,
            payout_hash=payout,
            confirmations=sent.deep,
            confirmations_needed=sent.needed,
            deposit_arrived=True,
        )

    def _source(self, deal: Deal) -> OnchainReader:
        return self._readers[deal.token_in.chain_data.short_name]

    def _destination(self, deal: Deal) -> OnchainReader:
        return self._readers[deal.token_out.chain_data.short_name]


def _rescaled(units: int, decimals: int, wanted: int) -> int:
    if wanted >= decimals:
        return int(units * 10 ** (wanted - decimals))
    return int(units // 10 ** (decimals - wanted))


def _transfer_of(receipt: TransactionReceipt, portal: str) -> bytes | None:
    for log in receipt.logs:
        if log.address == portal and len(log.topics) > 1 and log.topics[0] == _SENT_EVENT:
            return bytes.fromhex(log.topics[1][2:])
    return None


def _sending(receipt: TransactionReceipt, payout: str) -> LegReport:
    return LegReport(
        LegStatus.SENDING, deposit_hash=receipt.hash, payout_hash=payout, deposit_arrived=True
    )
