"""The faucet: pays the deposit of an order as its user would, and gives coins and tokens of the
embedded chains to an address.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from swapdesk.chain.rpc.ledger import LedgerClient, LedgerMethod
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.token_rows import HONEST_ROWS
from swapdesk.sandbox.world import WorldToken, chains_by_name, world_tokens
from swapdesk.service.store.records import Store, StoredOrder
from swapdesk.wire.encoding.numbers import NumberError, to_base_units


class FaucetRefusal(Exception):
    """Nothing was paid. ``field`` names the input that is wrong."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class OrderFaucet:
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
        an empty memo pays without one. Returns the hash. Raises FaucetRefusal, LedgerError.

        As the order asks, it is paid once: the node pays a key once, and a repeated call gets
        the hash of the first. With an amount or a memo of its own, every call pays.
        """
        if order.deposit_address is None:
            raise FaucetRefusal("serviceId", "the order has no deposit address")
        token = world_tokens()[order.token_in_id]
        try:
            units = to_base_units(order.amount_in if amount is None else amount, token.row.decimals)
        except NumberError as error:
            raise FaucetRefusal("amount", str(error)) from None
        if units <= 0:
            raise FaucetRefusal("amount", "must be above 0")
        tag = order.deposit_tag if memo is None else memo or None
        as_asked = amount is None and memo is None
        key = f"deposit:{order.service_id}" if as_asked else str(uuid.uuid4())
        paid = await self._ledger.call(
            LedgerMethod.FAUCET_PAY,
            key=key,
            token=token.token_id,
            address=order.deposit_address,
            tag=tag,
            units=str(units),
        )
        return str(paid["hash"])


SOLANA = "solana"

_HONEST = frozenset(HONEST_ROWS)


@dataclass(frozen=True)
class Gift:
    """A call of the node that pays out; it is not to be repeated."""

    method: LedgerMethod
    params: dict[str, str]


def gift_of(chain: str, address: str, token: str | None, amount: Decimal) -> Gift:
    """``token`` as in GiftBody. Raises FaucetRefusal."""
    if chain not in (*EVM_CHAINS, SOLANA):
        known = ", ".join((*EVM_CHAINS, SOLANA))
        raise FaucetRefusal("chain", f"the sandbox runs these chains itself: {known}")
    if chains_by_name()[chain].kind == "evm" and not _evm(address):
        raise FaucetRefusal("address", f"is no address of {chain}")
    found = _found(chain, token)
    try:
        units = to_base_units(amount, found.row.decimals)
    except NumberError as error:
        raise FaucetRefusal("amount", str(error)) from None
    params = {"address": address, "units": str(units)}
    if chain == SOLANA:
        mint = {} if found.address is None else {"mint": found.address}
        return Gift(LedgerMethod.SOLANA_FUND, {**params, **mint})
    contract = {} if found.address is None else {"token": found.address}
    return Gift(LedgerMethod.EVM_FUND, {"chain": chain, **params, **contract})


def _evm(address: str) -> bool:
    digits = address.removeprefix("0x")
    return len(address) == 42 and len(digits) == 40 and set(digits) <= set("0123456789abcdefABCDEF")


def _found(chain: str, token: str | None) -> WorldToken:
    """The coin, or the one token of the table that is meant. Raises FaucetRefusal."""
    tokens = [
        each
        for each in world_tokens().values()
        if each.row.chain == chain and each.row.enabled and each.row in _HONEST
    ]
    if token is None:
        return next(each for each in tokens if each.row.native)
    wanted = token.casefold()
    for names in (_ids, _contracts, _symbols):
        matches = [each for each in tokens if names(each) == wanted]
        # Who means a namesake of a token that has a price gives its contract.
        if len(matches) > 1:
            matches = [each for each in matches if each.asset is not None] or matches
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(each.address or each.token_id for each in matches)
            raise FaucetRefusal("token", f"several tokens of {chain} are called so: {ids}")
    raise FaucetRefusal("token", f"there is no such token on {chain}")


def _ids(token: WorldToken) -> str:
    return token.token_id


def _contracts(token: WorldToken) -> str | None:
    return None if token.address is None else token.address.casefold()


def _symbols(token: WorldToken) -> str:
    return token.row.symbol.casefold()
