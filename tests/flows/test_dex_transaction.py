"""Bounds of a swap on chains, and what a service says is to be sent, held against what was
confirmed.

Orders of swaps on chains: the tracker says what the chain awaits, and asks for no deposit.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.orders import NOW, order
from flows.signing import TRADING, swap_intent
from flows.test_recipients import ETH
from rows import each_row
from swapdesk.flows.desk import Desk
from swapdesk.flows.dex.dex_plan import approval_of, deadline_of, transaction_of
from swapdesk.flows.dex.dex_swap import DexSwapFlow, _Work
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, _chosen, find_account
from swapdesk.flows.intents.intent import least_units, terms_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import ProcessIdentity
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.notation import NOTHING, Elapsed
from swapdesk.flows.orders.order_listing import Group, group_of, read_filter
from swapdesk.flows.orders.order_status import OrderStatus, order_status, time_at
from swapdesk.flows.orders.told_transaction import NotThisSwap, same_transaction, told_by
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.support_case import CaseFacts, diagnose
from swapdesk.flows.tracking.self_paid_orders import swap_payment
from swapdesk.paths import Home
from swapdesk.settings import Options, load_settings
from swapdesk.tui.widgets.order_table import stage_of
from swapdesk.tui.widgets.stage_line import stage_spans
from swapdesk.wallet.accounts import Account, Accounts, KeyOrigin, Kind
from swapdesk.wallet.promise import Asset, Promise, Purpose, TransactionPayload
from swapdesk.wallet.protocol import Refused
from swapdesk.wire.chains import Chain
from swapdesk.wire.dex import Approval
from swapdesk.wire.encoding.codec import decode, decode_json, encode_json
from swapdesk.wire.encoding.time_range import LATEST
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.quotes import Quote

SENDER = "0x" + "ab" * 20


def quote(**facts: Decimal) -> Quote:
    return Quote(type="dex", quote_id="a" * 24, **facts)  # type: ignore[arg-type]


@each_row(
    ("facts", "price", "bound", "units"),
    [
        # Fees of bridge and venue go along together.
        (
            {"fee_usd": Decimal(3), "bridge_fee_usd": Decimal(6)},
            3000,
            "fee_units",
            3_030_000_000_000_000,
        ),
        ({}, 3000, "fee_units", 0),
        # Gas has room above the quote, and a least bound.
        ({"gas_usd": Decimal(30)}, 3000, "gas_units", 4 * 10**16),
        ({"gas_usd": Decimal("0.01")}, 5, "gas_units", 10**18),
    ],
)
def test_what_may_go_along(facts: dict[str, Decimal], price: int, bound: str, units: int) -> None:
    assert getattr(terms_of(quote(**facts), SENDER, Decimal(price)), bound) == units


@each_row(
    ("units", "slippage", "least"),
    [
        (1000, "0.5", 995),
        (1001, "0.5", 995),
        (10**27 + 7, "0", 10**27 + 7),
        (10**40 + 201, "0.5", (10**40 + 201) * 995 // 1000),
    ],
)
def test_the_least_is_rounded_down_and_exact(units: int, slippage: str, least: int) -> None:
    assert least_units(units, Decimal(slippage)) == least


ME, ROUTER = "0x" + "aB" * 20, "0x" + "12" * 20
CHAIN_ID = 1_337_008_453
PROMISE = Promise(
    intent_id="i-1",
    account=ME,
    chain="base",
    chain_id=CHAIN_ID,
    sell=Asset("USDC", 6, "0x" + "34" * 20),
    sell_units=10**6,
    buy=Asset("ETH", 18, None),
    chain_out="base",
    least_units=1,
    quoted_units=1,
    recipient=ME,
    venue="ba",
    quote_id="q-1",
    valid_until=datetime(2026, 11, 22, tzinfo=UTC),
    gas_units=10**16,
)
CALL = {"to": ROUTER, "data": "0x12345678", "value": "0"}
WHOLE = {**CALL, "from": ME, "chainId": CHAIN_ID, "deadline": "1795000000", "gasLimit": "1"}


def told_order(metadata: object) -> Order:
    """As it comes off the wire."""
    told = {"serviceId": "xLAR4Vivifmyf6BCgG3omA", "isDex": True, "depositAddress": ME}
    return decode(Order, encode_json({**told, "metadata": metadata}), side="client")


@each_row(
    "told",
    [
        WHOLE,
        CALL,
        {name: value for name, value in CALL.items() if name != "value"},
        {**WHOLE, "from": ME.lower(), "chainId": hex(CHAIN_ID), "value": "0x0"},
        {**WHOLE, "chainId": str(CHAIN_ID), "value": None, "type": "0x2"},
        {**WHOLE, "authorizationList": [], "accessList": [{"address": ROUTER}], "type": 1},
        {**WHOLE, "router": ROUTER, "routing": {"hops": 3}, "slippage": "0.5", "gasPrice": "1"},
    ],
)
def test_what_agrees_is_the_call_to_sign(told: dict[str, Any]) -> None:
    wanted = TransactionPayload(Purpose.SWAP, ROUTER, "0x12345678", 0)
    assert transaction_of(told_by(told_order(told)), PROMISE) == wanted
    # A text of it says the same (contract 10.8).
    assert transaction_of(told_by(told_order(encode_json(told).decode())), PROMISE) == wanted


@each_row(
    ("change", "code"),
    [
        ({"chainId": 8453}, "CHAIN_ID_DIFFERS"),
        ({"chainId": "0x2105"}, "CHAIN_ID_DIFFERS"),
        ({"chainId": ""}, "CHAIN_ID_DIFFERS"),
        ({"chainId": f"{CHAIN_ID} "}, "CHAIN_ID_DIFFERS"),
        ({"chainId": True}, "CHAIN_ID_DIFFERS"),
        ({"chainId": [CHAIN_ID]}, "CHAIN_ID_DIFFERS"),
        ({"from": ROUTER}, "OWNER_DIFFERS"),
        ({"from": ""}, "OWNER_DIFFERS"),
        ({"authorizationList": [{"address": ROUTER}]}, "TRANSACTION_KIND"),
        ({"blobVersionedHashes": ["0x01"]}, "TRANSACTION_KIND"),
        ({"maxFeePerBlobGas": "1"}, "TRANSACTION_KIND"),
        ({"type": 4}, "TRANSACTION_KIND"),
        ({"type": "0x3"}, "TRANSACTION_KIND"),
        ({"type": "legacy"}, "TRANSACTION_KIND"),
        ({"value": ""}, "VALUE_UNREADABLE"),
        ({"value": "-1"}, "VALUE_UNREADABLE"),
        ({"value": "1.5"}, "VALUE_UNREADABLE"),
        ({"value": "1_0"}, "VALUE_UNREADABLE"),
        ({"value": "٣"}, "VALUE_UNREADABLE"),
        ({"value": "9" * 79}, "VALUE_UNREADABLE"),
        ({"to": None}, "NOTHING_TO_SEND"),
        ({"data": ["0x12"]}, "NOTHING_TO_SEND"),
    ],
)
def test_what_speaks_of_another_transaction_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(NotThisSwap) as refused:
        transaction_of(told_by(told_order({**WHOLE, **change})), PROMISE)
    assert refused.value.code == code


@each_row("metadata", [None, "", "[]", "{", "5", [], 5])
def test_nothing_of_use_is_refused(metadata: object) -> None:
    with pytest.raises(NotThisSwap):
        told_by(told_order(metadata))


def _approval(**changes: Any) -> Approval:
    chain = Chain(
        id="68df742d6436a987148301e4",
        name="Base",
        short_name=changes.pop("short_name", "base"),
        kind="evm",
        chain_id=changes.pop("chain_id", CHAIN_ID),
    )
    told = {"data": "0x12", "to": ROUTER, "from": ME, "fromChain": chain, **changes}
    return Approval.model_validate(told)


def test_an_approval_is_for_the_chain_and_account_that_were_confirmed() -> None:
    assert approval_of(_approval(), PROMISE).purpose is Purpose.APPROVE
    assert approval_of(_approval(chain_id=None, short_name="Base"), PROMISE).to == ROUTER
    for changes, code in (
        ({"chain_id": 8453}, "CHAIN_ID_DIFFERS"),
        ({"chain_id": None, "short_name": "ethereum"}, "CHAIN_ID_DIFFERS"),
        ({"from": ROUTER}, "OWNER_DIFFERS"),
    ):
        with pytest.raises(NotThisSwap) as refused:
            approval_of(_approval(**changes), PROMISE)
        assert refused.value.code == code


OTHERWISE = (
    {"to": ME},
    {"data": "0x12345679"},
    {"value": "0x1"},
    {"chainId": 1},
    {"from": ROUTER},
    {"authorizationList": [{}]},
)


@each_row(
    ("created", "read", "same"),
    [
        (WHOLE, WHOLE, True),
        (WHOLE, encode_json(WHOLE).decode(), True),
        (WHOLE, {**CALL, "gasPrice": "1"}, True),
        (WHOLE, None, True),
        (WHOLE, {**WHOLE, "to": ROUTER.upper().replace("X", "x")}, True),
        *((WHOLE, {**WHOLE, **change}, False) for change in OTHERWISE),
        *(({**WHOLE, **change}, WHOLE, False) for change in OTHERWISE),
        (WHOLE, "not JSON", False),
        # Other halves of a transaction of Solana are in base 64, where case counts.
        ({"data": "AQab"}, {"data": "AQAb"}, False),
    ],
)
def test_an_order_that_is_read_again_says_the_same(
    created: dict[str, Any], read: object, same: bool
) -> None:
    made = told_order(created)
    assert made.deposit_address is None, "the sender echoed is no place to pay to"
    assert same_transaction(made, told_order(read)) is same


def test_a_deadline_that_cannot_be_read_is_none() -> None:
    assert deadline_of(WHOLE) == datetime.fromtimestamp(1_795_000_000, UTC)
    for told in ({}, {"deadline": "soon"}, {"deadline": "9" * 30}, {"deadline": None}):
        assert deadline_of(told) == LATEST


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_value_is_a_number_or_refused(value: object) -> None:
    """Whatever stands there: a call with exactly that many units, or a refusal."""
    told = decode_json(encode_json({**WHOLE, "value": value}))
    assert isinstance(told, dict)
    made, code = None, ""
    try:
        made = transaction_of(told, PROMISE)
    except NotThisSwap as refused:
        code = refused.code
    if made is None:
        assert code == "VALUE_UNREADABLE"
    else:
        text = "0" if value is None else str(value)
        assert made.value == int(text, 16 if text[:2].lower() == "0x" else 10)


ACCOUNT = Account(
    TRADING,
    Kind.EVM,
    "trading",
    "sandbox",
    KeyOrigin.CREATED,
    None,
    datetime(2025, 6, 1, tzinfo=UTC),
)


def told(display: DisplayStatus, after: timedelta = timedelta(0)) -> OrderStatus:
    intent = swap_intent()
    known = order(intent, is_dex=True, deposit_address=None, display_status=display, in_status=None)
    tracked = TrackedOrder(known, intent, None, ended=False, seen_at=NOW, source="stream")
    return order_status(tracked, NOW + after)


def with_steps(
    *steps: Operation, settles: bool = False, closed: bool = False, **changes: Any
) -> TrackedOrder:
    intent = swap_intent()
    known = order(intent, is_dex=True, deposit_address=None, in_status=None, **changes)
    acts = steps if steps[0].kind == "create" else (step("create", State.DONE), *steps)
    payment = swap_payment(intent, acts, settles=settles, closed=closed)
    return TrackedOrder(known, intent, None, False, NOW, "stream", swap_payment=payment)


def step(name: str, state: State, code: str | None = None, **came: str) -> Operation:
    kind: Any = name.partition(" ")[0]
    owner, body = ProcessIdentity(1, 1), {"name": name}
    return Operation(
        1, name, kind, None, None, None, state, body, dict(came), code, NOW, NOW, NOW, None, owner
    )


@each_row(
    ("steps", "word", "actor", "money"),
    [
        ([step("create", State.DONE)], "To be signed", "you", "in your wallet"),
        ([step("swap", State.PREPARED)], "To be signed", "you", "in your wallet"),
        (
            [step("swap", State.REFUSED, "QUOTE_EXPIRED")],
            "Not signed", "you", "in your wallet; nothing was swapped",
        ),
        (
            [step("approve", State.DONE), step("swap", State.REFUSED, "NOT_CONFIRMED")],
            "Not signed", "you", "Isthmus may still take up to 1,000 USDC until you revoke that",
        ),
        (
            [
                step("sign permit 0", State.DONE, taken="1000000000"),
                step("sign order 0", State.DONE, taken="400000000"),
                step("swap", State.REFUSED, "NOT_CONFIRMED"),
            ],
            "Not signed", "you",
            "2 signatures for 1,000 USDC in all were made and end by themselves",
        ),
        (
            [
                step("sign permit 0", State.DONE),
                step("sign order 0", State.DONE),
                step("swap", State.REFUSED, "NOT_CONFIRMED"),
            ],
            "Not signed", "you",
            "2 signatures for 1,000 USDC each were made and end by themselves",
        ),
        (
            [step("create", State.DONE), step("approve", State.REFUSED, "NOT_CONFIRMED")],
            "Not signed", "you", "in your wallet; nothing was swapped",
        ),
        (
            [step("swap", State.SENT, hash="0xab")],
            "Waiting for the chain", "the chain", "until the transaction is executed",
        ),
        (
            [step("swap", State.REFUSED, "FAILED", hash="0xab")],
            "Failed", "you", "in your wallet, but for the gas",
        ),
        (
            [step("swap", State.REFUSED, "LOST", hash="0xab")],
            "Not executed", "you", "in your wallet; nothing was swapped",
        ),
        (
            [step("swap", State.DONE, hash="0xab"), step("confirm", State.UNKNOWN)],
            "Executed", "the service", "with Isthmus",
        ),
        (
            [step("sign 1/1", State.DONE), step("confirm", State.SENT)],
            "Waiting for the chain", "the chain", "in your wallet",
        ),
    ],
)  # fmt: skip
def test_who_acts_is_who_has_still_to_act(
    steps: list[Operation], word: str, actor: str, money: str
) -> None:
    said = order_status(with_steps(*steps), NOW)
    assert (said.word, said.actor) == (word, actor)
    assert money in said.money
    assert "~" not in said.brief, "nothing is under way that an estimate counts"


def test_what_the_venue_settles_is_signed_before_its_order() -> None:
    said = order_status(with_steps(step("create", State.DONE), settles=True), NOW)
    assert said.actor == "the chain"


def test_what_was_not_signed_is_diagnosed_so() -> None:
    tracked = with_steps(step("swap", State.REFUSED, "QUOTE_EXPIRED"))
    assert diagnose(CaseFacts(NOW, tracked)).acts == "the customer: ask for new quotes."
    # When the service has seen a transaction, its word counts.
    seen = replace(
        tracked,
        order=tracked.order.model_copy(update={"display_status": DisplayStatus.DEPOSIT_DETECTED}),
    )
    assert order_status(seen, NOW).word == "On the chain"


REFUSED_BY_YOU = step("swap", State.REFUSED, "NOT_CONFIRMED")


@each_row("display", ["WAITING_FOR_DEPOSIT", "EXPIRED", "FAILED"])
def test_what_was_not_signed_is_called_so_whatever_the_service_makes_of_it(display: str) -> None:
    """No open order with a countdown, and no failure: there was nothing to fail."""
    over = display != "WAITING_FOR_DEPOSIT"
    tracked = with_steps(REFUSED_BY_YOU, closed=over, display_status=display)
    said = order_status(tracked, NOW)
    assert (said.word, said.level, said.sign) == ("Not signed", "expired", "expired")
    assert (said.time.text, said.counting, said.ended, said.yours) == (NOTHING, False, True, False)
    assert said.money == "in your wallet; nothing was swapped."
    assert "trouble" not in str(stage_spans(stage_of(said)))
    assert time_at(said, tracked, NOW + timedelta(minutes=1)) == Elapsed(
        NOTHING, NOTHING, late=False
    )
    assert group_of(tracked) is (Group.FINISHED if over else Group.NOT_SIGNED)
    assert read_filter("not signed -open").keeps(tracked, said, NOW)


@each_row("code", ["FAILED", "LOST"])
def test_a_swap_that_failed_is_put_away_by_its_owner(code: str) -> None:
    """The service lists it as open for half an hour more."""
    tracked = with_steps(step("swap", State.REFUSED, code, hash="0xab"))
    assert order_status(tracked, NOW).yours
    away = replace(tracked, away=tracked.trouble)
    assert (group_of(tracked), group_of(away)) == (Group.OPEN, Group.PUT_AWAY)
    assert not order_status(away, NOW).yours
    seen = {"display_status": DisplayStatus.EXCHANGE_IN_PROGRESS, "in_status": 3}
    moved = replace(away, order=away.order.model_copy(update=seen), swap_payment=None)
    assert group_of(moved) is Group.OPEN


@each_row(
    "steps",
    [
        [step("swap", State.PREPARED)],
        [step("swap", State.REFUSED, "FAILED", hash="0xab")],
        [step("sign 1/1", State.DONE), step("confirm", State.REFUSED, "TOO_LATE")],
    ],
)
def test_what_may_have_been_signed_is_not_called_unsigned(steps: list[Operation]) -> None:
    assert not with_steps(*steps, closed=True, display_status="FAILED").not_signed


def test_what_is_not_signed_by_its_deadline_is_over() -> None:
    late = NOW + timedelta(hours=1)
    assert order_status(with_steps(step("swap", State.PREPARED)), late).word == "Deadline over"
    refused = with_steps(step("swap", State.REFUSED, "NOT_CONFIRMED"))
    assert order_status(refused, late).money == "in your wallet; nothing was swapped."


def test_after_its_deadline_nobody_is_told_not_to_send() -> None:
    said = told(DisplayStatus.WAITING_FOR_DEPOSIT, timedelta(hours=1))
    assert said.word == "Deadline over"
    assert "send" not in said.told.lower()
    assert said.money == "in your wallet, if its transaction was not executed."


@each_row(
    ("display", "word"),
    [
        (DisplayStatus.DEPOSIT_DETECTED, "On the chain"),
        (DisplayStatus.EXPIRED, "Expired"),
        (DisplayStatus.FAILED, "Failed"),
    ],
)
def test_no_state_speaks_of_a_deposit(display: DisplayStatus, word: str) -> None:
    said = told(display)
    assert said.word == word
    assert "deposit" not in said.told.lower()


@each_row(
    ("facts", "amount", "lack"),
    [
        ({}, 5, None),
        ({"balance": Decimal(4), "coin": Decimal(1)}, 5, "wallet trading has 4 USDC"),
        ({"balance": Decimal(4), "coin": Decimal(1)}, 4, None),
        (
            {"balance": Decimal(0), "filling": True}, 5,
            "the faucet sends USDC to wallet trading",
        ),
        (
            {"unread": "the node does not answer"}, 4,
            "the balance of wallet trading cannot be read: the node does not answer",
        ),
        ({"read_only": True}, 5, "another desk has the wallet; sign there, or close it"),
    ],
)  # fmt: skip
def test_what_the_wallet_lacks_is_said_before_it_is_confirmed(
    facts: dict[str, Any], amount: int, lack: str | None
) -> None:
    account = SwapAccount(ACCOUNT, ACCOUNT, (ACCOUNT,), **{"read_only": False, **facts})
    assert account.lack(Decimal(amount), "USDC") == lack


@each_row(
    ("read_only", "said"),
    [(True, "Another desk has the wallet, and may be making one"), (False, "wallet new makes one")],
)
def test_an_account_that_another_desk_makes_is_waited_for(read_only: bool, said: str) -> None:
    with pytest.raises(NoSwapAccount, match=said):
        _chosen(Accounts((), (), (), read_only), ETH, ETH, "")


async def test_a_chain_without_a_node_is_named_before_the_wallet_is_asked(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[profiles.main]\nurl = "https://partner.example/v2"\nkey = "a-key-of-16-chars"\n'
    )
    desk = Desk.open(load_settings({}, Home.at(tmp_path), Options(profile="main")))
    try:
        with pytest.raises(NoSwapAccount) as refused:
            await anext(find_account(desk, ETH, ETH))
        where = f"set {ETH.chain} under [profiles.main.rpc]"
        assert str(refused.value) == f"No node of {ETH.chain_data.name} is configured: {where}."
        assert desk.wallet.known is None, "no agent was started and no pass phrase asked for"
    finally:
        await desk.close()


def test_what_new_quotes_cannot_help_is_put_right_first(journal: Journal) -> None:
    work = _Work(DexSwapFlow(None, None, journal, None, None, None), swap_intent())
    other = work._ended_by(Refused("other_chain", "this profile has no node of the chain"))
    assert other.refused
    assert other.failure.next == "you: correct the node under rpc, then ask for new quotes"
    assert other.failure.money == "in your wallet; nothing was swapped"
