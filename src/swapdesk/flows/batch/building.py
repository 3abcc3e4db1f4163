"""Finds the rows of a group that await a deposit, has the service build the bundle that pays them,
and checks that bundle.

Each order is compared with the request of its row. The service adds the deposit addresses some time
after it answered the create, so the orders are read again. Every later answer must repeat the
earlier ones, and before each step the orders are compared with the bundle.

A bundle must contain only these deposits and may ask for no more than they need. The wallet then
checks the bytes against a promise, whose amounts are limited by the confirmed rows and never taken
from the answer. Source: contract 9.10 to 9.16.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct

from swapdesk.chain.addresses.checking import check_address, same_address
from swapdesk.client.api import PartnerApi
from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleDeposit,
    BundleItem,
    funding_intent,
    item_intent,
)
from swapdesk.flows.batch.progress import Stopped
from swapdesk.flows.batch.rows import Group, Row
from swapdesk.flows.creation.order_verification import AMOUNT_TOLERANCE
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.notation import counted
from swapdesk.flows.orders.situations import awaits_deposit
from swapdesk.flows.payments import Sum
from swapdesk.wallet.promise import (
    Asset,
    BundlePromise,
    DepositPromise,
    OperationPayload,
    Promise,
    Purpose,
    TransactionPayload,
)
from swapdesk.wire.encoding.numbers import NumberError, to_base_units
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiBuildRequest,
    MultiExchangeStatus,
    MultiOrderRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)
from swapdesk.wire.orders import Order, OrderStatusCode
from swapdesk.wire.tokens import Token

LEAST_LEFT = timedelta(seconds=30)
"""An order is not paid if its deadline is nearer than this."""
EVM, SOLANA = "evm", "solana"
_TRANSFER = "0xa9059cbb"
"""The first four bytes of a call of ``transfer(address,uint256)`` of a token contract, as
0x-hex."""


def differing(asked: MultiOrderRequest, order: Order) -> str | None:
    """Returns the first field in which an order differs from its request; None if no field differs.
    A field that the service leaves out counts as equal, except the recipient and the memo."""
    for wanted, token_id, token, word in (
        (asked.from_, order.in_token_id, order.in_token, "token sold"),
        (asked.to, order.out_token_id, order.out_token, "token bought"),
    ):
        named = token_id or (token.id if token is not None else wanted)
        if named.lower() != wanted.lower():
            return word
    if order.receiver_address is None or not _same(order.receiver_address, asked.address_to):
        return "recipient"
    if (order.receiver_tag or None) != asked.destination_tag:
        return "memo"
    if order.anonymous is not None and order.anonymous is not bool(asked.anonymous):
        return "route"
    paid = asked.amount if order.in_amount is None else order.in_amount
    return "amount" if abs(paid - asked.amount) > asked.amount * AMOUNT_TOLERANCE else None


def _same(left: str, other: str) -> bool:
    if left.startswith("0x") and other.startswith("0x"):
        return left.lower() == other.lower()
    return left == other


class PayableRow(Struct, frozen=True):
    """One row that can be paid. ``confirmed`` is the amount that the row asked to sell, in base
    units; ``deposit`` is what the order asks for."""

    token: Token
    confirmed: int
    deposit: BundleDeposit


class Unpayable(Exception):
    """Raised for an order that must not be paid now. If ``wrong`` is True, the order is not what
    the row asked for and must never be paid."""

    def __init__(self, reason: str, *, wrong: bool = False) -> None:
        super().__init__(reason)
        self.wrong = wrong


class Payables(Struct, frozen=True):
    """The rows that can be paid now, and those that cannot, with reasons. ``pending`` is the number
    of orders without a deposit address."""

    rows: tuple[PayableRow, ...]
    unpayable: tuple[tuple[Row, Unpayable], ...]
    pending: int


def payables(
    group: Group,
    status: MultiExchangeStatus,
    token_of: Callable[[str], Token | None],
    now: datetime,
    paid: Collection[str] = (),
) -> Payables:
    """Returns which rows can be paid, judged by their orders in ``status``. Orders in ``paid`` are
    left out, because their deposit was or may have been sent."""
    orders = {order.service_id: order for order in status.orders}
    rows: list[PayableRow] = []
    unpayable: list[tuple[Row, Unpayable]] = []
    pending = 0
    for row, request in zip(group.rows, group.request.orders, strict=True):
        if row.became != "created" or row.service_id is None or row.service_id in paid:
            continue
        order = orders.get(row.service_id)
        try:
            if order is None:
                raise Unpayable("the service does not show its order")
            set_up = order.status is None or order.status >= OrderStatusCode.WAITING
            if set_up or order.deposit_address is not None:
                rows.append(_row(row.number, order, request, token_of, now))
            else:
                pending += 1
        except Unpayable as problem:
            unpayable.append((row, problem))
    return Payables(tuple(rows), tuple(unpayable), pending)


def changed(before: Collection[BundleDeposit], now: Payables) -> str | None:
    """Returns the first difference between ``before``, a bundle's deposits, and ``now``, a later
    answer of the service. The text has no full stop; None if nothing differs."""
    deposits = {one.deposit.service_id: one.deposit for one in now.rows}
    reasons = {row.service_id: str(problem) for row, problem in now.unpayable}
    for one in before:
        again = deposits.get(one.service_id)
        if again is None:
            reason = reasons.get(one.service_id, "awaits no deposit any more")
            return f"row {one.row}: {reason}"
        if again.address != one.address:
            return f"row {one.row}: the service repeats another deposit address"
        if again.units != one.units:
            return f"row {one.row}: the service repeats another amount to pay"
    return None


def _row(
    number: int,
    order: Order,
    asked: MultiOrderRequest,
    token_of: Callable[[str], Token | None],
    now: datetime,
) -> PayableRow:
    differs = differing(asked, order)
    if differs is not None:
        raise Unpayable(f"the {differs} of the order is not what was asked for", wrong=True)
    if not awaits_deposit(order):
        raise Unpayable("its order awaits no deposit")
    token = token_of(asked.from_)
    if token is None:
        raise Unpayable("the token it sells is not in the desk's list")
    if order.deposit_address is None or order.in_amount is None or order.expires is None:
        raise Unpayable("its order does not say what is to be paid, where to, and until when")
    if order.expires - now <= LEAST_LEFT:
        raise Unpayable("its order waits no longer than 30 seconds")
    if order.deposit_tag:
        raise Unpayable("its order needs a memo, which this payment cannot carry")
    chain = token.chain_data
    contracts = (token.address,) if token.address else ()
    address = check_address(
        chain.kind, order.deposit_address, chain_name=chain.name, contracts=contracts
    )
    if not address.ok:
        raise Unpayable(f"its deposit address is no address on {chain.name}", wrong=True)
    own = [one for one in (asked.address_to, asked.refund_address) if one is not None]
    if any(same_address(chain.kind, address.normalized, one) for one in own):
        raise Unpayable("its deposit address is the recipient or the refund address", wrong=True)
    try:
        units = to_base_units(order.in_amount, token.decimals)
        confirmed = to_base_units(asked.amount, token.decimals)
    except NumberError:
        raise Unpayable("its amount is no whole number of units", wrong=True) from None
    deposit = BundleDeposit(number, order.service_id, address.normalized, units, order.expires)
    return PayableRow(token, confirmed, deposit)


# The bundle


def _not_built(differs: str) -> Stopped:
    return Stopped("BUILD_DIFFERS", differs=differs)


def most_gas(price: Decimal | None, kind: str, payments: int) -> int:
    """Returns the most that a bundle may cost for gas, in base units of the native coin. ``price``
    is the coin's price in USD or None."""
    return gas_bound(price, kind) * (payments + 1)


async def build_operations(
    api: PartnerApi,
    multi_id: str,
    account: str,
    rows: Sequence[PayableRow],
    coin: Token,
) -> Bundle:
    """Has the service build the operations that pay the deposits of ``rows`` from a smart account.
    Raises ClientError, and Stopped if the operations do not pay exactly these deposits."""
    answer = await _asked(api, multi_id, EVM, account, _ids(rows))
    items: list[BundleItem] = []
    needs: list[Sum] = []
    for operation, own in _partition(answer, rows):
        data = operation.tx_data
        if not isinstance(data, EvmTransactionData):
            raise _not_built("the service answered with a transaction of another chain")
        token = _token_of(own)
        part = sum(before.contract == token.address for before in items)
        item = _item(token, part, own, _operation(data))
        items.append(item)
        lacking = int(data.token_amount or "0")
        if token.address is not None and lacking:
            if lacking > item.sum.units:
                raise _not_built(
                    f"the service asks for more {token.symbol} than the deposits are together"
                )
            needs.append(Sum(token.symbol, token.decimals, token.address, lacking))
    senders = [str(item.document["userOperation"]["sender"]) for item in items]
    if len({sender.lower() for sender in senders}) != 1:
        raise _not_built("its operations are of different smart accounts")
    gas = most_gas(coin.price, EVM, len(rows))
    coins = int(answer.deposit_needed or "0")
    paid_in_coins = sum(item.sum.units for item in items if item.contract is None)
    if coins > paid_in_coins + gas:
        raise _not_built(f"the service asks for more {coin.symbol} than deposits and gas need")
    if coins:
        needs.insert(0, Sum(coin.symbol, coin.decimals, None, coins))
    held = int(answer.sa_current_balance or "0")
    chain = coin.chain_data.short_name
    return Bundle("evm", chain, account, senders[0], tuple(items), tuple(needs), gas, held)


async def partition(
    api: PartnerApi,
    multi_id: str,
    account: str,
    rows: Sequence[PayableRow],
    coin: Token,
) -> Bundle:
    """Has the service divide Solana deposits into transactions, each in one token. The bytes of a
    transaction are valid for a minute, so they are fetched only just before signing. Raises
    ClientError and Stopped."""
    items: list[BundleItem] = []
    for token_id in dict.fromkeys(row.token.id for row in rows):
        own = [row for row in rows if row.token.id == token_id]
        answer = await _asked(api, multi_id, SOLANA, account, _ids(own))
        for number, (_, part) in enumerate(_partition(answer, own)):
            items.append(_item(own[0].token, number, part, {}))
    gas = most_gas(coin.price, "sol", len(rows))
    chain = rows[0].token.chain_data.short_name
    return Bundle("solana", chain, account, account, tuple(items), (), gas, 0)


async def part_of(api: PartnerApi, multi_id: str, account: str, item: BundleItem) -> str:
    """Returns the base64 transaction that pays the deposits of ``item``. Raises ClientError, and
    Stopped if the transaction does not pay exactly these deposits."""
    ids = item.service_ids
    transactions = (await _asked(api, multi_id, SOLANA, account, ids)).transactions
    if len(transactions) != 1:
        raise _not_built("the service packs these deposits otherwise than before")
    data = transactions[0].tx_data
    if list(transactions[0].service_ids) != ids or not isinstance(data, SolanaTransactionData):
        raise _not_built("the service answered with other deposits than those asked for")
    return data.data


async def _asked(
    api: PartnerApi, multi_id: str, chain: str, account: str, ids: list[str]
) -> MultiTransactions:
    answer = await api.build_multi_transactions(
        multi_id, MultiBuildRequest(sender=account, service_ids=ids)
    )
    if answer.multi_id != multi_id or answer.chain != chain:
        raise _not_built("the service answered with another group")
    return answer


def _partition(
    answer: MultiTransactions, rows: Sequence[PayableRow]
) -> list[tuple[MultiTransaction, list[PayableRow]]]:
    """Returns each transaction with the rows that it pays. Raises Stopped unless every row is paid
    exactly once and nothing else is paid."""
    left = {row.deposit.service_id: row for row in rows}
    parts: list[tuple[MultiTransaction, list[PayableRow]]] = []
    for transaction in answer.transactions:
        own = [left.pop(service_id) for service_id in transaction.service_ids if service_id in left]
        if not own or len(own) < len(transaction.service_ids):
            raise _not_built("the service answered with other deposits than those asked for")
        parts.append((transaction, own))
    if left:
        raise _not_built(f"{counted(len(left), 'deposit')} asked for are in no batch")
    return parts


def _operation(data: EvmTransactionData) -> dict[str, Any]:
    """Returns the operation to sign. Raises Stopped if the service's answer lacks the operation,
    because the desk signs nothing that it cannot show."""
    if data.user_operation is None or data.entry_point is None or data.entry_point_version is None:
        raise _not_built(
            "the service does not tell what its bundle does, and this desk signs nothing blindly"
        )
    operation = data.user_operation.model_dump(by_alias=True, exclude_none=True)
    return {
        "userOperation": operation,
        "entryPoint": data.entry_point,
        "entryPointVersion": data.entry_point_version,
        "chainId": data.chain_id,
    }


def _token_of(rows: Sequence[PayableRow]) -> Token:
    token = rows[0].token
    if any(row.token.id != token.id for row in rows):
        raise _not_built("one of its operations pays with several tokens")
    return token


def _item(
    token: Token, part: int, rows: Sequence[PayableRow], document: dict[str, Any]
) -> BundleItem:
    return BundleItem(
        token.id,
        token.symbol,
        token.decimals,
        token.address,
        part,
        tuple(row.deposit for row in rows),
        sum(row.confirmed for row in rows),
        document,
    )


def _ids(rows: Sequence[PayableRow]) -> list[str]:
    return [row.deposit.service_id for row in rows]


# What is promised of it


def item_promise(multi_id: str, coin: Token, bundle: Bundle, item: BundleItem) -> Promise:
    """Returns the limits for the wallet agent: the signature pays exactly the deposits of
    ``item``."""
    sold = Asset(item.symbol, item.decimals, item.contract)
    deposits = tuple(
        DepositPromise(deposit.service_id, deposit.address, None, deposit.units, deposit.expires)
        for deposit in item.deposits
    )
    return _promise(
        coin,
        bundle,
        item_intent(multi_id, bundle, item),
        sold,
        item.confirmed,
        bundle.gas_units,
        BundlePromise(multi_id, item.part, deposits),
    )


def funding_promise(multi_id: str, coin: Token, bundle: Bundle, need: Sum) -> Promise:
    """Returns the limits for the wallet agent when it sends ``need`` to the smart account: no more
    than the bundle's deposits and gas can cost."""
    sold = Asset(need.symbol, need.decimals, need.contract)
    bound = sum(item.confirmed for item in bundle.items if item.contract == need.contract)
    bound += bound // 10_000
    if need.contract is None:
        bound += bundle.gas_units
    gas = gas_bound(coin.price, "evm")
    intent_id = funding_intent(multi_id, bundle, need)
    return _promise(coin, bundle, intent_id, sold, bound, gas, None)


def operation_payload(item: BundleItem) -> OperationPayload:
    document = item.document
    return OperationPayload(
        Purpose.BUNDLE,
        dict(document["userOperation"]),
        str(document["entryPoint"]),
        str(document["entryPointVersion"]),
        document["chainId"],
    )


def funding_payload(bundle: Bundle, need: Sum) -> TransactionPayload:
    """Returns the wallet transaction that sends the missing amount ``need`` to the bundle's smart
    account."""
    if need.contract is None:
        return TransactionPayload(Purpose.FUND, bundle.sender, "0x", need.units)
    payee = bundle.sender[2:].lower().rjust(64, "0")
    data = f"{_TRANSFER}{payee}{need.units:064x}"
    return TransactionPayload(Purpose.FUND, need.contract, data, 0)


def _promise(
    coin: Token,
    bundle: Bundle,
    intent_id: str,
    sold: Asset,
    units: int,
    gas_units: int,
    pays: BundlePromise | None,
) -> Promise:
    chain_id = coin.chain_data.chain_id if bundle.kind == "evm" else None
    return Promise(
        intent_id=intent_id,
        account=bundle.account,
        chain=bundle.chain,
        chain_id=chain_id,
        sell=sold,
        sell_units=units,
        # Deposits buy nothing by themselves; what each order buys stands in the order.
        buy=sold,
        chain_out=bundle.chain,
        chain_out_id=chain_id,
        least_units=0,
        quoted_units=0,
        recipient=bundle.account,
        venue=None,
        quote_id=None,
        valid_until=bundle.expires,
        gas_units=gas_units,
        bundle=pays,
    )
