"""A bundle of a group as the service builds it, compared with the group before it counts.

Source: contract 9.10 to 9.16. Here is decided which deposits the service may mean, and how much
it may ask for; the wallet judges the bytes once more. On Solana a bundle is a fixed partition of
transactions, each signed and sent by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from swapdesk.client.api import PartnerApi
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.group_outcomes import BUILD_AGAIN, PAY_OTHERWISE, SIGN_AGAIN, Stopped
from swapdesk.flows.batch.group_transactions import GroupPayments, GroupWork, item_turn
from swapdesk.flows.batch.payable import LEAST_LEFT, PayableRow
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.journal.batch_records import (
    Built,
    BundleItem,
    BundleState,
    FundingNeed,
    JournaledBundle,
    Paying,
    WalletPayment,
)
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wallet.promise import Payload, Purpose, SolanaPayload
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiBuildRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)
from swapdesk.wire.tokens import Token

EVM, SOLANA = "evm", "solana"


class NotBuilt(Exception):
    """The answer is not a bundle of these deposits; the text is a sentence without its point."""


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
) -> Built:
    """The operations that pay ``rows`` out of the smart account of ``account``; ``coin`` is the
    chain's. Raises NotBuilt and ClientError."""
    answer = await _asked(api, multi_id, EVM, account, _ids(rows))
    parts = _partition(answer, rows)
    items: list[BundleItem] = []
    needs: list[FundingNeed] = []
    senders: set[str] = set()
    counts: dict[str | None, int] = {}
    for told, own in parts:
        data = told.tx_data
        if not isinstance(data, EvmTransactionData):
            raise NotBuilt("the service answered with a transaction of another chain")
        token = _token_of(own)
        part = counts.get(token.address, 0)
        counts[token.address] = part + 1
        item = _item(token, part, own, _operation(data))
        items.append(item)
        senders.add(str(item.document["userOperation"]["sender"]).lower())
        lacking = int(data.token_amount or "0")
        if token.address is not None and lacking:
            if lacking > item.units:
                raise NotBuilt(
                    f"the service asks for more {token.symbol} than the deposits are together"
                )
            needs.append(FundingNeed(token.symbol, token.decimals, token.address, lacking))
    if len(senders) != 1:
        raise NotBuilt("its operations are of different smart accounts")
    gas = most_gas(coin.price, EVM, len(rows))
    coins = int(answer.deposit_needed or "0")
    paid_in_coins = sum(item.units for item in items if item.contract is None)
    if coins > paid_in_coins + gas:
        raise NotBuilt(f"the service asks for more {coin.symbol} than deposits and gas need")
    if coins:
        needs.insert(0, FundingNeed(coin.symbol, coin.decimals, None, coins))
    sender = str(items[0].document["userOperation"]["sender"])
    held = int(answer.sa_current_balance or "0")
    chain = coin.chain_data.short_name
    return Built("evm", chain, account, sender, tuple(items), tuple(needs), gas, held)


async def partition(
    api: PartnerApi,
    multi_id: str,
    account: str,
    rows: Sequence[PayableRow],
    price: Decimal | None,
) -> Built:
    """How the deposits of a group on Solana go into transactions, each of one token. Their bytes
    are fetched when they are signed: a blockhash lives for a minute. Raises NotBuilt and
    ClientError."""
    items: list[BundleItem] = []
    for token_id in dict.fromkeys(row.token.id for row in rows):
        own = [row for row in rows if row.token.id == token_id]
        answer = await _asked(api, multi_id, SOLANA, account, _ids(own))
        for number, (_, part) in enumerate(_partition(answer, own)):
            items.append(_item(own[0].token, number, part, {}))
    gas = most_gas(price, "sol", len(rows))
    chain = rows[0].token.chain_data.short_name
    return Built("solana", chain, account, account, tuple(items), (), gas, 0)


async def part_of(api: PartnerApi, multi_id: str, account: str, item: BundleItem) -> str:
    """The transaction, base64, that pays exactly the deposits of ``item``. Raises NotBuilt and
    ClientError."""
    ids = [one.service_id for one in item.deposits]
    told = (await _asked(api, multi_id, SOLANA, account, ids)).transactions
    if len(told) != 1:
        raise NotBuilt("the service packs these deposits otherwise than before")
    data = told[0].tx_data
    if list(told[0].service_ids) != ids or not isinstance(data, SolanaTransactionData):
        raise NotBuilt("the service answered with other deposits than those asked for")
    return data.data


async def _asked(
    api: PartnerApi, multi_id: str, chain: str, account: str, ids: list[str]
) -> MultiTransactions:
    answer = await api.build_multi_transactions(
        multi_id, MultiBuildRequest(sender=account, service_ids=ids)
    )
    if answer.multi_id != multi_id or answer.chain != chain:
        raise NotBuilt("the service answered with another group")
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
            raise NotBuilt("the service answered with other deposits than those asked for")
        found.append((told, [one for one in own if one is not None]))
    if left:
        count = len(left)
        raise NotBuilt(f"{count} deposit{'' if count == 1 else 's'} asked for are in no batch")
    return found


def _operation(data: EvmTransactionData) -> dict[str, Any]:
    """What is signed, as the service gave it. Without the operation a signature would be blind."""
    if data.user_operation is None or data.entry_point is None or data.entry_point_version is None:
        raise NotBuilt(
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
        raise NotBuilt("one of its operations pays with several tokens")
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


class Parts:
    """Of one group. ``payments`` are its transactions."""

    def __init__(self, work: GroupWork, payments: GroupPayments) -> None:
        self._work = work
        self._payments = payments

    async def send(self, bundle: JournaledBundle) -> None:
        """Sign and send each part that was not paid yet, and wait for all of them. Raises Stopped,
        and what the wallet and the service raise."""
        items = bundle.built.items
        try:
            for number, item in enumerate(items, start=1):
                self._work.watch.turns_to(item_turn(item, number, len(items)))
                entry = self._part(bundle, item)
                if entry is None or _signed_anew(entry):
                    await self._send_part(bundle, item)
                self._work.watch.moved()
        except Exception:
            await self._payments.follow_all(bundle.built.expires)
            raise
        await self._payments.follow_all(bundle.built.expires)
        entries = [self._part(bundle, item) for item in items]
        for entry in entries:
            if entry is not None and entry.code == "LOST":
                said = "A transaction was not executed in time; it paid nobody."
                raise Stopped("LOST", said, SIGN_AGAIN, hash_=entry.hash)
            if entry is None or entry.state is not StepState.ACKED:
                code = "not signed" if entry is None or not entry.code else entry.code.lower()
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} is {code} and paid nobody."
                raise Stopped("PART_FAILED", said, PAY_OTHERWISE, open_=False, hash_=hash_)
        last = next(one.hash for one in reversed(self._payments.all) if one.hash is not None)
        self._work.journal.bundles.ended(bundle, BundleState.CONFIRMED, tx_hash=last)
        self._work.watch.moved()

    def _part(self, bundle: JournaledBundle, item: BundleItem) -> WalletPayment | None:
        """The newest transaction of a part; None where none was begun."""
        return self._payments.of(promises.part_intent(self._work.payer, item, bundle.number))

    async def _send_part(self, bundle: JournaledBundle, item: BundleItem) -> None:
        late = min(one.expires for one in item.deposits) - self._work.clock.now() <= LEAST_LEFT
        if late:
            raise Stopped("ORDERS_EXPIRED", "An order of the group has expired.", BUILD_AGAIN)
        intent = promises.part_intent(self._work.payer, item, bundle.number)
        promise = promises.item_promise(self._work.payer, bundle.built, item, intent)

        async def make() -> Payload:
            """Fetched when it is shown: its blockhash lives for a minute."""
            work, account = self._work, bundle.built.account
            told = await part_of(work.api, work.multi_id, account, item)
            return SolanaPayload(Purpose.BUNDLE, told)

        ids = [one.service_id for one in item.deposits]
        await self._payments.send(Paying.PART, item_turn(item, 0, 0).need, promise, make, ids)


def _signed_anew(entry: WalletPayment) -> bool:
    """Whether nothing came of it and nothing can: it was never signed, or not executed in time."""
    if entry.state is not StepState.REFUSED:
        return False
    return entry.hash is None or entry.code in ("LOST", "ABANDONED")
