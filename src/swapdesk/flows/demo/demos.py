"""The demonstrations: a table of stages for each, with what is said at them."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.flows.demo.demonstration import Demo
from swapdesk.flows.demo.stage import HOW_FAR, Stage, StageRow


def _always(stage: Stage) -> bool:
    return True


def _leg(number: int, status: str) -> Callable[[Stage], bool]:
    """A leg has come to this status, or further."""
    return lambda stage: HOW_FAR.get(stage.legs[number].status, 0) >= HOW_FAR[status]


def _at_middle(stage: Stage) -> bool:
    return _leg(0, "FINISHED")(stage) or _leg(1, "CONFIRMING")(stage)


def _second_counts(stage: Stage) -> bool:
    """The second exchange counts confirmations, from the second one on."""
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
