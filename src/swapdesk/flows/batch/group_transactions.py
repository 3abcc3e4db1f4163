"""What a group is paid by: a bundle as the service builds it, and the wallet's transactions and
operations for it, each journaled before it is signed.

Source: contract 9.10 to 9.16. What the service builds is compared with the group before it counts:
here is decided which deposits it may mean, and how much it may ask for; the wallet judges the bytes
once more.

What was signed stands in the wallet's own records before a byte leaves, by its intent. They
decide: a transaction found there is sent on as it is, and no other one is signed beside it. On an
EVM chain the smart account is filled and each operation signed, after the wallet was asked whether
it holds what the group needs. On Solana a bundle is a fixed partition of transactions, each signed
and sent by itself. :class:`GroupWatch` hears how the work goes, for whoever shows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.clock import Clock
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.bundle_promise import Payer, blocking, group_name, overtaken
from swapdesk.flows.batch.group_status import BUILD_AGAIN, PAY_OTHERWISE, SIGN_AGAIN, Stopped
from swapdesk.flows.batch.payable import LEAST_LEFT, GroupOrders, PayableRow
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.journal.payments import (
    Bundle,
    BundleItem,
    Sum,
    begin_transaction,
    group_act,
    intent_of,
    move_bundle,
    paid_orders,
    sign_bundle,
    sum_of,
    transactions_of,
)
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.transactions import ActEntry, Pace, Transactor, Watch
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import FINAL, Signature, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, Payload, Promise, Purpose, SolanaPayload
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.multi import (
    EvmTransactionData,
    MultiBuildRequest,
    MultiTransaction,
    MultiTransactions,
    SolanaTransactionData,
)
from swapdesk.wire.tokens import Token

MakePayload = Callable[[], Awaitable[Payload]]
"""What is to be signed, made when nothing was signed before. Raises what its maker raises."""

_PURPOSES = {"fund": Purpose.FUND, "part": Purpose.BUNDLE}


class Turn(Struct, frozen=True):
    """What is signed now: ``need`` of one token, for ``payees`` deposits, or for the smart account
    itself (0). It is ``number`` of ``total``, both of the fundings or of the signatures."""

    need: Sum
    payees: int
    number: int
    total: int

    @property
    def funding(self) -> bool:
        return self.payees == 0


def item_turn(item: BundleItem, number: int, total: int) -> Turn:
    """The signature of an item, ``number`` of ``total``."""
    return Turn(item.sum, len(item.deposits), number, total)


class GroupWatch(Watch):
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def moved(self) -> None:
        """The journal says something new of the group."""

    def turns_to(self, turn: Turn) -> None:
        """Something else is signed next."""


class GroupWork(Struct):
    """The work on one group of a batch, and who does it. ``account`` pays, ``payer`` says for
    what and where; ``watch`` hears how it goes."""

    api: PartnerApi
    journal: Journal
    clock: Clock
    client: WalletClient
    transactor: Transactor
    account: Account
    payer: Payer
    watch: GroupWatch
    pace: Pace
    batch_id: str
    number: int

    @property
    def multi_id(self) -> str:
        return self.payer.multi_id

    @property
    def group(self) -> str:
        """The act by which the group was created."""
        return group_act(self.batch_id, self.number)


class GroupPayments:
    """The transactions of one group. Methods raise WalletError, StillOpen and
    JournalUnavailable."""

    def __init__(self, work: GroupWork) -> None:
        self._work = work
        self._ledger = work.journal.ledger

    @property
    def all(self) -> tuple[Operation, ...]:
        return transactions_of(self._ledger, self._work.group)

    def of(self, intent_id: str) -> Operation | None:
        """The newest transaction under an intent."""
        return next((act for act in reversed(self.all) if intent_of(act) == intent_id), None)

    async def send(
        self,
        kind: Literal["fund", "part"],
        need: Sum,
        promise: Promise,
        make: MakePayload,
        service_ids: Sequence[str] = (),
    ) -> None:
        """Sign the transaction of an intent and send it, or send what was signed before; what
        becomes of it :meth:`follow_all` says. What does not leave is waited for here, since
        nothing else may be signed before.

        Raises NotAgreed and NotSignable; then nothing was signed."""
        signed = await self._work.transactor.resume(promise.intent_id, _PURPOSES[kind])
        act = self.of(promise.intent_id)
        payload = await make() if signed is None else None
        if act is not None and signed is None and not act.open:
            act = None  # it is over, and nothing was signed under it

        def begin() -> Operation:
            return begin_transaction(
                self._ledger, kind, self._work.group, need, promise.intent_id, service_ids
            )

        entry = ActEntry(self._ledger, begin, act)
        if payload is not None:
            signed = await self._work.transactor.confirm(
                entry, lambda: self._work.transactor.agree(payload, promise)
            )
        assert signed is not None  # found or made above
        if payload is None:
            entry.signed(signed.hash)
        if signed.state in FINAL or not await self._sent(signed, promise.valid_until):
            await self._settled(entry, signed, promise.valid_until)

    async def _sent(self, signed: SignedTransaction, until: datetime) -> bool:
        """Whether a node has the bytes."""
        if self._work.clock.now() >= until - LEAST_LEFT:
            return False
        return await self._work.transactor.dispatch(signed)

    async def follow_all(self, until: datetime) -> None:
        """Go on with everything that was begun, signing nothing, until each is over; where nothing
        was signed, that is committed. What leaves later than ``until`` pays no order any more."""
        for act in self.all:
            if not act.open:
                continue
            signed = await self._work.transactor.resume(intent_of(act), _PURPOSES[act.kind])
            entry = self._entry(act)
            if signed is None:
                entry.refused("NOT_SIGNED")
            else:
                await self._settled(entry, signed, until)

    def _entry(self, act: Operation) -> ActEntry:
        def begin() -> Operation:
            kind: Literal["fund", "part"] = "fund" if act.kind == "fund" else "part"
            return begin_transaction(
                self._ledger, kind, self._work.group, sum_of(act), intent_of(act), paid_orders(act)
            )

        return ActEntry(self._ledger, begin, act)

    async def _settled(self, entry: ActEntry, signed: SignedTransaction, until: datetime) -> None:
        if self._work.clock.now() >= until - LEAST_LEFT:
            # What never left pays no order any more.
            signed = await self._work.transactor.give_up_unsent(signed)
        await self._work.transactor.settle(signed, entry)


NOT_ENOUGH = "NOT_ENOUGH"


async def require_held(
    client: WalletClient, account: Account, chain: str, needs: Sequence[Sum]
) -> None:
    """Raises Stopped where the account has less of a token than is needed; a balance that cannot
    be read speaks against nothing, since the gate simulates what is signed. Raises WalletError."""
    sums: dict[str | None, Sum] = {}
    for need in needs:
        before = sums.get(need.contract)
        units = need.units + (before.units if before is not None else 0)
        sums[need.contract] = Sum(need.symbol, need.decimals, need.contract, units)
    if not sums:
        return
    assets = [Asset(one.symbol, one.decimals, one.contract) for one in sums.values()]
    told = await client.balances(account.address, chain, assets)
    held = {one.asset.contract: one for one in told.balances}
    said = []
    for need in sums.values():
        balance = held.get(need.contract)
        has_units = None if balance is None else balance.units
        if balance is None or has_units is None or has_units >= need.units:
            continue
        if has_units and balance.asset.decimals != need.decimals:
            # A need in other units than the chain's is nothing to fill up for: the gate refuses it.
            continue
        has = short(from_base_units(has_units, need.decimals))
        lacking = short(from_base_units(need.units - has_units, need.decimals))
        said.append(
            f"{exact_amount(need.amount)} {need.symbol} are needed, and wallet"
            f" {account.name or account.address} has {exact_amount(has)}:"
            f" {exact_amount(lacking)} {need.symbol} are missing"
        )
    if said:
        next_ = f"you: send it to {account.address}, then sign"
        raise Stopped(NOT_ENOUGH, f"{'; '.join(said)}.", next_)


class Operations:
    """Of one group of a batch. ``payments`` are its transactions, ``orders`` what it is to pay."""

    def __init__(self, work: GroupWork, payments: GroupPayments, orders: GroupOrders) -> None:
        self._work = work
        self._payments = payments
        self._orders = orders

    def require_in_time(self, bundle: Bundle) -> None:
        """Raises Stopped where an order of it expires before its deposit could arrive."""
        if bundle.expires - self._work.clock.now() <= LEAST_LEFT:
            raise Stopped("ORDERS_EXPIRED", "An order of the bundle has expired.", BUILD_AGAIN)

    def require_untouched(self, bundle: Bundle) -> None:
        """Raises Stopped where something left the smart account since it was built."""
        if overtaken(self._work.journal, bundle):
            said = "The smart account paid another group, or its owner, since this was built."
            raise Stopped("BUILT_BEFORE", said, BUILD_AGAIN)

    def refuse_beside_another(self) -> None:
        """Raises Stopped where another group counts on what the smart account holds."""
        other = blocking(
            self._work.journal,
            self._work.group,
            self._work.account.address,
            self._work.payer.chain,
            self._work.clock.now(),
        )
        if other is not None:
            name = group_name(other)
            raise Stopped(
                "OTHER_UNDER_WAY",
                f"What the smart account holds is for {name}, which is {other.word}.",
                f"you: let {name} end first",
            )

    async def sign(self, bundle: Bundle) -> None:
        """Fill the smart account, wait for that, and sign all operations. Raises Stopped, and what
        the wallet raises."""
        self.require_in_time(bundle)
        await self._orders.require_same(bundle)
        self.refuse_beside_another()
        self.require_untouched(bundle)
        needs, items = bundle.needs, bundle.items
        begun = {intent_of(act) for act in self._payments.all if act.hash is not None}
        missing = [
            need
            for need in needs
            if promises.funding_intent(self._work.payer, need, bundle.number) not in begun
        ]
        await require_held(self._work.client, self._work.account, self._work.payer.chain, missing)
        try:
            for number, need in enumerate(needs, start=1):
                self._work.watch.turns_to(Turn(need, 0, number, len(needs)))
                await self._fund(bundle, need)
        except Exception:
            # What left before is told with what stopped it; a run that is cancelled waits for
            # nothing.
            await self._follow_open(bundle)
            raise
        await self._follow_open(bundle)
        self._require_funded(bundle)
        signatures = []
        for number, item in enumerate(items, start=1):
            self._work.watch.turns_to(item_turn(item, number, len(items)))
            signed = await self._signature(bundle, item)
            signatures.append(signed.signature)
        if not sign_bundle(self._work.journal.ledger, bundle, signatures):
            said = "Another bundle was built in its place, or its signatures left before."
            raise Stopped("BUILT_BEFORE", said, BUILD_AGAIN)
        self._work.watch.moved()

    async def _follow_open(self, bundle: Bundle) -> None:
        await self._payments.follow_all(bundle.expires)
        self._work.watch.moved()

    async def _fund(self, bundle: Bundle, need: Sum) -> None:
        intent = promises.funding_intent(self._work.payer, need, bundle.number)
        promise = promises.funding_promise(self._work.payer, bundle, need, intent)

        async def make() -> Payload:
            return promises.funding_payload(bundle, need)

        await self._payments.send("fund", need, promise, make)
        self._work.watch.moved()

    def _require_funded(self, bundle: Bundle) -> None:
        """Raises Stopped where a transaction that fills the smart account failed."""
        for need in bundle.needs:
            entry = self._payments.of(
                promises.funding_intent(self._work.payer, need, bundle.number)
            )
            if entry is None or entry.state is not State.DONE:
                code = "" if entry is None or entry.code is None else f" is {entry.code.lower()}"
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} that fills the smart account{code}."
                raise Stopped("FUNDING_FAILED", said, BUILD_AGAIN, hash_=hash_)

    async def _signature(self, built: Bundle, item: BundleItem) -> Signature:
        intent = promises.item_intent(self._work.payer, item)
        promise = promises.item_promise(self._work.payer, built, item, intent)
        signed = await self._work.transactor.agree(promises.operation_payload(item), promise)
        assert isinstance(signed, Signature)
        return signed


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
) -> Bundle:
    """The operations that pay ``rows`` out of the smart account of ``account``; ``coin`` is the
    chain's. Raises NotBuilt and ClientError."""
    answer = await _asked(api, multi_id, EVM, account, _ids(rows))
    parts = _partition(answer, rows)
    items: list[BundleItem] = []
    needs: list[Sum] = []
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
            if lacking > item.sum.units:
                raise NotBuilt(
                    f"the service asks for more {token.symbol} than the deposits are together"
                )
            needs.append(Sum(token.symbol, token.decimals, token.address, lacking))
    if len(senders) != 1:
        raise NotBuilt("its operations are of different smart accounts")
    gas = most_gas(coin.price, EVM, len(rows))
    coins = int(answer.deposit_needed or "0")
    paid_in_coins = sum(item.sum.units for item in items if item.contract is None)
    if coins > paid_in_coins + gas:
        raise NotBuilt(f"the service asks for more {coin.symbol} than deposits and gas need")
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
    price: Decimal | None,
) -> Bundle:
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
    return Bundle("solana", chain, account, account, tuple(items), (), gas, 0)


async def part_of(api: PartnerApi, multi_id: str, account: str, item: BundleItem) -> str:
    """The transaction, base64, that pays exactly the deposits of ``item``. Raises NotBuilt and
    ClientError."""
    ids = item.service_ids
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

    async def send(self, bundle: Bundle) -> None:
        """Sign and send each part that was not paid yet, and wait for all of them. Raises Stopped,
        and what the wallet and the service raise."""
        items = bundle.items
        try:
            for number, item in enumerate(items, start=1):
                self._work.watch.turns_to(item_turn(item, number, len(items)))
                entry = self._part(bundle, item)
                if entry is None or _signed_anew(entry):
                    await self._send_part(bundle, item)
                self._work.watch.moved()
        except Exception:
            await self._payments.follow_all(bundle.expires)
            raise
        await self._payments.follow_all(bundle.expires)
        entries = [self._part(bundle, item) for item in items]
        for entry in entries:
            if entry is not None and entry.code == "LOST":
                said = "A transaction was not executed in time; it paid nobody."
                raise Stopped("LOST", said, SIGN_AGAIN, hash_=entry.hash)
            if entry is None or entry.state is not State.DONE:
                code = "not signed" if entry is None or not entry.code else entry.code.lower()
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} is {code} and paid nobody."
                raise Stopped("PART_FAILED", said, PAY_OTHERWISE, open_=False, hash_=hash_)
        last = next(one.hash for one in reversed(self._payments.all) if one.hash is not None)
        move_bundle(self._work.journal.ledger, bundle, State.DONE, hash=last)
        self._work.watch.moved()

    def _part(self, bundle: Bundle, item: BundleItem) -> Operation | None:
        """The newest transaction of a part; None where none was begun."""
        return self._payments.of(promises.part_intent(self._work.payer, item, bundle.number))

    async def _send_part(self, bundle: Bundle, item: BundleItem) -> None:
        late = min(one.expires for one in item.deposits) - self._work.clock.now() <= LEAST_LEFT
        if late:
            raise Stopped("ORDERS_EXPIRED", "An order of the group has expired.", BUILD_AGAIN)
        intent = promises.part_intent(self._work.payer, item, bundle.number)
        promise = promises.item_promise(self._work.payer, bundle, item, intent)

        async def make() -> Payload:
            """Fetched when it is shown: its blockhash lives for a minute."""
            work, account = self._work, bundle.account
            told = await part_of(work.api, work.multi_id, account, item)
            return SolanaPayload(Purpose.BUNDLE, told)

        await self._payments.send("part", item.sum, promise, make, item.service_ids)


def _signed_anew(entry: Operation) -> bool:
    """Whether nothing came of it and nothing can: it was never signed, or not executed in time."""
    if entry.state is not State.REFUSED:
        return False
    return entry.hash is None or entry.code in ("LOST", "ABANDONED")
