"""What a group is paid by: a bundle as the service builds it, and the wallet's transactions and
operations for it, each journaled before it is signed.

Source: contract 9.10 to 9.16. What the service builds is compared with the group before it counts:
here is decided which deposits it may mean, and how much it may ask for; the wallet judges the bytes
once more.

What was signed stands in the wallet's own records before a byte leaves, by its intent. They
decide: a transaction found there is sent on as it is, and no other one is signed beside it. On an
EVM chain the smart account is filled and each operation signed, after the wallet was asked whether
it holds what the group needs. On Solana a bundle is a fixed partition of transactions, each signed
and sent by itself. :class:`Watch` hears how the work goes, for whoever shows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.clock import Clock
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.bundle_promise import Payer, blocking, overtaken
from swapdesk.flows.batch.group_status import BUILD_AGAIN, PAY_OTHERWISE, SIGN_AGAIN, Stopped
from swapdesk.flows.batch.payable import LEAST_LEFT, GroupOrders, PayableRow
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
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.wallet_payment_log import WalletPaymentLog
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.transactions import Entry, Pace, Transactor, Turn, Watch
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Signature, SignedTransaction
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

_PURPOSES = {Paying.FUND: Purpose.FUND, Paying.PART: Purpose.BUNDLE}


class _PaymentEntry(Entry):
    """``payment`` as the journal has it."""

    def __init__(
        self, log: WalletPaymentLog, batch_id: str, group: int, payment: WalletPayment, fresh: bool
    ) -> None:
        self._log = log
        self._batch_id = batch_id
        self._group = group
        self._payment = payment
        self.fresh = fresh

    def signed(self, hash_: str) -> None:
        """What is over is not opened again: the transaction is then a payment of its own. Raises
        PaidBefore where the orders are paid by something else; then not a byte of it leaves."""
        one = self._payment
        if one.state is not StepState.PREPARED and one.hash == hash_:
            return
        if not self._set(StepState.SENT, hash_=hash_):
            need = FundingNeed(one.symbol, one.decimals, one.contract, one.units)
            self._payment = self._log.begin(
                self._batch_id, self._group, one.paying, need, one.intent_id, one.service_ids
            )
            self._set(StepState.SENT, hash_=hash_)

    def done(self, hash_: str) -> None:
        self._set(StepState.ACKED, hash_=hash_)

    def refused(self, code: str, hash_: str | None = None) -> None:
        self._set(StepState.REFUSED, code=code)

    def _set(self, state: StepState, *, hash_: str | None = None, code: str | None = None) -> bool:
        return self._log.set(
            self._batch_id, self._group, self._payment, state, hash_=hash_, code=code
        )


def item_turn(item: BundleItem, number: int, total: int) -> Turn:
    """The signature of an item, ``number`` of ``total``."""
    need = FundingNeed(item.symbol, item.decimals, item.contract, item.units)
    return Turn(need, len(item.deposits), number, total)


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
    watch: Watch
    pace: Pace
    batch_id: str
    number: int

    @property
    def multi_id(self) -> str:
        return self.payer.multi_id


class GroupPayments:
    """The transactions of one group. Methods raise WalletError, StillOpen and
    JournalUnavailable."""

    def __init__(self, work: GroupWork) -> None:
        self._work = work
        self._log = work.journal.payments

    @property
    def all(self) -> list[WalletPayment]:
        return self._log.of(self._work.batch_id, self._work.number)

    def of(self, intent_id: str) -> WalletPayment | None:
        """The newest payment under an intent."""
        return next((one for one in reversed(self.all) if one.intent_id == intent_id), None)

    async def send(
        self,
        paying: Paying,
        need: FundingNeed,
        promise: Promise,
        make: MakePayload,
        service_ids: Sequence[str] = (),
    ) -> None:
        """Sign the transaction of an intent and send it, or send what was signed before; what
        becomes of it :meth:`follow_all` says. What does not leave is waited for here, since
        nothing else may be signed before.

        Raises NotAgreed and NotSignable; then nothing was signed."""
        signed = await self._work.transactor.resume(promise.intent_id, _PURPOSES[paying])
        payment = self.of(promise.intent_id)
        payload = await make() if signed is None else None
        fresh = payment is None or (signed is None and not payment.open)
        if payment is None or fresh:
            payment = self._log.begin(
                self._work.batch_id, self._work.number, paying, need, promise.intent_id, service_ids
            )
        if payload is not None:
            signed = await self._work.transactor.confirm(
                self._entry(payment, fresh=fresh),
                lambda: self._work.transactor.agree(payload, promise),
            )
            payment = self.of(promise.intent_id) or payment
        assert signed is not None  # found or made above
        if signed.final or not await self._sent(signed, promise.valid_until):
            await self._settled(payment, signed, promise.valid_until)

    async def _sent(self, signed: SignedTransaction, until: datetime) -> bool:
        """Whether a node has the bytes."""
        if self._work.clock.now() >= until - LEAST_LEFT:
            return False
        return await self._work.transactor.dispatch(signed)

    async def follow_all(self, until: datetime) -> None:
        """Go on with everything that was begun, signing nothing, until each is over; where nothing
        was signed, that is committed. What leaves later than ``until`` pays no order any more."""
        for payment in self.all:
            if not payment.open:
                continue
            purpose = _PURPOSES[payment.paying]
            signed = await self._work.transactor.resume(payment.intent_id, purpose)
            if signed is None:
                self._entry(payment).refused("NOT_SIGNED")
            else:
                await self._settled(payment, signed, until)

    def _entry(self, payment: WalletPayment, *, fresh: bool = False) -> Entry:
        return _PaymentEntry(self._log, self._work.batch_id, self._work.number, payment, fresh)

    async def _settled(
        self, payment: WalletPayment, signed: SignedTransaction, until: datetime
    ) -> None:
        if self._work.clock.now() >= until - LEAST_LEFT:
            # What never left pays no order any more.
            signed = await self._work.transactor.give_up_unsent(signed)
        await self._work.transactor.settle(signed, self._entry(payment))


NOT_ENOUGH = "NOT_ENOUGH"


async def require_held(
    client: WalletClient, account: Account, chain: str, needs: Sequence[FundingNeed]
) -> None:
    """Raises Stopped where the account has less of a token than is needed; a balance that cannot
    be read speaks against nothing, since the gate simulates what is signed. Raises WalletError."""
    sums: dict[str | None, FundingNeed] = {}
    for need in needs:
        before = sums.get(need.contract)
        units = need.units + (before.units if before is not None else 0)
        sums[need.contract] = FundingNeed(need.symbol, need.decimals, need.contract, units)
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

    def require_in_time(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where an order of it expires before its deposit could arrive."""
        if bundle.built.expires - self._work.clock.now() <= LEAST_LEFT:
            raise Stopped("ORDERS_EXPIRED", "An order of the bundle has expired.", BUILD_AGAIN)

    def require_untouched(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where something left the smart account since it was built."""
        if overtaken(self._work.journal, bundle):
            said = "The smart account paid another group, or its owner, since this was built."
            raise Stopped("BUILT_BEFORE", said, BUILD_AGAIN)

    def refuse_beside_another(self) -> None:
        """Raises Stopped where another group counts on what the smart account holds."""
        other = blocking(
            self._work.journal,
            self._work.batch_id,
            self._work.number,
            self._work.account.address,
            self._work.payer.chain,
            self._work.clock.now(),
        )
        if other is not None:
            name = f"group {other.group} of batch {other.batch_id[:8]}"
            raise Stopped(
                "OTHER_UNDER_WAY",
                f"What the smart account holds is for {name}, which is {other.state}.",
                f"you: let {name} end first",
            )

    async def sign(self, bundle: JournaledBundle) -> None:
        """Fill the smart account, wait for that, and sign all operations. Raises Stopped, and what
        the wallet raises."""
        self.require_in_time(bundle)
        await self._orders.require_same(bundle.built)
        self.refuse_beside_another()
        self.require_untouched(bundle)
        needs, items = bundle.built.needs, bundle.built.items
        begun = {one.intent_id for one in self._payments.all if one.hash is not None}
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
            signed = await self._signature(bundle.built, item)
            signatures.append(signed.signature)
        if not self._work.journal.bundles.signed(bundle, signatures):
            said = "Another bundle was built in its place, or its signatures left before."
            raise Stopped("BUILT_BEFORE", said, BUILD_AGAIN)
        self._work.watch.moved()

    async def _follow_open(self, bundle: JournaledBundle) -> None:
        await self._payments.follow_all(bundle.built.expires)
        self._work.watch.moved()

    async def _fund(self, bundle: JournaledBundle, need: FundingNeed) -> None:
        intent = promises.funding_intent(self._work.payer, need, bundle.number)
        promise = promises.funding_promise(self._work.payer, bundle.built, need, intent)

        async def make() -> Payload:
            return promises.funding_payload(bundle.built, need)

        await self._payments.send(Paying.FUND, need, promise, make)
        self._work.watch.moved()

    def _require_funded(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where a transaction that fills the smart account failed."""
        for need in bundle.built.needs:
            entry = self._payments.of(
                promises.funding_intent(self._work.payer, need, bundle.number)
            )
            if entry is None or entry.state is not StepState.ACKED:
                code = "" if entry is None or entry.code is None else f" is {entry.code.lower()}"
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} that fills the smart account{code}."
                raise Stopped("FUNDING_FAILED", said, BUILD_AGAIN, hash_=hash_)

    async def _signature(self, built: Built, item: BundleItem) -> Signature:
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
