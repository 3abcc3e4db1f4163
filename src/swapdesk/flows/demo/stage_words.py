"""What a demonstration shows at each of its stages: a sentence and panes of texts. Pure.

A presenter reads the sentence aloud; ``more`` answers the first question that follows. Nothing is
claimed that was not read from the order, the blocks of the local chains or the control of the
sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from swapdesk.client.chain_transfers import ChainTransfer
from swapdesk.client.sandbox_control import LegSide
from swapdesk.flows.demo.link_search import LinkSearch
from swapdesk.flows.demo.private_send import Stage
from swapdesk.flows.notation import (
    clock_time,
    duration,
    exact_amount,
    short_address,
    short_clock,
    tracker_amount,
)
from swapdesk.wire.encoding.numbers import ROUGH


class PaneEvent(Struct, frozen=True):
    at: str
    """``14:05``; empty where the text belongs to no moment."""
    lines: tuple[str, ...]


class Pane(Struct, frozen=True):
    title: str
    events: tuple[PaneEvent, ...]
    closing: str = ""


class StageView(Struct, frozen=True):
    """One stage as it is shown and printed."""

    number: int
    """From 1."""
    title: str
    at: str
    """``14:26:58`` on the sandbox clock."""
    sentence: str
    more: str
    panes: tuple[Pane, ...]
    money: str
    """Follows the word Funds, with its point."""
    acts: str
    """Who acts next."""
    alike: tuple[tuple[str, str, str], ...] = ()
    """What a watcher can still compare, and how far that leads; empty as long as there is
    nothing."""
    hashes: tuple[tuple[str, str], ...] = ()
    """Chain and hash of each transaction that the stage shows, whole."""


PRIVATE_TRACK = (
    "waiting", "seen", "exchange 1", "to middle", "at middle", "second", "exchange 2", "to bob",
    "done",
)  # fmt: skip

_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "Waiting for Alice",
        "Alice has an order and an address to pay to. It was made for her order, and nobody used it"
        " before.",
        "The service splits a private send into two exchanges. It gives Alice the deposit address"
        " of the first; Bob's address is told to the second alone.",
    ),
    (
        "Deposit seen",
        "Alice paid {paid} from her account. Anybody can see that payment on the chain.",
        "Her wallet shows one payment to an address without a history. Who knows the address of an"
        " exchange's customer knows that she used an exchange, and no more.",
    ),
    (
        "First exchange in progress",
        "The first exchange has Alice's {sold} and sells it for {middle}.",
        "That happens in the books of the exchange. Nothing of it is on a chain.",
    ),
    (
        "On the way to the middle",
        "The first exchange pays {middle} to an address of the second exchange, from a wallet of"
        " its own.",
        "The coins that leave are not the coins that came: they come from the wallet out of which"
        " this exchange pays all its customers.",
    ),
    (
        "At the middle",
        "The {middle} for the second exchange is on its chain. It leads from one exchange to"
        " another; Alice and Bob are on neither side.",
        "The address of the second exchange was made for this order as well, and nobody used it"
        " before.",
    ),
    (
        "Second exchange begins",
        "The second exchange waits until the {middle} is confirmed.",
        "It knows whom it is to pay, and not who paid the first exchange.",
    ),
    (
        "Second exchange in progress",
        "The coins for Bob come from an exchange that never saw Alice. Her deposit went to another"
        " one.",
        "Only the service knows both orders. Whoever looks at the chains sees customers of two"
        " exchanges, among all their other customers.",
    ),
    (
        "On the way to Bob",
        "The second exchange pays {bought} to Bob from a wallet of its own.",
        "The sender is the wallet out of which this exchange pays all its customers.",
    ),
    (
        "Done",
        "Bob has his {bought}. No payment leads from Alice to him; what still matches is said"
        " below.",
        "A private send hides the line between two accounts from whoever reads the chains. It does"
        " not hide that each of them dealt with an exchange, nor anything from the service.",
    ),
)


def private_view(stage: Stage, bob: str = "Bob") -> StageView:
    """``bob`` is what the receiver is called."""
    first, second = stage.legs
    title, sentence, more = _WORDS[stage.number - 1]
    words = {
        "paid": _side(first.sold),
        "sold": first.sold.symbol,
        "middle": first.bought.symbol,
        "bought": second.bought.symbol,
    }
    return StageView(
        number=stage.number,
        title=title,
        at=clock_time(stage.at),
        sentence=sentence.format_map(words),
        more=more,
        panes=(_alice(stage, bob), _chains(stage, bob), _service(stage)),
        money=_money(stage, bob),
        acts=_acts(stage),
        alike=alike(stage) if stage.remains is not None else (),
        hashes=tuple((each.chain, each.hash) for each in stage.moved),
    )


def _side(side: LegSide) -> str:
    amount = exact_amount(side.amount)
    # The zeros behind it are the decimals of the token.
    return f"{amount.rstrip('0').rstrip('.') if '.' in amount else amount} {side.symbol}"


def _alice(stage: Stage, bob: str) -> Pane:
    first, _ = stage.legs
    events = [
        PaneEvent(
            short_clock(stage.created), ("created a private send", f"{_side(first.sold)} to {bob}")
        )
    ]
    closing = "She has not paid yet. Nothing of hers is on a chain."
    if stage.paid is not None:
        paid = [f"paid {_side(first.sold)} to", short_address(first.deposit_address)]
        if stage.fee is not None:
            paid.append(f"network fee {tracker_amount(stage.fee)}")
        events.append(PaneEvent(short_clock(stage.paid.at), tuple(paid)))
        closing = "Nothing since. Her wallet shows one payment, to an address used once."
    return Pane("What Alice did", tuple(events), closing)


def _chains(stage: Stage, bob: str) -> Pane:
    token = stage.token
    events = [
        PaneEvent(
            short_clock(each.at),
            (
                f"{_end(each.sender)} → {_end(each.receiver)}",
                f"{_what(each, stage)} on {each.chain}",
                f"block {each.height:,}, {_end(each.hash)}",
            ),
        )
        for each in stage.moved
    ]
    heights = ", ".join(
        f"{name} {height:,}"
        for name, height in stage.heights.items()
        if name in {token.chain, *(each.chain for each in stage.moved)}
    )
    events.append(PaneEvent("", (f"read up to {heights}",)))
    there = any(each.receiver == stage.bob for each in stage.moved)
    closing = f"{bob} is paid." if there else f"{bob} is not on a chain yet."
    if stage.search is not None and not stage.search.path:
        closing = f"{closing} No line leads from Alice to him."
    return Pane("What the chains show", tuple(events), closing)


def _end(text: str) -> str:
    """``0x 7099``: the beginning is enough to tell two apart."""
    return f"0x {text[2:6]}"


def _what(each: ChainTransfer, stage: Stage) -> str:
    """By the side of a leg that was paid to this receiver."""
    first, second = stage.legs
    sides = {
        first.deposit_address.lower(): first.sold,
        second.deposit_address.lower(): second.sold,
        stage.bob: second.bought,
    }
    side = sides.get(each.receiver)
    return _about(side) if side is not None else f"{each.units:,} units"


_MARKS = {
    "WAITING": "○ waiting",
    "CONFIRMING": "◐ confirming",
    "EXCHANGING": "◐ exchanging",
    "VERIFYING": "▲ on hold",
    "SENDING": "◐ sending",
    "FINISHED": "● finished",
    "FALLBACK": "● finished",
}


def _service(stage: Stage) -> Pane:
    events = [
        PaneEvent(
            f"leg {number}",
            (
                _MARKS.get(leg.status, leg.status.lower()),
                f"{leg.venue}, {leg.sold.symbol} to {leg.bought.symbol}",
                f"in  {_about(leg.sold)}",
                f"out {_about(leg.bought)}",
            ),
        )
        for number, leg in enumerate(stage.legs, 1)
    ]
    return Pane("What the service knows", tuple(events), "Only the service can join the two legs.")


def _about(side: LegSide) -> str:
    return f"{tracker_amount(side.amount)} {side.symbol}"


def _money(stage: Stage, bob: str) -> str:
    first, second = stage.legs
    if stage.paid is None:
        return "in Alice's wallet."
    places: Sequence[tuple[bool, str]] = (
        (stage.number >= 9, f"{_side(second.bought)} arrived at {bob}."),
        (stage.number == 8, f"{_side(second.bought)} on the way to {bob}."),
        (stage.number >= 5, f"{_about(first.bought)} at {second.venue}, the second exchange."),
        (stage.number == 4, f"{_about(first.bought)} on the way to the second exchange."),
    )
    at = f"{_side(first.sold)} at {first.venue}, the first exchange."
    return next((said for holds, said in places if holds), at)


def _acts(stage: Stage) -> str:
    if stage.paid is None:
        return "Alice: she pays the deposit"
    return "nobody: nothing is left to do" if stage.number >= 9 else "the service"


def alike(stage: Stage) -> tuple[tuple[str, str, str], ...]:
    remains, second = stage.remains, stage.legs[1]
    if remains is None:
        return ()
    symbol = second.bought.symbol
    amounts = (
        f"{tracker_amount(remains.paid)} in, {tracker_amount(remains.got)} out,"
        f" −{_percent(remains.lower_by)}%"
    )
    fit = f"{remains.others} of {remains.payouts} other payouts of {symbol} fit within"
    apart = f"{duration(remains.seconds)} between deposit and payout"
    return (
        ("Amount", amounts, f"{fit} {_percent(remains.within)}%" if remains.payouts else ""),
        ("Time", apart, "nothing else ties the two moments"),
        ("Habit", "first payment to this address", "a second one to it would be a hint"),
    )


def _percent(value: Decimal) -> str:
    return f"{ROUGH.quantize(value, Decimal('0.1')):f}".removesuffix(".0")


def search_lines(search: LinkSearch | None) -> tuple[str, ...]:
    """What was searched between Alice and Bob, and what came of it."""
    if search is None:
        return ("Nothing can be searched before Alice has paid.",)
    blocks = ", ".join(
        f"{name} {first:,} to {last:,}" for name, (first, last) in search.blocks.items()
    )
    lines = [
        f"Searched: {search.transfers:,} payments between {search.accounts:,} accounts, in blocks"
        f" {blocks}."
    ]
    if search.path:
        way = " → ".join(
            [_end(search.path[0].sender), *(_end(one.receiver) for one in search.path)]
        )
        lines.append(f"A path: {way}.")
    else:
        lines.append("By payments: no path from Alice to Bob.")
    shared = ", ".join(_end(one) for one in search.shared)
    lines.append(
        f"By accounts: both dealt with {shared}."
        if shared
        else "By accounts: none both dealt with."
    )
    equal = f"{len(search.equal)} to Bob" if search.equal else "none to Bob"
    lines.append(f"By amounts: of exactly what Alice paid, {equal}.")
    lines.append("Nothing is said of other chains, nor of the books of the exchanges.")
    return tuple(lines)


def transcript(view: StageView, of: int) -> list[str]:
    """A stage as it is printed."""
    lines = [f"{view.number} of {of}  {view.title}  {view.at}", f"  {view.sentence}"]
    for pane in view.panes:
        lines.append(f"  {pane.title}:")
        for event in pane.events:
            at = f"{event.at}  " if event.at else ""
            lines.append(f"    {at}{'; '.join(event.lines)}")
        if pane.closing:
            lines.append(f"    {pane.closing}")
    lines += [f"  {chain} {hash_}" for chain, hash_ in view.hashes]
    return [*lines, f"  Funds {view.money} Next {view.acts}.", *alike_lines(view)]


def alike_lines(view: StageView) -> list[str]:
    """What a watcher can still compare, as it is printed."""
    rows = [", ".join(filter(None, (said, hint))) for _, said, hint in view.alike]
    return ["  What a watcher can still compare:", *(f"    {row}" for row in rows)] if rows else []
