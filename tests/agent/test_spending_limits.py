"""Whatever is signed in whatever order: no total exceeds its limit, and no room is lost.

The agent's own reading, record and rules stand against a count that knows of each payload only what
it was made of.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from agent import honest_solana as solana
from agent.gate_world import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPOSIT,
    NOW,
    PROMISE,
    ROUTER,
    SETTLEMENT,
    USDC,
    WETH,
)
from agent.honest import DOCUMENTS, ORDER, PERMITTED, SOON
from agent.test_gate_bundle import MINE, OPERATION
from agent.test_gate_bundle import PROMISE as BUNDLED
from rows import each_row
from sampling import examples
from swapdesk.agent.gate.case import GasPlan
from swapdesk.agent.shapes.claim import Claim
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.agent.spending.limits import Past, Spend, Spending, judge, spending_of
from swapdesk.agent.spending.limits import SpendSums as OwnSums
from swapdesk.agent.transactions.file import RecordsFile, SpentRecord, count
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.deployments import CALL_ASSETS, ENTRY_POINT, PERMIT2
from swapdesk.chain.smart_account import InnerCall, encode_batch, operation_json
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.spending import (
    SECONDS,
    Limit,
    PolicyToken,
    Price,
    SpendingPolicy,
    SpendWindow,
    TokenKey,
    only_lowers,
)
from swapdesk.wire.price_tiers import PriceTier

GAS = GasPlan(100, 10)
OPERATION_GAS = OPERATION.required_prefund
FEE = 5_000
"""Lamports of a Solana transaction with one signature."""
DOLLAR: TokenKey = (CHAIN_ID, USDC.contract)
COIN: TokenKey = (CHAIN_ID, None)
SOL: TokenKey = (None, None)
MINT: TokenKey = (None, solana.USDC.contract)


class Made(Struct, frozen=True):
    """A payload and what it was made of: who takes how much of which token by ``once``, of which
    one is executed."""

    payload: Payload
    promise: Promise
    moves: tuple[tuple[TokenKey, str, bool, int], ...]
    once: str
    nonce: int | None = None


def document(name: str, **message: object) -> TypedDataPayload:
    return DOCUMENTS[name].message(**message).payload


def permit(units: int, nonce: int) -> Made:
    payload = document("Permit", value=str(units), nonce=nonce)
    return Made(payload, PROMISE, ((DOLLAR, SETTLEMENT, True, units),), f"permit {nonce}")


def permit2_single(units: int, nonce: int) -> Made:
    details = {"token": USDC.contract, "amount": str(units), "expiration": SOON, "nonce": nonce}
    payload = document("PermitSingle", details=details, spender=ROUTER)
    return Made(payload, PROMISE, ((DOLLAR, ROUTER, True, units),), f"single {nonce}")


def batch_transfer(units: int, nonce: int) -> Made:
    permitted = {**PERMITTED, "amount": str(units)}
    other = {"token": WETH.contract, "amount": str(2 * units)}
    payload = document("PermitBatchTransferFrom", permitted=[permitted, other], nonce=str(nonce))
    moves = (
        (DOLLAR, SETTLEMENT, True, units),
        ((CHAIN_ID, WETH.contract), SETTLEMENT, True, 2 * units),
    )
    return Made(payload, PROMISE, moves, f"bitmap {nonce}")


def order(units: int, nonce: int) -> Made:
    payload = document("Order", sellAmount=str(units), feeAmount="3", nonce=str(nonce))
    return Made(payload, PROMISE, ((DOLLAR, SETTLEMENT, False, units + 3),), f"order {nonce}")


def witness(units: int, nonce: int) -> Made:
    sold = {**ORDER, "sellAmount": str(units), "feeAmount": "0"}
    payload = document(
        "PermitWitnessTransferFrom",
        permitted={**PERMITTED, "amount": str(units + 1)},
        witness=sold,
        nonce=str(nonce),
    )
    return Made(payload, PROMISE, ((DOLLAR, "", True, units + 1),), f"bitmap {nonce}")


def authorization(units: int, nonce: int) -> Made:
    text = "0x" + nonce.to_bytes(32, "big").hex()
    payload = document("TransferWithAuthorization", value=str(units), nonce=text)
    return Made(payload, PROMISE, ((DOLLAR, "", True, units),), f"authorization {nonce}")


def call(to: str, data: bytes, nonce: int, value: int, *moves: tuple) -> Made:
    payload = TransactionPayload(Purpose.SWAP, to, "0x" + data.hex(), value)
    gas = (COIN, "gas", True, GAS.most)
    return Made(payload, PROMISE, (*moves, gas), f"nonce {nonce}", nonce)


def transfer(units: int, nonce: int) -> Made:
    data = erc20.TRANSFER.call(DEPOSIT, units)
    return call(str(USDC.contract), data, nonce, 0, (DOLLAR, "", True, units))


def approve(units: int, nonce: int) -> Made:
    data = erc20.APPROVE.call(ROUTER, units)
    return call(str(USDC.contract), data, nonce, 0, (DOLLAR, ROUTER, True, units))


def approve_permit2(units: int, nonce: int) -> Made:
    return call(str(USDC.contract), erc20.APPROVE.call(PERMIT2, units), nonce, 0)


def allow_in_permit2(units: int, nonce: int) -> Made:
    data = permit2.APPROVE.call(USDC.contract, ROUTER, units, SOON)
    return call(PERMIT2, data, nonce, 0, (DOLLAR, ROUTER, True, units))


def swap(units: int, nonce: int) -> Made:
    data = venues.SWAP_TOKENS.call(units, 1, (USDC.contract, WETH.contract), ALICE, SOON)
    return call(ROUTER, data, nonce, 0, (DOLLAR, ROUTER, False, units))


def coins(units: int, nonce: int) -> Made:
    return call(BOB, b"", nonce, units, (COIN, "", True, units))


def unlimited(units: int, nonce: int) -> Made:
    data = erc20.APPROVE.call(ROUTER, erc20.UNLIMITED)
    return call(str(USDC.contract), data, nonce, 0, (DOLLAR, ROUTER, True, 1 << 256))


def to_self(units: int, nonce: int) -> Made:
    return call(str(USDC.contract), erc20.TRANSFER.call(ALICE, units), nonce, 0)


def operation(units: int, nonce: int) -> Made:
    calls = [
        InnerCall(str(USDC.contract), 0, erc20.TRANSFER.call(BOB, units)),
        InnerCall(DEPOSIT, units, b""),
    ]
    made = replace(OPERATION, nonce=(7 << 64) + nonce, call_data=encode_batch(calls))
    payload = OperationPayload(Purpose.BUNDLE, operation_json(made), ENTRY_POINT, "0.7", CHAIN_ID)
    moves = (
        (DOLLAR, MINE, False, units),
        (COIN, "", True, units),
        (COIN, "gas", True, OPERATION_GAS),
    )
    return Made(payload, BUNDLED, moves, f"operation {nonce}")


def lamports(units: int, nonce: int) -> Made:
    text = solana.serialized([solana.Transfer(solana.ME, solana.DEPOSIT, units).build()])
    moves = ((SOL, "", True, units), (SOL, "gas", True, FEE))
    promise = solana.promise(solana.SOL, solana.USDC)
    return Made(SolanaPayload(Purpose.DEPOSIT, text), promise, moves, f"lamports {units}")


def mint(units: int, nonce: int) -> Made:
    text = solana.serialized([solana.tokens(solana.ME, solana.DEPOSIT, units)])
    moves = ((MINT, "", True, units), (SOL, "gas", True, FEE))
    promise = solana.promise(solana.USDC, solana.SOL)
    return Made(SolanaPayload(Purpose.DEPOSIT, text), promise, moves, f"mint {units}")


KINDS = (
    permit, permit2_single, batch_transfer, order, witness, authorization, transfer, approve,
    approve_permit2, allow_in_permit2, swap, coins, unlimited, to_self, operation, lamports, mint,
)  # fmt: skip


def token(key: TokenKey, decimals: int, symbol: str) -> PolicyToken:
    return PolicyToken(key[0], key[1], decimals, symbol, "eth" if key[0] else "sol")


TOKENS = {
    DOLLAR: token(DOLLAR, 6, "USDC"),
    COIN: token(COIN, 18, "ETH"),
    SOL: token(SOL, 9, "SOL"),
    MINT: token(MINT, 6, "USDC"),
    (CHAIN_ID, WETH.contract): token((CHAIN_ID, WETH.contract), 18, "WETH"),
}


def limit(window: SpendWindow, key: TokenKey, units: int) -> Limit:
    return Limit(window, Decimal(units).scaleb(-TOKENS[key].decimals), TOKENS[key])


PRICES = tuple(Price(one, Decimal(10) ** (one.decimals - 3)) for one in TOKENS.values())
"""One unit of anything is a thousandth of a USD."""

WINDOWS = [one for one in SpendWindow if one is not SpendWindow.CALL]

LIMITS = st.builds(
    lambda listed: SpendingPolicy(tuple({one.key: one for one in listed}.values()), PRICES),
    st.lists(
        st.one_of(
            st.builds(
                limit,
                st.sampled_from(WINDOWS),
                st.sampled_from(list(TOKENS)),
                st.integers(0, 900),
            ),
            st.builds(
                lambda window, most: Limit(window, Decimal(most) / 1000),
                st.sampled_from(WINDOWS),
                st.integers(0, 10_000),
            ),
        ),
        min_size=1,
        max_size=5,
    ),
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(1, 300),
        st.integers(0, 12),
        st.sampled_from([0, 1, 600, 1_799, 3_599, 3_600, 3_601, 43_200, 86_399, 86_400]),
        st.sampled_from([0, 0, 0, 1_000, 100_000]),
    ),
    max_size=14,
)
"""Kind, units, nonce, seconds that pass before it, and by how many the clock is set back."""


class SpendSums:
    """What was released, by the time that really passed."""

    def __init__(self) -> None:
        self.released: list[tuple[int, Made]] = []

    def total(self, now: int, seconds: float, more: Made | None = None) -> dict[TokenKey, int]:
        made = [one for at, one in self.released if at > now - seconds]
        return taken([*made, *([] if more is None else [more])])


def taken(made: list[Made]) -> dict[TokenKey, int]:
    ways: dict[tuple, dict[tuple, int]] = defaultdict(dict)
    for one in made:
        for key, taker, grants, units in one.moves:
            once = ways[key, taker, grants]
            name = (one.promise.account, one.once)
            once[name] = max(units, once.get(name, 0))
    whole: dict[TokenKey, int] = defaultdict(int)
    for key, taker in {(key, taker) for key, taker, _ in ways}:
        whole[key] += max(sum(ways[key, taker, one].values()) for one in (True, False))
    return whole


def measured(one: Limit, totals: dict[TokenKey, int]) -> int:
    """In base units, or in thousandths of a USD."""
    return sum(totals.values()) if one.token is None else totals.get(one.token.key, 0)


def bound(one: Limit) -> int:
    return int(one.exact * (1000 if one.token is None else 1))


def spending(made: Made, claim: Claim) -> Spending:
    on_solana = claim.solana
    return spending_of(
        claim,
        chain_id=None if on_solana else CHAIN_ID,
        account=made.promise.account,
        smart_account=None if on_solana else MINE,
        nonce=made.nonce,
        gas=GAS if made.nonce is not None else None,
    )


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordsFile]:
    """What to make takes longer than a history of payments; each empties it."""
    file = RecordsFile(tmp_path_factory.mktemp("records"), writable=False)
    yield file
    file.close()


def emptied(spent: RecordsFile, monotonic: Callable[[], float]) -> SpentRecord:
    with spent.transaction() as connection:
        connection.execute("DELETE FROM spent")
    return SpentRecord(spent, monotonic)


@settings(max_examples=examples(10_000, part=40), deadline=None)
@given(policy=LIMITS, events=EVENTS)
def test_no_total_exceeds_its_limit(
    spent: RecordsFile, policy: SpendingPolicy, events: list[tuple]
) -> None:
    passed, back = 0, 0
    ledger, seen = SpendSums(), list[Made]()
    record = emptied(spent, lambda: float(passed))
    for kind, units, nonce, wait, set_back in events:
        passed += wait
        back += set_back
        made = kind(units, nonce)
        one = spending(made, read_payload(made.payload, made.promise))
        # The clock may be set back, whatever time passes.
        now = NOW + timedelta(seconds=passed - back)
        if judge(policy, one, record.past(now, one), now):
            refused(policy, ledger, passed, made, seen)
            continue
        with spent.transaction() as connection:
            count(connection, one, record.now(now))
        if made not in seen:
            seen.append(made)
            ledger.released.append((passed, made))
        for each in policy.limits:
            seconds = SECONDS.get(each.window, 0)
            totals = ledger.total(passed, seconds) if seconds else taken([made])
            assert measured(each, totals) <= bound(each), (each, made)


def refused(
    policy: SpendingPolicy, ledger: SpendSums, passed: int, made: Made, seen: list[Made]
) -> None:
    """Something would have been exceeded."""
    over = []
    for one in policy.limits:
        seconds = SECONDS.get(one.window)
        if seconds is None:
            over.append(measured(one, taken([made])) > bound(one))
        elif made not in seen:
            over.append(measured(one, ledger.total(passed, seconds, made)) > bound(one))
    assert any(over), made


def found(spent: RecordsFile, policy: SpendingPolicy, made: Made) -> set[str]:
    """The rules that object where nothing was spent."""
    one = spending(made, read_payload(made.payload, made.promise))
    past = emptied(spent, lambda: 0.0).past(NOW, one)
    return {finding.code.removeprefix("POLICY_") for finding in judge(policy, one, past, NOW)}


@each_row("kind", KINDS)
def test_everything_is_held_to_every_rule(spent, kind) -> None:  # type: ignore[no-untyped-def]
    made = kind(100, 1)
    on_solana = isinstance(made.payload, SolanaPayload)
    moves = any(taker != "gas" for _, taker, _, _ in made.moves)
    assert found(spent, SpendingPolicy(), made) == set()
    assert found(spent, SpendingPolicy(until=NOW), made) == {"UNTIL"}
    assert found(spent, SpendingPolicy(until=NOW + timedelta(seconds=1)), made) == set()
    assert found(spent, SpendingPolicy(chains=()), made) == {"CHAIN"}
    listed = {"PAYEE"} if moves else set()
    # What lets the money through Permit2 names nobody who gets it.
    assert found(spent, SpendingPolicy(payees=()), made) == listed
    assert found(spent, SpendingPolicy(tokens=()), made) == ({"TOKEN"} if moves else set())
    priced = SpendingPolicy((Limit(SpendWindow.DAY, Decimal(0)),), PRICES)
    cost = "UNBOUND" if kind is unlimited else "DAY"
    assert found(spent, priced, made) == (set() if not made.moves else {cost})
    unpriced = SpendingPolicy((Limit(SpendWindow.DAY, Decimal(10**9)),))
    assert found(spent, unpriced, made) == (set() if not made.moves else {"PRICE"})
    assert on_solana is (made.promise.chain_id is None)


def test_what_nobody_can_read_has_no_bound(spent: RecordsFile) -> None:
    unknown = document("Permit")
    types = {**unknown.document["types"], "Other": unknown.document["types"]["Permit"]}
    payload = replace(
        unknown, document={**unknown.document, "types": types, "primaryType": "Other"}
    )
    made = Made(payload, PROMISE, (), "unknown")
    assert found(spent, SpendingPolicy(payees=(BOB,)), made) == {"UNREADABLE"}
    assert found(spent, SpendingPolicy(), made) == set()


def test_an_unlimited_approval_fills_a_limit_that_comes_later(tmp_path: Path) -> None:
    file = RecordsFile(tmp_path, writable=True)
    record = SpentRecord(file, lambda: 0.0)
    made = unlimited(1, 1)
    one = spending(made, read_payload(made.payload, made.promise))
    assert one.spends[0].units == math.inf
    with file.transaction() as connection:
        count(connection, one, NOW)
    policy = SpendingPolicy((limit(SpendWindow.DAY, DOLLAR, 10**12),))
    other = transfer(1, 2)
    later = spending(other, read_payload(other.payload, other.promise))
    [said] = judge(policy, later, record.past(NOW, later), NOW)
    assert "0 left" in said.words
    after = NOW + timedelta(days=1)
    assert not judge(policy, later, record.past(after, later), after)
    file.close()


LOWERED = st.builds(
    lambda policy, chains, until: replace(
        policy,
        chains=chains,
        until=None if until is None else NOW + timedelta(hours=until),
        payees=None if chains is None else (BOB,),
    ),
    LIMITS,
    st.none(),
    st.none() | st.integers(0, 3),
)


@settings(max_examples=examples(400), deadline=None)
@given(new=LOWERED, old=LOWERED, events=EVENTS)
def test_what_only_lowers_lets_nothing_more_through(  # type: ignore[no-untyped-def]
    spent, new, old, events
) -> None:
    assert only_lowers(old, SpendingPolicy())
    assert only_lowers(new, new)
    if not only_lowers(new, old):
        return
    for kind, units, nonce, *_ in events:
        made = kind(units, nonce)
        if found(spent, old, made):
            assert found(spent, new, made)


def test_a_policy_is_raised_by_whatever_lets_more_through() -> None:
    old = SpendingPolicy(
        (Limit(SpendWindow.DAY, Decimal(5)), limit(SpendWindow.HOUR, DOLLAR, 7)),
        (Price(TOKENS[DOLLAR], Decimal(1)),),
        payees=(BOB,),
        tokens=(TOKENS[DOLLAR],),
        until=NOW,
    )
    for name, value, lowers in (
        ("limits", old.limits[:1], False),
        ("limits", (*old.limits, limit(SpendWindow.PAYMENT, DOLLAR, 9)), True),
        ("limits", (Limit(SpendWindow.DAY, Decimal("5.01")), old.limits[1]), False),
        ("limits", (Limit(SpendWindow.DAY, Decimal("4.99")), old.limits[1]), True),
        ("limits", (old.limits[0], replace(old.limits[1], token=TOKENS[COIN])), False),
        ("limits", (*old.limits, limit(SpendWindow.CALL, DOLLAR, 1)), False),
        ("call_payees", (), False),
        ("call_payees", (BOB,), False),
        ("prices", (), True),
        ("prices", (Price(TOKENS[DOLLAR], Decimal(2)),), True),
        ("prices", (Price(TOKENS[DOLLAR], Decimal("0.99")),), False),
        ("prices", (*old.prices, Price(TOKENS[COIN], Decimal(3000))), False),
        ("chains", (), True),
        ("payees", (), True),
        ("payees", (BOB, ALICE), False),
        ("payees", None, False),
        ("tokens", (), True),
        ("tokens", (TOKENS[DOLLAR], TOKENS[COIN]), False),
        ("tokens", None, False),
        ("until", NOW - timedelta(seconds=1), True),
        ("until", NOW + timedelta(seconds=1), False),
        ("until", None, False),
    ):
        assert only_lowers(replace(old, **{name: value}), old) is lowers, (name, value)
    named = replace(old, limits=(limit(SpendWindow.CALL, DOLLAR, 5),), call_payees=(ALICE, BOB))
    for name, value, lowers in (
        ("limits", (limit(SpendWindow.CALL, DOLLAR, 4),), True),
        ("limits", (limit(SpendWindow.CALL, DOLLAR, 6),), False),
        ("limits", (), False),
        ("call_payees", (BOB,), True),
        ("call_payees", None, False),
        ("call_payees", (BOB, ALICE, MINE), False),
    ):
        assert only_lowers(replace(named, **{name: value}), named) is lowers, (name, value)


CALLED = CALL_ASSETS[0]
CALL_DOLLAR = PolicyToken(CALLED.chain_id, CALLED.contract, 6, "USDC", "base")
PAID = Past({window: OwnSums() for window in SECONDS})


def called(units: int, token: TokenKey = CALL_DOLLAR.key, payee: str = BOB) -> Spending:
    spend = Spend(token, units, ALICE)
    return Spending(token[0], (spend,), (payee,), b"", "once")


def refusals(policy: SpendingPolicy, spending: Spending, tier: PriceTier | None) -> set[str]:
    return {one.code for one in judge(policy, spending, PAID, NOW, tier)}


@each_row(
    ("tier", "most"),
    [
        (PriceTier.FREE, 1_000),
        (PriceTier.READ, 1_000),
        (PriceTier.STATUS, 1_000),
        (PriceTier.QUOTE, 10_000),
        (PriceTier.EXCHANGE, 100_000),
    ],
)
def test_a_call_costs_ten_times_the_contract_at_most(tier: PriceTier, most: int) -> None:
    """Where the policy names no other bound, which then counts alone, dearer or cheaper."""
    day = Limit(SpendWindow.DAY, Decimal(100), CALL_DOLLAR)
    policy = SpendingPolicy((day,))
    assert refusals(policy, called(most), tier) == set()
    assert refusals(policy, called(most + 1), tier) == {"POLICY_CALL"}
    assert refusals(policy, called(most + 1), None) == set(), "no call"
    for units in (1, 100, 900_000):
        bound = Limit(SpendWindow.CALL, Decimal(units).scaleb(-6), CALL_DOLLAR)
        named = replace(policy, limits=(bound, day))
        assert refusals(named, called(units), tier) == set()
        assert refusals(named, called(units + 1), tier) == {"POLICY_CALL"}
        assert refusals(named, called(10**7), None) == set()
    usd = Limit(SpendWindow.CALL, Decimal("0.5"))
    priced = SpendingPolicy((usd,), (Price(CALL_DOLLAR, Decimal(1)),))
    assert refusals(priced, called(500_000), tier) == set()
    assert refusals(priced, called(500_001), tier) == {"POLICY_CALL"}
    assert refusals(policy, called(1, (CALLED.chain_id, WETH.contract)), tier) == {"POLICY_CALL"}


def test_calls_are_paid_to_whom_the_policy_names() -> None:
    policy = SpendingPolicy(call_payees=(BOB,))
    assert refusals(policy, called(1), PriceTier.READ) == set()
    strange = called(1, payee=ALICE)
    assert refusals(policy, strange, PriceTier.READ) == {"POLICY_CALL_PAYEE"}
    assert refusals(policy, strange, None) == set()
