"""Venues that trade through pools. Basalt's router needs an approval and also trades native coins;
Fathom's takes an EIP-2612 permit or an approval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.venues import (
    SWAP_FOR_NATIVE,
    SWAP_NATIVE,
    SWAP_TOKENS,
    SWAP_WITH_PERMIT,
)
from swapdesk.chain.rpc.evm import Call, EvmRefused, TransactionReceipt
from swapdesk.chain.typed_data import Document
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
from swapdesk.service.venues.onchain.documents import (
    NO_SIGNATURE,
    DocumentSignature,
    Permits,
    requirement,
    signed_by,
)
from swapdesk.service.venues.onchain.hot_wallet import Spender, Unsigned
from swapdesk.service.venues.onchain.reader import (
    ChainPlace,
    ChainView,
    Hop,
    OnchainReader,
    PoolPlace,
    less,
    pays_along,
    price_impact,
)
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

MOST_HOPS = 3
"""Largest number of pools on a path that the routers' contracts accept."""


class PricedPath(Struct, frozen=True):
    """A path of token contracts through pools. ``paid`` is its output in smallest units; ``impact``
    is the share of the price lost by the swap's size."""

    tokens: tuple[str, ...]
    paid: int
    impact: Decimal

    @property
    def hops(self) -> int:
        return len(self.tokens) - 1


class Paths:
    def __init__(self, pools: Iterable[PoolPlace]) -> None:
        self._beside: dict[str, dict[str, PoolPlace]] = {}
        for pool in pools:
            self._beside.setdefault(pool.token0, {})[pool.token1] = pool
            self._beside.setdefault(pool.token1, {})[pool.token0] = pool

    def between(self, start: str, end: str) -> Iterator[tuple[str, ...]]:
        """Yields every path between two tokens over no more than ``MOST_HOPS`` pools that visits no
        token twice."""
        if start == end or start not in self._beside or end not in self._beside:
            return
        waiting: list[tuple[str, ...]] = [(start,)]
        while waiting:
            path = waiting.pop()
            for token in self._beside[path[-1]]:
                if token == end:
                    yield (*path, token)
                elif token not in path and len(path) < MOST_HOPS:
                    waiting.append((*path, token))

    def connects(self, start: str, end: str) -> bool:
        return next(self.between(start, end), None) is not None

    def best(self, view: ChainView, start: str, end: str, amount: int) -> PricedPath | None:
        """Returns the path that pays most for ``amount`` now; if two paths pay the same, the
        shorter. Returns None if no path pays anything."""
        best: PricedPath | None = None
        for tokens in self.between(start, end):
            hops = self._hops(view, tokens)
            if hops is None:
                continue
            paid = pays_along(amount, hops)
            if best is None or (paid, -len(tokens)) > (best.paid, -len(best.tokens)):
                best = PricedPath(tokens, paid, price_impact(amount, paid, hops))
        return best if best is not None and best.paid > 0 else None

    def _hops(self, view: ChainView, tokens: tuple[str, ...]) -> list[Hop] | None:
        hops = []
        for token_in, token_out in pairwise(tokens):
            hop = view.hop(self._beside[token_in][token_out], token_in)
            if hop is None:
                return None
            hops.append(hop)
        return hops


_SWAP_EVENT = "0x" + keccak(b"Swap(address,uint256,uint256,uint256,uint256,address)").hex()
_LATE = timedelta(seconds=60)
"""Time after a transaction's deadline at which it counts as failed if the chain does not know
it."""

_MINUTES = Decimal("0.5")
_PAYS_NOTHING = Unavailable("the pools pay nothing for this amount")

_GAS_SHARE = 5
"""Divisor for the margin of gas that is added to the estimate."""


def contract_of(token: Token, place: ChainPlace) -> str:
    return place.wrapped if token.address is None else checksummed(token.address)


class Pools:
    def __init__(
        self, readers: Mapping[str, OnchainReader], pools: Mapping[str, Iterable[PoolPlace]]
    ) -> None:
        self._readers = readers
        self._paths: dict[str, Paths] = {}
        for chain, places in pools.items():
            listed = list(places)
            readers[chain].watch(listed)
            self._paths[chain] = Paths(listed)

    def reader(self, deal: Deal) -> OnchainReader:
        return self._readers[deal.token_in.chain_data.short_name]

    async def priced(self, question: DexQuestion, gas: int, gas_a_hop: int) -> DexPrice | None:
        """Prices a swap along the best path; None if no path pays anything. The swap needs the gas
        ``gas``, plus ``gas_a_hop`` for each pool."""
        view, path = await self.best(question.token_in, question.token_out, question.amount)
        if path is None:
            return None
        gas += gas_a_hop * path.hops
        return DexPrice(
            planned(question, path),
            minutes=_MINUTES,
            impact=path.impact,
            gas=gas,
            gas_wei=gas * (view.fees.base_fee + view.fees.priority),
            needs_permission=question.token_in.address is not None,
        )

    def connects(self, token_in: Token, token_out: Token) -> bool:
        """Returns whether a path of pools connects both tokens on one chain. A coin and its wrapped
        form are not connected."""
        chain = token_in.chain_data.short_name
        if chain != token_out.chain_data.short_name or chain not in self._paths:
            return False
        place = self._readers[chain].place
        start, end = contract_of(token_in, place), contract_of(token_out, place)
        return self._paths[chain].connects(start, end)

    async def best(
        self, token_in: Token, token_out: Token, amount: int
    ) -> tuple[ChainView, PricedPath | None]:
        chain = token_in.chain_data.short_name
        reader = self._readers[chain]
        view = await reader.view()
        start, end = contract_of(token_in, reader.place), contract_of(token_out, reader.place)
        return view, self._paths[chain].best(view, start, end, amount)


def planned(question: DexQuestion, path: PricedPath, *, out: int | None = None) -> Plan:
    """Returns what a quote promises. ``out`` is what the venue pays; None means the output of
    ``path``."""
    slippage = AUTO_SLIPPAGE if question.slippage is None else question.slippage
    paid = path.paid if out is None else out
    return Plan(
        amount=question.amount,
        out=paid,
        least=less(paid, slippage),
        slippage=slippage,
        path=path.tokens,
    )


async def tried(
    reader: OnchainReader, call: Call, *, deadline: datetime, slippage: Decimal
) -> dict[str, Any]:
    """Returns the transaction for the wallet, after a successful simulation. Raises DexRefused with
    the contract's reason if the simulation reverts."""
    try:
        gas = await reader.client.estimate(call)
    except EvmRefused as refused:
        raise DexRefused(f"the swap would fail now: {refused.words}") from refused
    fees = await reader.client.fees()
    return {
        "from": call.sender,
        "to": call.to,
        "data": "0x" + call.data.hex(),
        "value": str(call.value),
        "chainId": reader.place.chain_id,
        "gasLimit": str(gas + gas // _GAS_SHARE),
        "maxFeePerGas": str(fees.most),
        "maxPriorityFeePerGas": str(fees.priority),
        "router": call.to,
        "deadline": str(int(deadline.timestamp())),
        "slippage": format(slippage, "f"),
    }


async def watched(
    reader: OnchainReader, execution: RouteExecution
) -> tuple[LegReport, TransactionReceipt | None]:
    """Returns a report on the confirmed transaction, and its receipt once the report is FINISHED
    (None before). FINISHED requires the chain's number of confirmations. An unknown transaction
    becomes FAILED when it can no longer be executed."""
    if execution.hash is None:
        return LegReport(LegStatus.WAITING), None
    receipt = await reader.client.receipt(execution.hash)
    needed = reader.place.confirmations
    if receipt is None:
        transaction = await reader.client.transaction(execution.hash)
        if transaction is None and execution.now > execution.deadline + _LATE:
            return LegReport(LegStatus.FAILED, deposit_hash=execution.hash), None
        return _confirming(execution.hash, 0, needed), None
    deep = await reader.client.height() - receipt.block + 1
    if deep < needed:
        return _confirming(execution.hash, max(deep, 0), needed), None
    if not receipt.succeeded:
        return LegReport(LegStatus.FAILED, deposit_hash=receipt.hash), None
    report = LegReport(
        LegStatus.FINISHED,
        deposit_hash=receipt.hash,
        confirmations=deep,
        confirmations_needed=needed,
        deposit_arrived=True,
    )
    return report, receipt


def _confirming(transaction: str, deep: int, needed: int) -> LegReport:
    return LegReport(
        LegStatus.CONFIRMING,
        deposit_hash=transaction,
        confirmations=deep,
        confirmations_needed=needed,
    )


async def swapped(reader: OnchainReader, execution: RouteExecution) -> Progress:
    report, receipt = await watched(reader, execution)
    if receipt is None:
        return Progress(report)
    deal = execution.deal
    paid = paid_by_pools(receipt)
    finished = LegReport(
        LegStatus.FINISHED,
        amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
        amount_out=None if paid is None else from_base_units(paid, deal.token_out.decimals),
        deposit_hash=receipt.hash,
        payout_hash=receipt.hash,
        confirmations=report.confirmations,
        confirmations_needed=report.confirmations_needed,
        deposit_arrived=True,
    )
    return Progress(finished)


def paid_by_pools(receipt: TransactionReceipt) -> int | None:
    swaps = [log for log in receipt.logs if log.topics and log.topics[0] == _SWAP_EVENT]
    if not swaps or len(swaps[-1].data) != 128:
        return None
    data = swaps[-1].data
    return int.from_bytes(data[64:96], "big") + int.from_bytes(data[96:128], "big")


class PoolsVenue:
    """Base class of venues that trade at the prices of ``pools``. By default they trade only tokens
    with contracts, no coins. ``contract`` takes the tokens on every chain. ``permits`` knows, by
    chain, which tokens accept permits."""

    def __init__(
        self, provider: SwapProvider, contract: str, pools: Pools, permits: Mapping[str, Permits]
    ) -> None:
        self.provider = provider
        self._contract = contract
        self._spender = Spender(contract)
        self._pools = pools
        self._permits = permits

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return (
            self.provider.enabled
            and token_in.address is not None
            and token_out.address is not None
            and self._pools.connects(token_in, token_out)
        )

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return await self._spender.may_take(self._pools.reader(deal), deal, owner)

    async def _permit_document(self, deal: Deal, owner: str) -> Document | None:
        return await self._permits_of(deal.token_in).document(
            deal.plan.path[0], owner, self._contract, deal.plan.amount, deal.signed_until
        )

    def _permits_of(self, token: Token) -> Permits:
        return self._permits[token.chain_data.short_name]


class RouterVenue(PoolsVenue):
    """Base class of venues that swap by a router, in a transaction that the trader sends."""

    async def _to_approve(self, deal: Deal, owner: str) -> Permission:
        return Permission(await self._spender.approvals(self._pools.reader(deal), deal, owner))

    async def _prepared(
        self, swap: SwapToPrepare, deadline: datetime, data: bytes, value: int = 0
    ) -> PreparedSwap:
        call = Call(self._contract, data, sender=swap.owner, value=value)
        reader, slippage = self._pools.reader(swap.deal), swap.deal.plan.slippage
        return PreparedSwap(await tried(reader, call, deadline=deadline, slippage=slippage))

    async def progress(self, execution: RouteExecution) -> Progress:
        return await swapped(self._pools.reader(execution.deal), execution)


class Basalt(RouterVenue, Unsigned):
    """A venue for tokens and native coins, whose router needs approvals."""

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return self.provider.enabled and self._pools.connects(token_in, token_out)

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        return await self._pools.priced(question, 70_000, 75_000) or _PAYS_NOTHING

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if deal.token_in.address is None:
            return Permission()
        return await self._to_approve(deal, owner)

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return deal.token_in.address is None or await super().allowed(deal, owner)

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        self.refuse(swap.signatures)
        deal, receiver = swap.deal, swap.receiver
        deadline = swap.now + timedelta(seconds=CALLDATA_SECONDS)
        plan, ends = deal.plan, int(deadline.timestamp())
        path = list(plan.path)
        value = 0
        if deal.token_in.address is None:
            value = plan.amount
            data = SWAP_NATIVE.call(plan.least, path, receiver, ends)
        elif deal.token_out.address is None:
            data = SWAP_FOR_NATIVE.call(plan.amount, plan.least, path, receiver, ends)
        else:
            data = SWAP_TOKENS.call(plan.amount, plan.least, path, receiver, ends)
        return await self._prepared(swap, deadline, data, value)


_PERMIT = "permit"


class Fathom(RouterVenue):
    """A venue for tokens with contracts, whose router takes permits or approvals."""

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        price = await self._pools.priced(question, 120_000, 75_000)
        if price is None:
            return _PAYS_NOTHING
        domain = await self._permits_of(question.token_in).domain(price.plan.path[0])
        return replace(price, by_signature=domain is not None)

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if await self.allowed(deal, owner):
            return Permission()
        document = await self._permit_document(deal, owner) if by_permit else None
        if document is not None:
            return Permission(signatures=[requirement(document, _PERMIT)])
        return await self._to_approve(deal, owner)

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        raise DexRefused("the permit of this route stands alone", "signatureKey")

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        deal, plan = swap.deal, swap.deal.plan
        permit = await self._permit(deal, swap.owner, swap.signatures)
        deadline = swap.now + timedelta(seconds=CALLDATA_SECONDS)
        data = SWAP_WITH_PERMIT.call(
            plan.amount,
            plan.least,
            list(plan.path),
            swap.receiver,
            int(deadline.timestamp()),
            deal.signed_until,
            permit.v,
            permit.r,
            permit.s,
        )
        return await self._prepared(swap, deadline, data)

    async def _permit(
        self, deal: Deal, owner: str, signatures: Sequence[GivenSignature]
    ) -> DocumentSignature:
        if not signatures:
            if await self.allowed(deal, owner):
                return NO_SIGNATURE
            raise DexRefused("is required: the permit, or an approval that is mined", "signatures")
        (given, *others) = signatures
        if others or given.key != _PERMIT:
            raise DexRefused("must be the one permit that was asked for", "signatures")
        document = await self._permit_document(deal, owner)
        if document is None:
            raise DexRefused("this token takes no permits", "signatures")
        permit = signed_by(document, given.signature, owner)
        if permit is None:
            raise DexRefused("is no permit of this owner for this quote", "signatures")
        return permit
