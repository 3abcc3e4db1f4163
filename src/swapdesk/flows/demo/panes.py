"""What a stage shows, as texts: three panes, the path from Alice to Bob, and the link search.

Screen and transcript show the same lines. Nothing is said that was not read or searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.link_search import LinkSearch
from swapdesk.flows.demo.stage import HOW_FAR, Movement, Pane, PaneLine, Stage
from swapdesk.flows.notation import counted, short_address, tracker_amount
from swapdesk.flows.support.order_search import Searched
from swapdesk.flows.support.support_case import CaseSheet

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


def panes_of(stage: Stage, did: str) -> tuple[Pane, Pane, Pane]:
    return _alice(stage, did), _chain(stage), _knows(stage)


def _alice(stage: Stage, did: str) -> Pane:
    amount = f"{tracker_amount(stage.amount, 'pay')} {stage.sold.symbol}"
    lines = [
        PaneLine(did, at=stage.created),
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
    lines = [line for each in stage.moved for line in _transfer_lines(each)]
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


def _transfer_lines(moved: Movement) -> Iterator[PaneLine]:
    sender, receiver = checksummed(moved.sender), checksummed(moved.receiver)
    yield PaneLine(
        f"{_head(sender)} → {_head(receiver)}", whole=f"{sender} → {receiver}", at=moved.at
    )
    yield PaneLine(f"{tracker_amount(moved.amount)} {moved.symbol}", tone="strong")
    where = f"{moved.chain} {moved.block}"
    yield PaneLine(f"{where} · {_head(moved.hash)}", tone="muted", whole=f"{where} · {moved.hash}")


def _head(text: str) -> str:
    """``0x 7099``: as many characters as tell it from others in view."""
    return f"{text[:2]} {text[2:6]}"


def _knows(stage: Stage) -> Pane:
    if stage.support:
        return Pane(SUPPORT, stage.support)
    several = len(stage.legs) > 1
    found: list[PaneLine] = []
    for number, leg in enumerate(stage.legs, 1):
        found += _leg_lines(leg, f"leg {number}" if several else "order")
    ending = "Only the service can join the two legs." if several else "One exchange has both ends."
    return Pane(SERVICE, tuple(found), ending)


def found_lines(searched: Iterable[Searched], sheet: CaseSheet) -> tuple[PaneLine, ...]:
    """Where support looked for an order, and what it found."""
    return (
        *(PaneLine(f"{one.place}: {one.said}", "searched", "muted") for one in searched),
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
    """Alice, each exchange with the coin between them, Bob; the tone is that of the step that
    leads there. Empty where one exchange sees both ends, which hides nothing."""
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


def link_pane(search: LinkSearch) -> Pane:
    """What was searched, and what was found; what still matches stands
    beside it."""
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
