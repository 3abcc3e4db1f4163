"""What an owner takes out of the own smart account: honest, changed in one place, and word by word.
Through a real agent and chain it is met in ``tests/wallet``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from agent.gate_world import (
    ALICE,
    BOB,
    CHAIN_ID,
    CODE,
    ETH,
    MALLORY,
    POLICY,
    PROMISE,
    TRAP,
    USDC,
    WETH,
    World,
    changes,
    judged,
)
from swapdesk.agent.gate.case import (
    Facts,
    PastSignature,
    Policy,
)
from swapdesk.agent.gate.rules import deposit as rules
from swapdesk.agent.gate.verdict import RULES, WITHDRAWAL_RULES, GateVerdict
from swapdesk.agent.shapes.claim import Act
from swapdesk.chain.calldata.erc20 import APPROVE, TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
from swapdesk.chain.smart_account import (
    DEPOSIT_TO,
    EXECUTE_BATCH,
    WITHDRAW_TO,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose, TakenOut, WithdrawalPromise
from swapdesk.wallet.review import Match, Severity, Simulation
from swapdesk.wallet.transactions import TransactionState

MINE = account_address(ALICE)
COINS, DOLLARS, PREPAID = 3 * 10**17, 25_000_000, 4 * 10**14
TAKEN = (TakenOut(ETH, COINS), TakenOut(USDC, DOLLARS))
PROMISED = replace(
    PROMISE,
    sell=ETH,
    sell_units=0,
    buy=ETH,
    least_units=0,
    quoted_units=0,
    venue=None,
    quote_id=None,
    withdrawal=WithdrawalPromise(TAKEN, PREPAID),
)
COIN_CALL = InnerCall(ALICE, COINS)
DOLLAR_CALL = InnerCall(str(USDC.contract), 0, TRANSFER.call(ALICE, DOLLARS))
GAS_CALL = InnerCall(ENTRY_POINT, 0, WITHDRAW_TO.call(ALICE, PREPAID))
CALLS = (COIN_CALL, DOLLAR_CALL, GAS_CALL)
MOVED = changes(
    (MINE, ETH, -COINS),
    (MINE, USDC, -DOLLARS),
    (ENTRY_POINT, ETH, -PREPAID),
    (ALICE, ETH, COINS + PREPAID),
    (ALICE, USDC, DOLLARS),
)


class Scene(Struct):
    """A withdrawal as it is honest, and one thing changed."""

    calls: Sequence[InnerCall] = CALLS
    promise: Promise = PROMISED
    policy: Policy = POLICY
    to: str = MINE
    value: int = 0
    purpose: Purpose = Purpose.WITHDRAW
    simulation: Simulation | None = MOVED
    native: int = 10**18
    code: bytes | None = CODE
    memory: tuple[PastSignature, ...] = ()
    data: bytes | None = None
    replaces: str | None = None

    def verdict(self) -> GateVerdict:
        data = encode_batch(self.calls) if self.data is None else self.data
        payload = TransactionPayload(self.purpose, self.to, f"0x{data.hex()}", self.value)

        def read(facts: Facts) -> Facts:
            known = {} if self.code is None else dict.fromkeys(facts.code, self.code)
            return replace(facts, code=known)

        world = World(self.simulation, native=self.native)
        return judged(payload, self.promise, self.policy, world, self.memory, read, self.replaces)

    def codes(self) -> set[str]:
        return {one.code for one in self.verdict().findings if one.severity is Severity.REFUSE}


def scene(**changed: Any) -> Scene:
    return replace(Scene(), **changed)


def calls(*changed: InnerCall) -> Scene:
    return scene(calls=changed)


def promised(*taken: TakenOut, prepaid: int = PREPAID) -> Scene:
    return scene(promise=replace(PROMISED, withdrawal=WithdrawalPromise(taken, prepaid)))


def moving(*moved: tuple[str, Any, int]) -> Scene:
    return scene(simulation=changes(*moved))


def signed(**changed: Any) -> PastSignature:
    made = PastSignature(b"\1" * 32, Act.WITHDRAW, None, CHAIN_ID, ALICE, None, MINE)
    return replace(made, **changed)


Table = dict[str, tuple[list[Callable[[], Scene]], list[Callable[[], Scene]]]]
TABLE: Table = {
    "WITHDRAWAL_MISSING": (
        [
            lambda: scene(promise=replace(PROMISED, withdrawal=None)),
            lambda: promised(prepaid=0),
            lambda: promised(TakenOut(ETH, 0), TAKEN[1]),
            lambda: promised(*TAKEN, prepaid=-1),
            lambda: promised(TAKEN[0], TAKEN[0], TAKEN[1]),
            lambda: scene(promise=replace(PROMISED, gas_units=0)),
        ],
        [scene],
    ),
    "WITHDRAWAL_PAYMENTS_DIFFER": (
        [
            lambda: calls(COIN_CALL, DOLLAR_CALL),
            lambda: calls(*CALLS, COIN_CALL),
            lambda: calls(COIN_CALL),
        ],
        [scene],
    ),
    "WITHDRAWAL_PAYEE_DIFFERS": (
        [
            lambda: calls(InnerCall(MALLORY, COINS), DOLLAR_CALL, GAS_CALL),
            lambda: calls(
                COIN_CALL, replace(DOLLAR_CALL, data=TRANSFER.call(MALLORY, DOLLARS)), GAS_CALL
            ),
            lambda: calls(
                COIN_CALL,
                DOLLAR_CALL,
                replace(GAS_CALL, data=WITHDRAW_TO.call(MALLORY, PREPAID)),
            ),
            lambda: calls(InnerCall(MINE, COINS), DOLLAR_CALL, GAS_CALL),
        ],
        [scene],
    ),
    "WITHDRAWAL_AMOUNT_DIFFERS": (
        [
            lambda: calls(InnerCall(ALICE, COINS - 1), DOLLAR_CALL, GAS_CALL),
            lambda: calls(InnerCall(ALICE, COINS + 1), DOLLAR_CALL, GAS_CALL),
            lambda: promised(*TAKEN, prepaid=PREPAID + 1),
            lambda: calls(DOLLAR_CALL, COIN_CALL, GAS_CALL),
        ],
        [scene],
    ),
    "WITHDRAWAL_TOKEN_DIFFERS": (
        [
            lambda: calls(COIN_CALL, replace(DOLLAR_CALL, to=str(WETH.contract)), GAS_CALL),
            lambda: calls(COIN_CALL, replace(DOLLAR_CALL, to=TRAP), GAS_CALL),
            lambda: promised(TakenOut(ETH, COINS), TakenOut(WETH, DOLLARS)),
        ],
        [
            lambda: promised(
                TAKEN[0], TakenOut(replace(USDC, contract=str(USDC.contract).lower()), DOLLARS)
            )
        ],
    ),
    "WITHDRAWAL_KEEPER_DIFFERS": (
        [
            lambda: calls(COIN_CALL, DOLLAR_CALL, replace(GAS_CALL, to=ENTRY_POINT_08)),
            lambda: calls(COIN_CALL, DOLLAR_CALL, replace(GAS_CALL, to=TRAP)),
            lambda: calls(COIN_CALL, DOLLAR_CALL, InnerCall(ALICE, PREPAID)),
            lambda: calls(GAS_CALL, DOLLAR_CALL, GAS_CALL),
            lambda: promised(*TAKEN, prepaid=0),
        ],
        [
            lambda: replace(
                promised(*TAKEN, prepaid=0),
                calls=CALLS[:2],
                simulation=changes(
                    (MINE, ETH, -COINS),
                    (MINE, USDC, -DOLLARS),
                    (ALICE, ETH, COINS),
                    (ALICE, USDC, DOLLARS),
                ),
            )
        ],
    ),
    "WITHDRAWAL_MOVES_DIFFER": (
        [
            lambda: moving(
                (MINE, ETH, -COINS - 1), (MINE, USDC, -DOLLARS), (ALICE, ETH, COINS + PREPAID),
                (ALICE, USDC, DOLLARS),
            ),
            lambda: moving(
                (MINE, ETH, -COINS), (MINE, USDC, -DOLLARS), (ALICE, ETH, COINS + PREPAID),
                (ALICE, USDC, DOLLARS - 1),
            ),
            lambda: moving(
                (MINE, ETH, -COINS), (MINE, USDC, -DOLLARS), (MINE, WETH, -1),
                (ALICE, ETH, COINS + PREPAID), (ALICE, USDC, DOLLARS),
            ),
            lambda: moving(
                (MINE, ETH, -COINS), (MINE, USDC, -DOLLARS), (ALICE, WETH, -5),
                (ALICE, ETH, COINS + PREPAID), (ALICE, USDC, DOLLARS),
            ),
            lambda: moving(),
        ],
        [scene],
    ),
}  # fmt: skip


def test_every_rule_has_its_row() -> None:
    assert {rule.code for rule in rules.WITHDRAWAL_RULES} == set(TABLE)
    assert {id(rule) for rule in rules.WITHDRAWAL_RULES} <= {id(rule) for rule in WITHDRAWAL_RULES}
    assert not {id(rule) for rule in rules.WITHDRAWAL_RULES} & {id(rule) for rule in RULES}


@pytest.mark.parametrize(
    ("code", "i"), [(code, i) for code, (bad, _) in TABLE.items() for i in range(len(bad))]
)
def test_what_a_rule_objects_to(code: str, i: int) -> None:
    assert code in TABLE[code][0][i]().codes()


@pytest.mark.parametrize(
    ("code", "i"), [(code, i) for code, (_, good) in TABLE.items() for i in range(len(good))]
)
def test_what_stands_inside_its_bound(code: str, i: int) -> None:
    assert TABLE[code][1][i]().codes() == set()


def test_the_honest_withdrawal_is_shown_line_by_line() -> None:
    verdict = Scene().verdict()
    assert not verdict.findings
    assert verdict.phrase is None
    assert {line.match for line in verdict.lines} == {Match.EQUAL}
    shown = {line.field: (line.signed, line.promised) for line in verdict.lines}
    assert shown["Amount 1"] == ("0.3 ETH", "0.3 ETH")
    assert shown["Amount 2"] == ("25 USDC", "25 USDC")
    assert shown["Paid to 3"][1].startswith("your account")
    assert shown["Smart account"][1].startswith("the smart account of")
    assert "Kept for gas 3" in shown
    assert verdict.title.endswith("3 payments, all or none")


OTHERS: dict[str, tuple[Callable[[], Scene], str]] = {
    "the account of another owner": (lambda: scene(to=account_address(BOB)), "SENDER_DIFFERS"),
    "another contract": (lambda: scene(to=TRAP), "SENDER_DIFFERS"),
    "no factory known": (
        lambda: scene(policy=replace(POLICY, accounts=None)),
        "SENDER_DIFFERS",
    ),
    "an account that does not stand": (lambda: scene(code=b""), "CONTRACT_WITHOUT_CODE"),
    "code that was not read": (lambda: scene(code=None), "CONTRACT_WITHOUT_CODE"),
    "coins sent along": (lambda: scene(value=1), "VALUE_ABOVE"),
    "the key of another account": (
        lambda: scene(policy=replace(POLICY, account=BOB)),
        "ACCOUNT_DIFFERS",
    ),
    "another chain": (lambda: scene(policy=replace(POLICY, chain_id=1)), "KEY_CHAIN_DIFFERS"),
    "another genesis": (
        lambda: scene(policy=replace(POLICY, genesis_hash="0x" + "11" * 32)),
        "GENESIS_DIFFERS",
    ),
    "asked for as a deposit": (lambda: scene(purpose=Purpose.DEPOSIT), "PURPOSE_DIFFERS"),
    "asked for as a swap": (lambda: scene(purpose=Purpose.SWAP), "PURPOSE_DIFFERS"),
    "a simulation that fails": (
        lambda: scene(simulation=replace(MOVED, failure="not Owner")),
        "SIMULATION_FAILED",
    ),
    "no simulation": (lambda: scene(simulation=None), "SIMULATION_MISSING"),
    "gas above the bound": (
        lambda: scene(promise=replace(PROMISED, gas_units=1)),
        "GAS_ABOVE",
    ),
    "no coin for gas": (lambda: scene(native=150_000 * 10**9 - 1), "GAS_UNFUNDED"),
    "signed before": (lambda: scene(memory=(signed(),)), "PAID_ALREADY"),
    "an approval inside": (
        lambda: calls(replace(DOLLAR_CALL, data=APPROVE.call(MALLORY, 1))),
        "WITHDRAWAL_CALLS",
    ),
    "coins beside a transfer": (lambda: calls(replace(DOLLAR_CALL, value=1)), "WITHDRAWAL_CALLS"),
    "a deposit at the EntryPoint": (
        lambda: calls(InnerCall(ENTRY_POINT, 1, DEPOSIT_TO.call(MALLORY))),
        "WITHDRAWAL_CALLS",
    ),
    "coins beside what gas gives back": (
        lambda: calls(replace(GAS_CALL, value=1)),
        "WITHDRAWAL_CALLS",
    ),
    "another call of the EntryPoint": (
        lambda: calls(replace(GAS_CALL, data=GAS_CALL.data + b"\0")),
        "WITHDRAWAL_CALLS",
    ),
    "lists of other lengths": (
        lambda: scene(data=EXECUTE_BATCH.call([ALICE], [1, 2], [b""])),
        "CALLDATA_UNREADABLE",
    ),
    "no calls": (lambda: scene(data=EXECUTE_BATCH.call([], [], [])), "CALLDATA_UNREADABLE"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_refused(name: str) -> None:
    made, code = OTHERS[name]
    assert code in made().codes()


def test_its_gas_is_paid_by_a_wallet_that_has_little_else() -> None:
    """What comes out of the smart account is not what the wallet itself spends."""
    assert scene(native=150_000 * 10**9).codes() == set()


def test_one_that_was_given_up_or_replaced_makes_room() -> None:
    assert scene(memory=(signed(state=TransactionState.REPLACED),)).codes() == set()


def test_no_word_of_it_can_be_changed() -> None:
    """Each word of the data to what a thief would put in."""
    data = encode_batch(CALLS)
    through = []
    for at in range(4, len(data), 32):
        word = data[at : at + 32]
        fillings = (
            b"\xff" * 32,
            bytes(31) + b"\x01",
            bytes(12) + bytes.fromhex(MALLORY[2:]),
            b"\x01" + word[1:],
            word[:-1] + bytes([word[-1] ^ 1]) if word else word,
        )
        for filled in fillings:
            made = data[:at] + filled[: len(word)] + data[at + 32 :]
            if made != data and not scene(data=made).verdict().refused:
                through.append((at, filled.hex()))
    assert through == []
