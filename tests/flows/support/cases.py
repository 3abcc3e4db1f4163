"""An order for each rule of the diagnosis, made from the facts that the rule names.

A :class:`Case` says which rule decides, who acts next and where the money is; the tests of the
diagnosis, of its rules and of the replies all go through them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from flows.orders import DEPOSIT, NOW, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.order_transactions import Fate, OrderTransaction, PaidOnChain, Sender
from swapdesk.flows.orders.payment_progress import (
    BatchPayment,
    SwapFailure,
    SwapPayment,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.support_case import CaseFacts, DeskFacts, Diagnosis, Owner, diagnose
from world import sandbox_goods

SOON, LATER = NOW + timedelta(minutes=6), NOW + timedelta(minutes=40)
REFUND = derive_address("bitcoin", b"f" * 32)
HASH = "b" * 64
REQUEST = "6f1d22c9-0b6e-4c5e-9d53-7c2f6b1f0a11"

_PLACES = (
    ("either", "if nothing was sent, else with the service"),
    ("wallet, if unsent", r"^In the customer's wallet, if|^In the wallet that sent it, unless"),
    ("wallet", r"^In (the customer's|the|your) wallet"),
    ("smart account", "smart account"),
    ("back", r"came back|[Oo]n its way back"),
    ("recipient", "arrived at"),
    ("to the recipient", "on its way to the recipient|which pays the recipient"),
    ("to the service", r"[Oo]n its way to|[Aa]t the deposit address"),
    ("service", r"with the service|[Hh]eld at|^With |^Between the two"),
    ("not known", "^Not known"),
)


def place_of(money: str) -> str:
    """Which place a sentence about money names; fails for one that names none. Where it was when
    that was heard last is a place, too."""
    money = re.sub("^As of [0-9A-Za-z: ]+ UTC, (.)", lambda found: found[1].upper(), money)
    for name, words in _PLACES:
        if re.search(words, money):
            return name
    raise AssertionError(f"no place in {money!r}")


class Case(Struct, frozen=True):
    """``order`` changes a waiting order, ``tracked`` what this desk knows of it."""

    rule: str
    owner: Owner
    place: str
    order: Mapping[str, Any] = field(default_factory=dict)
    tracked: Mapping[str, Any] = field(default_factory=dict)
    now: datetime = SOON
    paid: PaidOnChain | None = None
    known: DeskFacts = DeskFacts()
    made: tuple[OrderTransaction, ...] = ()
    route: str = "standard"

    @property
    def whole(self) -> TrackedOrder:
        of = intent(route=self.route) if self.tracked.get("intent", True) else None
        one = TrackedOrder(order(of, **self.order), of, None, False, NOW, "read")
        changes = {name: value for name, value in self.tracked.items() if name != "intent"}
        payments = () if self.paid is None else (self.paid,)
        return replace(one, payments=payments, **changes)

    def facts(self, **changes: Any) -> CaseFacts:
        one = CaseFacts(self.now, self.whole, self.made, request_id=REQUEST, known=self.known)
        return replace(one, **changes)

    def diagnosis(self, **changes: Any) -> Diagnosis:
        return diagnose(self.facts(**changes))


COIN = next(
    token
    for token in sandbox_goods(NOW)["tokens"]
    if token.chain == "bitcoin" and token.symbol == "BTC"
)


def paid(amount: str | None = "0.5", **changes: Any) -> PaidOnChain:
    """A payment of what the order asked for, as its chain shows it."""
    one = PaidOnChain(
        hash=HASH,
        chain="bitcoin",
        chain_name="Bitcoin",
        to=DEPOSIT,
        token_id=COIN.id,
        symbol="BTC",
        amount=Decimal(amount) if amount is not None else None,
        memo=None,
        confirmations=2,
        at=NOW + timedelta(minutes=3),
        seen_at=NOW + timedelta(minutes=5),
    )
    return replace(one, **changes)


def sent(fate: Fate, by: Sender = "wallet") -> tuple[OrderTransaction, ...]:
    return (OrderTransaction("deposit", HASH, fate, by),)


def hidden(standing: DepositRelease, **more: Any) -> dict[str, Any]:
    return {"withheld": "Its address is hidden.", "standing": standing, **more}


def swap(state: State, failure: SwapFailure | None = None) -> dict[str, Any]:
    return {"swap_payment": SwapPayment(state, "in your wallet; nothing was swapped.", failure)}


def batch(
    state: State,
    money: str,
    actor: str = "you",
    due: str = "pay the batch",
    *,
    in_account: bool = False,
) -> dict[str, Any]:
    payment = BatchPayment(state, money, money, actor, due, in_account=in_account)
    standing = DepositRelease.FOREIGN
    return hidden(standing, in_batch=True, batch_payment=payment, intent=None)


DEX: dict[str, Any] = {"is_dex": True, "deposit_address": None}
WITH_COIN: dict[str, Any] = {"in_token": COIN, "in_token_id": COIN.id}
MEMO: dict[str, Any] = {**WITH_COIN, "deposit_tag": "774411"}
FAILED: dict[str, Any] = {"display_status": "FAILED", "in_status": 6}
EXPIRED: dict[str, Any] = {"display_status": "EXPIRED", "in_status": 9}
DONE: dict[str, Any] = {"display_status": "SWAP_COMPLETED", "in_status": 5}
BACK: dict[str, Any] = {"display_status": "REFUNDED", "in_status": 7}
ACT: dict[str, Any] = {"action_required": True}
EXCHANGING: dict[str, Any] = {"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3}
PRIVATE: dict[str, Any] = {"anonymous": True, "in_": None, "swap_name": None}

_CUSTOMER, _YOU, _SERVICE, _CHAIN, _NOBODY = (
    "the customer", "you", "the service", "the chain", "nobody",
)  # fmt: skip


def moving(display: str, first: int, second: int | None = None) -> dict[str, Any]:
    return {**PRIVATE, "display_status": display, "in_status": first, "out_status": second}


MUCH_LATER = NOW + timedelta(hours=51)
SITUATIONS = (
    # Too old, and not known to the service any more.
    Case("last-heard", _YOU, "service", {**EXCHANGING, "in_status": 8}, now=MUCH_LATER),
    Case("last-heard", _YOU, "service", {**FAILED, **ACT}, now=MUCH_LATER),
    Case("last-heard", _YOU, "wallet, if unsent", {"expires": None}, now=MUCH_LATER),
    Case("last-heard", _YOU, "service", EXCHANGING, {"gone": True}),
    Case("last-heard", _YOU, "wallet, if unsent", tracked={"gone": True}),
    Case("not-signed-yet", _CUSTOMER, "wallet", DEX, swap(State.PREPARED)),
    Case("not-signed", _CUSTOMER, "wallet", DEX, swap(State.REFUSED, "not-signed")),
    Case("reverted", _CUSTOMER, "wallet", DEX, swap(State.REFUSED, "reverted")),
    Case("not-executed", _CUSTOMER, "wallet", DEX, swap(State.REFUSED, "not-executed")),
    Case("executed", _SERVICE, "to the recipient", DEX, swap(State.DONE)),
    Case(
        "batch-under-way", _SERVICE, "smart account",
        tracked=batch(State.SENT, "in your smart account.", "the service", "it carries it out"),
    ),
    Case(
        "paid-by-batch", _SERVICE, "to the service",
        tracked=batch(State.DONE, "at the deposit address.", "the exchange", "it confirms"),
    ),
    Case("chain-deadline-over", _SERVICE, "wallet, if unsent", DEX, now=LATER),
    Case(
        "batch-deadline-over", _YOU, "smart account", now=LATER,
        tracked=batch(
            State.PREPARED, "in your smart account.", due="take it back", in_account=True
        ),
    ),
    Case("deadline-over", _SERVICE, "wallet, if unsent", now=LATER),
    Case(
        "with-batch", _YOU, "wallet",
        tracked=batch(State.PREPARED, "in your wallet; nothing was paid."),
    ),
    # A bundle that failed or was withdrawn: the smart account has the money, its owner acts.
    Case(
        "with-batch", _YOU, "smart account",
        tracked=batch(
            State.PREPARED, "in your smart account; the bundle failed.", in_account=True
        ),
    ),
    Case(
        "with-batch", _NOBODY, "wallet",
        tracked=batch(State.REFUSED, "in your wallet; its batch was paid without it.", "nobody"),
    ),
    Case(
        "withheld-unrepeated", _SERVICE, "wallet, if unsent",
        tracked=hidden(DepositRelease.UNREPEATED),
    ),
    Case("withheld-lower", _CUSTOMER, "wallet, if unsent", tracked=hidden(DepositRelease.LOWER)),
    Case("withheld", _CUSTOMER, "wallet, if unsent", tracked=hidden(DepositRelease.DIFFERS)),
    Case("withheld", _CUSTOMER, "wallet, if unsent", tracked=hidden(DepositRelease.CONTRADICTS)),
    Case("paid-by-desk", _SERVICE, "to the service", made=sent("sent")),
    Case("paid-by-desk", _SERVICE, "to the service", made=sent("confirmed", "faucet")),
    Case("paid-less", _NOBODY, "recipient", {**DONE, "out_amount": Decimal("8.7")}),
    Case("not-said", _SERVICE, "not known", {"display_status": None, "status": None}),
    Case("held", _YOU, "service", {**EXCHANGING, "in_status": 8}),
    Case("held", _YOU, "service", moving("SECOND_EXCHANGE_IN_PROGRESS", 5, 8), route="private"),
    Case("flagged", _YOU, "service", {**EXCHANGING, **ACT}),
    Case("leg-failed", _SERVICE, "service", {**EXCHANGING, "in_status": 6}),
    Case("leg-failed", _SERVICE, "service", moving("REACHED_INTERMEDIARY", 5, 6), route="private"),
    Case("leg-failed", _SERVICE, "service", moving("REACHED_INTERMEDIARY", 5, 9), route="private"),
    Case("leg-returned", _SERVICE, "back", {**EXCHANGING, "in_status": 7}),
    Case("leg-failed-unpaid", _SERVICE, "wallet, if unsent", {"in_status": 6}),
    Case("leg-expired", _SERVICE, "wallet, if unsent", {"in_status": 9}),
    Case("fallback-paying", _SERVICE, "to the recipient", {**EXCHANGING, "in_status": 10}),
    Case("chain-awaited", _CHAIN, "wallet", DEX),
    Case("deposit-ahead", _SERVICE, "to the service", {"in_status": 2}),
    Case("setting-up", _SERVICE, "wallet", {"deposit_address": None, "status": -1}),
    Case("waiting", _CUSTOMER, "wallet, if unsent"),
    Case(
        "waiting", _CUSTOMER, "wallet, if unsent",
        tracked=hidden(DepositRelease.FOREIGN, intent=None),
    ),
    Case(
        "chain-seen", _CHAIN, "to the service",
        {**DEX, "display_status": "DEPOSIT_DETECTED", "in_status": 2},
    ),
    Case(
        "deposit-seen", _CHAIN, "to the service",
        {"display_status": "DEPOSIT_DETECTED", "in_status": 2},
    ),
    Case("exchanging", _SERVICE, "service", EXCHANGING),
    Case("to-middle", _CHAIN, "service", moving("SENDING_TO_INTERMEDIARY", 4), route="private"),
    Case("at-middle", _SERVICE, "service", moving("REACHED_INTERMEDIARY", 5, 1), route="private"),
    Case(
        "second-starts", _SERVICE, "service",
        moving("INITIATING_SECOND_EXCHANGE", 5, 2), route="private",
    ),
    Case(
        "second-exchange", _SERVICE, "service",
        moving("SECOND_EXCHANGE_IN_PROGRESS", 5, 3), route="private",
    ),
    Case(
        "paying-out", _CHAIN, "to the recipient",
        {"display_status": "SENDING_TO_RECEIVER", "in_status": 4},
    ),
    Case("unknown-state", _SERVICE, "not known", {"display_status": "TELEPORTING", "status": None}),
    Case("completed-flagged", _YOU, "recipient", {**DONE, **ACT}),
    Case("paid-by-fallback", _NOBODY, "recipient", {**DONE, "in_status": 10}),
    Case("rerouted", _NOBODY, "recipient", {**DONE, "rerouted": True, "swap_name": "Cobalt"}),
    Case("part-returned", _NOBODY, "back", {**DONE, "refund_amount": Decimal("0.1")}),
    Case("completed", _NOBODY, "recipient", DONE),
    Case("not-refundable", _YOU, "service", {**FAILED, **ACT, "non_refundable": True}),
    Case("late-stuck", _YOU, "service", {**EXPIRED, **ACT}, now=LATER),
    Case(
        "late-returning", _SERVICE, "service",
        {**EXPIRED, "in_status": 2, "refund_address": REFUND}, now=LATER,
    ),
    Case("chain-expired", _NOBODY, "wallet, if unsent", {**EXPIRED, **DEX}, now=LATER),
    Case("failed-stuck", _YOU, "service", {**FAILED, **ACT}),
    Case(
        "failed-returning", _SERVICE, "service",
        {**FAILED, "in_status": 3, "refund_address": REFUND},
    ),
    Case("chain-failed", _CUSTOMER, "wallet", {**FAILED, **DEX}),
    Case("never-set-up", _CUSTOMER, "wallet", {**FAILED, "in_status": 0, "deposit_address": None}),
    Case("expired", _NOBODY, "wallet, if unsent", EXPIRED, now=LATER),
    Case("failed-before", _CUSTOMER, "wallet, if unsent", FAILED),
    Case("failed-unclear", _YOU, "either", {**FAILED, "in_status": None}),
    Case(
        "refunded-first-token", _NOBODY, "back",
        {**BACK, **PRIVATE, "fixed": True, "refund_amount": Decimal("0.5"), "refund_hash": HASH},
        route="private",
    ),
    Case(
        "refunded", _NOBODY, "back",
        {
            **BACK, "refund_amount": Decimal("0.4999"), "refund_address": REFUND,
            "refund_hash": HASH, "refund_chain": "Bitcoin",
        },
    ),
    Case("deleted-with-money", _YOU, "service", {"display_status": "DELETED", "in_status": 3}),
    Case("deleted", _NOBODY, "wallet, if unsent", {"display_status": "DELETED"}),
)  # fmt: skip
"""One or more for each situation of an order. That this desk would not pay an order of somebody
else says nothing to support; there is no case of it."""


def on_chain(match: str, owner: Owner, place: str, **facts: Any) -> Case:
    return Case(f"payment-{match}", owner, place, **{"order": WITH_COIN, "paid": paid(), **facts})


PAYMENTS = (
    on_chain(
        "missing", _CUSTOMER, "wallet, if unsent",
        paid=paid(None, missing=True, to=""), made=sent("sent"),
    ),
    on_chain("failed", _CUSTOMER, "wallet", paid=paid(failed=True)),
    on_chain(
        "wrong-chain", _YOU, "to the service",
        paid=paid(chain="litecoin", chain_name="Litecoin", symbol="LTC"),
    ),
    on_chain(
        "wrong-token", _YOU, "to the service", paid=paid(token_id="f" * 24, symbol="X"),
    ),
    on_chain(
        "wrong-token", _YOU, "to the service",
        paid=paid(None, token_id=None, symbol=""),
    ),
    on_chain("memo-missing", _YOU, "to the service", order=MEMO),
    on_chain("another-memo", _YOU, "to the service", order=MEMO, paid=paid(memo="7")),
    on_chain(
        "underpriced", _CUSTOMER, "wallet",
        paid=paid(confirmations=None, underpriced=True),
    ),
    on_chain(
        "underpriced", _CUSTOMER, "wallet",
        order=DEX, paid=paid(confirmations=None, underpriced=True),
    ),
    on_chain("not-in-a-block", _CHAIN, "to the service", paid=paid(confirmations=None)),
    on_chain(
        "closed-before", _CUSTOMER, "wallet",
        order={**EXPIRED, **WITH_COIN}, paid=paid(confirmations=None), now=LATER,
    ),
    on_chain("late-stuck", _YOU, "to the service", paid=paid(at=LATER), now=LATER),
    on_chain(
        "late", _SERVICE, "to the service",
        order={**WITH_COIN, "refund_address": REFUND}, paid=paid(at=LATER), now=LATER,
    ),
    on_chain(
        "closed-without", _YOU, "to the service",
        order={**EXPIRED, **WITH_COIN}, now=LATER,
    ),
    on_chain("too-little", _SERVICE, "to the service", paid=paid("0.4")),
    on_chain("too-much", _SERVICE, "to the service", paid=paid("0.6")),
    on_chain("as-asked", _SERVICE, "to the service"),
)  # fmt: skip
"""What a chain shows of a payment that the service has not seen."""


SILENT = DeskFacts(silent_since=NOW + timedelta(minutes=2))
OFF = DeskFacts(provider_off="Halyard")
AHEAD = DeskFacts(clock_problem="This machine's clock is 5m ahead of the service's.")

OVERLAYS = (
    Case("not-private", _YOU, "service", {**EXCHANGING, "anonymous": False}, route="private"),
    Case("late", _SERVICE, "service", EXCHANGING, now=NOW + timedelta(minutes=20)),
    Case("late", _YOU, "service", EXCHANGING, now=NOW + timedelta(minutes=30)),
    Case(
        "provider-off", _SERVICE, "service",
        EXCHANGING, now=NOW + timedelta(minutes=20), known=OFF,
    ),
    Case("service-silent", _SERVICE, "service", EXCHANGING, known=SILENT),
)  # fmt: skip
"""What comes on top of a situation."""

CASES = (*SITUATIONS, *PAYMENTS, *OVERLAYS)


def rule_of(case: Case) -> str:
    return case.rule


def case_of(rule: str) -> Case:
    """The first one of a rule."""
    return next(case for case in CASES if case.rule == rule)
