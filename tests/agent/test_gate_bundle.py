"""What pays several at once, all or none: bundles on both kinds of chains, and what an owner takes
out of the own smart account. Each rule by itself, with what stands just inside its bound; through a
real agent and chain they are met in ``tests/wallet``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from solders.keypair import Keypair

from agent import honest_solana as solana
from agent.gate_world import (
    ALICE,
    BOB,
    CHAIN_ID,
    CODE,
    ETH,
    MALLORY,
    NOW,
    TRAP,
    USDC,
    WETH,
    World,
    changes,
    codes,
)
from agent.gate_world import PROMISE as SWAP
from agent.honest import HONEST as OTHERS
from agent.honest import Honest
from agent.honest_solana import MAKER, MAKERS_KEY, ME, MINT, OTHER_MINT, SOL, tokens
from agent.honest_solana import USDC as MINTED
from rows import each_row
from swapdesk.agent.gate.case import Facts, PastSignature, Taking
from swapdesk.agent.gate.rules import bundle as bundle_rules
from swapdesk.agent.gate.rules import deposit as deposit_rules
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, WITHDRAWAL_RULES
from swapdesk.agent.shapes.calls import nonce_of, read_bundle
from swapdesk.agent.shapes.claim import PayloadRefused
from swapdesk.chain.calldata.erc20 import APPROVE, TRANSFER
from swapdesk.chain.calldata.method import method
from swapdesk.chain.deployments import (
    ENTRY_POINT,
    ENTRY_POINT_08,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_VENUES,
)
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    EXECUTE_BATCH,
    WITHDRAW_TO,
    EntryPointVersion,
    InnerCall,
    UserOperation,
    account_address,
    encode_batch,
    nonce_key,
    operation_json,
    user_operation_hash,
)
from swapdesk.chain.solana import CreateTokenAccount, Memo, Transfer
from swapdesk.wallet.answers import Match, Simulation
from swapdesk.wallet.promise import (
    Asset,
    BundlePromise,
    DepositPromise,
    OperationPayload,
    Purpose,
    SolanaPayload,
    TakenOut,
    TransactionPayload,
    WithdrawalPromise,
)


def transfers(
    payments: Iterable[tuple[str, int]], token: str = str(USDC.contract)
) -> list[InnerCall]:
    return [InnerCall(token, 0, TRANSFER.call(to, units)) for to, units in payments]


V07, V08 = EntryPointVersion
CAROL = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
DAN = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
PAYEES = (BOB, CAROL, DAN)
UNITS = (3_000_000, 4_000_000, 5_000_000)
PAYMENTS = list(zip(PAYEES, UNITS, strict=True))
MINE = account_address(ALICE)
GAS = 600_000 * 10**9
KEY = nonce_key("group", USDC.contract, 0)
DEPOSITS = tuple(
    DepositPromise(f"o-{i}", to, None, units, NOW + timedelta(minutes=20))
    for i, (to, units) in enumerate(PAYMENTS)
)
PROMISE = replace(
    SWAP,
    sell_units=sum(UNITS),
    venue=None,
    quote_id=None,
    valid_until=NOW + timedelta(minutes=20),
    gas_units=GAS,
    bundle=BundlePromise("group", 0, DEPOSITS),
)
OPERATION = UserOperation(
    sender=MINE,
    nonce=KEY << 64,
    call_data=encode_batch(transfers(PAYMENTS)),
    call_gas_limit=300_000,
    verification_gas_limit=200_000,
    pre_verification_gas=100_000,
    max_fee_per_gas=10**9,
    max_priority_fee_per_gas=10**9,
    factory=SANDBOX_ACCOUNT_FACTORY,
    factory_data=CREATE_ACCOUNT.call(ALICE, 0),
)


def bundle(
    version: EntryPointVersion = V07,
    entry_point: str = ENTRY_POINT,
    calls: Iterable[InnerCall] = tuple(transfers(PAYMENTS)),
    **changed: Any,
) -> Honest:
    operation = replace(OPERATION, call_data=encode_batch(list(calls), version), **changed)
    told = operation_json(operation, with_signature=False)
    payload = OperationPayload(Purpose.BUNDLE, told, entry_point, version.value, CHAIN_ID)
    return Honest(payload, PROMISE)


def paying(*payments: tuple[str, int], token: str = str(USDC.contract)) -> Honest:
    return bundle(calls=transfers(payments, token))


def with_first(honest: Honest, **changed: Any) -> Honest:
    """Something else was promised for the first deposit."""
    promised = honest.promise.bundle
    first, *others = promised.deposits
    return honest.promised(bundle=replace(promised, deposits=(replace(first, **changed), *others)))


def signed(**changed: Any) -> PastSignature:
    before = bundle().signed(
        content=b"\1" * 32,
        key=nonce_of(read_bundle(bundle().payload)),
        step=0,
        total=1,
        taking=None,
    )
    return replace(before, **changed)


def to_address(address: str) -> Honest:
    """Both payload and promise name this address, so that only its kind is judged."""
    return with_first(paying((address, UNITS[0]), *PAYMENTS[1:]), address=address)


Row = Callable[[], Honest]
Table = dict[str, tuple[list[Row], list[Row]]]
BUNDLES: Table = {
    "BUNDLE_MISSING": (
        [
            lambda: bundle().promised(bundle=None),
            lambda: bundle().promised(bundle=BundlePromise("group", 0, ())),
            lambda: bundle().promised(sell_units=0),
            lambda: bundle().promised(gas_units=0),
        ],
        [bundle],
    ),
    "ENTRY_POINT_UNKNOWN": (
        [
            lambda: bundle().sent(entry_point=MALLORY),
            lambda: bundle().sent(entry_point=ENTRY_POINT_08),
            lambda: bundle(V08),
        ],
        [bundle, lambda: bundle(V08, ENTRY_POINT_08)],
    ),
    "SENDER_DIFFERS": (
        [
            lambda: bundle(sender=account_address(BOB)),
            lambda: bundle(sender=account_address(ALICE, 1)),
            lambda: bundle(sender=MALLORY),
            lambda: bundle().holding(smart_accounts=False),
        ],
        [bundle],
    ),
    "FACTORY_DIFFERS": (
        [
            lambda: bundle(factory=MALLORY),
            lambda: bundle(factory_data=CREATE_ACCOUNT.call(BOB, 0)),
            lambda: bundle().code(MINE, CODE),
            lambda: bundle().code(MINE, None),
        ],
        [
            lambda: bundle(factory=None, factory_data=b"").code(MINE, CODE),
            # Another operation of the group makes the account.
            lambda: bundle(factory=None, factory_data=b""),
        ],
    ),
    "OPERATION_NONCE": (
        [
            lambda: bundle(nonce=KEY << 64 | 1),
            lambda: bundle().on(sequence=1),
            lambda: bundle(nonce=0),
            lambda: bundle().promised(bundle=BundlePromise("another", 0, DEPOSITS)),
            lambda: bundle().promised(bundle=BundlePromise("group", 1, DEPOSITS)),
        ],
        [lambda: bundle(nonce=KEY << 64 | 4).on(sequence=4)],
    ),
    "BUNDLE_CALLS_DIFFER": (
        [
            lambda: paying(*PAYMENTS, (MALLORY, 1)),
            lambda: paying(*PAYMENTS, PAYMENTS[0]),
            lambda: paying(*PAYMENTS[:2]),
        ],
        [bundle],
    ),
    "BUNDLE_RECIPIENT_DIFFERS": (
        [
            lambda: paying((MALLORY, UNITS[0]), *PAYMENTS[1:]),
            lambda: paying(*PAYMENTS, (MALLORY, 1)),
            lambda: paying(PAYMENTS[1], PAYMENTS[0], PAYMENTS[2]),
            lambda: with_first(bundle(), address=MALLORY),
        ],
        [lambda: with_first(bundle(), address=BOB.lower())],
    ),
    "BUNDLE_AMOUNT_DIFFERS": (
        [
            lambda: paying((BOB, UNITS[0] + 1), *PAYMENTS[1:]),
            lambda: paying((BOB, UNITS[0] - 1), *PAYMENTS[1:]),
            lambda: with_first(bundle(), units=0),
        ],
        [bundle],
    ),
    "BUNDLE_TOKEN_DIFFERS": (
        [
            lambda: paying(*PAYMENTS, token=str(WETH.contract)),
            lambda: bundle().promised(sell=WETH),
            lambda: bundle(calls=[InnerCall(BOB, UNITS[0])]),
        ],
        [bundle],
    ),
    "BUNDLE_ABOVE": (
        [lambda: bundle().promised(sell_units=11_998_800)],
        [lambda: bundle().promised(sell_units=11_998_801)],
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
        [lambda: with_first(bundle(), expires=NOW + timedelta(seconds=29))],
        [lambda: with_first(bundle(), expires=NOW + timedelta(seconds=30))],
    ),
    "BUNDLE_TAG_NEEDED": ([lambda: with_first(bundle(), tag="7")], [bundle]),
    "BUNDLE_GAS_ABOVE": (
        [
            lambda: bundle(call_gas_limit=300_001),
            lambda: bundle(max_fee_per_gas=10**9 + 1),
            lambda: bundle().promised(gas_units=GAS - 1),
            lambda: bundle(call_gas_limit=10**12),
        ],
        [bundle],
    ),
    "BUNDLE_PAID_ALREADY": (
        [
            lambda: bundle().after(signed(key="another nonce")),
            lambda: bundle().after(signed(act="pay", key=None)),
        ],
        [
            lambda: bundle().after(signed()),
            lambda: bundle().after(signed(key="another nonce", code="REPLACED")),
            lambda: bundle().after(signed(act="allow", key="approve", taking=Taking(0))),
        ],
    ),
}

COINS, DOLLARS, PREPAID = 3 * 10**17, 25_000_000, 4 * 10**14
TAKEN = (TakenOut(ETH, COINS), TakenOut(USDC, DOLLARS))
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


def withdrawal(*calls: InnerCall) -> Honest:
    data = "0x" + encode_batch(calls or CALLS).hex()
    promise = replace(
        SWAP,
        sell=ETH,
        sell_units=0,
        buy=ETH,
        least_units=0,
        quoted_units=0,
        venue=None,
        quote_id=None,
        withdrawal=WithdrawalPromise(TAKEN, PREPAID),
    )
    payload = TransactionPayload(Purpose.WITHDRAW, MINE, data, 0)
    return Honest(payload, promise, World(MOVED, native=10**18)).code(MINE, CODE)


def taking_out(*taken: TakenOut, prepaid: int = PREPAID) -> Honest:
    return withdrawal().promised(withdrawal=WithdrawalPromise(taken, prepaid))


def moving(*moved: tuple[str, Asset, int]) -> Honest:
    return withdrawal().on(simulation=changes(*moved))


OUT_BEFORE = withdrawal().signed(content=b"\1" * 32)
WITHDRAWALS: Table = {
    "WITHDRAWAL_MISSING": (
        [
            lambda: withdrawal().promised(withdrawal=None),
            lambda: taking_out(prepaid=0),
            lambda: taking_out(TakenOut(ETH, 0), TAKEN[1]),
            lambda: taking_out(*TAKEN, prepaid=-1),
            lambda: taking_out(TAKEN[0], TAKEN[0], TAKEN[1]),
            lambda: withdrawal().promised(gas_units=0),
        ],
        [withdrawal],
    ),
    "WITHDRAWAL_PAYMENTS_DIFFER": (
        [
            lambda: withdrawal(COIN_CALL, DOLLAR_CALL),
            lambda: withdrawal(*CALLS, COIN_CALL),
            lambda: withdrawal(COIN_CALL),
        ],
        [withdrawal],
    ),
    "WITHDRAWAL_PAYEE_DIFFERS": (
        [
            lambda: withdrawal(InnerCall(MALLORY, COINS), DOLLAR_CALL, GAS_CALL),
            lambda: withdrawal(
                COIN_CALL, replace(DOLLAR_CALL, data=TRANSFER.call(MALLORY, DOLLARS)), GAS_CALL
            ),
            lambda: withdrawal(
                COIN_CALL,
                DOLLAR_CALL,
                replace(GAS_CALL, data=WITHDRAW_TO.call(MALLORY, PREPAID)),
            ),
            lambda: withdrawal(InnerCall(MINE, COINS), DOLLAR_CALL, GAS_CALL),
        ],
        [withdrawal],
    ),
    "WITHDRAWAL_AMOUNT_DIFFERS": (
        [
            lambda: withdrawal(InnerCall(ALICE, COINS - 1), DOLLAR_CALL, GAS_CALL),
            lambda: withdrawal(InnerCall(ALICE, COINS + 1), DOLLAR_CALL, GAS_CALL),
            lambda: taking_out(*TAKEN, prepaid=PREPAID + 1),
            lambda: withdrawal(DOLLAR_CALL, COIN_CALL, GAS_CALL),
        ],
        [withdrawal],
    ),
    "WITHDRAWAL_TOKEN_DIFFERS": (
        [
            lambda: withdrawal(COIN_CALL, replace(DOLLAR_CALL, to=str(WETH.contract)), GAS_CALL),
            lambda: withdrawal(COIN_CALL, replace(DOLLAR_CALL, to=TRAP), GAS_CALL),
            lambda: taking_out(TakenOut(ETH, COINS), TakenOut(WETH, DOLLARS)),
        ],
        [
            lambda: taking_out(
                TAKEN[0], TakenOut(replace(USDC, contract=str(USDC.contract).lower()), DOLLARS)
            )
        ],
    ),
    "WITHDRAWAL_KEEPER_DIFFERS": (
        [
            lambda: withdrawal(COIN_CALL, DOLLAR_CALL, replace(GAS_CALL, to=ENTRY_POINT_08)),
            lambda: withdrawal(COIN_CALL, DOLLAR_CALL, replace(GAS_CALL, to=TRAP)),
            lambda: withdrawal(COIN_CALL, DOLLAR_CALL, InnerCall(ALICE, PREPAID)),
            lambda: withdrawal(GAS_CALL, DOLLAR_CALL, GAS_CALL),
            lambda: taking_out(*TAKEN, prepaid=0),
        ],
        [
            lambda: (
                withdrawal(*CALLS[:2])
                .promised(withdrawal=WithdrawalPromise(TAKEN, 0))
                .on(
                    simulation=changes(
                        (MINE, ETH, -COINS),
                        (MINE, USDC, -DOLLARS),
                        (ALICE, ETH, COINS),
                        (ALICE, USDC, DOLLARS),
                    )
                )
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
        [withdrawal],
    ),
}  # fmt: skip

LAMPORTS = (70_000_000, 80_000_000, 100_000_000)
GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"
OWNERS = tuple(Keypair.from_seed(bytes([20 + i]) * 32).pubkey() for i in range(3))
RENT = 2_039_280


def paid(sold: Asset) -> list[Any]:
    """The instructions of each payment, one list a payment."""
    payments = zip(OWNERS, LAMPORTS, strict=True)
    if sold is SOL:
        return [[Transfer(ME, to, units).build()] for to, units in payments]
    return [
        [CreateTokenAccount(ME, to, MINT).build(), tokens(ME, to, units)] for to, units in payments
    ]


def moved(sold: Asset, *more: tuple[str, Asset, int]) -> Simulation:
    fee = 6_000 + (0 if sold is SOL else 3 * RENT)
    payments = [(str(to), sold, units) for to, units in zip(OWNERS, LAMPORTS, strict=True)]
    return changes(*payments, (str(ME), sold, -sum(LAMPORTS)), (str(ME), SOL, -fee), *more)


def on_solana(
    sold: Asset, rows: list[Any] | None = None, *, memo: str | None = GROUP, makers=(), payer=ME
) -> Honest:
    memos = [] if memo is None else [Memo(memo).build()]
    instructions = [one for row in (paid(sold) if rows is None else rows) for one in row]
    text = solana.serialized([*solana.BUDGET, *memos, *instructions], makers, payer=payer)
    deposits = tuple(
        replace(one, address=str(to), units=units)
        for one, to, units in zip(DEPOSITS, OWNERS, LAMPORTS, strict=True)
    )
    promise = replace(
        solana.promise(sold, sold),
        venue=None,
        quote_id=None,
        gas_units=20_000_000,
        bundle=BundlePromise(GROUP, 0, deposits),
    )
    world = World(moved(sold), blocks_left=None)
    return Honest(SolanaPayload(Purpose.BUNDLE, text), promise, world, solana.POLICY)


SENT_BEFORE = PastSignature(b"another transaction", "bundle", None, None, str(ME), None, None)
REFUSED: dict[str, tuple[str, Row]] = {
    "bundle: another chain": ("CHAIN_ID_DIFFERS", lambda: bundle().sent(chain_id=8453)),
    "bundle: another chain of the key": ("KEY_CHAIN_DIFFERS", lambda: bundle().holding(chain_id=1)),
    "bundle: another genesis": (
        "GENESIS_DIFFERS",
        lambda: bundle().holding(genesis_hash="0x" + "11" * 32),
    ),
    "bundle: the key of another account": (
        "ACCOUNT_DIFFERS",
        lambda: bundle().holding(account=BOB),
    ),
    "bundle: as a deposit": ("PURPOSE_DIFFERS", lambda: bundle().sent(purpose=Purpose.DEPOSIT)),
    "bundle: as a swap": ("PURPOSE_DIFFERS", lambda: bundle().sent(purpose=Purpose.SWAP)),
    "withdrawal: the account of another owner": (
        "SENDER_DIFFERS",
        lambda: withdrawal().sent(to=account_address(BOB)),
    ),
    "withdrawal: another contract": ("SENDER_DIFFERS", lambda: withdrawal().sent(to=TRAP)),
    "withdrawal: no factory known": (
        "SENDER_DIFFERS",
        lambda: withdrawal().holding(smart_accounts=False),
    ),
    "withdrawal: an account that does not stand": (
        "CONTRACT_WITHOUT_CODE",
        lambda: withdrawal().code(MINE, b""),
    ),
    "withdrawal: code that was not read": (
        "CONTRACT_WITHOUT_CODE",
        lambda: withdrawal().code(MINE, None),
    ),
    "withdrawal: coins sent along": ("VALUE_ABOVE", lambda: withdrawal().sent(value=1)),
    "withdrawal: the key of another account": (
        "ACCOUNT_DIFFERS",
        lambda: withdrawal().holding(account=BOB),
    ),
    "withdrawal: another chain": ("KEY_CHAIN_DIFFERS", lambda: withdrawal().holding(chain_id=1)),
    "withdrawal: another genesis": (
        "GENESIS_DIFFERS",
        lambda: withdrawal().holding(genesis_hash="0x" + "11" * 32),
    ),
    "withdrawal: asked for as a deposit": (
        "PURPOSE_DIFFERS",
        lambda: withdrawal().sent(purpose=Purpose.DEPOSIT),
    ),
    "withdrawal: asked for as a swap": (
        "PURPOSE_DIFFERS",
        lambda: withdrawal().sent(purpose=Purpose.SWAP),
    ),
    "withdrawal: a simulation that fails": (
        "SIMULATION_FAILED",
        lambda: withdrawal().on(simulation=replace(MOVED, failure="not Owner")),
    ),
    "withdrawal: no simulation": ("SIMULATION_MISSING", lambda: withdrawal().on(simulation=None)),
    "withdrawal: gas above the bound": ("GAS_ABOVE", lambda: withdrawal().promised(gas_units=1)),
    "withdrawal: no coin for gas": (
        "GAS_UNFUNDED",
        lambda: withdrawal().on(native=150_000 * 10**9 - 1),
    ),
    "withdrawal: signed before": ("PAID_ALREADY", lambda: withdrawal().after(OUT_BEFORE)),
    "withdrawal: an approval inside": (
        "WITHDRAWAL_CALLS",
        lambda: withdrawal(replace(DOLLAR_CALL, data=APPROVE.call(MALLORY, 1))),
    ),
    "withdrawal: coins beside a transfer": (
        "WITHDRAWAL_CALLS",
        lambda: withdrawal(replace(DOLLAR_CALL, value=1)),
    ),
    "withdrawal: a deposit at the EntryPoint": (
        "WITHDRAWAL_CALLS",
        lambda: withdrawal(InnerCall(ENTRY_POINT, 1, method("depositTo(address)").call(MALLORY))),
    ),
    "withdrawal: coins beside what gas gives back": (
        "WITHDRAWAL_CALLS",
        lambda: withdrawal(replace(GAS_CALL, value=1)),
    ),
    "withdrawal: another call of the EntryPoint": (
        "WITHDRAWAL_CALLS",
        lambda: withdrawal(replace(GAS_CALL, data=GAS_CALL.data + b"\0")),
    ),
    "withdrawal: lists of other lengths": (
        "CALLDATA_UNREADABLE",
        lambda: withdrawal().call(EXECUTE_BATCH.call([ALICE], [1, 2], [b""])),
    ),
    "withdrawal: no calls": (
        "CALLDATA_UNREADABLE",
        lambda: withdrawal().call(EXECUTE_BATCH.call([], [], [])),
    ),
    "on Solana: another recipient": (
        "BUNDLE_RECIPIENT_DIFFERS",
        lambda: on_solana(
            SOL, [[Transfer(ME, solana.MALLORY, LAMPORTS[0]).build()], *paid(SOL)[1:]]
        ),
    ),
    "on Solana: one payment more": (
        "BUNDLE_CALLS_DIFFER",
        lambda: on_solana(SOL, [*paid(SOL), [Transfer(ME, solana.MALLORY, 1).build()]]),
    ),
    "on Solana: one payment less": ("BUNDLE_CALLS_DIFFER", lambda: on_solana(SOL, paid(SOL)[1:])),
    "on Solana: a payment twice": (
        "BUNDLE_CALLS_DIFFER",
        lambda: on_solana(SOL, [*paid(SOL), paid(SOL)[0]]),
    ),
    "on Solana: payments exchanged": (
        "BUNDLE_RECIPIENT_DIFFERS",
        lambda: on_solana(SOL, paid(SOL)[::-1]),
    ),
    "on Solana: another amount": (
        "BUNDLE_AMOUNT_DIFFERS",
        lambda: on_solana(
            SOL, [[Transfer(ME, OWNERS[0], LAMPORTS[0] + 1).build()], *paid(SOL)[1:]]
        ),
    ),
    "on Solana: another token": (
        "BUNDLE_TOKEN_DIFFERS",
        lambda: on_solana(
            MINTED, [[tokens(ME, OWNERS[0], LAMPORTS[0], OTHER_MINT)], *paid(MINTED)[1:]]
        ),
    ),
    "on Solana: coins for tokens": (
        "BUNDLE_TOKEN_DIFFERS",
        lambda: on_solana(
            MINTED, [[Transfer(ME, OWNERS[0], LAMPORTS[0]).build()], *paid(MINTED)[1:]]
        ),
    ),
    "on Solana: more than was confirmed": (
        "BUNDLE_ABOVE",
        lambda: on_solana(SOL).promised(sell_units=sum(LAMPORTS) // 2),
    ),
    "on Solana: nothing was confirmed": (
        "BUNDLE_MISSING",
        lambda: on_solana(SOL).promised(sell_units=0),
    ),
    "on Solana: expired": (
        "BUNDLE_ORDER_EXPIRED",
        lambda: with_first(on_solana(SOL), expires=NOW + timedelta(seconds=20)),
    ),
    "on Solana: a memo is needed": (
        "BUNDLE_TAG_NEEDED",
        lambda: with_first(on_solana(SOL), tag="7"),
    ),
    "on Solana: paid to itself": (
        "BUNDLE_PAYEE_UNSAFE",
        lambda: with_first(
            on_solana(SOL, [[Transfer(ME, ME, LAMPORTS[0]).build()], *paid(SOL)[1:]]),
            address=str(ME),
        ),
    ),
    "on Solana: another memo": ("BUNDLE_MEMO", lambda: on_solana(SOL, memo="somebody else's")),
    "on Solana: a fee above the bound": (
        "BUNDLE_GAS_ABOVE",
        lambda: on_solana(SOL).promised(gas_units=1),
    ),
    "on Solana: a blockhash that is gone": (
        "BUNDLE_BLOCKHASH_OLD",
        lambda: on_solana(SOL).on(blocks_left=0),
    ),
    "on Solana: a blockhash that ends": (
        "BUNDLE_BLOCKHASH_OLD",
        lambda: on_solana(SOL).on(blocks_left=19),
    ),
    "on Solana: rent for a stranger": (
        "BUNDLE_RENT_FOR_STRANGER",
        lambda: on_solana(
            MINTED, [*paid(MINTED), [CreateTokenAccount(ME, solana.MALLORY, MINT).build()]]
        ),
    ),
    "on Solana: rent for another token": (
        "BUNDLE_RENT_FOR_STRANGER",
        lambda: on_solana(
            MINTED, [*paid(MINTED), [CreateTokenAccount(ME, OWNERS[0], OTHER_MINT).build()]]
        ),
    ),
    "on Solana: less arrives": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: on_solana(SOL).on(simulation=moved(SOL, (str(OWNERS[0]), SOL, -1))),
    ),
    "on Solana: more leaves": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: on_solana(SOL).on(simulation=moved(SOL, (str(ME), SOL, -20_000_000))),
    ),
    "on Solana: another token leaves": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: on_solana(SOL).on(simulation=moved(SOL, (str(ME), MINTED, -1))),
    ),
    "on Solana: it was not simulated": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: on_solana(SOL).on(simulation=None),
    ),
    "on Solana: the programs refuse it": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: on_solana(SOL).on(simulation=replace(moved(SOL), failure="the programs refuse it")),
    ),
    "on Solana: somebody else pays too": (
        "COUNTERPARTY_UNKNOWN",
        lambda: on_solana(
            SOL, [*paid(SOL), [Transfer(MAKERS_KEY, OWNERS[0], 1).build()]], makers=[MAKER]
        ),
    ),
    "on Solana: somebody else pays the fee": (
        "FEE_PAYER_DIFFERS",
        lambda: on_solana(SOL, payer=MAKERS_KEY, makers=[MAKER]),
    ),
    "on Solana: as a deposit": (
        "PURPOSE_DIFFERS",
        lambda: on_solana(SOL).sent(purpose=Purpose.DEPOSIT),
    ),
    "on Solana: signed before": (
        "BUNDLE_PAID_ALREADY",
        lambda: on_solana(SOL).after(SENT_BEFORE),
    ),
    "on Solana: a maker's tokens arrive": (
        "PURPOSE_DIFFERS",
        lambda: on_solana(SOL, [[tokens(MAKERS_KEY, ME, 1)], *paid(SOL)], makers=[MAKER]),
    ),
    "on Solana: a deposit address that is none": (
        "BUNDLE_RECIPIENT_DIFFERS",
        lambda: with_first(on_solana(SOL), address="not an address"),
    ),
}
TABLE = BUNDLES | WITHDRAWALS


def test_every_rule_has_its_row() -> None:
    own = {*bundle_rules.GROUP_RULES, *deposit_rules.WITHDRAWAL_RULES}
    assert {rule.code for rule in own} == set(TABLE)
    solana_rules = set(bundle_rules.SOLANA_RULES)
    assert {rule.code for rule in solana_rules} <= {code for code, _ in REFUSED.values()}
    assert own | solana_rules <= {*BUNDLE_RULES, *WITHDRAWAL_RULES}
    assert not (own | solana_rules) & set(RULES)


@each_row(("code", "i"), [(code, i) for code, (bad, _) in TABLE.items() for i in range(len(bad))])
def test_what_a_rule_objects_to(code: str, i: int) -> None:
    assert code in TABLE[code][0][i]().codes()


@each_row(("code", "i"), [(code, i) for code, (_, good) in TABLE.items() for i in range(len(good))])
def test_what_stands_inside_its_bound(code: str, i: int) -> None:
    assert TABLE[code][1][i]().codes() == set()


@each_row("name", REFUSED)
def test_anything_else_is_refused(name: str) -> None:
    code, made = REFUSED[name]
    verdict = made().verdict()
    assert verdict.refused
    assert code in codes(verdict)


@each_row(
    "honest",
    [
        # What comes out of the smart account is not what the wallet spends on gas.
        withdrawal().on(native=150_000 * 10**9),
        withdrawal().after(replace(OUT_BEFORE, code="REPLACED")),
        on_solana(SOL).after(replace(SENT_BEFORE, code="REPLACED")),
    ],
)
def test_what_takes_nothing_from_anybody_is_signed(honest: Honest) -> None:
    assert honest.codes() == set()


def test_the_honest_bundle_is_shown_line_by_line() -> None:
    verdict = bundle().verdict()
    assert not verdict.findings
    assert verdict.phrase is None
    assert verdict.digest == f"0x{user_operation_hash(OPERATION, ENTRY_POINT, CHAIN_ID).hex()}"
    assert {line.match for line in verdict.lines} == {Match.EQUAL}
    shown = {line.field: (line.signed, line.promised) for line in verdict.lines}
    assert shown["Amount 2"] == ("4 USDC", "4 USDC")
    assert shown["Paid to 3"][1].endswith("of order o-2")
    assert verdict.valid_until == min(one.expires for one in DEPOSITS)


def test_a_line_that_differs_is_marked_alone() -> None:
    verdict = paying(PAYMENTS[0], (MALLORY, UNITS[1]), PAYMENTS[2]).verdict()
    assert [line.field for line in verdict.lines if line.match is Match.DIFFERS] == ["Paid to 2"]


def test_other_payloads_are_no_bundle() -> None:
    for one in OTHERS.values():
        assert one.sent(purpose=Purpose.BUNDLE).promised(bundle=PROMISE.bundle).refused


def test_a_bundle_without_facts_is_not_signed() -> None:
    unread = replace(bundle(), read=lambda facts: Facts(facts.now))
    assert {"OPERATION_NONCE", "FACTORY_DIFFERS", "NODE_CHAIN_DIFFERS"} <= unread.codes()


@each_row("sold", [SOL, MINTED])
@each_row("memo", [GROUP, None])
def test_an_honest_bundle_on_solana_is_signed(sold: Asset, memo: str | None) -> None:
    """The service tells no height with its transactions; that it is good the node says."""
    found = on_solana(sold, memo=memo).verdict()
    assert (codes(found), found.phrase) == (set(), None)
    assert found.title == "A bundle: 3 payments, all or none"
    assert all(line.match is not Match.DIFFERS for line in found.lines)
    price = next(line for line in found.lines if line.field.startswith("Priority fee"))
    assert price.signed == "1,000 micro-lamports a unit"
    assert price.promised == "counted in the network fee", "it costs, and is no label"
    payees = [line for line in found.lines if line.field.startswith("Paid to")]
    assert [line.match for line in payees] == [Match.EQUAL] * 3
    assert all(line.promised.endswith(f"of order o-{i}") for i, line in enumerate(payees))


def _calls(*calls: InnerCall) -> str:
    return "0x" + encode_batch(list(calls)).hex()


@each_row(
    ("changed", "code"),
    [
        ({"sender": "0x"}, "OPERATION_UNREADABLE"),
        ({"callData": "0x01020304"}, "OPERATION_CALLS"),
        ({"callData": _calls(InnerCall(BOB, 1, TRANSFER.call(BOB, 1)))}, "OPERATION_CALLS"),
        (
            {"callData": _calls(InnerCall(str(USDC.contract), 0, APPROVE.call(MALLORY, 1)))},
            "OPERATION_CALLS",
        ),
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
    payload = bundle().payload
    with pytest.raises(PayloadRefused) as refused:
        read_bundle(replace(payload, operation={**payload.operation, **changed}))
    assert refused.value.code == code


@each_row(
    ("changed", "code"),
    [
        ({"version": "0.8"}, "OPERATION_CALLS"),
        ({"version": "0.6"}, "OPERATION_VERSION"),
        *(
            ({"chain_id": one}, "CHAIN_ID_MISSING")
            for one in (0, -1, 1 << 256, CHAIN_ID + (1 << 256), True)
        ),
    ],
)
def test_an_operation_is_read_by_its_version_and_chain(changed: dict[str, Any], code: str) -> None:
    with pytest.raises(PayloadRefused) as refused:
        read_bundle(replace(bundle().payload, **changed))
    assert refused.value.code == code


def test_the_honest_withdrawal_is_shown_line_by_line() -> None:
    verdict = withdrawal().verdict()
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
            if made != data and not withdrawal().call(made).refused:
                through.append((at, filled.hex()))
    assert through == []
