"""Transactions on Solana that pay several deposits of a group: the honest one is signed, and every
other one is refused by its rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from solders.keypair import Keypair

from agent.gate_world import NOW, World, changes, codes, judged
from agent.honest_solana import (
    BUDGET,
    MAKER,
    MAKERS_KEY,
    MALLORY,
    ME,
    MINT,
    OTHER_MINT,
    POLICY,
    SOL,
    USDC,
    promise,
    serialized,
    tokens,
)
from swapdesk.agent.gate.case import PastSignature
from swapdesk.agent.gate.rules import bundle
from swapdesk.agent.gate.verdict import BUNDLE_RULES, RULES, GateVerdict
from swapdesk.agent.shapes.claim import Act
from swapdesk.chain.solana import CreateTokenAccount, Memo, Transfer
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Asset, BundlePromise, DepositPromise, Promise, Purpose
from swapdesk.wallet.review import Match, Severity
from swapdesk.wallet.transactions import TransactionState

UNITS = (70_000_000, 80_000_000, 100_000_000)
GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"
PAYEES = tuple(Keypair.from_seed(bytes([20 + i]) * 32).pubkey() for i in range(3))
EXPIRES = NOW + timedelta(minutes=20)
RENT = 2_039_280


def promised(sold: Asset, **changed: Any) -> Promise:
    deposits = tuple(
        DepositPromise(f"o-{i}", str(to), None, units, EXPIRES)
        for i, (to, units) in enumerate(zip(PAYEES, UNITS, strict=True))
    )
    base = replace(promise(sold, sold), venue=None, quote_id=None, gas_units=20_000_000)
    return replace(base, bundle=BundlePromise(GROUP, 0, deposits), **changed)


def paid(sold: Asset) -> list[Any]:
    """The instructions of each payment, one list a payment."""
    if sold is SOL:
        return [[Transfer(ME, to, units).build()] for to, units in zip(PAYEES, UNITS, strict=True)]
    return [
        [CreateTokenAccount(ME, to, MINT).build(), tokens(ME, to, units)]
        for to, units in zip(PAYEES, UNITS, strict=True)
    ]


def world(sold: Asset, *more: tuple[str, Asset, int], blocks_left: int | None = None) -> World:
    fee = 6_000 + (0 if sold is SOL else 3 * RENT)
    moved = [(str(to), sold, units) for to, units in zip(PAYEES, UNITS, strict=True)]
    moved += [(str(ME), sold, -sum(UNITS)), (str(ME), SOL, -fee), *more]
    return World(changes(*moved), blocks_left=blocks_left)  # type: ignore[arg-type]


def verdict(
    sold: Asset, rows: list[Any] | None = None, *, memo: str | None = GROUP, **how: Any
) -> GateVerdict:
    instructions = list(BUDGET)
    if memo is not None:
        instructions.append(Memo(memo).build())
    instructions += [one for row in (paid(sold) if rows is None else rows) for one in row]
    payload = SolanaPayload(
        how.pop("purpose", Purpose.BUNDLE),
        serialized(instructions, how.pop("makers", ()), payer=how.pop("payer", ME)),
    )
    where = how.pop("where", None) or world(sold)
    given = how.pop("given", None) or promised(sold)
    return judged(payload, given, POLICY, where, **how)


@pytest.mark.parametrize("sold", [SOL, USDC], ids=["coins", "tokens"])
@pytest.mark.parametrize("memo", [GROUP, None])
def test_an_honest_bundle_is_signed(sold: Asset, memo: str | None) -> None:
    found = verdict(sold, memo=memo)
    assert [one for one in found.findings if one.severity is Severity.REFUSE] == []
    assert found.phrase is None
    assert found.title == "A bundle: 3 payments, all or none"
    assert all(line.match is not Match.DIFFERS for line in found.lines)
    price = next(line for line in found.lines if line.field.startswith("Priority fee"))
    assert price.signed == "1,000 micro-lamports a unit"
    assert price.promised == "counted in the network fee", "it costs, and is no label"
    payees = [line for line in found.lines if line.field.startswith("Paid to")]
    assert [line.match for line in payees] == [Match.EQUAL] * 3
    assert [line.promised.endswith(f"of order o-{i}") for i, line in enumerate(payees)] == [
        True
    ] * 3


def test_how_long_it_is_good_may_be_unknown() -> None:
    """The service tells no height with its transactions; that it is good the node says."""
    assert codes(verdict(SOL, where=world(SOL, blocks_left=None))) == set()


STRANGER = [Transfer(ME, MALLORY, 1).build()]
OTHERS = [
    [Transfer(ME, MALLORY, UNITS[0]).build()],
    *paid(SOL)[1:],
]
BAD: dict[str, tuple[str, Any]] = {
    "another recipient": ("BUNDLE_RECIPIENT_DIFFERS", lambda: verdict(SOL, OTHERS)),
    "one payment more": ("BUNDLE_CALLS_DIFFER", lambda: verdict(SOL, [*paid(SOL), STRANGER])),
    "one payment less": ("BUNDLE_CALLS_DIFFER", lambda: verdict(SOL, paid(SOL)[1:])),
    "a payment twice": ("BUNDLE_CALLS_DIFFER", lambda: verdict(SOL, [*paid(SOL), paid(SOL)[0]])),
    "payments exchanged": ("BUNDLE_RECIPIENT_DIFFERS", lambda: verdict(SOL, paid(SOL)[::-1])),
    "another amount": (
        "BUNDLE_AMOUNT_DIFFERS",
        lambda: verdict(SOL, [[Transfer(ME, PAYEES[0], UNITS[0] + 1).build()], *paid(SOL)[1:]]),
    ),
    "another token": (
        "BUNDLE_TOKEN_DIFFERS",
        lambda: verdict(USDC, [[tokens(ME, PAYEES[0], UNITS[0], OTHER_MINT)], *paid(USDC)[1:]]),
    ),
    "coins for tokens": (
        "BUNDLE_TOKEN_DIFFERS",
        lambda: verdict(USDC, [[Transfer(ME, PAYEES[0], UNITS[0]).build()], *paid(USDC)[1:]]),
    ),
    "more than was confirmed": (
        "BUNDLE_ABOVE",
        lambda: verdict(SOL, given=promised(SOL, sell_units=sum(UNITS) // 2)),
    ),
    "nothing was confirmed": (
        "BUNDLE_MISSING",
        lambda: verdict(SOL, given=replace(promised(SOL), sell_units=0)),
    ),
    "expired": (
        "BUNDLE_ORDER_EXPIRED",
        lambda: verdict(SOL, given=_with(expires=NOW + timedelta(seconds=20))),
    ),
    "a memo is needed": ("BUNDLE_TAG_NEEDED", lambda: verdict(SOL, given=_with(tag="7"))),
    "paid to the mint": (
        "BUNDLE_PAYEE_UNSAFE",
        lambda: verdict(
            SOL,
            [[Transfer(ME, ME, UNITS[0]).build()], *paid(SOL)[1:]],
            given=_with(address=str(ME)),
        ),
    ),
    "another memo": ("BUNDLE_MEMO", lambda: verdict(SOL, memo="somebody else's")),
    "a fee above the bound": (
        "BUNDLE_GAS_ABOVE",
        lambda: verdict(SOL, given=promised(SOL, gas_units=1)),
    ),
    "a blockhash that is gone": (
        "BUNDLE_BLOCKHASH_OLD",
        lambda: verdict(SOL, where=world(SOL, blocks_left=0)),
    ),
    "a blockhash that ends": (
        "BUNDLE_BLOCKHASH_OLD",
        lambda: verdict(SOL, where=world(SOL, blocks_left=19)),
    ),
    "rent for a stranger": (
        "BUNDLE_RENT_FOR_STRANGER",
        lambda: verdict(USDC, [*paid(USDC), [CreateTokenAccount(ME, MALLORY, MINT).build()]]),
    ),
    "rent for another token": (
        "BUNDLE_RENT_FOR_STRANGER",
        lambda: verdict(
            USDC, [*paid(USDC), [CreateTokenAccount(ME, PAYEES[0], OTHER_MINT).build()]]
        ),
    ),
    "less arrives": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: verdict(SOL, where=world(SOL, (str(PAYEES[0]), SOL, -1))),
    ),
    "more leaves": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: verdict(SOL, where=world(SOL, (str(ME), SOL, -20_000_000))),
    ),
    "another token leaves": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: verdict(SOL, where=world(SOL, (str(ME), USDC, -1))),
    ),
    "it was not simulated": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: verdict(SOL, where=World(None)),
    ),
    "the programs refuse it": (
        "BUNDLE_SIMULATION_DIFFERS",
        lambda: verdict(
            SOL, where=World(replace(changes((str(ME), SOL, -1)), failure="the programs refuse it"))
        ),
    ),
    "somebody else pays too": (
        "COUNTERPARTY_UNKNOWN",
        lambda: verdict(
            SOL, [*paid(SOL), [Transfer(MAKERS_KEY, PAYEES[0], 1).build()]], makers=[MAKER]
        ),
    ),
    "somebody else pays the fee": (
        "FEE_PAYER_DIFFERS",
        lambda: verdict(SOL, payer=MAKERS_KEY, makers=[MAKER]),
    ),
    "as a deposit": ("PURPOSE_DIFFERS", lambda: verdict(SOL, purpose=Purpose.DEPOSIT)),
    "signed before": (
        "BUNDLE_PAID_ALREADY",
        lambda: verdict(SOL, memory=(_signed(None),)),
    ),
}


def _with(**changed: Any) -> Promise:
    given = promised(SOL)
    first, *others = given.bundle.deposits
    deposits = (replace(first, **changed), *others)
    return replace(given, bundle=replace(given.bundle, deposits=deposits))


def _signed(state: TransactionState | None) -> PastSignature:
    return PastSignature(
        b"another transaction", Act.BUNDLE, None, None, str(ME), None, None, state=state
    )


@pytest.mark.parametrize("name", BAD)
def test_every_other_one_is_refused(name: str) -> None:
    code, made = BAD[name]
    found = made()
    assert found.refused
    assert code in codes(found)


def test_what_can_never_be_executed_makes_room() -> None:
    assert codes(verdict(SOL, memory=(_signed(TransactionState.REPLACED),))) == set()


def test_what_others_sign_is_no_bundle() -> None:
    """A maker's tokens that arrive make it a swap, which no bundle is."""
    arriving = [[tokens(MAKERS_KEY, ME, 1)], *paid(SOL)]
    found = verdict(SOL, arriving, makers=[MAKER])
    assert {"PURPOSE_DIFFERS"} <= codes(found)


def test_every_rule_is_registered_and_tried() -> None:
    own = {id(rule) for rule in bundle.SOLANA_RULES}
    assert own <= {id(rule) for rule in BUNDLE_RULES}
    assert not own & {id(rule) for rule in RULES}
    assert {rule.code for rule in bundle.SOLANA_RULES} <= {code for code, _ in BAD.values()}


def test_a_deposit_address_that_is_none_is_refused() -> None:
    assert "BUNDLE_RECIPIENT_DIFFERS" in codes(verdict(SOL, given=_with(address="not an address")))
