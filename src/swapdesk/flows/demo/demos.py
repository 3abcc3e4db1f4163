"""The demonstrations: a table of stages for each, with what is said at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal

from swapdesk.flows.demo.chain_swap import ChainSwap
from swapdesk.flows.demo.demonstration import Demo, Demonstration, StageRow
from swapdesk.flows.demo.facts import HOW_FAR, Facts
from swapdesk.wire.quotes import RouteType


def _always(facts: Facts) -> bool:
    return True


def _leg(number: int, status: str) -> Callable[[Facts], bool]:
    """A leg has come to this status, or further."""
    return lambda facts: HOW_FAR.get(facts.legs[number].status, 0) >= HOW_FAR[status]


def _at_middle(facts: Facts) -> bool:
    return _leg(0, "FINISHED")(facts) or _leg(1, "CONFIRMING")(facts)


def _second_counts(facts: Facts) -> bool:
    """The second exchange counts confirmations, from the second one on."""
    return _leg(1, "EXCHANGING")(facts) or (facts.legs[1].confirmations or 0) > 1


def _paid_out(facts: Facts) -> bool:
    return facts.legs[-1].over and facts.ended and facts.got is not None


def _failed(facts: Facts) -> bool:
    return facts.ended and facts.legs[0].status == "FAILED"


PRIVATE = Demo(
    name="private",
    title="Private send",
    did="created a private send",
    route=RouteType.PRIVATE,
    sell="usdc.base",
    buy=None,
    amount=Decimal(500),
    others=True,
    rows=(
        StageRow(
            "waiting",
            "wait",
            "Waiting for the deposit",
            "Alice has an order and an address to pay. Nothing has moved yet.",
            "The address is the first exchange's and was made for this order alone. The order"
            " names Bob's address; only the service and the second exchange are told it.",
            _always,
            Demonstration.create,
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
            Demonstration.pay,
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

SWAP = Demo(
    name="swap",
    title="Swap",
    did="created a swap",
    route=RouteType.STANDARD,
    sell="usdc.base",
    buy="eth.base",
    amount=Decimal(500),
    rows=(
        StageRow(
            "waiting",
            "wait",
            "Waiting for the deposit",
            "The order says exactly what to pay, where, and until when.",
            "The desk wrote the order down before it asked for it, compared the answer with what"
            " was confirmed, and shows the address only because nothing differs.",
            _always,
            Demonstration.create,
            holder=(0, "WAITING"),
        ),
        StageRow(
            "seen",
            "seen",
            "Deposit seen",
            "Alice paid the address of the order. The exchange waits for confirmations.",
            "Until enough blocks are on top of it, the payment could be undone.",
            _leg(0, "CONFIRMING"),
            Demonstration.pay,
            holder=(0, "CONFIRMING"),
        ),
        StageRow(
            "exchange",
            "exchange",
            "Exchange in progress",
            "The exchange has the deposit and changes it. Nothing of that is on a chain.",
            "This is where an exchange may hold a deposit to check it; the desk would say so.",
            _leg(0, "EXCHANGING"),
            holder=(0, "EXCHANGING"),
        ),
        StageRow(
            "sending",
            "sending",
            "On the way to the receiver",
            "The exchange pays the receiver from a wallet of its own.",
            "The payment is a transaction like any other and can be looked up by its hash.",
            _leg(0, "SENDING"),
            holder=(0, "SENDING"),
        ),
        StageRow(
            "done",
            "done",
            "The receiver is paid",
            "The coins are on the chain. One exchange saw both ends.",
            "In a private send two exchanges share that knowledge; here one has all of it.",
            _paid_out,
        ),
    ),
)

STUCK = Demo(
    name="stuck",
    title="Stuck order",
    did="created a swap",
    route=RouteType.STANDARD,
    sell="usdc.base",
    buy="eth.base",
    amount=Decimal(500),
    fault="fail_after_deposit",
    rows=(
        StageRow(
            "waiting",
            "wait",
            "Waiting for the deposit",
            "An ordinary order; Alice is about to pay it.",
            "The sandbox was told to let the exchange of this order fail once it is paid.",
            _always,
            Demonstration.create,
            holder=(0, "WAITING"),
        ),
        StageRow(
            "seen",
            "seen",
            "Deposit seen",
            "Alice paid exactly what the order says.",
            "She did everything right; her transaction is in a block.",
            _leg(0, "CONFIRMING"),
            Demonstration.pay,
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
            Demonstration.find_order,
        ),
        StageRow(
            "answered",
            "answered",
            "Support answers",
            "The reply says where the money is and who acts, and promises nothing.",
            "It is made of facts alone: each is named with its time below the diagnosis.",
            _failed,
            Demonstration.reply,
        ),
    ),
)


def _swaps(
    step: Callable[[ChainSwap], Awaitable[None]],
) -> Callable[[Demonstration], Awaitable[None]]:
    return lambda shown: step(shown.swap)


def _settled(facts: Facts) -> bool:
    return facts.completed and facts.got is not None


DEX = Demo(
    name="dex",
    title="Swap on a chain",
    did="asked for DEX quotes",
    route=RouteType.DEX,
    sell="usdc.base",
    buy="weth.base",
    amount=Decimal(500),
    receiver="herself",
    rows=(
        StageRow(
            "quotes",
            "quotes",
            "Quotes from the chain",
            "Each venue says what its contracts would pay now. Alice takes the best one that she"
            " pays by a transaction of her own.",
            "The figures are read from the chain's newest block. Where a venue takes signatures, it"
            " sends the transaction itself. Her account has coins for fees, and what she sells.",
            _always,
            _swaps(ChainSwap.ask),
        ),
        StageRow(
            "approval",
            "approve",
            "The venue may take the tokens",
            "Alice allows the venue's contract to take exactly what she sells, and no more.",
            "The service says which approval is missing, and the desk compares it with what was"
            " chosen. It is a transaction like any other.",
            _always,
            _swaps(ChainSwap.approve),
        ),
        StageRow(
            "order",
            "order",
            "The order and its transaction",
            "The order has no deposit address. It says which call Alice is to send.",
            "The call names the least that arrives and until when it may be executed. Later it does"
            " nothing. The desk compares chain, sender and kind with what was confirmed.",
            _always,
            _swaps(ChainSwap.create),
        ),
        StageRow(
            "sent",
            "sent",
            "The transaction is sent",
            "Alice signed it and sent it to the chain. It waits for a block.",
            "Everybody can see it waiting. Until it is in a block, all of her money is hers.",
            _always,
            _swaps(ChainSwap.send),
        ),
        StageRow(
            "block",
            "block",
            "It is in a block",
            "One transaction did all of it: what she sold left, and what she bought came.",
            "If less came than the call allows, all of it would have failed, and only the fee would"
            " be gone. Nobody held the money in between.",
            _always,
            _swaps(ChainSwap.wait_for_block),
        ),
        StageRow(
            "seen",
            "seen",
            "The service sees it",
            "Alice tells the service the hash. It reads the same chain and finds the order's call.",
            "It takes the transaction only if it is the order's to the last byte: its sender, its"
            " contract, its call and its value.",
            _always,
            _swaps(ChainSwap.tell),
        ),
        StageRow(
            "done",
            "done",
            "The output stands in her account",
            "The block is final for the service, and the order is done.",
            "What her account holds is read from the token's contract, at the newest block.",
            _settled,
        ),
    ),
)

DEMOS = {demo.name: demo for demo in (PRIVATE, SWAP, STUCK, DEX)}
