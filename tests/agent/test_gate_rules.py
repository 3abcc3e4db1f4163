"""Each rule by itself: what it objects to, and what stands just inside its bound."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import timedelta
from typing import Any, get_args

from msgspec.structs import replace

from agent import honest_solana
from agent.gate_world import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPOSIT,
    ETH,
    GAS,
    LEAST,
    MALLORY,
    NOW,
    OTHER_CHAIN_ID,
    PERMIT_ROUTER,
    POLICY,
    QUOTED,
    ROUTER,
    SECONDS,
    SELL,
    SETTLEMENT,
    SWAPPED,
    TRAP,
    TRUSTED_TRAP,
    USDC,
    USED_NONCE,
    WETH,
    World,
    changes,
    codes,
)
from agent.honest import HONEST, SOON, Honest
from rows import each_row
from swapdesk.agent.gate import rules
from swapdesk.agent.gate.case import Facts, GasPlan, PastSignature, Rule
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, WITHDRAWAL_RULES
from swapdesk.agent.shapes.claim import Act
from swapdesk.agent.signers import EvmSigner
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import method
from swapdesk.chain.smart_account import CREATE_ACCOUNT, account_address
from swapdesk.chain.solana import Transfer
from swapdesk.secret import SecretBytes
from swapdesk.wallet.answers import Match, Severity, Simulation
from swapdesk.wallet.promise import Purpose, TransactionPayload

SMART_ACCOUNT = account_address(ALICE)
UNKNOWN_DOCUMENT = {
    "types": {"Vote": [{"name": "who", "type": "address"}]},
    "primaryType": "Vote",
    "domain": {"name": "X", "chainId": POLICY.chain_id, "verifyingContract": TRAP},
    "message": {"who": BOB},
}


def cancel() -> Honest:
    """Nothing for the account itself, in the place of a transaction that waits."""
    payment = HONEST["payment"].promised(deposit=None, sell_units=0, least_units=0, quoted_units=0)
    return replace(
        payment.on(simulation=Simulation(100, (), 21_000)),
        payload=TransactionPayload(Purpose.CANCEL, ALICE, "0x", 0),
        replaces="0x" + "ab" * 32,
    )


def order() -> Honest:
    return HONEST["Order"]


def permit() -> Honest:
    return HONEST["Permit"]


def swap() -> Honest:
    return HONEST["swapExactTokensForTokens"]


def sol(name: str = "buy tokens") -> Honest:
    return honest_solana.HONEST[name]


def built(instructions, makers=(honest_solana.MAKER,), name: str = "buy tokens", **how: Any):
    return sol(name).sent(transaction=honest_solana.serialized(instructions, makers, **how))


def pay() -> Honest:
    return HONEST["transfer"]


def call() -> Honest:
    """A call of the API, paid by a signature that ends soon."""
    scene = HONEST["TransferWithAuthorization"].sent(purpose=Purpose.CALL)
    return scene.field("message.validBefore", SECONDS + 60)


def fund(to: str = SMART_ACCOUNT, units: int = SELL) -> Honest:
    """What a bundle needs, sent to the account's own smart account."""
    scene = pay().promised(deposit=None)
    scene = scene.call(erc20.TRANSFER.call(to, units)).sent(purpose=Purpose.FUND)
    return scene.on(simulation=moved((to, USDC, units), bought=0))


OTHER = b"\x01" * 32
FIRST = HONEST["Permit"].signed(key="order", step=0, total=2, complete=False)
IN_A_DAY = SECONDS + 86_400
HALF_HOUR_AFTER = int((NOW + timedelta(minutes=35)).timestamp())
TWO_PAYMENTS = [
    honest_solana.Transfer(honest_solana.ME, honest_solana.DEPOSIT, 125_000_000).build()
] * 2
OPENED_FOR_MAKER = [
    *honest_solana.BUY_TOKENS,
    honest_solana.CreateTokenAccount(
        honest_solana.ME, honest_solana.MAKERS_KEY, honest_solana.MINT
    ).build(),
]


def moved(*more, sold=-SELL, bought=QUOTED) -> Simulation:
    return changes((ALICE, USDC, sold), (ALICE, WETH, bought), *more)


def native_value(value: int) -> Honest:
    return HONEST["send"].sent(value=value)


SIGNER = EvmSigner(
    ALICE,
    SecretBytes(bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")),
)
"""The key of the account, which every development chain knows."""


def permitted(content: bytes, key: str | None = "permit") -> Honest:
    """A swap that brings a permit of the account with it, after one of ``content`` was given."""
    permit_ = HONEST["Permit"].signed()
    signature = bytes.fromhex(SIGNER.sign_digest(permit_.content)[2:])
    scene = HONEST["swapWithPermit"]
    arguments = venues.SWAP_WITH_PERMIT.read(bytes.fromhex(scene.payload.data[2:]))
    parts = {"v": signature[64], "r": signature[:32], "s": signature[32:64]}
    scene = scene.call(venues.SWAP_WITH_PERMIT.call(*{**arguments, **parts}.values()))
    taking = replace(permit_.taking, by=PERMIT_ROUTER)
    return scene.after(replace(permit_, content=content, key=key, taking=taking))


TABLE: dict[str, tuple[Any, Any]] = {
    # code: what it objects to, what it lets pass
    "CHAIN_ID_MISSING": (
        lambda: permit().sent(
            document={
                **HONEST["Permit"].payload.document,
                "domain": {"verifyingContract": USDC.contract},
            }
        ),
        permit,
    ),
    "PERMIT_DIFFERS": (
        lambda: permitted(OTHER),
        lambda: permitted(HONEST["Permit"].signed().content),
    ),
    "CHAIN_ID_DIFFERS": (lambda: permit().field("domain.chainId", OTHER_CHAIN_ID), permit),
    "KEY_CHAIN_DIFFERS": (lambda: permit().holding(chain_id=1), permit),
    "NODE_CHAIN_DIFFERS": (lambda: permit().on(chain_id=None), permit),
    "GENESIS_DIFFERS": (lambda: permit().on(genesis="0x" + "9f" * 32), permit),
    "ACCOUNT_DIFFERS": (lambda: permit().holding(account=BOB), permit),
    "OWNER_DIFFERS": (lambda: permit().field("message.owner", BOB), permit),
    "FEE_PAYER_DIFFERS": (
        lambda: built(honest_solana.BUY_TOKENS, payer=honest_solana.MAKERS_KEY),
        sol,
    ),
    "COSIGNER_UNKNOWN": (
        lambda: built(honest_solana.BUY_TOKENS, signed=False),
        sol,
    ),
    "COUNTERPARTY_UNKNOWN": (lambda: sol().promised(venue="bt"), sol),
    "RENT_FOR_STRANGER": (
        lambda: built(OPENED_FOR_MAKER),
        sol,
    ),
    "SHAPE_UNKNOWN": (
        lambda: permit().sent(document=UNKNOWN_DOCUMENT),
        permit,
    ),
    "PURPOSE_DIFFERS": (lambda: permit().sent(purpose=Purpose.ORDER), permit),
    "CONTRACT_UNKNOWN": (
        lambda: permit().field("domain.verifyingContract", TRAP),
        permit,
    ),
    "CONTRACT_WITHOUT_CODE": (
        lambda: permit().code(USDC.contract, bytes.fromhex("ef0100") + b"\1" * 20),
        lambda: permit().code(USDC.contract, b"\x60"),
    ),
    "DOMAIN_DIFFERS": (lambda: permit().field("domain.version", "1"), permit),
    "SPENDER_UNKNOWN": (
        lambda: permit().field("message.spender", TRAP),
        lambda: permit().field("message.spender", TRAP).holding(venues=TRUSTED_TRAP),
    ),
    "SPENDER_WITHOUT_CODE": (
        lambda: permit().code(SETTLEMENT, None),
        lambda: permit().code(SETTLEMENT, b"\x60"),
    ),
    "TOKEN_SOLD_DIFFERS": (lambda: order().field("message.sellToken", TRAP), order),
    "TOKEN_BOUGHT_DIFFERS": (lambda: order().field("message.buyToken", TRAP), order),
    "TOKEN_DECIMALS": (
        lambda: permit().promised(sell=replace(USDC, decimals=8)),
        lambda: permit().on(decimals={USDC.contract: 6}),
    ),
    "TOKEN_SYMBOL": (
        lambda: permit().promised(sell=replace(USDC, symbol="PEPE")),
        lambda: permit().promised(sell=replace(USDC, symbol="usdc")),
    ),
    "ALLOWANCE_ABOVE": (
        lambda: permit().field("message.value", str(SELL + 1)),
        lambda: permit().field("message.value", str((1 << 256) - 1)).promised(unlimited=True),
    ),
    "ALLOWANCE_BELOW": (
        lambda: permit().field("message.value", str(SELL - 1)),
        lambda: permit().field("message.value", str(SELL)),
    ),
    "ALLOWANCE_SPLIT": (
        lambda: HONEST["PermitBatch"].field(
            "message.details", HONEST["PermitBatch"].payload.document["message"]["details"] * 2
        ),
        lambda: HONEST["PermitBatch"],
    ),
    "NOT_A_REVOCATION": (
        lambda: HONEST["approve nothing"].call(erc20.APPROVE.call(ROUTER, 1)),
        lambda: HONEST["approve nothing"].call(erc20.APPROVE.call(MALLORY, 0)),
    ),
    "SOLD_ABOVE": (
        lambda: order().field("message.feeAmount", "1000001"),
        lambda: order().field("message.feeAmount", "1000000"),
    ),
    "SOLD_BELOW": (lambda: order().field("message.feeAmount", "999999"), order),
    "NOTHING_SOLD": (
        lambda: built(TWO_PAYMENTS, (), name="sol"),
        lambda: sol("sol"),
    ),
    "LEAST_BELOW": (
        lambda: order().field("message.buyAmount", str(LEAST - 1)),
        lambda: order().field("message.buyAmount", str(LEAST)),
    ),
    "PROMISE_EMPTY": (lambda: order().promised(least_units=0), order),
    "PARTIAL_FILL": (lambda: order().field("message.partiallyFillable", True), order),
    "VALUE_ABOVE": (lambda: native_value(10**15 + 1), lambda: native_value(10**15)),
    "FUNDS_MISSING": (
        lambda: order().on(balance=SELL - 1),
        lambda: order().on(balance=SELL),
    ),
    "RECIPIENT_DIFFERS": (lambda: order().field("message.receiver", BOB), order),
    "RECIPIENT_UNSAFE": (
        lambda: (
            order().field("message.receiver", "0x" + "00" * 20).promised(recipient="0x" + "00" * 20)
        ),
        lambda: order().field("message.receiver", BOB).promised(recipient=BOB),
    ),
    "RECIPIENT_IS_CONTRACT": (
        lambda: order().field("message.receiver", WETH.contract).promised(recipient=WETH.contract),
        lambda: order().field("message.receiver", BOB).promised(recipient=BOB),
    ),
    "RECIPIENT_HAS_CODE": (
        lambda: order().field("message.receiver", TRAP).promised(recipient=TRAP),
        lambda: order().field("message.receiver", BOB).promised(recipient=BOB),
    ),
    "RECIPIENT_LOOKS_LIKE": (
        lambda: order().holding(known=frozenset({ALICE[:8] + "1" * 28 + ALICE[-6:]})),
        lambda: order().holding(known=frozenset({ALICE, ALICE[:8] + "1" * 28 + ALICE[-6:]})),
    ),
    "DESTINATION_DIFFERS": (
        lambda: HONEST["send"].promised(chain_out_id=None),
        lambda: HONEST["send"],
    ),
    "FUNDING_PAYEE_DIFFERS": (lambda: fund(MALLORY), fund),
    "FUNDING_ABOVE": (lambda: fund(units=SELL + 1), fund),
    "SALT_DIFFERS": (
        lambda: HONEST["createAccount"].call(CREATE_ACCOUNT.call(ALICE, 1)),
        lambda: HONEST["createAccount"],
    ),
    "DEPOSIT_MISSING": (lambda: pay().promised(deposit=None), pay),
    "DEPOSIT_ADDRESS_DIFFERS": (lambda: pay().deposit(address=BOB), pay),
    "DEPOSIT_AMOUNT_DIFFERS": (
        lambda: pay().deposit(units=SELL + 1),
        lambda: pay().deposit(units=SELL),
    ),
    "DEPOSIT_ABOVE": (
        lambda: pay().deposit(units=SELL + SELL // 10_000 + 1),
        lambda: pay().deposit(units=SELL + SELL // 10_000),
    ),
    "DEPOSIT_EXPIRED": (
        lambda: pay().deposit(expires=NOW + timedelta(seconds=29)),
        lambda: pay().deposit(expires=NOW + timedelta(seconds=30)),
    ),
    "DEPOSIT_TAG_DIFFERS": (lambda: sol("sol with memo").deposit(tag="12346"), sol),
    "DEPOSIT_TAG_UNNEEDED": (
        lambda: sol("sol with memo").deposit(tag=None),
        lambda: sol("sol with memo").deposit(tag=None, order_id="12345"),
    ),
    "DEPOSIT_TO_ITSELF": (
        lambda: pay().call(erc20.TRANSFER.call(ALICE, SELL)).deposit(address=ALICE),
        pay,
    ),
    "CALL_LATE": (
        lambda: call().field("message.validBefore", SECONDS + 601),
        lambda: call().field("message.validBefore", SECONDS + 600),
    ),
    "CALL_PAYEE_CHANGED": (
        lambda: call().holding(calls=frozenset({(CHAIN_ID, USDC.contract, BOB)})),
        lambda: call().holding(
            calls=frozenset({(CHAIN_ID, USDC.contract, BOB), (CHAIN_ID, USDC.contract, DEPOSIT)})
        ),
    ),
    "CALL_UNSIGNED": (lambda: pay().sent(purpose=Purpose.CALL), call),
    "REFUND_ADDRESS": (
        lambda: pay().deposit(refund=DEPOSIT),
        lambda: pay().deposit(refund=BOB),
    ),
    "QUOTE_EXPIRED": (
        lambda: order().promised(valid_until=NOW),
        lambda: order().promised(valid_until=NOW + timedelta(seconds=1)),
    ),
    "DEADLINE_PAST": (
        lambda: order().field("message.validTo", SECONDS + 29),
        lambda: order().field("message.validTo", SECONDS + 30),
    ),
    "DEADLINE_LATE": (
        lambda: order().field("message.validTo", HALF_HOUR_AFTER + 1),
        lambda: order().field("message.validTo", HALF_HOUR_AFTER),
    ),
    "DEADLINE_ENDLESS": (
        lambda: order().field("message.validTo", IN_A_DAY + 1),
        lambda: order().field("message.validTo", IN_A_DAY),
    ),
    "NOT_YET_VALID": (
        lambda: HONEST["TransferWithAuthorization"].field("message.validAfter", SECONDS),
        lambda: HONEST["TransferWithAuthorization"].field("message.validAfter", SECONDS - 1),
    ),
    "BLOCKHASH_OLD": (
        lambda: sol().on(blocks_left=19),
        lambda: sol().on(blocks_left=20),
    ),
    "NONCE_DIFFERS": (
        lambda: order().field("message.nonce", str(USED_NONCE)),
        lambda: order().field("message.nonce", str(USED_NONCE + 1)),
    ),
    "STEP_OUT_OF_BOUNDS": (
        lambda: order().step(step=1, total=9),
        lambda: order().step(step=7, total=8),
    ),
    "STEP_TOO_MANY": (
        lambda: order().after(
            *(HONEST["Permit"].signed(key=f"k{i}", content=bytes([i]) * 32) for i in range(8))
        ),
        lambda: order().after(
            *(HONEST["Permit"].signed(key=f"k{i}", content=bytes([i]) * 32) for i in range(7))
        ),
    ),
    "STEP_TOTAL_CHANGED": (
        lambda: order().after(replace(FIRST, total=3)),
        lambda: order().after(FIRST),
    ),
    "STEP_NOT_FORWARD": (
        lambda: order().after(replace(FIRST, step=1, content=OTHER)),
        lambda: order().after(HONEST["Order"].signed()),
    ),
    "STEP_DIGEST_REPEATED": (
        lambda: order().after(HONEST["Order"].signed(step=0, complete=False)),
        lambda: order().after(HONEST["Order"].signed()),
    ),
    "STEP_AFTER_COMPLETE": (
        lambda: order().after(replace(FIRST, complete=True)),
        lambda: order().after(FIRST),
    ),
    "STEP_CHAIN_CHANGED": (
        lambda: order().after(replace(FIRST, token=WETH.contract)),
        lambda: order().after(FIRST),
    ),
    "PAID_ALREADY": (
        lambda: order().after(HONEST["Order"].signed(key="z", content=OTHER)),
        lambda: order().after(HONEST["Order"].signed(key="z", content=OTHER, code="REPLACED")),
    ),
    "ALLOWED_ALREADY": (
        lambda: permit().after(HONEST["swapExactTokensForTokens"].signed()),
        lambda: permit().after(HONEST["Order"].signed(key="z")),
    ),
    "ALLOWANCE_SUM": (
        lambda: order().after(
            HONEST["PermitSingle"].signed(), HONEST["PermitTransferFrom"].signed()
        ),
        lambda: order().after(HONEST["PermitSingle"].signed()),
    ),
    "GAS_ABOVE": (
        lambda: swap().facts(gas=GasPlan(2, GAS // 2 + 1)),
        lambda: swap().facts(gas=GasPlan(2, GAS // 2)),
    ),
    "GAS_UNFUNDED": (
        lambda: swap().on(native=150_000 * 10**9 - 1),
        lambda: swap().on(native=150_000 * 10**9),
    ),
    "SIMULATION_MISSING": (lambda: swap().on(simulation=None), swap),
    "SIMULATION_FAILED": (
        lambda: swap().on(simulation=replace(SWAPPED, failure="no pool for this pair")),
        swap,
    ),
    "CANCELS_NOTHING": (lambda: replace(cancel(), replaces=None), cancel),
    "CANCEL_MAY_FAIL": (cancel, swap),
    "MAY_BE_EITHER": (lambda: replace(swap(), replaces="0x" + "11" * 32), cancel),
    "SIMULATION_TAKES_MORE": (
        lambda: swap().on(simulation=moved(sold=-SELL - 1)),
        lambda: swap().on(simulation=moved()),
    ),
    "SIMULATION_MOVES_OTHERS": (
        lambda: swap().on(simulation=moved((ALICE, ETH, -1))),
        lambda: swap().on(simulation=moved((BOB, ETH, -1))),
    ),
    "SIMULATION_ARRIVES_LESS": (
        lambda: swap().on(simulation=moved(bought=LEAST - 1)),
        lambda: swap().on(simulation=moved(bought=LEAST)),
    ),
}


def test_the_own_smart_account_is_funded_and_nobody_else():
    assert fund().codes() == set()
    assert fund().code(SMART_ACCOUNT, b"\x60").verdict().phrase is None
    assert "FUNDING_PAYEE_DIFFERS" in fund(account_address(BOB)).codes()
    assert "FUNDING_PAYEE_DIFFERS" in fund().holding(smart_accounts=False).codes()
    # As a deposit the same transfer pays no order.
    assert "DEPOSIT_MISSING" in fund().sent(purpose=Purpose.DEPOSIT).codes()


def test_each_maker_that_has_to_sign_has_signed():
    """A transaction with three signers: one of the makers signed, and the other has to as well."""
    me, makers = honest_solana.ME, (honest_solana.MAKER, honest_solana.THIEF)
    both = [
        *honest_solana.BUDGET,
        *(honest_solana.tokens(one.pubkey(), me, honest_solana.QUOTED // 2) for one in makers),
        Transfer(me, honest_solana.MAKERS_KEY, honest_solana.UNITS).build(),
    ]
    known = frozenset(("at", str(one.pubkey())) for one in makers)
    assert built(both, makers).holding(makers=known).codes() == set()
    for one in makers:
        assert built(both, (one,)).holding(makers=known).codes() == {"COSIGNER_UNKNOWN"}


@each_row("code", TABLE)
def test_a_rule_objects_on_one_side_of_its_bound_alone(code):
    objected, passed = TABLE[code]
    assert code in objected().codes()
    assert code not in passed().codes()


def test_every_rule_is_in_the_table_and_in_the_registry():
    assert {rule.code for rule in RULES} == set(TABLE)
    assert len({rule.code for rule in RULES}) == len(RULES)
    written = {
        id(one)
        for module in pkgutil.iter_modules(rules.__path__)
        for one in vars(importlib.import_module(f"{rules.__name__}.{module.name}")).values()
        if isinstance(one, Rule)
    }
    assert written == {id(rule) for rule in (*RULES, *BUNDLE_RULES, *WITHDRAWAL_RULES)}


MISSING = {
    "node": lambda: permit().facts(chain_id=None),
    "genesis": lambda: permit().facts(genesis_hash=None),
    "code": lambda: permit().facts(code={}),
    "answers": lambda: permit().facts(answers={}),
    "short answers": lambda: order().facts(answers=_Short()),
    "native balance": lambda: swap().facts(native=None),
    "gas": lambda: swap().facts(gas=None),
    "simulation": lambda: swap().facts(simulation=None),
    "balance": lambda: swap().facts(answers={}),
    "blocks left": lambda: sol().facts(blocks_left=None),
    "lamports": lambda: sol().facts(native=None),
    "simulation on Solana": lambda: sol().facts(simulation=None),
}


class _Short(dict):
    """Answers of half a word."""

    def get(self, key, default=None):
        return b"\0" * 16


@each_row("name", MISSING)
def test_a_fact_that_is_missing_refuses(name):
    assert MISSING[name]().refused


@each_row("name", HONEST)
def test_without_any_fact_nothing_is_signed(name):
    assert replace(HONEST[name], read=lambda facts: Facts(facts.now)).refused


def test_unlimited_is_the_tokens_own_number_and_by_consent_alone():
    everything = str((1 << 256) - 1)
    assert "ALLOWANCE_ABOVE" in permit().field("message.value", everything).codes()
    nearly = str((1 << 256) - 2)
    scene = permit().field("message.value", nearly).promised(unlimited=True)
    assert "ALLOWANCE_ABOVE" in scene.codes()
    half = permit2.APPROVE.call(USDC.contract, ROUTER, (1 << 160) - 1, SOON)
    scene = HONEST["Permit2 approve"].call(half)
    assert "ALLOWANCE_ABOVE" in scene.codes()
    assert "ALLOWANCE_ABOVE" not in scene.promised(unlimited=True).codes()


def test_text_of_a_document_cannot_steer_the_terminal():
    document = {
        "types": {"Note": [{"name": "text", "type": "string"}]},
        "primaryType": "Note",
        "domain": {**UNKNOWN_DOCUMENT["domain"], "name": "\x1b[2JUSD\u202eCoin"},
        "message": {"text": "pay\u200b[bold]\nnow"},
    }
    lines = permit().sent(document=document).verdict().lines
    shown = {line.field: line.signed for line in lines}
    assert shown["Signed for"] == "<U+001B>[2JUSD<U+202E>Coin"
    assert shown["message.text"] == "pay<U+200B>[bold]<U+000A>now"


def test_a_new_payee_of_calls_is_agreed_to_by_the_end_of_its_address():
    known = frozenset({(CHAIN_ID, USDC.contract, BOB)})
    verdict = call().holding(calls=known).verdict()
    assert (verdict.refused, verdict.phrase) == (False, DEPOSIT[-4:])
    assert call().verdict().phrase is None, "whoever is the first"
    elsewhere = frozenset({(OTHER_CHAIN_ID, USDC.contract, DEPOSIT)})
    assert call().holding(calls=elsewhere).verdict().phrase == DEPOSIT[-4:]
    # A deposit of an order is asked about by other rules.
    assert "CALL_PAYEE_CHANGED" not in pay().holding(calls=known).codes()


def test_a_document_of_unknown_shape_is_shown_whole_and_refused():
    verdict = permit().sent(document=UNKNOWN_DOCUMENT).verdict()
    assert verdict.refused
    assert verdict.phrase == verdict.digest
    assert all(line.weight for line in verdict.lines if line.field != "Chain")
    assert [line.field for line in verdict.lines] == [
        "Signed for",
        "Chain",
        "Contract",
        "message.who",
    ]


@each_row("domain", [{"name": "X"}, {"name": "X", "verifyingContract": TRAP}])
def test_a_document_for_every_chain_is_told_as_one(domain):
    scene = permit().sent(document={**UNKNOWN_DOCUMENT, "domain": domain})
    assert "CHAIN_ID_MISSING" in scene.codes()


LIVE = {"venues": (), "makers": frozenset(), "smart_accounts": False}
"""What the agent knows of a live profile."""


def test_without_known_venues_payments_alone_and_an_allowance_for_permit2_are_signed():
    every = {**HONEST, **honest_solana.HONEST}
    assert {name for name, one in every.items() if not one.holding(**LIVE).verdict().refused} == {
        "TransferWithAuthorization", "ReceiveWithAuthorization", "transfer", "payment",
        "sol", "sol, legacy", "sol with memo", "tokens",
        "approve nothing", "end an allowance", "approve Permit2",
    }  # fmt: skip


def test_a_transaction_is_never_signed_blindly():
    scene = swap().call(method("invalidate(uint256)").call(1))
    assert scene.codes() == {"METHOD_UNKNOWN"}


def test_a_reset_of_an_allowance_is_an_approval():
    scene = HONEST["approve"].call(erc20.APPROVE.call(ROUTER, 0))
    assert scene.codes() == set()


def test_two_orders_of_one_swap_are_never_both_signed():
    # The same quote, another key, another nonce: the settlement would fill both.
    before = HONEST["Order"].signed()
    scene = order().field("message.nonce", "18").step(key="other", step=0, total=1).after(before)
    assert scene.codes() == {"PAID_ALREADY", "ALLOWANCE_SUM"}


def transferred(nonce: int) -> Honest:
    """A transfer by Permit2 with a nonce and a key of its own."""
    return HONEST["PermitTransferFrom"].field("message.nonce", str(nonce)).step(key=f"k{nonce}")


def after(*scenes: Honest, **fields: Any) -> tuple[PastSignature, ...]:
    return tuple(one.signed(**fields) for one in scenes)


def test_what_is_the_way_of_the_same_money_counts_once():
    path = HONEST["approve Permit2"]
    reset = HONEST["approve"].promised(venue="is").call(erc20.APPROVE.call(SETTLEMENT, 0))
    single = HONEST["PermitSingle"]
    before = (*after(reset, nonce=1), *after(path, nonce=2), *after(single))
    assert single.after(*before[:2]).codes() == set()
    assert order().after(*before).codes() == set()
    # The same nonce is used once, whatever else stands in the document.
    later = HONEST["PermitSingle"].field("message.sigDeadline", SOON + 1).step(key="later")
    assert later.after(*before).codes() == set()
    # A half and a half are a whole.
    half = transferred(1).field("message.permitted.amount", str(SELL // 2))
    rest = transferred(2).field("message.permitted.amount", str(SELL - SELL // 2))
    assert rest.after(*after(half)).codes() == {"ALLOWANCE_BELOW"}
    more = transferred(2).field("message.permitted.amount", str(SELL - SELL // 2 + 1))
    assert "ALLOWANCE_SUM" in more.after(*after(half)).codes()


def test_a_transaction_and_its_replacement_are_one():
    approve = HONEST["approve"]
    assert "ALLOWANCE_SUM" in replace(approve.after(*after(approve, nonce=7)), nonce=8).codes()
    assert replace(approve.after(*after(approve, nonce=7)), nonce=7).codes() == set()
    gone = after(approve, nonce=7, code="REPLACED")
    assert replace(approve.after(*gone), nonce=8).codes() == set()


def test_a_permit_that_ended_unused_counts_no_longer():
    ended = after(permit().field("message.deadline", SECONDS - 1))
    assert transferred(1).after(*ended).codes() == set()
    (one,) = ended
    used = replace(one, taking=replace(one.taking, nonce=one.taking.nonce - 1))
    behind = transferred(1).after(*ended).facts(time=SECONDS - 1)
    unread = transferred(1).after(*ended).facts(time=None)
    early = transferred(1).after(*ended).facts(now=NOW - timedelta(seconds=1))
    for scene in (transferred(1).after(used), behind, unread, early):
        assert "ALLOWANCE_SUM" in scene.codes()


def test_a_record_of_before_counts_for_everything():
    """It tells no amount."""
    old = HONEST["Permit"].signed(key="before", taking=None)
    assert "ALLOWANCE_SUM" in order().after(old).codes()
    assert permit().after(permit().signed(taking=None)).codes() == set(), "the same once more"
    assert "ALLOWANCE_SUM" not in HONEST["approve nothing"].after(old).codes()
    swapped = after(swap(), taking=None, nonce=7)
    assert replace(swap().after(*swapped), nonce=7).codes() == set()


def test_an_unbounded_allowance_by_consent_is_all_of_it():
    endless = permit().field("message.value", str(erc20.UNLIMITED)).promised(unlimited=True)
    assert order().promised(unlimited=True).after(*after(endless)).codes() == set()
    again = transferred(1).promised(unlimited=True).after(*after(endless))
    assert again.codes() == {"ALLOWANCE_SUM"}


def test_the_same_step_may_be_signed_again():
    assert order().after(FIRST, HONEST["Order"].signed()).codes() == set()


def test_a_refused_field_is_marked_and_the_others_are_not():
    verdict = order().field("message.receiver", BOB).verdict()
    differing = [line.field for line in verdict.lines if line.match == "differs"]
    assert differing == ["Paid to"]
    found = next(one for one in verdict.findings if one.code == "RECIPIENT_DIFFERS")
    assert (found.field, found.severity) == ("Paid to", Severity.REFUSE)


@each_row("name", HONEST)
def test_a_promise_in_lower_case_is_the_same_promise(name):
    scene = HONEST[name]
    promise = scene.promise

    def lower(asset):
        return replace(asset, contract=asset.contract and asset.contract.lower())

    scene = scene.promised(
        account=promise.account.lower(),
        recipient=promise.recipient.lower(),
        sell=lower(promise.sell),
        buy=lower(promise.buy),
    ).holding(account=POLICY.account.lower())
    if promise.deposit is not None:
        scene = scene.deposit(address=DEPOSIT.lower(), refund=ALICE.lower())
    assert scene.codes() == set()


def _permit_lines(scene: Honest):
    return {(one.match, one.promised) for one in scene.verdict().lines if "Permit s" in one.field}


def test_a_permit_of_the_swap_is_called_so_and_any_other_is_not():
    known = HONEST["Permit"].signed().content
    promised = "the permit that you signed for this swap"
    assert _permit_lines(permitted(known)) == {(Match.EQUAL, promised)}
    assert _permit_lines(permitted(OTHER)) == {(Match.DIFFERS, promised)}
    none = {(Match.EQUAL, "none: you allowed the token before")}
    assert _permit_lines(HONEST["swapWithPermit"]) == none
    for stranger in (
        permitted(known).after(),
        permitted(known).after(HONEST["approve"].signed(content=known)),
        permitted(known).after(HONEST["Permit"].signed(contract=WETH.contract)),
        permitted(known, key=None),
    ):
        assert "PERMIT_DIFFERS" in stranger.codes()
    assert permitted(known).codes() == set()


def test_less_than_was_promised_is_no_match_and_needs_no_phrase():
    verdict = order().field("message.feeAmount", "0").verdict()
    line = next(one for one in verdict.lines if one.field == "You sell")
    assert (line.match, line.weight, verdict.phrase) == ("unmatched", False, None)


@each_row(
    "scene",
    [
        lambda: permit().on(chain_id=1),
        lambda: permit().on(genesis="0x" + "9f" * 32),
        lambda: permit().holding(chain_id=1),
        lambda: permit().field("domain.chainId", 1),
    ],
)
def test_a_chain_that_is_not_the_same_everywhere_is_marked(scene):
    chain = next(line for line in scene().verdict().lines if line.field == "Chain")
    assert chain.match is Match.DIFFERS


def test_a_review_ends_with_whatever_ends_first():
    assert order().verdict().valid_until == NOW + timedelta(minutes=5)
    assert order().field("message.validTo", SECONDS + 60).verdict().valid_until == NOW + timedelta(
        seconds=60
    )
    assert pay().verdict().valid_until == NOW + timedelta(hours=2)


def test_a_plain_payment_with_code_at_the_deposit_address_is_told():
    scene = pay().code(DEPOSIT, b"\x60")
    assert scene.codes() == {"RECIPIENT_HAS_CODE"}


def test_swaps_of_an_account_into_another_recipient_are_simulated_there():
    data = venues.SWAP_TOKENS.call(SELL, LEAST, (USDC.contract, WETH.contract), BOB, SOON)
    scene = swap().call(data).promised(recipient=BOB)
    assert scene.codes() == {"SIMULATION_ARRIVES_LESS"}
    there = changes((ALICE, USDC, -SELL), (BOB, WETH, LEAST))
    assert scene.on(simulation=there).codes() == set()


def test_payloads_of_other_families_are_refused():
    call = TransactionPayload(Purpose.SWAP, ROUTER, "0x", 1)
    for other in (
        replace(sol("sol"), payload=call, world=World()),
        sol("sol").promised(chain_id=POLICY.chain_id),
    ):
        assert "CHAIN_ID_DIFFERS" in other.codes()


def test_an_act_has_a_purpose_or_is_unknown():
    from swapdesk.agent.gate.rules.parties import ACTS

    assert set(ACTS) == set(Purpose)
    assert frozenset().union(*ACTS.values()) == {*get_args(Act)} - {"unknown"}


def test_a_cancellation_moves_nothing_and_is_nothing_else():
    honest = cancel().verdict()
    assert not honest.refused, honest.findings
    assert honest.phrase is None
    assert {one.match for one in honest.lines} == {Match.EQUAL}
    assert codes(honest) == {"CANCEL_MAY_FAIL"}
    moved_coin = Simulation(100, changes((ALICE, ETH, -1), (BOB, ETH, 1)).changes, 21_000)
    for changed in (
        cancel().sent(value=1),
        cancel().sent(to=BOB),
        cancel().sent(data="0x00"),
        cancel().sent(to=USDC.contract, data="0x" + erc20.TRANSFER.call(BOB, 1).hex()),
        cancel().sent(to=ROUTER),
        cancel().on(simulation=moved_coin),
        cancel().on(simulation=None),
        cancel().facts(gas=GasPlan(150_000, 10**15)),
        cancel().holding(account=BOB),
        *(cancel().sent(purpose=one) for one in Purpose if one is not Purpose.CANCEL),
    ):
        assert changed.verdict().refused, changed.payload
    # What was signed under the same confirmation does not forbid to take it back.
    given = PastSignature(b"s", "swap", "another quote", 1, ALICE, WETH.contract, ROUTER)
    assert not cancel().after(given).verdict().refused
