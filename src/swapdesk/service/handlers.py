"""What one service is made of, and one handler for every row of the operations table."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Directory
from swapdesk.service.catalog import ServiceCatalog, page_count
from swapdesk.service.dex.desk import DexDesk
from swapdesk.service.events import Endpoint, Hub
from swapdesk.service.multi.bundles import BundleWatch
from swapdesk.service.multi.funding import FundingDesk
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.openapi import encoded_document
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.pair_limits import PairLimitsDesk
from swapdesk.service.partner_account import PartnerAccount
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.payments import CallPayments
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import CountedCall, RateLimiter, RequestCounter
from swapdesk.service.scans import TokenScans
from swapdesk.service.store.records import Store
from swapdesk.service.venues.registry import Venues
from swapdesk.service.webhooks import Delivery, Webhooks
from swapdesk.wire.account import ChartPoint, CommissionSummary, VolumeStatistics, WeeklyVolume
from swapdesk.wire.chains import ChainList
from swapdesk.wire.dex import ApproveAnswer, SignatureRequirement
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.health import Health
from swapdesk.wire.multi import (
    MultiExchange,
    MultiExchangeStatus,
    MultiSubmission,
    MultiTransactions,
)
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import Order
from swapdesk.wire.pair_limits import PairLimits
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.quotes import PrivateSendQuoteList, QuoteList
from swapdesk.wire.webhooks import WebhookAcknowledgement


class Running(Protocol):
    """Something that works in the background until it is cancelled."""

    async def run(self) -> None: ...


class ServiceParts(Struct, frozen=True):
    """The rooms of one service, wired together; ``stream`` answers ``WS /ws``."""

    clock: Clock
    rng: random.Random
    directory: Directory
    catalog: ServiceCatalog
    venues: Venues
    store: Store
    engine: QuoteEngine
    scans: TokenScans
    pair_limits: PairLimitsDesk
    requests: RequestCounter
    rates: RateLimiter
    account: PartnerAccount
    partners: PartnerWatch
    orders: OrderDesk
    dex: DexDesk
    groups: GroupDesk
    funding: FundingDesk
    bundles: BundleWatch
    hub: Hub
    worker: Worker
    webhooks: Webhooks
    stream: Endpoint
    version: str
    payments: CallPayments | None = None
    """Takes payments of calls; None: without credentials there is no call."""
    dialect: Dialect = Dialect.CONTRACT
    """Whose names are written for who has no dialect of their own."""


class RequestContext(Struct):
    """A request after access and parsing; models are those its row names."""

    caller: Caller | None
    path: Any
    query: Any
    body: Any
    begins: CountedCall | None = None
    """Counts an exchange in the commit that begins it."""
    delivery: Delivery | None = None
    """What the signature of a signed operation says."""

    @property
    def by(self) -> Caller:
        """The caller of an operation that needs one."""
        if self.caller is None:
            raise LookupError("an open operation has no caller")
        return self.caller


class Encoded(Struct):
    """A result that is JSON already."""

    data: bytes


Handler = Callable[[RequestContext], Awaitable[object]]


class Handlers:
    """Handlers over the rooms of one service; a method is named as its row."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    def table(self) -> dict[str, Handler]:
        """Handlers by operation name; LookupError when a row and its handler do not meet."""
        rows = {operation.name for operation in OPERATIONS}
        own = {name for name in vars(type(self)) if not name.startswith("_")} - {"table"}
        if rows != own:
            raise LookupError(f"rows without handlers, or handlers without rows: {rows ^ own}")
        return {name: getattr(self, name) for name in rows}

    async def health(self, call: RequestContext) -> Health:
        return Health(status="ok", version=self._parts.version, time=self._parts.clock.now())

    async def openapi(self, call: RequestContext) -> Encoded:
        return Encoded(encoded_document(self._parts.version, self._parts.dialect))

    async def list_chains(self, call: RequestContext) -> ChainList:
        chains, total = self._parts.catalog.list_chains(call.query)
        return ChainList(
            chains=chains, total=total, total_pages=page_count(total, call.query.page_size)
        )

    async def list_tokens(self, call: RequestContext) -> Encoded:
        return Encoded(self._parts.catalog.encoded_page(call.query))

    async def get_token(self, call: RequestContext) -> Encoded:
        """TOKEN_DISABLED for a disabled one, which the list still shows (contract 5.8, 5.9)."""
        token = self._parts.catalog.enabled_token(call.path.id, "token")
        return Encoded(self._parts.catalog.encoded_token(token))

    async def list_swaps(self, call: RequestContext) -> list[SwapProvider]:
        wanted = [
            (name, value)
            for name in ("is_dex", "markup_supported", "slippage_supported")
            if (value := getattr(call.query, name)) is not None
        ]
        return [
            provider
            for provider in self._parts.venues.providers()
            if all(getattr(provider, name) == value for name, value in wanted)
        ]

    async def get_pair_limits(self, call: RequestContext) -> PairLimits:
        return await self._parts.pair_limits.limits(call.by, call.query)

    async def get_quotes(self, call: RequestContext) -> QuoteList:
        return await self._parts.engine.quotes(call.by, call.query)

    async def get_private_send_quotes(self, call: RequestContext) -> PrivateSendQuoteList:
        return await self._parts.engine.private_send(call.by, call.query)

    async def create_exchange(self, call: RequestContext) -> Order:
        return await self._parts.orders.create(call.by, call.body, "exchange", call.begins)

    async def create_private_send(self, call: RequestContext) -> Order:
        return await self._parts.orders.create(call.by, call.body, "private_send", call.begins)

    async def create_multi_exchange(self, call: RequestContext) -> MultiExchange:
        return await self._parts.groups.create(call.by, call.body, call.begins)

    async def get_multi_exchange(self, call: RequestContext) -> MultiExchangeStatus:
        return await self._parts.groups.status(call.by, call.path.multi_id)

    async def build_multi_transactions(self, call: RequestContext) -> MultiTransactions:
        return await self._parts.funding.build(call.by, call.path.multi_id, call.body)

    async def get_multi_transactions(self, call: RequestContext) -> MultiTransactions:
        return await self._parts.funding.transactions(
            call.by, call.path.multi_id, call.query.sender
        )

    async def submit_multi_transactions(self, call: RequestContext) -> MultiSubmission:
        return await self._parts.funding.submit(call.by, call.path.multi_id, call.body)

    async def get_order(self, call: RequestContext) -> Encoded:
        return Encoded(await self._parts.orders.encoded(call.by, call.path.service_id))

    async def list_orders(self, call: RequestContext) -> Encoded:
        return Encoded(await self._parts.orders.encoded_list(call.by, call.query))

    async def dex_approve(self, call: RequestContext) -> ApproveAnswer:
        return await self._parts.dex.approve(call.by, call.body)

    async def dex_allowance(self, call: RequestContext) -> bool:
        return await self._parts.dex.allowance(call.by, call.body)

    async def dex_chain_signatures(self, call: RequestContext) -> list[SignatureRequirement]:
        return await self._parts.dex.next_signatures(call.by, call.body)

    async def dex_confirm_transaction(self, call: RequestContext) -> bool:
        return await self._parts.dex.confirm(call.by, call.body)

    async def get_rate_limits(self, call: RequestContext) -> object:
        return await self._parts.rates.limits(call.by)

    async def get_commissions(self, call: RequestContext) -> CommissionSummary:
        return await self._parts.account.commissions(call.by, call.query)

    async def get_volume(self, call: RequestContext) -> VolumeStatistics:
        return await self._parts.account.volume(call.by)

    async def get_weekly_volume(self, call: RequestContext) -> list[WeeklyVolume]:
        return await self._parts.account.weeks(call.by)

    async def get_chart(self, call: RequestContext) -> list[ChartPoint]:
        return await self._parts.account.chart(call.by, call.query)

    async def receive_webhook(self, call: RequestContext) -> WebhookAcknowledgement:
        if call.delivery is None:
            raise LookupError("a signed operation has a delivery")
        await self._parts.webhooks.take(call.delivery, call.body.model_extra or {})
        return WebhookAcknowledgement(received=True)
