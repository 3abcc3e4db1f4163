"""Renders an order row as the Order of the API (contract 8.1 to 8.3, 8.18, 8.21). A private order
shows no provider, no intermediary and no hash between the legs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.orders.states import allowed, moved, non_refundable
from swapdesk.service.payments import payer_of
from swapdesk.service.store.records import ListedOrder, StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.parse_cache import Newest
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.orders import LegStatus, Order, OrderStatusCode
from swapdesk.wire.tokens import Token

METADATA = "metadata"


def metadata_of(order: StoredOrder) -> dict[str, Any]:
    """Returns the transaction that an on-chain order's owner has to send, as JSON values. Raises
    ValueError if there is none."""
    metadata = json.loads(str(order.detail[METADATA]))
    if not isinstance(metadata, dict):
        raise ValueError(f"order {order.service_id} has no metadata")
    return metadata


_KEPT = 1_024
"""Largest number of cached answers; an answer has about 4 kB."""


class _Encoded(Struct, frozen=True):
    version: int
    tokens: tuple[tuple[str, Token | None], ...]
    body: bytes


class Presentation:
    """Renders order rows. The result depends only on the row, the catalogue and the venues."""

    def __init__(self, catalog: ServiceCatalog, venues: Venues) -> None:
        self._catalog = catalog
        self._venues = venues
        self._encoded: Newest[str, _Encoded] = Newest(_KEPT)

    def is_written(self, service_id: str) -> bool:
        return service_id in self._encoded

    def written(self, service_id: str, version: int) -> bytes | None:
        """Returns the cached JSON of this version of an order; None if it is not cached or one of
        the order's tokens has changed."""
        answer = self._encoded.get(service_id)
        if answer is None or answer.version != version:
            return None
        for token_id, token in answer.tokens:
            if self._catalog.token(token_id) is not token:
                return None
        self._encoded.move_to_end(service_id)
        return answer.body

    def listed(self, order: ListedOrder) -> bytes:
        """Returns the same JSON as :meth:`encoded`, for a row of a list of orders."""
        return self.written(order.service_id, order.version) or self.encoded(order.read())

    def encoded(self, row: StoredOrder) -> bytes:
        """Returns the result of :meth:`order` as JSON, cached until the row or one of its tokens
        changes."""
        body = self.written(row.service_id, row.version)
        if body is None:
            deleted = row.status == OrderStatusCode.DELETED
            body = encode_json(self.order(row), exclude_unset=deleted)
            tokens = {
                name: self._catalog.token(name) for name in (row.token_in_id, row.token_out_id)
            }
            self._encoded[row.service_id] = _Encoded(row.version, tuple(tokens.items()), body)
        return body

    def order(self, row: StoredOrder, *, fresh: bool = False) -> Order:
        """Returns the order as the API shows it. With ``fresh``, for the answer to a create
        request, ``metadata`` is an object instead of text (contract 10.8)."""
        if row.status == OrderStatusCode.DELETED:
            return Order(
                service_id=row.service_id,
                status=row.status,
                status_label=OrderStatusCode.DELETED.name,
                display_status=row.display_status,
            )
        token_in = self._catalog.token(row.token_in_id)
        token_out = self._catalog.token(row.token_out_id)
        private = row.route == "private"
        rerouted = row.detail.get("rerouted") is True
        # The provider of an order of a group may change until its set-up is complete.
        assigned = row.multi_id is None or row.deposit_address is not None
        provider = self._venues.provider(row.legs[0]) if assigned and not private else None
        payout_hash = row.text("payoutHash")
        payer = payer_of(row.partner_id)
        return Order(
            service_id=row.service_id,
            id=row.record_id,
            created=row.created,
            modified=row.modified,
            expires=row.expires,
            receiver_address=row.receiver_address,
            receiver_tag=row.receiver_tag,
            deposit_address=row.deposit_address,
            deposit_tag=row.deposit_tag,
            refund_address=row.refund_address,
            intermediate_refund_address=row.text("intermediateRefundAddress"),
            status=row.status,
            status_label=OrderStatusCode(row.status).name,
            display_status=row.display_status,
            in_status=row.in_status,
            in_status_label=LegStatus(row.in_status).name,
            in_created=_time(row, "inCreated"),
            out_status=row.out_status if private else None,
            out_status_label=(
                LegStatus(row.out_status).name if private and row.out_status is not None else None
            ),
            out_created=_time(row, "outCreated"),
            anonymous=private,
            is_dex=row.route == "dex",
            fixed=row.fixed,
            in_=row.legs[0] if assigned and not private else None,
            swap_name=None if provider is None else provider.name,
            in_amount=row.amount_in,
            in_symbol=None if token_in is None else token_in.symbol,
            in_amount_usd=row.amount_in_usd,
            out_amount=row.amount_out,
            out_symbol=None if token_out is None else token_out.symbol,
            out_amount_usd=row.amount_out_usd,
            quoted_in_amount=row.amount("quotedInAmount") if rerouted else None,
            quoted_out_amount=row.amount("quotedOutAmount") if rerouted else None,
            in_token_id=row.token_in_id,
            out_token_id=row.token_out_id,
            in_token=token_in,
            out_token=token_out,
            eta=_eta(row),
            hash_url=_newest_link(row, token_in, token_out),
            in_transaction_out_hash=None if private else payout_hash,
            out_transaction_out_hash=payout_hash if private else None,
            order_finished_received=_time(row, "finished"),
            action_required=row.detail.get("actionRequired") is True,
            non_refundable=non_refundable(
                row.status, row.in_status, row.out_status, row.route, fixed=row.fixed
            )
            or None,
            rerouted=rerouted,
            refund_hash=row.text("refundHash"),
            refund_chain=row.text("refundChain"),
            refund_amount=row.amount("refundAmount"),
            multi_id=row.multi_id,
            is_x402=None if payer is None else True,
            x402_payer_address=payer,
            metadata=_metadata(row, fresh=fresh),
        )


def transaction_link(chain: Chain, transaction_hash: str) -> str:
    template = chain.hash_url or chain.explorer_url
    if not template:
        return ""
    segment = quote(transaction_hash, safe="")
    if "{txHash}" in template:
        return template.replace("{txHash}", segment)
    return template + segment


def _newest_link(row: StoredOrder, token_in: Token | None, token_out: Token | None) -> str:
    payout, deposit = row.text("payoutHash"), row.text("depositHash")
    if payout is not None and token_out is not None:
        return transaction_link(token_out.chain_data, payout)
    if deposit is not None and token_in is not None:
        return transaction_link(token_in.chain_data, deposit)
    return ""


def _metadata(row: StoredOrder, *, fresh: bool) -> object:
    if row.route != "dex":
        return None
    return metadata_of(row) if fresh else row.text(METADATA)


def _eta(row: StoredOrder) -> Decimal:
    deposited = _time(row, "deposited")
    if deposited is None:
        return row.minutes
    waited = Decimal(max(0, int((deposited - row.created).total_seconds())))
    return row.minutes + (waited / 60).quantize(Decimal("0.01"))


def _time(row: StoredOrder, name: str) -> datetime | None:
    value = row.text(name)
    return None if value is None else parse_rfc3339(value)


WINDOW = timedelta(hours=48)


def visible(created: datetime, now: datetime) -> bool:
    """Returns whether an order created at ``created`` is still shown. Orders are shown for 48
    hours."""
    return now - created <= WINDOW


def window_start(now: datetime) -> datetime:
    return now - WINDOW


_TRIES = 5


async def delete_order(store: Store, order: StoredOrder, now: datetime) -> bool:
    """Deletes an order that awaits its deposit, has expired or has failed (contract 8.5); returns
    False for an order in another state. The venue deals with a later deposit."""
    current: StoredOrder | None = order
    for _ in range(_TRIES):
        if current is None or not allowed(current.status, OrderStatusCode.DELETED, current.route):
            return False
        ended = moved(current, OrderStatusCode.DELETED, current.in_status, current.out_status, now)
        deleted = replace(ended, due_at=None)
        if await store.orders.advance(
            deleted, expected_version=current.version, before=current.status
        ):
            return True
        # The worker was faster: what it wrote decides.
        current = await store.orders.current(order.service_id)
    return False
