"""``ServiceParts`` (the components of a service), and the handler of each operation of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from swapdesk.service.access import Caller, Directory
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
from swapdesk.service.room import Shared
from swapdesk.service.scans import TokenScans
from swapdesk.service.timekeeping import Timekeeper
from swapdesk.service.webhooks import Webhooks
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.health import Health
from swapdesk.wire.operations import BY_NAME


class ServiceParts(Shared, frozen=True, kw_only=True):
    """The components of one service; ``stream`` answers ``WS /ws``."""

    directory: Directory
    partners: PartnerWatch
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
    payments: CallPayments | None = None
    """Accepts payments for single calls; None if calls without credentials are refused."""
    dialect: Dialect = Dialect.CONTRACT
    front: Front = Front()


class RequestContext(Struct):
    """A request whose access was checked and whose parameters were parsed. ``caller`` is None for
    an operation without credentials."""

    caller: Caller | None
    path: Any
    query: Any
    body: Any
    begins: CountedCall | None = None
    delivery: Any = None

    @property
    def by(self) -> Caller:
        if self.caller is None:
            raise LookupError("an open operation has no caller")
        return self.caller


Handler = Callable[[ServiceParts, RequestContext], object]
"""A function that returns the answer or an awaitable of it. Bytes are JSON already."""

HANDLERS: Mapping[str, Handler] = {
    "health": lambda parts, call: Health(
        status="ok", version=parts.version, time=parts.clock.now()
    ),
    "openapi": lambda parts, call: encoded_document(
        parts.version, parts.dialect, parts.front.server
    ),
    "list_chains": lambda parts, call: parts.catalog.list_chains(call.query),
    "list_tokens": lambda parts, call: parts.catalog.encoded_page(call.query),
    "get_token": lambda parts, call: parts.catalog.encoded_enabled(call.path.id),
    "list_swaps": lambda parts, call: parts.venues.providers(call.query),
    "get_pair_limits": lambda parts, call: parts.engine.limits(call.by, call.query),
    "get_quotes": lambda parts, call: parts.engine.quotes(call.by, call.query),
    "get_private_send_quotes": lambda parts, call: parts.engine.private_send(call.by, call.query),
    "create_exchange": lambda parts, call: parts.orders.create(
        call.by, call.body, "exchange", call.begins
    ),
    "create_private_send": lambda parts, call: parts.orders.create(
        call.by, call.body, "private_send", call.begins
    ),
    "create_multi_exchange": lambda parts, call: parts.groups.create(
        call.by, call.body, call.begins
    ),
    "get_multi_exchange": lambda parts, call: parts.groups.status(call.by, call.path.multi_id),
    "build_multi_transactions": lambda parts, call: parts.funding.build(
        call.by, call.path.multi_id, call.body
    ),
    "get_multi_transactions": lambda parts, call: parts.funding.transactions(
        call.by, call.path.multi_id, call.query.sender
    ),
    "submit_multi_transactions": lambda parts, call: parts.funding.submit(
        call.by, call.path.multi_id, call.body
    ),
    "get_order": lambda parts, call: parts.orders.encoded(call.by, call.path.service_id),
    "list_orders": lambda parts, call: parts.orders.encoded_list(call.by, call.query),
    "dex_approve": lambda parts, call: parts.dex.approve(call.by, call.body),
    "dex_allowance": lambda parts, call: parts.dex.allowance(call.by, call.body),
    "dex_chain_signatures": lambda parts, call: parts.dex.next_signatures(call.by, call.body),
    "dex_confirm_transaction": lambda parts, call: parts.dex.confirm(call.by, call.body),
    "get_rate_limits": lambda parts, call: parts.rates.limits(call.by),
    "get_commissions": lambda parts, call: parts.account.commissions(call.by, call.query),
    "get_volume": lambda parts, call: parts.account.volume(call.by),
    "get_weekly_volume": lambda parts, call: parts.account.weeks(call.by),
    "get_chart": lambda parts, call: parts.account.chart(call.by, call.query),
    "receive_webhook": lambda parts, call: parts.webhooks.take(
        call.delivery, call.body.model_extra or {}
    ),
}
"""The method that answers each operation, by the operation's name in ``OPERATIONS``."""

if unmatched := HANDLERS.keys() ^ BY_NAME.keys():
    raise LookupError(f"rows without handlers, or handlers without rows: {sorted(unmatched)}")
