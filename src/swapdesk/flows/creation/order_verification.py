"""Checks whether an order is what the user confirmed, finds the order of an intent, and computes
the least that can arrive.

A hard difference hides the deposit address for good; less output than confirmed hides it until the
user accepts the new amount. With a fixed rate, less output or more input is a hard difference. The
same comparison runs on the answer of the create and on the order as the service repeats it.

The ``outAmount`` of a floating order is an estimate until the deposit is exchanged. Before the
deposit, an estimate that falls below the agreed amount (the confirmed quote, or a lower amount
accepted since) by more than the tolerance hides the address. If the estimate recovers, the address
is shown again. After a deposit has arrived nothing is hidden for a lower output.

Two bounds hold for what arrives: a fixed rate until ``validUntil`` (contract 6.7), and
``slippage``, below which an on-chain swap fails (contract 6.6).

After a create without a usable answer the client never posts again. It reads the orders created
since and adopts the order that is exactly the intent. If several orders fit, or an order lacks a
field that would decide, the user chooses. If no order fits after the last look, nothing was created
as far as the API shows.

A create carries no key of the desk's own, and an order does not name its quote (contract 7.1, 8.1).
If two homes of one partner ask for the same payment in the same minute, only refund addresses or
fixed amounts may tell their orders apart.

A service that keeps to contract 7.9 answers a second create with the same ``quoteId`` with the
first order. Any other service makes a second order, so the desk never posts twice. Within one home
the journal forbids a second create of the same payment.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from swapdesk.chain.addresses.checking import check_address, same_address
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.intents.intent import (
    RELEASED,
    SLIPPAGE,
    DepositRelease,
    Intent,
    ReleaseVerdict,
    TokenFacts,
    least_units,
)
from swapdesk.flows.notation import table_amount
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_merge import DOUBLE, untouched
from swapdesk.flows.orders.told_transaction import same_transaction
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, plain, short
from swapdesk.wire.orders import Order, OrderQuery
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote


AMOUNT_TOLERANCE = Decimal(1) / Decimal(10_000)
"""The share by which an order's ``inAmount`` may exceed the amount that the user confirmed."""

LESS_TOLERANCE = Decimal(1) / Decimal(10)
"""The share by which an order's ``inAmount`` may fall short of the amount that the user confirmed.
The payer keeps the difference."""

LOWER_TOLERANCE = Decimal(1)
"""The percentage by which the output may fall short of the agreed output without a new question to
the user."""

SHORTEST_DEADLINE = timedelta(seconds=30)

SKEW = timedelta(seconds=10)
"""How much earlier than its request was sent, by the service's clock, an order may have been
created and still be the result of that request."""
LOOKS: tuple[float, ...] = (1.0, 19.0, 40.0)
"""The seconds to wait before each search for an order."""
WINDOW = timedelta(hours=47)
"""The age of a create request from which the service's list may have dropped its order, so that a
missing order proves nothing."""
MAX_PAGES = 100


class OrderCheck(Struct, frozen=True):
    """The differences between an order and what was confirmed. Any text in ``hard`` forbids paying.
    ``lower_by`` is the percentage by which the output is too low, None if the output is
    acceptable."""

    PRINTED: ClassVar = {
        "payable": "payable", "lowerByPercent": "lower_by_hundredths",
        "providerChanged": "provider_changed",
    }  # fmt: skip

    hard: tuple[str, ...]
    lower_by: Decimal | None
    provider_changed: bool

    @property
    def payable(self) -> bool:
        return not self.hard and self.lower_by is None

    @property
    def lower_by_hundredths(self) -> Decimal | None:
        return None if self.lower_by is None else self.lower_by.quantize(Decimal("0.01"))

    @property
    def verdict(self) -> ReleaseVerdict:
        """Whether the address may be shown, as far as this check goes. The service's second answer
        must confirm the order too."""
        if self.hard:
            text = f"This order is not what you confirmed: {'; '.join(self.hard)}."
            return ReleaseVerdict(DepositRelease.DIFFERS, text)
        if self.lower_by is not None:
            return lower(self.lower_by)
        return RELEASED


def check_order(
    intent: Intent, order: Order, *, now: datetime, lower_tolerance: Decimal = LOWER_TOLERANCE
) -> OrderCheck:
    """Returns the differences between an order and its intent. ``lower_tolerance`` is the tolerable
    shortfall of a floating output in percent."""
    sold, bought, private = intent.token_in, intent.token_out, intent.route == "private"
    rules = (
        (
            _same_token(sold, order.in_token_id, order.in_token, order.in_symbol),
            "the token to send differs",
        ),
        (
            _same_token(bought, order.out_token_id, order.out_token, order.out_symbol),
            "the token to receive differs",
        ),
        (
            order.receiver_address is not None
            and same_address(bought.kind, order.receiver_address, intent.recipient),
            "the recipient differs",
        ),
        (
            (order.receiver_tag or None) == (intent.memo or None),
            "the memo of the recipient differs",
        ),
        (
            intent.refund_address is None
            or (
                order.refund_address is not None
                and same_address(sold.kind, order.refund_address, intent.refund_address)
            ),
            "the refund address differs",
        ),
        (
            intent.intermediate_refund is None
            or order.intermediate_refund_address in (None, intent.intermediate_refund),
            "the refund address of the middle differs",
        ),
        (
            order.anonymous is private,
            "it is not private" if private else "it takes the private route",
        ),
        (
            order.fixed is intent.fixed,
            "its rate is not fixed" if intent.fixed else "its rate is fixed",
        ),
    )
    hard = [objection for kept, objection in rules if not kept]
    if order.in_amount is None or order.in_amount <= 0:
        hard.append("it does not say what to pay")
    elif _asks_more(intent, order.in_amount) or _asks_less(intent, order.in_amount):
        hard.append(
            f"it asks for {plain(order.in_amount)} {intent.token_in.symbol}"
            f" instead of {plain(intent.amount_in)}"
        )
    if order.out_amount is None:
        hard.append("it does not say what you get")
    elif intent.fixed and DOUBLE.plus(order.out_amount) < DOUBLE.plus(intent.amount_out):
        hard.append(
            f"it pays {plain(order.out_amount)} {intent.token_out.symbol}"
            f" instead of the fixed {plain(intent.amount_out)}"
        )
    if order.is_dex is not (intent.route == "dex"):
        hard.append(
            "it is not swapped on a chain" if not order.is_dex else "it takes the DEX route"
        )
    if order.deposit_address is not None:
        hard += _wrong_deposit(intent, order.deposit_address, order.deposit_tag)
    if order.expires is None or order.expires - now < SHORTEST_DEADLINE:
        hard.append("its deadline is too near")
    return OrderCheck(
        hard=tuple(hard),
        # On a chain the least that arrives is part of what is signed.
        lower_by=None
        if intent.fixed or intent.route == "dex"
        else lower_by(agreed_output(intent), order.out_amount, lower_tolerance),
        provider_changed=order.in_ is not None and order.in_ != intent.provider,
    )


def check_repeat(created: Order, read: Order) -> tuple[str, ...]:
    """Returns the differences between an order as created and as read again. If ``created`` has no
    address, that is no difference, but the caller has to read the order once more."""
    address, memo = created.deposit_address, created.deposit_tag or None
    rules = (
        (address in (None, read.deposit_address), "another deposit address"),
        (address is None or memo == (read.deposit_tag or None), "another deposit memo"),
        (created.in_amount == read.in_amount, "another amount to pay"),
        (
            not created.is_dex or same_transaction(created, read),
            "another transaction to send",
        ),
    )
    return tuple(f"the service repeats {other}" for same, other in rules if not same)


def _asks_more(intent: Intent, in_amount: Decimal) -> bool:
    if intent.fixed:
        return DOUBLE.plus(in_amount) > DOUBLE.plus(intent.amount_in)
    return in_amount > intent.amount_in * (1 + AMOUNT_TOLERANCE)


def _asks_less(intent: Intent, in_amount: Decimal) -> bool:
    return in_amount < intent.amount_in * (1 - LESS_TOLERANCE)


def _wrong_deposit(intent: Intent, address: str, memo: str | None) -> list[str]:
    """Returns why ``address`` cannot be a deposit address; empty if it can be one. If there is a
    memo, only the form of the address is checked, because addresses with memos are shared."""
    token = intent.token_in
    if not _plausible(token, address):
        return [f"its deposit address is no address on {token.chain_name}"]
    if memo:
        return []
    if token.kind == intent.token_out.kind and same_address(token.kind, address, intent.recipient):
        return ["its deposit address is the recipient"]
    refund = intent.refund_address
    if refund is not None and same_address(token.kind, address, refund):
        return ["its deposit address is the refund address"]
    return []


def _plausible(token: TokenFacts, address: str) -> bool:
    if token.kind not in KINDS:
        return True
    contracts = (token.contract,) if token.contract else ()
    return check_address(token.kind, address, chain_name=token.chain_name, contracts=contracts).ok


def _same_token(
    wanted: TokenFacts, token_id: str | None, token: Token | None, symbol: str | None
) -> bool:
    if token is not None:
        if token.id.lower() != wanted.id or token.chain_data.short_name != wanted.chain:
            return False
        if (token.address or "").lower() != (wanted.contract or "").lower():
            return False
    if token_id is not None:
        return token_id.lower() == wanted.id
    if token is not None:
        return True
    return symbol is not None and symbol.casefold() == wanted.symbol.casefold()


class Created(Struct, frozen=True):
    """A created, journaled order. Its deposit address may be shown only if ``withheld`` is None.
    ``missing`` is True if the service does not know the order."""

    order: Order
    check: OrderCheck
    verdict: ReleaseVerdict
    found_again: bool = False
    missing: bool = False

    @property
    def withheld(self) -> str | None:
        return self.verdict.withheld


class NotCreated(Struct, frozen=True):
    """The outcome that no order was created. ``error`` is None if the service was not asked."""

    failure: Failure
    code: str
    error: ClientError | None = None


class CreateUnknown(Struct, frozen=True):
    """The outcome of a create request if nobody knows whether it created an order. ``candidates``
    are orders that may belong to the intent."""

    failure: Failure
    intent_id: str
    candidates: tuple[Order, ...] = ()


CreateOutcome = Created | NotCreated | CreateUnknown


def promised_least(result: QuoteResult, row: RankedQuote) -> Decimal | None:
    """Returns the least that can arrive by a route, in whole tokens; None if the rate floats."""
    quote = row.quote
    if row.on_chain:
        asked = result.request.slippage
        slippage = SLIPPAGE if asked is None else asked
        return _least_on_chain(quote.amount_out, slippage, result.token_out.decimals)
    if not quote.fixed:
        return None
    return result.amount if result.request.receive else row.key


def confirmed_least(intent: Intent) -> Decimal | None:
    """Returns the least that can arrive for an intent, in whole tokens; None if the rate floats."""
    if intent.dex is not None:
        return _least_on_chain(intent.amount_out, intent.dex.slippage, intent.token_out.decimals)
    if not intent.fixed:
        return None
    return intent.amount_out if intent.receive else intent.net_amount_out


def _least_on_chain(quoted: Decimal | None, slippage: Decimal, decimals: int) -> Decimal | None:
    """Returns the quoted amount minus the slippage, in whole tokens, as the wallet agent's limit;
    None if ``quoted`` is None."""
    if quoted is None:
        return None
    units = least_units(int(Fraction(quoted) * 10**decimals), slippage)
    return short(from_base_units(units, decimals))


def agreed_output(intent: Intent, accepted: Decimal | None = None) -> Decimal:
    """Returns the output that the user agreed to, in whole tokens: ``accepted`` if the user
    accepted a different output later, otherwise the greater of the quote's payout and net
    output."""
    return max(intent.amount_out, intent.net_amount_out) if accepted is None else accepted


def lower_by(agreed: Decimal, given: Decimal | None, tolerance: Decimal) -> Decimal | None:
    """Returns the percentage by which ``given`` falls short of ``agreed``; None if ``given`` is
    None or within the tolerance."""
    if given is None or agreed <= 0:
        return None
    missing = ROUGH.divide(ROUGH.subtract(agreed, given) * 100, agreed)
    return missing if missing > tolerance else None


def lower(percent: Decimal, *, again: bool = False) -> ReleaseVerdict:
    """Returns the verdict that hides the address because the output is ``percent`` percent lower
    than the user confirmed or, if ``again`` is True, than the user accepted later."""
    than = "you accepted" if again else "you confirmed"
    return ReleaseVerdict(
        DepositRelease.LOWER,
        f"This order gives {percent:.2f}% less than {than}."
        " The address stays hidden until you accept that.",
    )


def output_now(tracked: TrackedOrder, seen: Order, tolerance: Decimal) -> ReleaseVerdict | None:
    """Returns the new verdict on showing the address, judged by the output in ``seen``, the order's
    latest state; None if the verdict is unchanged."""
    intent = tracked.intent
    if intent is None or tracked.standing not in (DepositRelease.RELEASED, DepositRelease.LOWER):
        return None
    if deposit_arrived(seen):
        return RELEASED if tracked.standing is DepositRelease.LOWER else None
    if intent.fixed or seen.out_amount is None or not untouched(seen):
        return None
    percent = lower_by(agreed_output(intent, tracked.accepted), seen.out_amount, tolerance)
    if percent is None:
        return RELEASED if tracked.standing is DepositRelease.LOWER else None
    verdict = lower(percent, again=tracked.accepted is not None)
    return None if tracked.withheld == verdict.withheld else verdict


def moved_output(tracked: TrackedOrder) -> Decimal | None:
    """Returns the agreed output if the order's present output differs from it, otherwise None.
    Always None after a deposit and for fixed rates."""
    intent, order = tracked.intent, tracked.order
    if intent is None or intent.fixed or order.out_amount is None or not untouched(order):
        return None
    agreed = agreed_output(intent, tracked.accepted)
    return agreed if order.out_amount != agreed else None


def lower_output(tracked: TrackedOrder) -> tuple[Decimal, tuple[str, ...]] | None:
    """Returns the lower output that the user may accept, with sentences that explain it. Returns
    None unless the address is hidden because of a lower output."""
    if tracked.standing is not DepositRelease.LOWER or tracked.intent is None:
        return None
    given, symbol = tracked.order.out_amount, tracked.intent.token_out.symbol
    if given is None:
        return None
    agreed = agreed_output(tracked.intent, tracked.accepted)
    percent = lower_by(agreed, given, Decimal(0)) or Decimal(0)
    before = "confirmed" if tracked.accepted is None else "accepted"
    return (
        given,
        (
            f"This order gives {table_amount(given)} {symbol}: {percent:.2f}% less than"
            f" the {table_amount(agreed)} {symbol} you {before}.",
            "What you get may still move until the deposit is exchanged.",
        ),
    )


def match(intent: Intent, order: Order, *, since: datetime) -> bool | None:
    """Returns True if every field of the order fits the intent, False if a field contradicts the
    intent, None if a deciding field is absent. ``since`` is the earliest possible creation time."""
    verdicts = [
        _made_meanwhile(intent, order, since),
        _token(intent.token_in, order.in_token_id, order.in_token),
        _token(intent.token_out, order.out_token_id, order.out_token),
        None
        if order.receiver_address is None
        else same_address(intent.token_out.kind, order.receiver_address, intent.recipient),
        (order.receiver_tag or None) == (intent.memo or None)
        if "receiver_tag" in order.model_fields_set or order.receiver_tag
        else (None if intent.memo else True),
        None if order.anonymous is None else order.anonymous is (intent.route == "private"),
        _as_fixed(intent, order),
        _as_promised(intent, order),
        _refunds(intent.token_in.kind, intent.refund_address, order.refund_address),
        None
        if order.in_amount is None
        else abs(order.in_amount - intent.amount_in) <= intent.amount_in * AMOUNT_TOLERANCE,
    ]
    if False in verdicts:
        return False
    return None if None in verdicts else True


Findings = tuple[list[tuple[Order, bool]], bool]
"""The orders that may belong to the intent, and True if the search was complete. Each order comes
with True if it certainly belongs to the intent; certain orders come first."""


async def find_order(
    api: PartnerApi,
    clock: Clock,
    intent: Intent,
    *,
    sent_at: datetime,
    known: Collection[str],
    looks: tuple[float, ...] = LOOKS,
) -> Findings:
    """Searches for an intent's order several times; ``looks`` has the seconds to wait before each
    search. ``sent_at`` is a time by the service's clock. Orders in ``known`` are skipped."""
    candidates: list[tuple[Order, bool]] = []
    complete = False
    for wait in looks:
        await clock.sleep(wait)
        try:
            candidates, complete = await orders_since(api, intent, sent_at=sent_at, known=known)
        except ClientError:
            complete = False
            continue
        if any(certain for _, certain in candidates):
            break
    return candidates, complete


async def orders_since(
    api: PartnerApi, intent: Intent, *, sent_at: datetime, known: Collection[str]
) -> Findings:
    """Returns every order that may belong to ``intent`` and was created since ``sent_at``, a time
    by the service's clock. Orders in ``known`` are left out. Raises ClientError."""
    since = sent_at - SKEW
    listed, whole = await list_since(api, since)
    judged = [
        await _judge(api, intent, order, since) for order in listed if order.service_id not in known
    ]
    candidates = [(order, verdict is True) for order, verdict in judged if verdict is not False]
    candidates.sort(key=lambda pair: not pair[1])
    return candidates, whole and api.server_now() - sent_at < WINDOW


async def _judge(
    api: PartnerApi, intent: Intent, order: Order, since: datetime
) -> tuple[Order, bool | None]:
    verdict = match(intent, order, since=since)
    if verdict is None:
        order = await api.get_order(order.service_id)
        verdict = match(intent, order, since=since)
    return order, verdict


async def list_since(api: PartnerApi, since: datetime) -> tuple[list[Order], bool]:
    """Returns the orders created since a time, and True if the list is certainly complete."""
    orders: dict[str, Order] = {}
    skipped = 0
    for page in range(1, MAX_PAGES + 1):
        answer = await api.list_orders(OrderQuery(from_=since, page=page, page_size=100))
        orders.update((order.service_id, order) for order in answer.orders)
        skipped += answer.skipped
        if page >= answer.total_pages or answer.empty:
            return list(orders.values()), skipped == 0
    return list(orders.values()), False


def _made_meanwhile(intent: Intent, order: Order, since: datetime) -> bool | None:
    if order.created is None:
        return None
    if order.created < since:
        return False
    return True if order.created <= intent.valid_until + SKEW else None


def _as_promised(intent: Intent, order: Order) -> bool | None:
    if not intent.fixed:
        return True
    if order.out_amount is None:
        return None
    return True if DOUBLE.plus(order.out_amount) == DOUBLE.plus(intent.amount_out) else None


def _refunds(kind: str, asked: str | None, named: str | None) -> bool:
    """False if ``named``, the order's refund address, differs from ``asked``. An order that names
    no refund address contradicts nothing."""
    return not named or (asked is not None and same_address(kind, named, asked))


def _as_fixed(intent: Intent, order: Order) -> bool | None:
    """True if the order's ``fixed`` flag equals the intent's, False if it differs. If the order has
    no such flag: True for a floating intent, None for a fixed one."""
    if "fixed" in order.model_fields_set:
        return order.fixed is intent.fixed
    return None if intent.fixed else True


def _token(wanted: TokenFacts, token_id: str | None, token: Token | None) -> bool | None:
    named = token_id or (token.id if token is not None else None)
    return None if named is None else named.lower() == wanted.id
