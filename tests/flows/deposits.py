"""An order whose deposit the wallet can pay, and the review of that payment."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from flows.orders import BTC, NOW, intent, order
from flows.signing import DIGEST, TRADING, USDC, line
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wallet.answers import (
    BalanceChange,
    Match,
    Review,
    RuleFinding,
    Severity,
    SignedTransaction,
    Simulation,
    TransactionWord,
)
from swapdesk.wallet.promise import Purpose, TransactionPayload
from swapdesk.wire.orders import Order
from wallet.words import standing

PLACE = derive_address("evm", b"p" * 32)
_GROUPED = "0x " + " ".join(PLACE[2:][at : at + 4] for at in range(0, 40, 4))
HASH = "0x" + "12" * 32
MOVES = Simulation(
    21_904_120,
    (
        BalanceChange(TRADING, "USDC", USDC.contract, 6, -1000 * 10**6),
        BalanceChange(PLACE, "USDC", USDC.contract, 6, 1000 * 10**6),
    ),
    52_000,
)
TRANSFER = (
    line("Contract", "0x A0b8 6991 c621 8b36 c1d1 9D4a 2e9E b0cE 3606 eB48", "the token USDC"),
    line("Pays", _GROUPED, _GROUPED),
    line("You sell", "1,000 USDC", "1,000 USDC"),
    line("Gas", "at most 0.00012 of the chain's coin", "0.01 of the chain's coin at most"),
)
PAYLOAD = TransactionPayload(Purpose.DEPOSIT, USDC.contract or "", "0xa9059cbb", 0)


def deposit_intent(**changes: Any) -> Intent:
    """1,000 USDC on Ethereum for bitcoin, at Halyard."""
    return intent(
        **{
            "token_in": USDC,
            "token_out": BTC,
            "amount_in": Decimal(1000),
            "amount_out": Decimal("0.0104"),
            "net_amount_out": Decimal("0.0104"),
            "recipient": derive_address("bitcoin", b"r" * 32),
            **changes,
        }
    )


def deposit_order(of: Intent, **changes: Any) -> Order:
    return order(of, **{"deposit_address": PLACE, **changes})


def waiting(**changes: Any) -> TrackedOrder:
    """The order, waiting for its deposit."""
    confirmed = deposit_intent()
    made = deposit_order(confirmed, **changes)
    return TrackedOrder(made, confirmed, None, ended=False, seen_at=NOW, source="create")


def deposit_review(valid_until: datetime = NOW + timedelta(minutes=25), **changes: Any) -> Review:
    made = Review(
        id="d1",
        title="A payment of a token",
        account=TRADING,
        chain="ethereum",
        digest=DIGEST,
        lines=TRANSFER,
        findings=(),
        simulation=MOVES,
        valid_until=valid_until,
    )
    return replace(made, **changes)


def refused_deposit() -> Review:
    """The same to another address."""
    other = "0x 3C44 CdDd B6a9 00fa 2b58 5dd2 99e0 3d12 FA42 93BC"
    lines = tuple(
        line("Pays", other, _GROUPED, Match.DIFFERS) if one.field == "Pays" else one
        for one in TRANSFER
    )
    said = "It does not pay the order's deposit address."
    finding = RuleFinding("DEPOSIT_ADDRESS_DIFFERS", Severity.REFUSE, said, "Pays")
    return deposit_review(lines=lines, findings=(finding,))


def signed(word: TransactionWord, confirmations: int = 0) -> SignedTransaction:
    state, code = standing(word)
    return SignedTransaction(
        HASH, "i", Purpose.DEPOSIT, "ethereum", TRADING, state, 1, None, confirmations, None, NOW,
        code=code,
    )  # fmt: skip
