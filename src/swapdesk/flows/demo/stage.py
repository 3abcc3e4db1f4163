"""The stages of a demonstration: their tables, the facts known at each stage, and the texts made
from these facts.

The texts are three panes (boxes with what Alice, the chain and the service or support know), the
path from Alice to Bob, and the link search. The screen and the printed demonstration show the same
lines, which state only what was read or searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.link_search import Comparison, LinkSearch, Movement
from swapdesk.flows.notation import (
    IsoTime,
    clock_time,
    counted,
    iso,
    short_address,
    tracker_amount,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.order_search import Searched
from swapdesk.flows.support.support_case import CaseSheet
from swapdesk.wire.tokens import Token

HOW_FAR = {
    "WAITING": 1,
    "CONFIRMING": 2,
    "VERIFYING": 3,
    "EXCHANGING": 3,
    "SENDING": 4,
    "FINISHED": 5,
    "FALLBACK": 5,
}
"""The progress of a leg (an order's part at one exchange) by its status. Failed statuses are
missing."""

ALICE, CHAIN, SERVICE, SUPPORT = (
    "What Alice did",
    "What the chain shows",
    "What the service knows",
    "What support says",
)
LINK = "Link search"
_TONES = {
    "FINISHED": "done",
    "FALLBACK": "done",
    "WAITING": "waiting",
    "FAILED": "trouble",
    "REFUNDED": "trouble",
    "EXPIRED": "trouble",
}
"""The tone of a leg's status, which decides a colour; ``moving`` if missing."""
_PAYING = frozenset({"SENDING", "FINISHED", "FALLBACK"})


class StageRow(Struct, frozen=True):
    """One row in a demonstration's table of stages."""

    name: str
    short: str
    """The name on a narrow screen."""
    title: str
    sentence: str
    more: str
    """A text shown on demand."""
    reached: Callable[[Stage], bool]
    """Returns True if this stage or a later one was reached."""
    act: Literal["create", "pay", "find_order", "reply"] | None = None
    """What Alice or support does first."""
    holder: tuple[int, str] | None = None
    """Number (from 0) and status of the leg with the money, if known."""


class Demo(Struct, frozen=True):
    """A demonstration. ``buys`` is the token bought, as ``symbol.chain``; None for a private
    send."""

    title: str
    did: str
    """What Alice did: ``created a private send``."""
    buys: str | None
    fault: str | None
    """The sandbox's fault that is set on the order; None for an order that succeeds."""
    rows: tuple[StageRow, ...]

    @property
    def private(self) -> bool:
        return self.buys is None


class PaneLine(Struct, frozen=True):
    """One line of a pane."""

    text: str
    label: str = ""
    """Written before the text, unless ``at`` is."""
    tone: str = ""
    """Decides the colour: ``strong``, ``muted``, ``done``, ``trouble`` and others."""
    whole: str = ""
    """The unabridged text, for a wide screen."""
    at: datetime | None = None

    @property
    def head(self) -> str:
        return clock_time(self.at) if self.at is not None else self.label


class Pane(Struct, frozen=True):
    """A box with lines of text: what one participant of the demonstration sees."""

    PRINTED: ClassVar = {"title": "title", "lines": "texts", "ending": "ending"}

    title: str
    lines: tuple[PaneLine, ...]
    ending: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The pane's unabridged lines, each headed by its time or label."""
        return tuple(f"{line.head} {line.whole or line.text}".strip() for line in self.lines)


class Stage(Struct, frozen=True):
    """The facts known at one stage of a demonstration."""

    PRINTED: ClassVar = {
        "stage": "number", "name": "row.name", "title": "row.title", "said": "row.sentence",
        "at": "printed_at", "serviceId": "service_id", "money": "money", "next": "next",
        "transactions": "moved", "panes": "panes",
    }  # fmt: skip

    number: int
    """Counted from 1."""
    row: StageRow
    did: str
    at: datetime
    created: datetime
    sold: Token
    amount: Decimal
    tracked: TrackedOrder
    legs: tuple[OrderLeg, ...]
    money: str
    """A sentence that says where the money is. ``next`` says who acts next."""
    next: str
    chains: frozenset[str]
    """The names of the chains whose blocks are read."""
    coin: str
    moved: tuple[Movement, ...]
    """Payments from and to the order's addresses, oldest first."""
    paid: Movement | None
    """Alice's deposit; None before it is in a block."""
    got: Movement | None
    """Bob's payout; None before it is in a block."""
    fee: Decimal | None
    """The chain's fee for Alice's payment, in whole ``coin``."""
    letter: str
    """Alice's message to support."""
    support: tuple[PaneLine, ...]
    """What support found or answered."""
    search: LinkSearch | None = None
    compared: tuple[Comparison, ...] = ()
    """What a watcher of the chains can still compare."""
    crowd: tuple[Movement, ...] = ()
    """Payouts to others that could also come from Alice's deposit."""

    @property
    def tone(self) -> Literal["moving", "done", "trouble"]:
        """The state of the order: ``moving`` until it ends, then ``done`` or ``trouble``."""
        if not self.tracked.ended:
            return "moving"
        return "done" if self.legs[-1].status in ("FINISHED", "FALLBACK") else "trouble"

    @property
    def service_id(self) -> str | None:
        return self.tracked.service_id

    @property
    def printed_at(self) -> IsoTime:
        return iso(self.at)

    @property
    def panes(self) -> tuple[Pane, ...]:
        return _alice(self), _chain(self), _knows(self)

    @property
    def can_be_linked(self) -> bool:
        """True if Alice's payment and Bob's payout are both in blocks that were read."""
        return self.search is not None and self.got is not None


def _alice(stage: Stage) -> Pane:
    amount = f"{tracker_amount(stage.amount, 'pay')} {stage.sold.symbol}"
    lines = [
        PaneLine(stage.did, at=stage.created),
        PaneLine(f"{amount} to Bob"),
    ]
    if stage.paid is None:
        return Pane(ALICE, tuple(lines), "She has not paid yet.")
    to = checksummed(stage.paid.receiver)
    lines += [
        PaneLine(f"paid {amount} to", at=stage.paid.at),
        PaneLine(short_address(to), whole=to),
    ]
    if stage.fee is not None:
        lines.append(PaneLine(f"fee {tracker_amount(stage.fee, 'pay')} {stage.coin}", tone="muted"))
    if stage.letter:
        lines.append(PaneLine("wrote to support:"))
        lines.append(PaneLine(stage.letter, tone="muted"))
        return Pane(ALICE, tuple(lines))
    return Pane(
        ALICE,
        tuple(lines),
        "Nothing since. Her wallet shows one payment, to an address used once.",
    )


def _chain(stage: Stage) -> Pane:
    lines = [line for payment in stage.moved for line in payment_lines(payment)]
    lines += [
        PaneLine(f"{leg.bought.symbol} moves unseen", "—", "muted")
        for leg in stage.legs
        if leg.bought.chain not in stage.chains and leg.status in _PAYING
    ]
    if not lines:
        return Pane(CHAIN, (), "Nothing of this order yet.")
    search = stage.search
    if search is None:
        return Pane(CHAIN, tuple(lines))
    if search.path:
        ending = f"A path of {counted(len(search.path), 'payment')} leads from Alice to Bob."
    elif stage.got is None:
        ending = "Bob is not on the chain yet. No line leads from Alice to him."
    else:
        ending = "An exchange's wallet paid Bob. No line leads from Alice to him."
    return Pane(CHAIN, tuple(lines), ending)


def payment_lines(moved: Movement) -> Iterator[PaneLine]:
    sender, receiver = checksummed(moved.sender), checksummed(moved.receiver)
    yield PaneLine(
        f"{head_of(sender)} → {head_of(receiver)}", whole=f"{sender} → {receiver}", at=moved.at
    )
    yield PaneLine(f"{tracker_amount(moved.amount)} {moved.symbol}", tone="strong")
    where = f"{moved.chain} {moved.height}"
    yield PaneLine(
        f"{where} · {head_of(moved.hash)}", tone="muted", whole=f"{where} · {moved.hash}"
    )


def head_of(text: str) -> str:
    """Returns the beginning of an address or hash, such as ``0x 7099``."""
    return f"{text[:2]} {text[2:6]}"


def _knows(stage: Stage) -> Pane:
    if stage.support:
        return Pane(SUPPORT, stage.support)
    several = len(stage.legs) > 1
    lines: list[PaneLine] = []
    for number, leg in enumerate(stage.legs, 1):
        lines += _leg_lines(leg, f"leg {number}" if several else "order")
    ending = "Only the service can join the two legs." if several else "One exchange has both ends."
    return Pane(SERVICE, tuple(lines), ending)


def found_lines(searched: Iterable[Searched], sheet: CaseSheet) -> tuple[PaneLine, ...]:
    """Returns the lines of support's pane: each place searched, and the diagnosis."""
    return (
        *(PaneLine(f"{answer.place}: {answer.said}", "searched", "muted") for answer in searched),
        PaneLine(sheet.order_id, "order", "strong"),
        PaneLine(sheet.cause, "cause"),
        PaneLine(sheet.money, "money"),
        PaneLine(sheet.acts, "acts"),
    )


def _leg_lines(leg: OrderLeg, label: str) -> Iterator[PaneLine]:
    tone = _TONES.get(leg.status, "moving")
    word = leg.status.lower()
    if leg.status == "CONFIRMING":
        word = f"confirming {leg.confirmations or 0} of {leg.confirmations_needed}"
    yield PaneLine(word, label, tone)
    sold, bought = leg.sold, leg.bought
    ends = (sold.symbol, bought.symbol)
    if sold.symbol == bought.symbol:
        ends = (sold.chain, bought.chain)
    yield PaneLine(f"{leg.venue}, {ends[0]} to {ends[1]}")
    yield PaneLine(f"in  {tracker_amount(leg.sold.amount, 'pay')} {leg.sold.symbol}")
    if tone == "trouble":
        return
    out = tracker_amount(leg.bought.amount)
    yield PaneLine(f"out {'' if leg.over else '≈ '}{out} {leg.bought.symbol}")


def path_of(stage: Stage) -> tuple[PaneLine, ...]:
    """Returns the path of the money as lines; their tone says how far the payment has come. Empty
    if only one exchange takes part, because it sees both ends."""
    if len(stage.legs) < 2:
        return ()
    places = [PaneLine("Alice", tone="done")]
    for leg in stage.legs:
        far, last = HOW_FAR.get(leg.status, 0), leg is stage.legs[-1]
        comes = stage.paid is not None if leg is stage.legs[0] else places[-1].tone == "done"
        places.append(PaneLine(leg.venue, tone=_step(done=far > 2, begun=far > 1 or comes)))
        there = stage.got is not None if last else far > 4
        name = "Bob" if last else leg.bought.symbol
        places.append(PaneLine(name, tone=_step(done=there, begun=far > 2)))
    return tuple(places)


def _step(*, done: bool, begun: bool) -> str:
    return "done" if done else "moving" if begun else "waiting"


def edge_said(search: LinkSearch) -> str:
    """Returns the caption of the line between Alice and Bob, such as ``no path on the chains``."""
    return f"{_found(len(search.path), 'no path', 'payment')} on the chains"


def link_pane(search: LinkSearch) -> Pane:
    """Returns the pane that says how much was searched and what was found."""
    height = sum(last - first + 1 for first, last in search.blocks.values())
    lines = [
        PaneLine(f"{counted(height, 'block')} of {counted(len(search.blocks), 'chain')}", "read"),
        PaneLine(f"{counted(search.transfers, 'payment')}, {counted(search.accounts, 'account')}"),
        PaneLine(_found(len(search.path), "no path", "step"), "payments", _tone(search.path)),
        PaneLine(_found(len(search.shared), "none in common", "account in common"), "accounts",
                 _tone(search.shared)),
        PaneLine(_found(len(search.equal), "none equal", "equal payment"), "amounts",
                 _tone(search.equal)),
    ]  # fmt: skip
    return Pane(
        LINK,
        tuple(lines),
        "Not searched: other chains, and the books of the exchanges and the service.",
    )


def _found(count: int, none: str, some: str) -> str:
    return counted(count, some) if count else none


def _tone(compared: tuple[object, ...]) -> str:
    return "trouble" if compared else "done"


def _always(stage: Stage) -> bool:
    return True


def _leg(number: int, status: str) -> Callable[[Stage], bool]:
    return lambda stage: HOW_FAR.get(stage.legs[number].status, 0) >= HOW_FAR[status]


def _at_middle(stage: Stage) -> bool:
    return _leg(0, "FINISHED")(stage) or _leg(1, "CONFIRMING")(stage)


def _second_counts(stage: Stage) -> bool:
    return _leg(1, "EXCHANGING")(stage) or (stage.legs[1].confirmations or 0) > 1


def _paid_out(stage: Stage) -> bool:
    return stage.legs[-1].over and stage.tracked.ended and stage.got is not None


def _failed(stage: Stage) -> bool:
    return stage.tracked.ended and stage.legs[0].status == "FAILED"


PRIVATE = Demo(
    title="Private send",
    did="created a private send",
    buys=None,
    fault=None,
    rows=(
        StageRow(
            "waiting",
            "wait",
            "Waiting for the deposit",
            "Alice has an order and an address to pay. Nothing has moved yet.",
            "The address is the first exchange's and was made for this order alone. The order"
            " names Bob's address; only the service and the second exchange are told it.",
            _always,
            "create",
            holder=(0, "WAITING"),
        ),
        StageRow(
            "seen",
            "seen",
            "Deposit seen",
            "Alice paid. The chain shows her account, the amount and an address used once.",
            "This is the only payment that Alice makes. Everybody can read it for ever, and nobody"
            " can see from it what it is for.",
            _leg(0, "CONFIRMING"),
            "pay",
            holder=(0, "CONFIRMING"),
        ),
        StageRow(
            "exchange 1",
            "exch 1",
            "First exchange in progress",
            "The first exchange has its confirmations and changes her coins into another one.",
            "Inside an exchange nothing is on a chain: it takes the deposit into its books. It"
            " knows who paid, and not that Bob is to be paid.",
            _leg(0, "EXCHANGING"),
            holder=(0, "EXCHANGING"),
        ),
        StageRow(
            "to middle",
            "to mid",
            "On the way to the middle",
            "The first exchange pays the second one, from a wallet that pays many others.",
            "The coin in the middle is another one, and mostly on another chain. Its amount follows"
            " from the price of the moment, so that no figure of Alice's payment appears again.",
            _leg(0, "SENDING"),
            holder=(0, "SENDING"),
        ),
        StageRow(
            "at middle",
            "at mid",
            "Arrived in the middle",
            "What the second exchange receives comes from an exchange, not from Alice.",
            "Where the middle is Monero, no amount and no account is public at all. Here it is a"
            " coin of a local chain, so that you can follow it.",
            _at_middle,
            holder=(1, "CONFIRMING"),
        ),
        StageRow(
            "second",
            "second",
            "Second exchange begins",
            "The second exchange counts confirmations. For it, the customer is the service.",
            "It knows Bob's address and never saw Alice's. Neither of the two exchanges has both"
            " ends.",
            _second_counts,
            holder=(1, "CONFIRMING"),
        ),
        StageRow(
            "exchange 2",
            "exch 2",
            "Second exchange in progress",
            "The coins for Bob come from an exchange that never saw Alice. Her deposit went to"
            " another one.",
            "The second exchange pays from its own stock. The coins that Bob gets are not those"
            " that Alice paid.",
            _leg(1, "EXCHANGING"),
            holder=(1, "EXCHANGING"),
        ),
        StageRow(
            "to bob",
            "to bob",
            "On the way to Bob",
            "The second exchange pays Bob, from a wallet that pays many others as well.",
            "Explorers label such wallets with the name of the exchange. A watcher sees an exchange"
            " that pays somebody.",
            _leg(1, "SENDING"),
            holder=(1, "SENDING"),
        ),
        StageRow(
            "done",
            "done",
            "Bob is paid",
            "Bob is paid. What a watcher can still compare is the amount and the time.",
            "Privacy here is a crowd: the more payouts of about this amount in about this time, the"
            " better. An odd amount, a quiet hour or a second payment to the same address make it"
            " smaller.",
            _paid_out,
        ),
    ),
)

STUCK = Demo(
    title="Stuck order",
    did="created a swap",
    buys="eth.base",
    fault="fail_after_deposit",
    rows=(
        StageRow(
            "waiting",
            "wait",
            "Waiting for the deposit",
            "An ordinary order; Alice is about to pay it.",
            "The sandbox was told to let the exchange of this order fail once it is paid.",
            _always,
            "create",
            holder=(0, "WAITING"),
        ),
        StageRow(
            "seen",
            "seen",
            "Deposit seen",
            "Alice paid exactly what the order says.",
            "She did everything right; her transaction is in a block.",
            _leg(0, "CONFIRMING"),
            "pay",
            holder=(0, "CONFIRMING"),
        ),
        StageRow(
            "failed",
            "failed",
            "The exchange failed",
            "The exchange has the deposit and will not pay. The order is over.",
            "The chain shows that the money arrived, so nobody needs to take anybody's word.",
            _failed,
        ),
        StageRow(
            "found",
            "found",
            "Support finds the order",
            "Alice writes, and names no order. Support pastes her message, and her hash leads to"
            " it.",
            "Customers paste what they have: a link, an address, an amount, a whole e-mail. Every"
            " place that was searched says what it answered. i does the same at any time.",
            _failed,
            "find_order",
        ),
        StageRow(
            "answered",
            "answered",
            "Support answers",
            "The reply says where the money is and who acts, and promises nothing.",
            "It is made of facts alone: each is named with its time below the diagnosis.",
            _failed,
            "reply",
        ),
    ),
)


DEMOS = {"private": PRIVATE, "stuck": STUCK}
