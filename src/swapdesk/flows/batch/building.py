"""A bundle as the service builds it, compared with the group before it counts: which deposits it
may mean, and how much it may ask for. The wallet judges the bytes once more.

Source: contract 9.10 to 9.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from swapdesk.client.api import PartnerApi
from swapdesk.flows.batch.bundles import Bundle, BundleItem
from swapdesk.flows.batch.group_status import BUILD_AGAIN, Stopped
from swapdesk.flows.batch.payable import PayableRow
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.journal.payments import Sum
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiBuildRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)
from swapdesk.wire.tokens import Token

EVM, SOLANA = "evm", "solana"


def _not_built(words: str) -> Stopped:
    """The answer is not a bundle of these deposits; ``words`` are a sentence without its point."""
    said = f"The service built no bundle of these deposits: {words}."
    return Stopped("BUILD_DIFFERS", said, BUILD_AGAIN)


def most_gas(price: Decimal | None, kind: str, payments: int) -> int:
    """The most that a bundle may pay for gas, in units of the coin: no more than its deposits
    would cost each by itself, and one transaction more for the smart account."""
    return gas_bound(price, kind) * (payments + 1)


async def build_operations(
    api: PartnerApi,
    multi_id: str,
    account: str,
    rows: Sequence[PayableRow],
    coin: Token,
) -> Bundle:
    """The operations that pay ``rows`` out of the smart account of ``account``; ``coin`` is the
    chain's. Raises Stopped and ClientError."""
    answer = await _asked(api, multi_id, EVM, account, _ids(rows))
    parts = _partition(answer, rows)
    items: list[BundleItem] = []
    needs: list[Sum] = []
    senders: set[str] = set()
    counts: dict[str | None, int] = {}
    for told, own in parts:
        data = told.tx_data
        if not isinstance(data, EvmTransactionData):
            raise _not_built("the service answered with a transaction of another chain")
        token = _token_of(own)
        part = counts.get(token.address, 0)
        counts[token.address] = part + 1
        item = _item(token, part, own, _operation(data))
        items.append(item)
        senders.add(str(item.document["userOperation"]["sender"]).lower())
        lacking = int(data.token_amount or "0")
        if token.address is not None and lacking:
            if lacking > item.sum.units:
                raise _not_built(
                    f"the service asks for more {token.symbol} than the deposits are together"
                )
            needs.append(Sum(token.symbol, token.decimals, token.address, lacking))
    if len(senders) != 1:
        raise _not_built("its operations are of different smart accounts")
    gas = most_gas(coin.price, EVM, len(rows))
    coins = int(answer.deposit_needed or "0")
    paid_in_coins = sum(item.sum.units for item in items if item.contract is None)
    if coins > paid_in_coins + gas:
        raise _not_built(f"the service asks for more {coin.symbol} than deposits and gas need")
    if coins:
        needs.insert(0, Sum(coin.symbol, coin.decimals, None, coins))
    sender = str(items[0].document["userOperation"]["sender"])
    held = int(answer.sa_current_balance or "0")
    chain = coin.chain_data.short_name
    return Bundle("evm", chain, account, sender, tuple(items), tuple(needs), gas, held)


async def partition(
    api: PartnerApi,
    multi_id: str,
    account: str,
    rows: Sequence[PayableRow],
    coin: Token,
) -> Bundle:
    """How the deposits of a group on Solana go into transactions, each of one token. Their bytes
    are fetched when they are signed: a blockhash lives for a minute. Raises Stopped and
    ClientError."""
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
    """The transaction, base64, that pays exactly the deposits of ``item``. Raises Stopped and
    ClientError."""
    ids = item.service_ids
    told = (await _asked(api, multi_id, SOLANA, account, ids)).transactions
    if len(told) != 1:
        raise _not_built("the service packs these deposits otherwise than before")
    data = told[0].tx_data
    if list(told[0].service_ids) != ids or not isinstance(data, SolanaTransactionData):
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
    """Each batch with its rows: every row in one of them, and nothing else in any."""
    left = {row.deposit.service_id: row for row in rows}
    found: list[tuple[MultiTransaction, list[PayableRow]]] = []
    for told in answer.transactions:
        own = [left.pop(service_id, None) for service_id in told.service_ids]
        if not own or any(one is None for one in own):
            raise _not_built("the service answered with other deposits than those asked for")
        found.append((told, [one for one in own if one is not None]))
    if left:
        count = len(left)
        raise _not_built(f"{count} deposit{'' if count == 1 else 's'} asked for are in no batch")
    return found


def _operation(data: EvmTransactionData) -> dict[str, Any]:
    """What is signed, as the service gave it. Without the operation a signature would be blind."""
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
