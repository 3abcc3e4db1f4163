"""What one service is made of, and one handler for every row of the operations table."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Directory
from swapdesk.service.catalog import ServiceCatalog, page_count
from swapdesk.service.dex.desk import DexDesk
from swapdesk.service.events import Endpoint, Hub
from swapdesk.service.front import Front
from swapdesk.service.multi.bundles import BundleWatch
from swapdesk.service.multi.funding import FundingDesk
from swapdesk.service.multi.groups import GroupDesk
from swapdesk.service.observation import Observer
from swapdesk.service.openapi import encoded_document
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.partner_account import PartnerAccount
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.payments import CallPayments
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.rate_limits import CountedCall, RateLimiter, RequestCounter
from swapdesk.service.readiness import Readiness
from swapdesk.service.scans import TokenScans
from swapdesk.service.store.store import Store
from swapdesk.service.timekeeping import Timekeeper
from swapdesk.service.venues.registry import Venues
from swapdesk.service.webhooks import Delivery, Webhooks
from swapdesk.wire.chains import ChainList, SwapProvider
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.health import Health
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import Order
from swapdesk.wire.webhooks import WebhookAcknowledgement


class ServiceParts(Struct, frozen=True):
    """The rooms of one service, wired together; ``stream`` answers ``WS /ws``."""

    clock: Clock
    rng: random.Random
    directory: Directory
    partners: PartnerWatch
    catalog: ServiceCatalog
    venues: Venues
    store: Store
    engine: QuoteEngine
    scans: TokenScans
    requests: RequestCounter
    rates: RateLimiter
    account: PartnerAccount
    orders: OrderDesk
    dex: DexDesk
    groups: GroupDesk
    funding: FundingDesk
    bundles: BundleWatch
    hub: Hub
    worker: Worker
    webhooks: Webhooks
    timekeeper: Timekeeper
    readiness: Readiness
    stream: Endpoint
    version: str
    observers: tuple[Observer, ...] = ()
    """Told of every request and every transition of this process."""
    payments: CallPayments | None = None
    """Takes payments of calls; None: without credentials there is no call."""
    dialect: Dialect = Dialect.CONTRACT
    """Whose names are written for who has no dialect of their own."""
    front: Front = Front()
    """Where callers reach it."""


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


Handler = Callable[[RequestContext], Awaitable[object]]
"""What a handler returns is written as JSON; bytes are JSON already."""


def _asking(room: Callable[..., Awaitable[object]], *inputs: str) -> Handler:
    """A handler that hands these parts of the request on, in this order."""
    parts = [attrgetter(name) for name in inputs]

    async def handle(call: RequestContext) -> object:
        return await room(*(part(call) for part in parts))

    return handle


class Handlers:
    """Handlers over the rooms of one service, by the names of their rows."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    def table(self) -> dict[str, Handler]:
        """Handlers by operation name; LookupError when a row and its handler do not meet."""
        orders, groups, funding = self._parts.orders, self._parts.groups, self._parts.funding
        dex, account = self._parts.dex, self._parts.account
        table = {
            "health": self._health,
            "openapi": self._openapi,
            "list_chains": self._list_chains,
            "list_tokens": self._list_tokens,
            "get_token": self._get_token,
            "list_swaps": self._list_swaps,
            "get_pair_limits": _asking(self._parts.engine.limits, "by", "query"),
            "get_quotes": _asking(self._parts.engine.quotes, "by", "query"),
            "get_private_send_quotes": _asking(self._parts.engine.private_send, "by", "query"),
            "create_exchange": self._create_exchange,
            "create_private_send": self._create_private_send,
            "create_multi_exchange": _asking(groups.create, "by", "body", "begins"),
            "get_multi_exchange": _asking(groups.status, "by", "path.multi_id"),
            "build_multi_transactions": _asking(funding.build, "by", "path.multi_id", "body"),
            "get_multi_transactions": _asking(
                funding.transactions, "by", "path.multi_id", "query.sender"
            ),
            "submit_multi_transactions": _asking(funding.submit, "by", "path.multi_id", "body"),
            "get_order": _asking(orders.encoded, "by", "path.service_id"),
            "list_orders": _asking(orders.encoded_list, "by", "query"),
            "dex_approve": _asking(dex.approve, "by", "body"),
            "dex_allowance": _asking(dex.allowance, "by", "body"),
            "dex_chain_signatures": _asking(dex.next_signatures, "by", "body"),
            "dex_confirm_transaction": _asking(dex.confirm, "by", "body"),
            "get_rate_limits": _asking(self._parts.rates.limits, "by"),
            "get_commissions": _asking(account.commissions, "by", "query"),
            "get_volume": _asking(account.volume, "by"),
            "get_weekly_volume": _asking(account.weeks, "by"),
            "get_chart": _asking(account.chart, "by", "query"),
            "receive_webhook": self._receive_webhook,
        }
        rows = {operation.name for operation in OPERATIONS}
        if rows != table.keys():
            wrong = rows ^ table.keys()
            raise LookupError(f"rows without handlers, or handlers without rows: {wrong}")
        return table

    async def _health(self, call: RequestContext) -> Health:
        return Health(status="ok", version=self._parts.version, time=self._parts.clock.now())

    async def _openapi(self, call: RequestContext) -> bytes:
        parts = self._parts
        return encoded_document(parts.version, parts.dialect, parts.front.server)

    async def _list_chains(self, call: RequestContext) -> ChainList:
        chains, total = self._parts.catalog.list_chains(call.query)
        return ChainList(
            chains=chains, total=total, total_pages=page_count(total, call.query.page_size)
        )

    async def _list_tokens(self, call: RequestContext) -> bytes:
        return self._parts.catalog.encoded_page(call.query)

    async def _get_token(self, call: RequestContext) -> bytes:
        """TOKEN_DISABLED for a disabled one, which the list still shows (contract 5.8, 5.9)."""
        token = self._parts.catalog.enabled_token(call.path.id, "token")
        return self._parts.catalog.encoded_token(token)

    async def _list_swaps(self, call: RequestContext) -> list[SwapProvider]:
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

    async def _create_exchange(self, call: RequestContext) -> Order:
        return await self._parts.orders.create(call.by, call.body, "exchange", call.begins)

    async def _create_private_send(self, call: RequestContext) -> Order:
        return await self._parts.orders.create(call.by, call.body, "private_send", call.begins)

    async def _receive_webhook(self, call: RequestContext) -> WebhookAcknowledgement:
        if call.delivery is None:
            raise LookupError("a signed operation has a delivery")
        await self._parts.webhooks.take(call.delivery, call.body.model_extra or {})
        return WebhookAcknowledgement(received=True)
