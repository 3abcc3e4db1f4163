"""The faucet: pays the deposit of an order as its user would."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from decimal import Decimal

from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.rpc.methods import Method
from swapdesk.sandbox.world import world_tokens
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredOrder
from swapdesk.wire.encoding.numbers import NumberError, to_base_units


class NotPayable(Exception):
    """Nothing was paid. ``field`` names the input that is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class Faucet:
    """Finds orders of any partner and pays them."""

    def __init__(self, ledger: LedgerClient, store: Store, partner_ids: Iterable[str]) -> None:
        self._ledger = ledger
        self._store = store
        self._partner_ids = tuple(partner_ids)

    async def find(self, service_id: str) -> StoredOrder | None:
        """The order, whosever it is."""
        for partner_id in self._partner_ids:
            order = await self._store.get_order(partner_id, service_id)
            if order is not None:
                return order
        return None

    async def knows_quote(self, quote_id: str) -> bool:
        """Whether anybody was given this quote; forgotten 15 minutes after it ended."""
        for partner_id in self._partner_ids:
            if await self._store.get_quote(partner_id, quote_id) is not None:
                return True
            if await self._store.order_of_quote(partner_id, quote_id) is not None:
                return True
        return False

    async def knows_group(self, multi_id: str) -> bool:
        """Whether anybody has this group."""
        for partner_id in self._partner_ids:
            if await self._store.get_group(partner_id, multi_id) is not None:
                return True
        return False

    async def pay(self, order: StoredOrder, amount: Decimal | None, memo: str | None) -> str:
        """Pay the deposit address: ``inAmount`` and the deposit tag unless others are given;
        an empty memo pays without one. Returns the hash. Raises NotPayable, LedgerError.

        As the order asks, it is paid once: the node pays a key once, and a repeated call gets
        the hash of the first. With an amount or a memo of its own, every call pays.
        """
        if order.deposit_address is None:
            raise NotPayable("serviceId", "the order has no deposit address")
        token = world_tokens()[order.token_in_id]
        try:
            units = to_base_units(order.amount_in if amount is None else amount, token.row.decimals)
        except NumberError as error:
            raise NotPayable("amount", str(error)) from None
        if units <= 0:
            raise NotPayable("amount", "must be above 0")
        tag = order.deposit_tag if memo is None else memo or None
        as_asked = amount is None and memo is None
        key = f"deposit:{order.service_id}" if as_asked else str(uuid.uuid4())
        paid = await self._ledger.call(
            Method.FAUCET_PAY,
            key=key,
            token=token.token_id,
            address=order.deposit_address,
            tag=tag,
            units=str(units),
        )
        return str(paid["hash"])
