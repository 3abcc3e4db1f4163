"""What a stage shows, as texts: three panes, what a watcher can compare, and the link search.

Screen and transcript show the same lines. Nothing is said that was not read or searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.facts import HOW_FAR, Facts, Movement, SentTransaction, SwapFacts
from swapdesk.flows.demo.link_search import LinkSearch
from swapdesk.flows.notation import (
    about_amount,
    counted,
    duration,
    percent,
    short_address,
    tracker_amount,
)
from swapdesk.wire.encoding.numbers import ROUGH

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
"""Of a leg; every other status moves."""
_PAYING = frozenset({"SENDING", "FINISHED", "FALLBACK"})


class PaneLine(Struct, frozen=True):
    """``at`` or ``label`` stands before it: a time, or the name of a leg. ``tone`` is strong,
    muted, done, moving, waiting, trouble, or none. ``whole`` is the text where there is room for
    all of it."""

    text: str
    label: str = ""
    tone: str = ""
    whole: str = ""
    at: datetime | None = None


class Pane(Struct, frozen=True):
    title: str
    lines: tuple[PaneLine, ...]
    ending: str = ""


class Comparison(Struct, frozen=True):
    """What a watcher can still compare: a figure, and how many others it fits."""

    label: str
    value: str
    remark: str
    brief: str = ""
    """For where there is no room for the others."""


def panes_of(facts: Facts, did: str) -> tuple[Pane, Pane, Pane]:
    if facts.swap is not None:
        swap = facts.swap
        return _trader(facts, swap, did), _transactions(facts, swap), _venues(facts, swap)
    return _alice(facts, did), _chain(facts), _knows(facts)


def _trader(facts: Facts, swap: SwapFacts, did: str) -> Pane:
    """Of a swap on a chain."""
    amount = f"{tracker_amount(facts.amount, 'pay')} {facts.sold.symbol}"
    lines = [
        PaneLine(did, at=facts.created),
        PaneLine(f"{amount} to {swap.bought.symbol}"),
        PaneLine(f"took {swap.venue}"),
        PaneLine(f"at least {tracker_amount(swap.least)} {swap.bought.symbol}", tone="muted"),
    ]
    if swap.approvals == ():
        lines.append(PaneLine("no approval needed"))
    lines += [
        PaneLine(f"allowed {swap.venue} to take {amount}", at=sent.at)
        for sent in swap.approvals or ()
    ]
    if facts.tracked is not None:
        lines.append(PaneLine("created the order", at=facts.tracked.order.created))
    if swap.sent is not None:
        lines.append(PaneLine("sent its transaction", at=swap.sent.at))
    if swap.told is not None:
        lines.append(PaneLine("told the service", at=swap.told))
    if facts.fee is not None:
        fee = f"{tracker_amount(facts.fee, 'pay')} {facts.coin}"
        lines.append(PaneLine(f"fees {fee}", tone="muted"))
    if facts.completed:
        lines.append(
            PaneLine(f"has {tracker_amount(swap.holds)} {swap.bought.symbol}", tone="strong")
        )
    return Pane(ALICE, tuple(lines), "Her account pays and is paid. There is no deposit.")


def _transactions(facts: Facts, swap: SwapFacts) -> Pane:
    lines: list[PaneLine] = []
    chain = facts.sold.chain
    for sent in swap.approvals or ():
        lines += [
            _ends(swap.account, sent.to, sent.at),
            PaneLine(f"approve {facts.sold.symbol}", tone="strong"),
            _place(chain, sent),
        ]
    if swap.sent is not None:
        lines += [
            _ends(swap.account, swap.sent.to, swap.sent.at),
            PaneLine("the order's call", tone="strong"),
            _place(chain, swap.sent),
        ]
    for moved in facts.moved:
        each = moved.transfer
        lines += [
            _ends(checksummed(each.sender), checksummed(each.receiver)),
            PaneLine(f"{tracker_amount(moved.amount)} {moved.symbol}", tone="strong"),
        ]
    if not lines:
        return Pane(CHAIN, (), "Nothing of this swap yet.")
    if facts.moved:
        return Pane(CHAIN, tuple(lines), "One transaction made all of these payments, or none.")
    return Pane(CHAIN, tuple(lines), "Nothing has been paid yet.")


def _ends(sender: str, receiver: str, at: datetime | None = None) -> PaneLine:
    text = f"{_head(sender)} → {_head(receiver)}"
    return PaneLine(text, whole=f"{sender} → {receiver}", at=at)


def _place(chain: str, sent: SentTransaction) -> PaneLine:
    where = f"{chain}, no block yet" if sent.height is None else f"{chain} {sent.height}"
    return PaneLine(f"{where} · {_head(sent.hash)}", tone="muted", whole=f"{where} · {sent.hash}")


def _venues(facts: Facts, swap: SwapFacts) -> Pane:
    symbol = swap.bought.symbol
    if facts.tracked is None:
        lines = [
            PaneLine(
                f"{offer.venue} {tracker_amount(offer.out)} {symbol}"
                f"{', by signature' if offer.signed else ''}",
                tone="strong" if offer.chosen else "",
            )
            for offer in swap.offers
        ]
        return Pane(SERVICE, tuple(lines), "It asks the chain, and holds no money.")
    order = facts.tracked.order
    word = "waiting" if swap.told is None else "confirming"
    tone = "waiting" if swap.told is None else "moving"
    if facts.ended:
        word, tone = ("finished", "done") if facts.completed else ("failed", "trouble")
    found = [
        PaneLine(word, "order", tone),
        PaneLine(f"{swap.venue}, {facts.sold.symbol} to {symbol}"),
        PaneLine(f"in  {tracker_amount(order.in_amount, 'pay')} {facts.sold.symbol}"),
        PaneLine(f"out {'' if facts.ended else '≈ '}{tracker_amount(order.out_amount)} {symbol}"),
    ]
    if swap.told is not None and swap.sent is not None:
        sent = swap.sent.hash
        found.append(PaneLine(_head(sent), "hash", "muted", whole=sent))
    return Pane(SERVICE, tuple(found), "It reads the same chain, and holds no money.")


def _alice(facts: Facts, did: str) -> Pane:
    amount = f"{tracker_amount(facts.amount, 'pay')} {facts.sold.symbol}"
    lines = [
        PaneLine(did, at=facts.created),
        PaneLine(f"{amount} to Bob"),
    ]
    if facts.paid is None:
        return Pane(ALICE, tuple(lines), "She has not paid yet.")
    to = checksummed(facts.paid.receiver)
    lines += [
        PaneLine(f"paid {amount} to", at=facts.paid.at),
        PaneLine(short_address(to), whole=to),
    ]
    if facts.fee is not None:
        lines.append(PaneLine(f"fee {tracker_amount(facts.fee, 'pay')} {facts.coin}", tone="muted"))
    if facts.support is not None:
        lines.append(PaneLine("wrote to support:"))
        lines.append(PaneLine(facts.support.message, tone="muted"))
        return Pane(ALICE, tuple(lines))
    return Pane(
        ALICE,
        tuple(lines),
        "Nothing since. Her wallet shows one payment, to an address used once.",
    )


def _chain(facts: Facts) -> Pane:
    lines = [line for each in facts.moved for line in _transfer_lines(each)]
    lines += [
        PaneLine(f"{leg.bought.symbol} moves unseen", "—", "muted")
        for leg in facts.legs
        if leg.bought.chain not in facts.chains and leg.status in _PAYING
    ]
    if not lines:
        return Pane(CHAIN, (), "Nothing of this order yet.")
    search = facts.search
    if search is None:
        return Pane(CHAIN, tuple(lines))
    if search.path:
        ending = f"A path of {counted(len(search.path), 'payment')} leads from Alice to Bob."
    elif facts.got is None:
        ending = "Bob is not on the chain yet. No line leads from Alice to him."
    else:
        ending = "An exchange's wallet paid Bob. No line leads from Alice to him."
    return Pane(CHAIN, tuple(lines), ending)


def _transfer_lines(moved: Movement) -> Iterator[PaneLine]:
    each = moved.transfer
    sender, receiver = checksummed(each.sender), checksummed(each.receiver)
    yield PaneLine(
        f"{_head(sender)} → {_head(receiver)}", whole=f"{sender} → {receiver}", at=each.at
    )
    yield PaneLine(f"{tracker_amount(moved.amount)} {moved.symbol}", tone="strong")
    where = f"{each.chain} {each.height}"
    yield PaneLine(f"{where} · {_head(each.hash)}", tone="muted", whole=f"{where} · {each.hash}")


def _head(text: str) -> str:
    """``0x 7099``: as many characters as tell it from others in view."""
    return f"{text[:2]} {text[2:6]}"


def _knows(facts: Facts) -> Pane:
    support = facts.support
    if support is not None:
        sheet = support.sheet
        lines = [
            *(
                PaneLine(f"{one.place}: {one.said}", "searched", "muted")
                for one in support.searched
            ),
            PaneLine(sheet.order_id, "order", "strong"),
            PaneLine(sheet.cause, "cause"),
            PaneLine(sheet.money, "money"),
            PaneLine(sheet.acts, "acts"),
        ]
        if support.replied:
            lines = [PaneLine(text) for text in sheet.reply if text]
        return Pane(SUPPORT, tuple(lines))
    several = len(facts.legs) > 1
    found: list[PaneLine] = []
    for number, leg in enumerate(facts.legs, 1):
        found += _leg_lines(leg, f"leg {number}" if several else "order")
    ending = "Only the service can join the two legs." if several else "One exchange has both ends."
    return Pane(SERVICE, tuple(found), ending)


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


def compared(facts: Facts) -> tuple[Comparison, ...]:
    """Empty until something was paid, and where nothing is hidden."""
    if facts.paid is None or len(facts.legs) < 2:
        return ()
    paid, promised = facts.legs[0].sold.amount, facts.legs[-1].bought.amount
    known = facts.remains
    if known is None:
        lower = ROUGH.multiply(ROUGH.divide(paid - promised, paid), Decimal(100))
        return (
            Comparison(
                "Amount",
                f"{tracker_amount(paid, 'pay')} in, {about_amount(promised)} out,"
                f" {percent(-lower)}",
                "not paid out yet, so nothing to compare with",
                f"{percent(-lower)}, not paid out yet",
            ),
        )
    return (
        Comparison(
            "Amount",
            f"{tracker_amount(known.paid, 'pay')} in, {tracker_amount(known.got)} out,"
            f" {percent(-known.lower_by)}",
            f"{counted(known.others, 'other payout')} since fit within {known.within}%",
            f"{percent(-known.lower_by)}, {counted(known.others, 'other')} within {known.within}%",
        ),
        Comparison(
            "Time",
            f"{duration(known.seconds)} between deposit and payout",
            f"{counted(known.payouts, 'other payout')} of the exchanges since the deposit",
            f"{duration(known.seconds)} apart, {counted(known.payouts, 'payout')} since",
        ),
        Comparison(
            "Habit",
            f"{'first' if _times_paid(facts) == 1 else 'not the first'} payment to this address",
            "a second one to the same address would be a hint",
        ),
    )


def _times_paid(facts: Facts) -> int:
    """How often Bob was paid in all blocks that were read."""
    return sum(each.transfer.receiver == facts.bob.lower() for each in facts.moved)


def path_of(facts: Facts) -> tuple[PaneLine, ...]:
    """Alice, each exchange with the coin between them, Bob; the tone is that of the step that
    leads there. Empty where one exchange sees both ends, which hides nothing."""
    if len(facts.legs) < 2:
        return ()
    places = [PaneLine("Alice", tone="done")]
    for leg in facts.legs:
        far, last = HOW_FAR.get(leg.status, 0), leg is facts.legs[-1]
        comes = facts.paid is not None if leg is facts.legs[0] else places[-1].tone == "done"
        places.append(PaneLine(leg.venue, tone=_step(done=far > 2, begun=far > 1 or comes)))
        there = facts.got is not None if last else far > 4
        name = "Bob" if last else leg.bought.symbol
        places.append(PaneLine(name, tone=_step(done=there, begun=far > 2)))
    return tuple(places)


def _step(*, done: bool, begun: bool) -> str:
    return "done" if done else "moving" if begun else "waiting"


def missing_edge(search: LinkSearch) -> PaneLine:
    """What leads from Alice straight to Bob, by the search."""
    if search.path:
        return PaneLine(f"{counted(len(search.path), 'payment')} on the chains", tone="trouble")
    return PaneLine("no path on the chains", tone="done")


def link_pane(search: LinkSearch) -> Pane:
    """What was searched, and what was found; what still matches is in :func:`compared`."""
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


def _tone(found: tuple[object, ...]) -> str:
    return "trouble" if found else "done"
