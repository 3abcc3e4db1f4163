"""Searches the orders that a pasted text is about, place by place: the journal and the requests of
this run, which cost nothing; the service by id; the lists of the last 48 hours; the nodes of
chains. Costs are stated before they are spent (:attr:`OrderSearch.next_cost`)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.node_http import NodeError
from swapdesk.client.chain_lookup import ChainTransaction, NodeReader, Payment
from swapdesk.client.errors import ClientError, NotFound, RateLimited, RequestRefused
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.order_log import SHORTEST_PREFIX
from swapdesk.flows.notation import counted, iso, short_address
from swapdesk.flows.orders.order_fields import deposit_arrived, short_id, symbols
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API, TrackedOrder
from swapdesk.flows.request_lines import clock_time, concerns, logged_call
from swapdesk.flows.support.pasted_text import PastedText, Reading, is_drawn_id
from swapdesk.wallet.accounts import Kind
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.encoding.text import identity_text
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

PAGE = 100
"""Number of orders on one page of the service's list (contract 8.21)."""
MOST_FOUND = 50


class NamedTransaction(Struct, frozen=True):
    """A transaction that the pasted text names and that is not known to have paid an order."""

    hash: str
    asked: tuple[str, ...] = ()
    """Names of the chains that answered when they were asked for the transaction."""
    paid: PaidOnChain | None = None
    """The first payment in the transaction; None if no chain knows the transaction."""

    @property
    def said(self) -> str:
        if self.paid is not None:
            return f"{self.paid.said}{f', to {self.paid.to}' if self.paid.to else ''}"
        if self.asked:
            return f"on no chain that was asked ({', '.join(self.asked)})"
        return "no chain could be asked for it"

    @property
    def to_customer(self) -> str:
        paid = self.paid
        if paid is not None and paid.failed:
            return f"Your transaction {self.hash} was executed on {paid.chain_name} and failed."
        if paid is not None:
            return (
                f"Your transaction {self.hash} on {paid.chain_name} paid {paid.words} to"
                f" {short_address(paid.to)}, which is the address of no order that we know."
            )
        if self.asked:
            return (
                f"None of the networks that we can ask knows the transaction {self.hash}. Look at"
                " your wallet: did it go out, and on which network?"
            )
        return f"You name the transaction {self.hash}; we ask the exchange service about it."


class Place(StrEnum):
    JOURNAL = "this desk's journal"
    REQUESTS = "requests of this run"
    SERVICE = "the service, by id"
    LISTS = "orders of the last 48 h"
    CHAINS = "the chains"


Answer = Literal["found", "nothing", "failed", "not asked"]
"""A searched place's answer. ``failed``: incomplete. ``not asked``: impossible or pointless to
ask."""


class Searched(Struct, frozen=True):
    """A place (journal, service, its lists, chains) that was searched. ``said`` is its answer in
    words: ``matched 1 of 318 by deposit address, 4 reads``."""

    place: Place
    answer: Answer
    said: str


def begun_here(desk: Desk) -> Callable[[Collection[str]], dict[str, str]]:
    """Returns a function that maps words to ids of journaled orders. A word has an id if exactly
    one id begins with the word; other words are left out. Without a readable journal, the result is
    empty."""

    def begun(words: Collection[str]) -> dict[str, str]:
        try:
            return desk.journal.orders.begun(words)
        except JournalUnavailable:
            return {}

    return begun


class OrderSearch:
    """The search for the orders that a pasted text is about. Call :meth:`look_here`, then
    :meth:`go_on` while :attr:`next_cost` is not None."""

    def __init__(self, desk: Desk, pasted: PastedText) -> None:
        self._desk = desk
        self.pasted = pasted
        self._searched: dict[Place, Searched] = {}
        self.found: dict[str, str] = {}
        """By the id of each order that was found, the field that matched: ``deposit address``."""
        self._matched: set[str] = set()
        """Values of the readings (ids, addresses, hashes and so on in the pasted text) that matched
        an order."""
        self._left: list[Place] = []
        self._page = 1
        self._pages: int | None = None
        self._listed_ids: set[str] = set()
        self._skipped = 0
        self.payments: list[PaidOnChain] = []
        """Payments by the transactions in the text, as chains show them."""
        self._answered: dict[str, dict[str, str]] = {}
        """Chains that answered when asked for a transaction, by its hash."""
        self._groups: list[str] = []
        """Ids of groups of this desk whose orders the journal has only as ids."""

    @property
    def searched(self) -> list[Searched]:
        return [self._searched[place] for place in Place if place in self._searched]

    def order(self, service_id: str) -> TrackedOrder | None:
        return self._desk.link.tracker.recall(service_id)

    def _sent(self, service_id: str) -> list[OrderTransaction]:
        try:
            made = self._desk.journal.orders.transactions_of(service_id)
        except JournalUnavailable:
            return []
        return [sent for sent in made if sent.own]

    def payment_of(self, service_id: str) -> PaidOnChain | None:
        """Returns the deposit of an order as its chain shows it. If there is none, returns a
        transaction that this desk sent for the order or that can only concern this order; otherwise
        None."""
        to_order = (paid for paid in self.payments if service_id in self._paid_for(paid))
        sent = {transaction.hash for transaction in self._sent(service_id)}
        by_desk = (
            paid for paid in self.payments if paid.hash in sent or self._only(service_id, paid)
        )
        return next(to_order, None) or next(by_desk, None)

    def _only(self, service_id: str, paid: PaidOnChain) -> bool:
        """Returns whether ``paid`` can only concern this order: the transaction moved nothing, is
        on the deposit's chain, and no other order was found."""
        if list(self.found) != [service_id] or not (paid.missing or paid.failed):
            return False
        tracked = self.order(service_id)
        token = tracked.order.in_token if tracked is not None else None
        return token is not None and token.chain == paid.chain

    def named(self, service_id: str | None = None) -> tuple[NamedTransaction, ...]:
        """Returns the transactions in the pasted text that did not pay this order. Without an id,
        returns all."""
        tracked = self.order(service_id) if service_id is not None else None
        payments = [*tracked.payments] if tracked is not None else []
        if service_id is not None:
            payments += [paid for paid in self.payments if service_id in self._paid_for(paid)]
            payments += filter(None, (self.payment_of(service_id),))
        hashes = {payment.hash.lower() for payment in payments}
        return tuple(
            self._named(reading)
            for reading in self.pasted.of("transaction")
            if not _lowered(reading) & hashes and not self._own(service_id, reading)
        )

    def _named(self, reading: Reading) -> NamedTransaction:
        names = (name for text in reading.texts for name in self._answered.get(text, {}).values())
        hashes = _lowered(reading)
        paid = (
            payment
            for payment in self.payments
            if payment.hash.lower() in hashes and not payment.missing
        )
        return NamedTransaction(reading.value, tuple(dict.fromkeys(names)), next(paid, None))

    def addresses(self, service_id: str) -> tuple[str, ...]:
        """Returns the addresses in the pasted text that could receive a refund of the order."""
        tracked = self.order(service_id)
        token = tracked.order.in_token if tracked is not None else None
        if tracked is None or token is None:
            return ()
        paid = {payment.to.lower() for payment in self.payments}
        return tuple(
            reading.value
            for reading in self.pasted.of("address")
            if token.chain_data.kind in reading.chains
            and _field_of(tracked.order, reading) is None
            and not _lowered(reading) & paid
        )

    def _own(self, service_id: str | None, reading: Reading) -> bool:
        if service_id is None:
            return False
        with suppress(JournalUnavailable):
            index = self._desk.journal.orders
            return any(service_id in index.named(text) for text in reading.texts)
        return False

    # what costs nothing

    def look_here(self) -> None:
        try:
            self._look_into_journal()
        except JournalUnavailable as error:
            self._say(Place.JOURNAL, "failed", f"it cannot be read: {error}")
        self._look_into_requests()
        # Beside a found order, a pasted hash may still tell what was paid, and a second id is that
        # of another order.
        useful = {Place.CHAINS}
        if self._groups or self.unanswered:
            useful.add(Place.SERVICE)
        self._left = [place for place in self._askable() if not self.found or place in useful]

    def _look_into_journal(self) -> None:
        before = set(self.found)
        amounts = tuple(self.pasted.of("amount"))
        for reading in self.pasted.readings:
            if reading not in amounts:
                self._match(reading)
        # Many orders may have an amount: it is searched only if nothing else matched.
        for reading in amounts if len(self.found) == len(before) else ():
            self._match(reading)
        self._match_beginnings()
        new = [name for name in self.found if name not in before]
        if not new:
            self._say(Place.JOURNAL, "nothing", "no")
            return
        self._groups = self._groups_of([name for name in new if self.order(name) is None])
        self._say(Place.JOURNAL, "found", f"{counted(len(new), 'order')}, by {self._ways(new)}")

    def _ways(self, service_ids: Iterable[str]) -> str:
        return ", ".join(dict.fromkeys(self.found[name] for name in service_ids))

    def _groups_of(self, service_ids: list[str]) -> list[str]:
        rows = "kind = 'row' AND subject IN (SELECT value FROM json_each(?))"
        groups = self._desk.journal.ledger.where(
            f"subject > '' AND id IN (SELECT parent FROM operation WHERE {rows})",  # noqa: S608
            json.dumps(service_ids),
        )
        return [str(group.subject) for group in groups]

    def _match(self, reading: Reading) -> None:
        index = self._desk.journal.orders
        ids: dict[str, None] = {}
        if reading.kind == "amount":
            amounts = index.of_amount(*_around(reading))
            ids = {name: None for name, order in amounts if _has_amount(order, reading)}
        for text in reading.texts:
            if reading.kind in ("id", "memo"):
                ids |= dict.fromkeys(sorted(index.called(text)))
            elif reading.kind not in ("amount", "shortened"):
                ids |= dict.fromkeys(sorted(index.named(text)))
        if not ids and reading.ends[0]:
            ids |= dict.fromkeys(self._cut_to(reading))
        self._take(ids, _WAYS[reading.kind], reading)

    def _cut_to(self, reading: Reading) -> list[str]:
        index = self._desk.journal.orders
        parts = [index.named(end) | index.called(end) for end in reading.ends if end]
        holding = set.intersection(*parts) if parts else set()
        return [
            name for name in sorted(holding) if any(map(reading.cut_from, self._names_of(name)))
        ]

    def _names_of(self, service_id: str) -> Iterator[str]:
        tracked = self.order(service_id)
        if tracked is not None:
            yield from (value for value, _ in _values_of(tracked.order))
            yield from (paid.hash for paid in tracked.payments)
        with suppress(JournalUnavailable):
            made = self._desk.journal.orders.transactions_of(service_id)
            yield from (sent.hash for sent in made)

    def _match_beginnings(self) -> None:
        self._take(begun_here(self._desk)(self.pasted.beginnings).values(), _BEGINNING)

    def _take(self, ids: Iterable[str], way: str, reading: Reading | None = None) -> None:
        for service_id in ids:
            if reading is not None:
                self._matched.add(reading.value)
            if len(self.found) < MOST_FOUND:
                tracked = self.order(service_id) if reading is not None else None
                named = _field_of(tracked.order, reading) if tracked and reading else None
                self.found.setdefault(service_id, named or way)

    def _look_into_requests(self) -> None:
        texts = {text for reading in self.pasted.readings for text in reading.texts}
        calls = [call for call in self._desk.exchange_log if concerns(call, texts)]
        if not calls:
            self._say(Place.REQUESTS, "nothing", "no")
            return
        for exchange in calls:
            service_id = _order_told(exchange.answer_body)
            if service_id is not None and self.order(service_id) is not None:
                self.found.setdefault(service_id, "a request of this run")
        last = logged_call(calls[-1])
        self._say(
            Place.REQUESTS,
            "found",
            f"{counted(len(calls), 'request')}, the last {last.method} {last.path} at"
            f" {clock_time(last.at)}, {last.status}",
        )

    # what costs something

    def _askable(self) -> list[Place]:
        askable = []
        if not self._desk.connected:
            for place in (Place.SERVICE, Place.LISTS, Place.CHAINS):
                self._say(place, "not asked", "the service is not connected")
            return []
        if self._ids() or self._groups:
            askable.append(Place.SERVICE)
        if self._desk.link.connection.read_only:
            self._say(Place.LISTS, "not asked", "a partner id alone may not read lists")
        else:
            askable.append(Place.LISTS)
        if self._transactions():
            if self._nodes():
                askable.append(Place.CHAINS)
            else:
                self._say(Place.CHAINS, "not asked", "no node of its chain is configured")
        return askable

    @property
    def next_cost(self) -> tuple[int, str] | None:
        """The largest number of reads that :meth:`go_on` makes, and a text that describes these
        reads. None if nothing is left to ask."""
        if not self._left:
            return None
        reads, costs = 0, []
        if Place.SERVICE in self._left:
            # An id may be that of an order or of a group; a group takes a key.
            reads_an_id = 1 if self._desk.link.connection.read_only else 2
            by_id = len(self._groups) or len(self._ids()) * reads_an_id
            reads += by_id
            costs.append(f"{counted(by_id, 'read')} by id")
        if Place.LISTS in self._left:
            pages = self._list_reads
            reads += pages
            costs.append(f"up to {counted(pages, 'read')} of the lists")
        if Place.CHAINS in self._left:
            costs.append(counted(len(self._nodes()), "node"))
        return reads, ", ".join(costs)

    @property
    def _list_reads(self) -> int:
        if self._pages is not None:
            return max(0, self._pages - self._page + 1)
        since = self._desk.service_clock.now() - KNOWN_TO_API
        recent = sum(
            1
            for tracked in self._desk.link.tracker.known()
            if tracked.order.created is not None and tracked.order.created >= since
        )
        return max(1, -(-recent // PAGE))

    @property
    def unanswered(self) -> list[str]:
        """Ids in the pasted text that look like order ids and match nothing yet."""
        return list(filter(is_drawn_id, self._ids()))

    def _ids(self) -> list[str]:
        return [text for text in whole_ids(self.pasted) if text not in self._matched]

    async def go_on(self) -> AsyncIterator[None]:
        """Asks the places that are left, with at most the reads of :attr:`next_cost`. Yields after
        every step, for the screen."""
        if Place.SERVICE in self._left:
            self._left.remove(Place.SERVICE)
            await self._ask_by_id()
            yield
        if Place.LISTS in self._left and not self.found:
            for _ in range(self._list_reads):
                over = await self._read_page()
                yield
                if over:
                    break
        if Place.CHAINS in self._left:
            self._left.remove(Place.CHAINS)
            await self._ask_chains()
            yield
        if self.found:
            self._left.clear()

    async def _ask_by_id(self) -> None:
        kinds: Counter[str] = Counter()
        texts, failed = self._groups or self._ids(), ""
        for text in texts:
            try:
                kinds[await self._read_by_id(text)] += 1
            except ClientError as error:
                failed = f"{_why(error)}; " if kinds else _why(error)
                failed += f"asked for {short_id(text)}" if len(texts) > 1 else ""
                break
        del kinds[""]
        found = " and ".join(
            f"{'an' if name == 'order' else 'a'} {name} of this partner"
            if count == 1
            else f"{count} {name}s of this partner"
            for name, count in kinds.items()
        )
        if failed:
            self._say(Place.SERVICE, "failed", "; ".join(filter(None, (found, failed))))
        elif found:
            self._say(Place.SERVICE, "found", found)
        else:
            self._say(Place.SERVICE, "nothing", "404, for this partner")

    async def _read_by_id(self, text: str) -> str:
        link = self._desk.link
        with suppress(NotFound, RequestRefused):
            if text not in self._groups and await link.tracker.read(text) is not None:
                self.found.setdefault(text, "order id")
                self._matched.add(text)
                return "order"
        if link.connection.read_only:
            return ""
        with suppress(NotFound, RequestRefused):
            group = await link.api.get_multi_exchange(text)
            self._matched.add(text)
            await link.tracker.take(group.orders)
            for order in group.orders:
                self.found.setdefault(order.service_id, "group id")
            return "group"
        return ""

    async def _read_page(self) -> bool:
        try:
            answer = await self._desk.link.tracker.read_page(self._page)
        except ClientError as error:
            read = f" after {counted(self._page - 1, 'read')}" if self._page > 1 else ""
            reason = f"{_why(error)}{read}"
            self._say(Place.LISTS, "failed", f"{reason}; the rest was not searched")
            return True
        self._pages = answer.total_pages
        self._listed_ids |= {order.service_id for order in answer.orders}
        self._skipped += answer.skipped
        before = set(self.found)
        # Matched here, because a full journal would not have them.
        for order in answer.orders:
            fields = (_field_of(order, reading) for reading in self.pasted.readings)
            way = next(filter(None, fields), None)
            if way is not None:
                self._take([order.service_id], way)
        self._match_beginnings()
        self._match_payments()
        new = [name for name in self.found if name not in before]
        spent = counted(self._page, "read")
        over = self._page >= answer.total_pages or answer.empty
        self._page += 1
        if new:
            matched = f"matched {len(new)} of {answer.total:,} by {self._ways(new)}"
            self._say(Place.LISTS, "found", f"{matched}, {spent}")
        else:
            so_far = "" if over else " so far"
            gap = f"; {self._skipped} could not be read" if self._skipped else ""
            searched = f"none of {len(self._listed_ids):,}{so_far}, {spent}{gap}"
            self._say(Place.LISTS, "failed" if gap else "nothing", searched)
        if over:
            self._left.remove(Place.LISTS)
        return over or bool(new)

    def _match_payments(self) -> None:
        for paid in self.payments:
            meant = self._paid_for(paid)
            self._take(meant, "deposit address that was paid")
            tracked = self.order(meant[0]) if len(meant) == 1 else None
            if tracked is not None and not paid.failed and paid not in tracked.payments:
                self._desk.link.tracker.keep_payment(meant[0], paid)

    def _paid_for(self, paid: PaidOnChain) -> list[str]:
        orders = {tracked.service_id: tracked.order for tracked in self._desk.link.tracker.known()}
        with suppress(JournalUnavailable):
            for service_id in self._desk.journal.orders.named(paid.to) if paid.to else ():
                tracked = self.order(service_id)
                if tracked is not None:
                    orders[service_id] = tracked.order
        return sorted(order.service_id for order in meant_by(paid, orders.values()))

    def _transactions(self) -> list[Reading]:
        readings = self.pasted.of("transaction")
        if readings:
            return readings
        unpaid = self._unpaid()
        if unpaid is None:
            return []
        tracked, token = unpaid
        sent = [transaction.hash for transaction in self._sent(tracked.service_id)[-1:]]
        waited = [paid.hash for paid in tracked.payments if paid.confirmations is None]
        return [
            Reading("transaction", hash_, "", (), (token.chain_data.kind,))
            for hash_ in dict.fromkeys((*sent, *waited))
        ]

    def _unpaid(self) -> tuple[TrackedOrder, Token] | None:
        tracked = self.order(next(iter(self.found))) if len(self.found) == 1 else None
        if tracked is None or tracked.order.in_token is None or deposit_arrived(tracked.order):
            return None
        return tracked, tracked.order.in_token

    def _nodes(self) -> list[NodeReader | None]:
        readings = self._transactions()
        kinds = {chain for reading in readings for chain in reading.chains or ("",)}
        nodes: list[NodeReader | None] = []
        for link in self._desk.chain_links():
            solana = link.kind is Kind.SOLANA
            if ("sol" if solana else "evm") in kinds or ("" in kinds and not solana):
                nodes.append(NodeReader(link.name, link.rpc, transport=self._desk.link.transport))
        if self._desk.link.control is not None and kinds - {"sol"}:
            nodes.append(None)
        return nodes

    async def _ask_chains(self) -> None:
        readings = self._transactions()
        asked = [
            self._ask_node(reader, text)
            for reader in self._nodes()
            for text in dict.fromkeys(
                text for reading in readings for text in _hashes_of(reading, reader)
            )
        ]
        answers = await asyncio.gather(*asked)
        failures = [answer for answer in answers if isinstance(answer, str)]
        # A sandbox's ledger repeats what the nodes of its chains answered.
        transactions: dict[tuple[str, str], ChainTransaction] = {}
        for answer in answers:
            if isinstance(answer, ChainTransaction):
                transactions.setdefault((answer.chain, answer.hash.lower()), answer)
        for transaction in transactions.values():
            self.payments += paid_by(
                transaction, self._desk.catalog, self._desk.service_clock.now()
            )
        self._match_payments()
        if not self.payments:
            self._note_missing(readings)
        if self.payments:
            more = f", and {len(self.payments) - 1} more" if len(self.payments) > 1 else ""
            self._say(Place.CHAINS, "found", f"{self.payments[0].said}{more}")
        elif failures:
            silent = f"{len(failures)} of {counted(len(answers), 'node')} gave no answer"
            self._say(Place.CHAINS, "failed", f"{silent}: {failures[0]}")
        else:
            count = len(answers)
            self._say(Place.CHAINS, "nothing", f"no transaction of this hash, {count} asked")

    def _note_missing(self, readings: list[Reading]) -> None:
        unpaid = self._unpaid()
        if unpaid is None:
            return
        tracked, token = unpaid
        sent = {transaction.hash for transaction in self._sent(tracked.service_id)}
        for reading in readings:
            chains = {chain for text in reading.texts for chain in self._answered.get(text, {})}
            if not chains & {token.chain, _LEDGER}:
                continue
            if reading.value in sent or not self._own(tracked.service_id, reading):
                now = self._desk.service_clock.now()
                paid = not_on_chain(reading.value, token.chain, self._desk.catalog, now)
                self.payments.append(paid)

    async def _ask_node(
        self, reader: NodeReader | None, text: str
    ) -> ChainTransaction | str | None:
        answered = self._answered.setdefault(text, {})
        try:
            if reader is not None:
                solana = not text.startswith("0x")
                transaction = await reader.transaction(text, solana=solana)
                chain = self._desk.catalog.chain(reader.chain)
                answered[reader.chain] = chain.name if chain is not None else reader.chain
                return transaction
            control = self._desk.link.control
            if control is None:
                return None
            # Readings are in small letters, and some chains write hashes in capitals.
            transfer = await control.transfer(text) or await control.transfer(text.upper())
            answered[_LEDGER] = "all chains of the sandbox"
            return read_transfer(transfer) if transfer is not None else None
        except NodeError as error:
            return f"{reader.chain if reader else 'the ledger'}: {error}"
        except ClientError as error:
            return f"the ledger: {_why(error)}"
        except (KeyError, TypeError, ValueError):
            return "the ledger answered another shape"

    # what it comes to

    @property
    def verdict(self) -> str:
        """Why nothing was found, as a sentence. Empty if something was found or places are left to
        ask."""
        reason = self._not_found
        return f"{reason} {NO_HASH}" if reason and self.may_be_key else reason

    @property
    def may_be_key(self) -> bool:
        """True if the pasted text holds sixty-four hexadecimal digits that are a transaction on no
        known chain, and so may be a private key."""
        chains = self._searched.get(Place.CHAINS)
        unknown = chains is not None and chains.answer == "nothing"
        return unknown and any(self._answered.values()) and bool(self.pasted.warning)

    @property
    def _not_found(self) -> str:
        failed = [searched.place for searched in self.searched if searched.answer == "failed"]
        if self.found or (self._left and not failed):
            return ""
        if failed:
            return (
                f"Not found so far. {' and '.join(failed).capitalize()} gave no whole answer; look"
                " again later."
            )
        lists = self._searched.get(Place.LISTS)
        complete = lists is not None and lists.answer == "nothing"
        times = [paid.at for paid in self.payments if paid.at is not None]
        within = any(self._desk.service_clock.now() - at < KNOWN_TO_API - _MARGIN for at in times)
        if complete and times and within:
            return (
                "The payment is younger than 48 hours, and no order of this partner in that time"
                " has its receiver as deposit address: the order belongs to another partner, or"
                " there is none."
            )
        if complete and times:
            return (
                "The payment is older than the 48 hours that the service answers for, and this"
                " desk did not see its order: the service cannot say whether there was one."
            )
        if complete:
            return (
                "No order of this partner of the last 48 hours. It is older, belongs to another"
                " partner, or never existed: the service answers the same for all three."
            )
        return (
            "This desk does not know it. Whether the service does was not searched completely:"
            " see what could not be asked."
        )

    @property
    def money(self) -> str:
        moved = [paid for paid in self.payments if paid.moved]
        if not moved:
            return "in a place not known here; this desk has no such order"
        paid = moved[0]
        return f"{paid.what} at {paid.to} on {paid.chain_name}, if nobody moved it since"

    @property
    def next(self) -> str:
        lacks = lacking(self.pasted)
        asked = " or ".join(lacks).replace("your payment", "the payment")
        return f"you: ask the customer for {asked}" if lacks else "you: pass it to the service"

    @property
    def reply(self) -> str:
        answers = {searched.place: searched.answer for searched in self.searched}
        whole = answers.get(Place.LISTS) == "nothing" and "failed" not in answers.values()
        return not_found_reply(self.pasted, self.named(), whole=whole)

    @property
    def escalation(self) -> str:
        searched = [(str(answer.place), answer.said) for answer in self.searched]
        now = self._desk.service_clock.now()
        text = not_found_escalation(self.pasted, self.named(), searched, now)
        # A possible key is passed on to nobody; its ends are enough to tell which hash is meant.
        for reading in self.pasted.of("transaction") if self.may_be_key else ():
            text = text.replace(reading.value, f"{reading.value[:10]}...{reading.value[-8:]}")
        return text

    def _say(self, place: Place, answer: Answer, said: str) -> None:
        self._searched[place] = Searched(place, answer, said)


NO_HASH = (
    "No chain that was asked knows the sixty-four digits as a hash: they may be a private key. If"
    " so, do not pass them on; their owner moves the money to a new wallet now."
)
_LEDGER = ""
"""Stands for all chains of a sandbox, in place of a chain's name."""
_MARGIN = timedelta(minutes=30)
"""The longest assumed time between an order's creation and its deposit."""
_WAYS = {
    "id": "id",
    "memo": "memo",
    "address": "address",
    "shortened": "what it was cut from",
    "transaction": "transaction",
    "request": "request id",
    "amount": "amount",
}
_FIELDS = (
    ("service_id", "order id"),
    ("multi_id", "group id"),
    ("id", "record id"),
    ("deposit_address", "deposit address"),
    ("receiver_address", "receiver address"),
    ("refund_address", "refund address"),
    ("intermediate_refund_address", "refund address"),
    ("deposit_tag", "deposit memo"),
    ("receiver_tag", "payout memo"),
    ("in_transaction_out_hash", "payout transaction"),
    ("out_transaction_out_hash", "payout transaction"),
    ("refund_hash", "refund transaction"),
)


def _field_of(order: Order, reading: Reading) -> str | None:
    texts = _lowered(reading)
    values = _values_of(order)
    exact = next((name for value, name in values if value.lower() in texts), None)
    if exact is not None:
        return exact
    if reading.kind == "amount":
        return "amount" if _has_amount(order, reading) else None
    begun = len(reading.value) >= SHORTEST_PREFIX and order.service_id.startswith(reading.value)
    if begun and reading.kind == "id":
        return _BEGINNING
    return next((name for value, name in values if reading.cut_from(value)), None)


def _lowered(reading: Reading) -> set[str]:
    return {text.lower() for text in reading.texts}


def _values_of(order: Order) -> list[tuple[str, str]]:
    values = ((getattr(order, field), name) for field, name in _FIELDS)
    return [(str(value), name) for value, name in values if value is not None]


_BEGINNING = "the beginning of its id"


def _around(reading: Reading) -> tuple[Decimal, Decimal]:
    amount = reading.amount or Decimal(0)
    exponent = amount.as_tuple().exponent
    half = Decimal((0, (5,), (exponent if isinstance(exponent, int) else 0) - 1))
    return amount - half, amount + half


def _has_amount(order: Order, reading: Reading) -> bool:
    least, most = _around(reading)
    sent, received = symbols(order)
    pairs = ((order.in_amount, sent), (order.refund_amount, sent), (order.out_amount, received))
    return any(
        value is not None and least <= value < most and symbol.upper() == reading.symbol
        for value, symbol in pairs
    )


def _order_told(body: bytes) -> str | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    service_id = document.get("serviceId") if isinstance(document, dict) else None
    return service_id if isinstance(service_id, str) else None


def _hashes_of(reading: Reading, reader: NodeReader | None) -> tuple[str, ...]:
    if reader is None:
        return reading.texts
    with_mark = tuple(text for text in reading.texts if text.startswith("0x"))
    return with_mark[:1] or ((reading.value,) if "sol" in reading.chains else ())


def _why(error: ClientError) -> str:
    if isinstance(error, RateLimited):
        wait = error.retry_after
        return f"rate limited{f', again in {wait:.0f} s' if wait is not None else ''}"
    return str(error).rstrip(".")


# What is written where nothing was found


NO_SECRETS = "We never ask for a private key or a recovery phrase. Do not give them to anybody."
PASSED_ON = "We pass this on to the exchange service and write to you when we know more."
SECRET_REPLY = (
    "Your message held a private key or a recovery phrase. We did not keep it, and we never ask for"
    " one. Whoever has read it can take your money: move it to a new wallet now, and do not use the"
    " old one any more. To find your order we need its id or the transaction hash alone."
)


def not_found_reply(
    pasted: PastedText, named: Sequence[NamedTransaction], *, whole: bool = True
) -> str:
    """Returns the reply to a customer whose order was not found. ``whole`` says that every place
    was searched completely."""
    ids, lacks = whole_ids(pasted), lacking(pasted)
    why = "it is older than we can read, or it was not made with us"
    if not whole:
        why = "we cannot look everywhere at the moment and do so again"
    sentences = [f"We do not find the order {name}: {why}." for name in ids]
    sentences += [transaction.to_customer for transaction in named]
    if not sentences:
        sentences.append("We could not find an order by what you sent us.")
    if lacks:
        asked = f"Send us {' or '.join(lacks)}."
        sentences.append(f"If you have paid, {asked[:1].lower()}{asked[1:]}" if ids else asked)
    if ids or named:
        sentences.append(PASSED_ON)
    return f"{' '.join((*sentences, 'Do not pay again meanwhile.'))}\n\n{NO_SECRETS}"


def lacking(pasted: PastedText) -> tuple[str, ...]:
    """Returns the facts that would help to find an order, as noun phrases such as ``the order
    id``."""
    begun = bool(pasted.of("id"))
    wanted = {
        "the whole order id" if begun else "the order id": whole_ids(pasted),
        "the transaction hash of your payment": pasted.of("transaction"),
    }
    return tuple(name for name, given in wanted.items() if not given)


WHOLE_ID = 12
"""Smallest number of characters at which an id counts as complete."""


def whole_ids(pasted: PastedText) -> list[str]:
    return [reading.value for reading in pasted.of("id") if len(reading.value) >= WHOLE_ID]


def not_found_escalation(
    pasted: PastedText,
    named: Sequence[NamedTransaction],
    searched: Sequence[tuple[str, str]],
    now: datetime,
) -> str:
    """Returns the text to the service about an order that was not found."""
    hashes = {transaction.hash for transaction in named}
    lines = (
        "No order was found by what the customer names:",
        *(f"  {read.called}: {read.value}" for read in pasted.readings if read.value not in hashes),
        *(f"  transaction {transaction.hash}: {transaction.said}" for transaction in named),
        "Searched:",
        *(f"  {place}: {answer}" for place, answer in searched),
        "Asked: whether there is such an order, whose it is, and what became of it.",
        f"Written {iso(now)}",
    )
    return "\n".join(lines)


# What a transaction paid


def meant_by(paid: PaidOnChain, orders: Iterable[Order]) -> list[Order]:
    """Returns the orders whose deposit address received the payment. If several orders share the
    address, returns only the orders that fit the payment best."""
    there = [order for order in orders if _same(paid.to, order.deposit_address)]
    waiting = [order for order in there if not deposit_arrived(order)]
    same_memo = [order for order in there if (order.deposit_tag or None) == (paid.memo or None)]
    same_amount = [order for order in waiting if order.in_amount == paid.amount]
    return same_memo or same_amount or waiting or there


def _same(receiver: str, deposit: str | None) -> bool:
    if not receiver or deposit is None:
        return False
    if receiver.startswith("0x"):
        return receiver.lower() == deposit.lower()
    return receiver == deposit


def not_on_chain(transaction: str, chain: str, catalog: Catalog, now: datetime) -> PaidOnChain:
    known = catalog.chain(chain)
    return PaidOnChain(
        hash=transaction,
        chain=chain,
        chain_name=known.name if known is not None else chain,
        to="",
        token_id=None,
        symbol="",
        amount=None,
        memo=None,
        confirmations=None,
        at=None,
        seen_at=now,
        missing=True,
    )


def paid_by(transaction: ChainTransaction, catalog: Catalog, now: datetime) -> list[PaidOnChain]:
    """Returns the payments of a transaction that was read at ``now``, one for each receiver and
    token. If nothing moved, returns one payment without a receiver."""
    sums: Counter[Payment] = Counter()
    for payment in transaction.payments or (Payment("", 0),):
        sums[replace(payment, units=0)] += payment.units
    return [
        _paid(transaction, replace(to, units=units), catalog, now) for to, units in sums.items()
    ]


def _paid(
    transaction: ChainTransaction, payment: Payment, catalog: Catalog, now: datetime
) -> PaidOnChain:
    token = paid_token(transaction.chain, payment, catalog)
    # The catalogue is the service's, and a sandbox's ledger counts by it.
    decimals = payment.decimals
    if decimals is None and token is not None:
        decimals = token.decimals
    chain = catalog.chain(transaction.chain)
    return PaidOnChain(
        hash=transaction.hash,
        chain=transaction.chain,
        chain_name=chain.name if chain is not None else transaction.chain,
        to=payment.to,
        token_id=token.id if token is not None else None,
        symbol=token.symbol if token is not None else "",
        amount=None
        if token is None or decimals is None
        else short(from_base_units(payment.units, decimals)),
        memo=payment.memo,
        confirmations=transaction.confirmations,
        at=transaction.at,
        seen_at=now,
        failed=transaction.failed,
        underpriced=transaction.underpriced,
    )


def paid_token(chain: str, payment: Payment, catalog: Catalog) -> Token | None:
    """Returns the token of a payment on the chain ``chain``. None if the catalogue does not have
    the token."""
    if payment.token_id is not None:
        return catalog.token(payment.token_id)
    if payment.contract is not None:
        rows = [row for row in catalog.rows_of_contract(payment.contract) if row.chain == chain]
    else:
        rows = [row for row in catalog.rows if row.chain == chain and row.contract is None]
    return catalog.token(rows[0].id) if rows else None


def read_transfer(transfer: dict[str, Any]) -> ChainTransaction:
    """Returns the transaction in an answer of ``SandboxControl.transfer``. Raises KeyError,
    ValueError or TypeError for an answer of another shape."""
    tag = transfer["tag"]
    payment = Payment(
        identity_text(str(transfer["to"]), 200),
        int(str(transfer["units"])),
        memo=identity_text(str(tag), 64) if tag else None,
        token_id=str(transfer["token"]),
    )
    return ChainTransaction(
        str(transfer["chain"]),
        identity_text(str(transfer["hash"]), 200),
        (payment,),
        # None as long as no block has it.
        int(str(transfer["confirmations"])) or None,
    )
