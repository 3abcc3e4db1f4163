"""The rules that judge UserOperations, each by itself: what it objects to, and what stands just
inside its bound. Through a real agent and chain they are met in ``tests/wallet``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from agent.gate_world import (
    ALICE,
    BOB,
    CHAIN_ID,
    GENESIS,
    MALLORY,
    NOW,
    USDC,
    WETH,
    World,
    judged,
)
from agent.honest import HONEST as OTHERS
from swapdesk.agent.gate.case import (
    AccountFactory,
    Case,
    Facts,
    PastSignature,
    Policy,
    Taking,
)
from swapdesk.agent.gate.rules import bundle as rules
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, GateVerdict, judge
from swapdesk.agent.shapes.claim import Act, PayloadRefused
from swapdesk.agent.shapes.operations import nonce_of, read_bundle
from swapdesk.chain.calldata.erc20 import APPROVE, TRANSFER
from swapdesk.chain.deployments import (
    ENTRY_POINT,
    ENTRY_POINT_08,
    SANDBOX_ACCOUNT,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_VENUES,
)
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.chain.user_operation import (
    EntryPointVersion,
    UserOperation,
    nonce_key,
    operation_json,
    user_operation_hash,
)
from swapdesk.wallet.payload import OperationPayload
from swapdesk.wallet.promise import BundlePromise, DepositPromise, Promise, Purpose
from swapdesk.wallet.review import Match, Severity
from swapdesk.wallet.transactions import TransactionState

V07, V08 = EntryPointVersion
CAROL = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
DAN = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
PAYEES = (BOB, CAROL, DAN)
UNITS = (3_000_000, 4_000_000, 5_000_000)
MINE = account_address(ALICE)
GAS = 600_000 * 10**9
KEY = nonce_key("group", USDC.contract, 0)
DEPOSITS = tuple(
    DepositPromise(f"o-{i}", to, None, units, NOW + timedelta(minutes=20))
    for i, (to, units) in enumerate(zip(PAYEES, UNITS, strict=True))
)
PROMISE = Promise(
    intent_id="b-1",
    account=ALICE,
    chain="base",
    chain_id=CHAIN_ID,
    sell=USDC,
    sell_units=sum(UNITS),
    buy=WETH,
    chain_out="base",
    least_units=1,
    quoted_units=1,
    recipient=ALICE,
    venue=None,
    quote_id=None,
    valid_until=NOW + timedelta(minutes=20),
    gas_units=GAS,
    bundle=BundlePromise("group", 0, DEPOSITS),
)
POLICY = Policy(
    ALICE,
    CHAIN_ID,
    GENESIS,
    SANDBOX_VENUES,
    accounts=AccountFactory(SANDBOX_ACCOUNT_FACTORY, SANDBOX_ACCOUNT),
)
OPERATION = UserOperation(
    sender=MINE,
    nonce=KEY << 64,
    call_data=encode_batch(
        [
            InnerCall(str(USDC.contract), 0, TRANSFER.call(to, units))
            for to, units in zip(PAYEES, UNITS, strict=True)
        ]
    ),
    call_gas_limit=300_000,
    verification_gas_limit=200_000,
    pre_verification_gas=100_000,
    max_fee_per_gas=10**9,
    max_priority_fee_per_gas=10**9,
    factory=SANDBOX_ACCOUNT_FACTORY,
    factory_data=CREATE_ACCOUNT.call(ALICE, 0),
)


class Scene(Struct):
    """A bundle as it is honest, and one thing changed."""

    operation: UserOperation = OPERATION
    promise: Promise = PROMISE
    policy: Policy = POLICY
    entry_point: str = ENTRY_POINT
    version: EntryPointVersion = V07
    chain_id: int = CHAIN_ID
    purpose: Purpose = Purpose.BUNDLE
    sequence: int = 0
    stands: bytes | None = b""
    memory: tuple[PastSignature, ...] = ()
    expires: timedelta | None = None

    @property
    def payload(self) -> OperationPayload:
        return OperationPayload(
            self.purpose,
            operation_json(self.operation, with_signature=False),
            self.entry_point,
            self.version.value,
            self.chain_id,
        )

    def verdict(self) -> GateVerdict:
        code = {self.entry_point: b"\x60", self.operation.sender: self.stands}

        def read(facts: Facts) -> Facts:
            known = {one: code[one] for one in facts.code if code.get(one) is not None}
            return replace(facts, code=known)

        world = World(sequence=self.sequence)
        return judged(self.payload, self.promise, self.policy, world, self.memory, read)

    def codes(self) -> set[str]:
        return {one.code for one in self.verdict().findings if one.severity is Severity.REFUSE}


def scene(**changed: Any) -> Scene:
    return replace(Scene(), **changed)


def operation(**changed: Any) -> Scene:
    return scene(operation=replace(OPERATION, **changed))


def promise(**changed: Any) -> Scene:
    return scene(promise=replace(PROMISE, **changed))


def deposits(**changed: Any) -> Scene:
    first, *others = DEPOSITS
    made = (replace(first, **changed), *others)
    return promise(bundle=BundlePromise("group", 0, made))


def paying(*calls: tuple[str, int], token: str = str(USDC.contract)) -> Scene:
    made = [InnerCall(token, 0, TRANSFER.call(to, units)) for to, units in calls]
    return operation(call_data=encode_batch(made))


HONEST = list(zip(PAYEES, UNITS, strict=True))


def signed(**changed: Any) -> PastSignature:
    claim = read_bundle(Scene().payload)
    fields: dict[str, Any] = {
        "content": b"\1" * 32,
        "act": Act.BUNDLE,
        "quote_id": None,
        "chain_id": CHAIN_ID,
        "owner": ALICE,
        "token": USDC.contract,
        "contract": ENTRY_POINT,
        "key": nonce_of(claim),
        "step": 0,
        "total": 1,
    }
    return PastSignature(**{**fields, **changed})


def to_address(address: str) -> Scene:
    """Both payload and promise name this address, so that only its kind is judged."""
    first, *others = DEPOSITS
    made = paying((address, UNITS[0]), *HONEST[1:])
    bundle = BundlePromise("group", 0, (replace(first, address=address), *others))
    return replace(made, promise=replace(PROMISE, bundle=bundle))


Table = dict[str, tuple[list[Callable[[], Scene]], list[Callable[[], Scene]]]]
TABLE: Table = {
    "BUNDLE_MISSING": (
        [
            lambda: promise(bundle=None),
            lambda: promise(bundle=BundlePromise("group", 0, ())),
            lambda: promise(sell_units=0),
            lambda: promise(gas_units=0),
        ],
        [scene],
    ),
    "ENTRY_POINT_UNKNOWN": (
        [
            lambda: scene(entry_point=MALLORY),
            lambda: scene(entry_point=ENTRY_POINT_08),
            lambda: scene(version=V08, operation=_for_v08()),
        ],
        [scene, lambda: scene(version=V08, entry_point=ENTRY_POINT_08, operation=_for_v08())],
    ),
    "SENDER_DIFFERS": (
        [
            lambda: operation(sender=account_address(BOB)),
            lambda: operation(sender=account_address(ALICE, 1)),
            lambda: operation(sender=MALLORY),
            lambda: scene(policy=replace(POLICY, accounts=None)),
            lambda: scene(policy=replace(POLICY, accounts=AccountFactory(BOB, SANDBOX_ACCOUNT))),
        ],
        [scene],
    ),
    "FACTORY_DIFFERS": (
        [
            lambda: operation(factory=MALLORY),
            lambda: operation(factory_data=CREATE_ACCOUNT.call(BOB, 0)),
            lambda: scene(stands=b"\x60"),
            lambda: scene(stands=None),
        ],
        [
            lambda: replace(operation(factory=None, factory_data=b""), stands=b"\x60"),
            # Another operation of the group makes the account.
            lambda: operation(factory=None, factory_data=b""),
        ],
    ),
    "OPERATION_NONCE": (
        [
            lambda: operation(nonce=KEY << 64 | 1),
            lambda: scene(sequence=1),
            lambda: operation(nonce=0),
            lambda: promise(bundle=BundlePromise("another", 0, DEPOSITS)),
            lambda: promise(bundle=BundlePromise("group", 1, DEPOSITS)),
        ],
        [lambda: replace(operation(nonce=KEY << 64 | 4), sequence=4)],
    ),
    "BUNDLE_CALLS_DIFFER": (
        [
            lambda: paying(*HONEST, (MALLORY, 1)),
            lambda: paying(*HONEST, HONEST[0]),
            lambda: paying(*HONEST[:2]),
        ],
        [scene],
    ),
    "BUNDLE_RECIPIENT_DIFFERS": (
        [
            lambda: paying((MALLORY, UNITS[0]), *HONEST[1:]),
            lambda: paying(*HONEST, (MALLORY, 1)),
            lambda: paying(HONEST[1], HONEST[0], HONEST[2]),
            lambda: deposits(address=MALLORY),
        ],
        [lambda: deposits(address=BOB.lower())],
    ),
    "BUNDLE_AMOUNT_DIFFERS": (
        [
            lambda: paying((BOB, UNITS[0] + 1), *HONEST[1:]),
            lambda: paying((BOB, UNITS[0] - 1), *HONEST[1:]),
            lambda: deposits(units=0),
        ],
        [scene],
    ),
    "BUNDLE_TOKEN_DIFFERS": (
        [
            lambda: paying(*HONEST, token=str(WETH.contract)),
            lambda: promise(sell=WETH),
            lambda: operation(call_data=encode_batch([InnerCall(BOB, UNITS[0])])),
        ],
        [scene],
    ),
    "BUNDLE_ABOVE": (
        [lambda: promise(sell_units=11_998_800)],
        [lambda: promise(sell_units=11_998_801)],
    ),
    "BUNDLE_PAYEE_UNSAFE": (
        [
            lambda: to_address(MINE),
            lambda: to_address(ALICE),
            lambda: to_address(ENTRY_POINT),
            lambda: to_address(str(USDC.contract)),
            lambda: to_address(SANDBOX_VENUES[0].address),
            lambda: to_address("0x" + "00" * 20),
        ],
        [lambda: to_address(MALLORY)],
    ),
    "BUNDLE_ORDER_EXPIRED": (
        [lambda: deposits(expires=NOW + timedelta(seconds=29))],
        [lambda: deposits(expires=NOW + timedelta(seconds=30))],
    ),
    "BUNDLE_TAG_NEEDED": ([lambda: deposits(tag="7")], [scene]),
    "BUNDLE_GAS_ABOVE": (
        [
            lambda: operation(call_gas_limit=300_001),
            lambda: operation(max_fee_per_gas=10**9 + 1),
            lambda: promise(gas_units=GAS - 1),
            lambda: operation(call_gas_limit=10**12),
        ],
        [scene],
    ),
    "BUNDLE_PAID_ALREADY": (
        [
            lambda: scene(memory=(signed(key="another nonce"),)),
            lambda: scene(memory=(signed(act=Act.PAY, key=None),)),
        ],
        [
            lambda: scene(memory=(signed(),)),
            lambda: scene(memory=(signed(key="another nonce", state=TransactionState.REPLACED),)),
            lambda: scene(memory=(signed(act=Act.ALLOW, key="approve", taking=Taking(0)),)),
        ],
    ),
}


def _for_v08() -> UserOperation:
    calls = [
        InnerCall(str(USDC.contract), 0, TRANSFER.call(to, units))
        for to, units in zip(PAYEES, UNITS, strict=True)
    ]
    return replace(OPERATION, call_data=encode_batch(calls, V08))


def test_an_operation_for_another_chain_is_not_signed() -> None:
    assert "CHAIN_ID_DIFFERS" in scene(chain_id=8453).codes()


def test_every_rule_has_its_row() -> None:
    assert {rule.code for rule in rules.GROUP_RULES} == set(TABLE)
    assert {id(rule) for rule in rules.GROUP_RULES} <= {id(rule) for rule in BUNDLE_RULES}
    assert not {id(rule) for rule in rules.GROUP_RULES} & {id(rule) for rule in RULES}


OUTSIDE = [(code, i) for code, (bad, _) in TABLE.items() for i in range(len(bad))]
INSIDE = [(code, i) for code, (_, good) in TABLE.items() for i in range(len(good))]


@pytest.mark.parametrize(("code", "i"), OUTSIDE)
def test_what_a_rule_objects_to(code: str, i: int) -> None:
    assert code in TABLE[code][0][i]().codes()


@pytest.mark.parametrize(("code", "i"), INSIDE)
def test_what_stands_inside_its_bound(code: str, i: int) -> None:
    assert TABLE[code][1][i]().codes() == set()


def test_the_honest_bundle_is_shown_line_by_line() -> None:
    verdict = Scene().verdict()
    assert not verdict.findings
    assert verdict.phrase is None
    assert verdict.content == user_operation_hash(OPERATION, ENTRY_POINT, CHAIN_ID)
    assert {line.match for line in verdict.lines} == {Match.EQUAL}
    shown = {line.field: (line.signed, line.promised) for line in verdict.lines}
    assert shown["Amount 2"] == ("4 USDC", "4 USDC")
    assert shown["Paid to 3"][1].endswith("of order o-2")
    assert verdict.valid_until == min(one.expires for one in DEPOSITS)


def test_a_line_that_differs_is_marked_alone() -> None:
    verdict = paying(HONEST[0], (MALLORY, UNITS[1]), HONEST[2]).verdict()
    assert [line.field for line in verdict.lines if line.match is Match.DIFFERS] == ["Paid to 2"]


@pytest.mark.parametrize(
    "changed",
    [
        {"chain_id": CHAIN_ID + 1},
        {"policy": replace(POLICY, chain_id=1)},
        {"policy": replace(POLICY, genesis_hash="0x" + "11" * 32)},
        {"policy": replace(POLICY, account=BOB)},
        {"purpose": Purpose.DEPOSIT},
        {"purpose": Purpose.SWAP},
    ],
    ids=["chain", "key's chain", "genesis", "account", "deposit", "swap"],
)
def test_chain_account_and_purpose_are_judged_as_of_everything(changed: dict[str, Any]) -> None:
    assert scene(**changed).verdict().refused


def test_other_payloads_are_no_bundle() -> None:
    for one in OTHERS.values():
        payload = replace(one.payload, purpose=Purpose.BUNDLE)
        promise = replace(one.promise, bundle=PROMISE.bundle)
        assert judged(payload, promise, world=one.world).refused


def test_a_bundle_without_facts_is_not_signed() -> None:
    claim = read_bundle(Scene().payload)
    case = Case(claim, Purpose.BUNDLE, None, PROMISE, POLICY, Facts(NOW))
    assert {"OPERATION_NONCE", "FACTORY_DIFFERS", "NODE_CHAIN_DIFFERS"} <= {
        one.code for one in judge(case).findings
    }


def _calls(*calls: InnerCall) -> str:
    return "0x" + encode_batch(list(calls)).hex()


TOKEN = str(USDC.contract)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"sender": "0x"}, "OPERATION_UNREADABLE"),
        ({"callData": "0x01020304"}, "OPERATION_CALLS"),
        ({"callData": _calls(InnerCall(BOB, 1, TRANSFER.call(BOB, 1)))}, "OPERATION_CALLS"),
        ({"callData": _calls(InnerCall(TOKEN, 0, APPROVE.call(MALLORY, 1)))}, "OPERATION_CALLS"),
        ({"factoryData": "0x"}, "OPERATION_FACTORY"),
        ({"factoryData": "0x01020304"}, "OPERATION_FACTORY"),
        ({"factoryData": "0x" + CREATE_ACCOUNT.call(ALICE, 1).hex()}, "OPERATION_FACTORY"),
        ({"paymaster": BOB}, "OPERATION_PAYMASTER"),
        ({"signature": "0x01"}, "OPERATION_UNREADABLE"),
        ({"initCode": "0x"}, "OPERATION_UNREADABLE"),
        ({"nonce": "5"}, "OPERATION_UNREADABLE"),
        ({"more": "0x"}, "OPERATION_UNREADABLE"),
        ({"callGasLimit": "0x0"}, "OPERATION_GAS"),
        ({"verificationGasLimit": "0x0"}, "OPERATION_GAS"),
        ({"preVerificationGas": "0x0"}, "OPERATION_GAS"),
        ({"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x0"}, "OPERATION_GAS"),
    ],
)
def test_an_operation_that_does_anything_but_pay_is_not_read(
    changed: dict[str, str], code: str
) -> None:
    payload = Scene().payload
    with pytest.raises(PayloadRefused) as refused:
        read_bundle(replace(payload, operation={**payload.operation, **changed}))
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("version", "code"), [("0.8", "OPERATION_CALLS"), ("0.6", "OPERATION_VERSION")]
)
def test_an_operation_is_read_by_its_version(version: str, code: str) -> None:
    with pytest.raises(PayloadRefused) as refused:
        read_bundle(replace(Scene().payload, version=version))
    assert refused.value.code == code


@pytest.mark.parametrize("chain_id", [0, -1, 1 << 256, CHAIN_ID + (1 << 256), True])
def test_an_operation_is_for_a_chain_that_there_is(chain_id: int) -> None:
    with pytest.raises(PayloadRefused) as refused:
        read_bundle(replace(Scene().payload, chain_id=chain_id))
    assert refused.value.code == "CHAIN_ID_MISSING"
