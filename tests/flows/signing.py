"""Reviews as the wallet agent writes them, and the intent they are about."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from flows.orders import NOW, intent
from swapdesk.acts import State
from swapdesk.flows.intents.intent import DexTerms, Intent, TokenFacts
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.wallet.answers import (
    BalanceChange,
    Match,
    Review,
    ReviewLine,
    RuleFinding,
    Severity,
    Simulation,
)
from swapdesk.wallet.promise import ChainStep, Purpose, TransactionPayload, TypedDataPayload

TRADING = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
GROUPED = "0x 7099 7970 C518 12dc 3A01 0C7d 01b5 0e0d 17dc 79C8"
SETTLEMENT = "0x 9008 D19f 58AA bD9e D0D6 0971 565A A851 0560 ab41"
DIGEST = "0x4f1c22ab90d73e5581c0aa176b2ef904d3c811705b9a02fe7c41e6d538b79a20"
USDC = TokenFacts(
    "6689b73ec90e45f3b3e51777", "USDC", "ethereum", "Ethereum", "evm",
    "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, 1_337_000_001,
)  # fmt: skip
WETH = TokenFacts(
    "6689b73ec90e45f3b3e51778", "WETH", "ethereum", "Ethereum", "evm",
    "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, 1_337_000_001,
)  # fmt: skip


def swap_intent(**changes: Any) -> Intent:
    """1,000 USDC for WETH at Isthmus, to the account that signs."""
    return intent(
        **{
            "id": "5f" * 16,
            "token_in": USDC,
            "token_out": WETH,
            "amount_in": Decimal(1000),
            "amount_out": Decimal("0.300331"),
            "net_amount_out": Decimal("0.300331"),
            "route": "dex",
            "provider": "is",
            "provider_name": "Isthmus",
            "valid_until": NOW + timedelta(minutes=10),
            "recipient": TRADING,
            "dex": DexTerms(TRADING, Decimal("0.5"), 10**15),
            **changes,
        }
    )


def line(
    field: str, signed: str, promised: str, match: Match = Match.EQUAL, units: int | None = None
) -> ReviewLine:
    return ReviewLine(field, signed, promised, match, match is Match.DIFFERS, units)


ORDER = (
    line("Signed for", "Isthmus Settlement", "as the contract says"),
    line("Version", "2", "as the contract says"),
    line("Chain", "id 1337000001", "ethereum, id 1337000001, node and key agree"),
    line("Contract", SETTLEMENT, 'a contract of the provider "is"'),
    line("You sell", "1,000 USDC", "1,000 USDC", units=1_000 * 10**6),
    line(
        "You get",
        "at least 0.298829345 WETH",
        "0.300331 WETH less 0.50%",
        units=298_829_345 * 10**9,
    ),
    line("Paid to", GROUPED, GROUPED),
    line("Fee", "0 USDC", "within what you sell", units=0),
    line("Valid until", "14:22:11, 20m 00s", "24h at most"),
    line("Nonce", "17", "the next unused one"),
    line("Fills", "all or nothing", "all or nothing"),
    line("App data", "0x c9ab 21f0 e617 17f2", "a label; moves nothing", Match.UNMATCHED),
)
MOVES = Simulation(
    21_904_120,
    (
        BalanceChange(TRADING, "USDC", USDC.contract, 6, -1000 * 10**6),
        BalanceChange(TRADING, "WETH", WETH.contract, 18, 300_331 * 10**12),
        BalanceChange("0x" + "9" * 40, "USDC", USDC.contract, 6, 1000 * 10**6),
    ),
    210_000,
)


def review(valid_until: datetime = NOW + timedelta(minutes=10), **changes: Any) -> Review:
    """The order of Isthmus; everything matches but a label."""
    made = Review(
        id="r1",
        title="An order: sell a token for another",
        account=TRADING,
        chain="ethereum",
        digest=DIGEST,
        lines=ORDER,
        findings=(),
        simulation=MOVES,
        valid_until=valid_until,
        agreed=True,
    )
    return replace(made, **changes)


def refused(**changes: Any) -> Review:
    """The same, paid to somebody else."""
    other = "0x 3C44 CdDd B6a9 00fa 2b58 5dd2 99e0 3d12 FA42 93BC"
    lines = tuple(
        line("Paid to", other, GROUPED, Match.DIFFERS) if one.field == "Paid to" else one
        for one in ORDER
    )
    finding = RuleFinding(
        "RECIPIENT_DIFFERS", Severity.REFUSE, "It pays another address than yours.", "Paid to"
    )
    return review(lines=lines, findings=(finding,), **changes)


def document(step: int = 1, total: int = 2, primary: str = "Order") -> TypedDataPayload:
    purpose = Purpose.APPROVE if primary.startswith("Permit") else Purpose.ORDER
    return TypedDataPayload(
        purpose,
        {
            "types": {},
            "primaryType": primary,
            "domain": {"name": "Isthmus Settlement", "chainId": 1_337_000_001},
            "message": {"sellAmount": "1000000000", "nonce": "17"},
        },
        ChainStep("order", step, total, step + 1 == total, total > 1),
    )


TRANSACTION = TransactionPayload(Purpose.SWAP, "0x" + "9" * 40, "0x38ed1739", 0)


def steps_of(session: SigningSession[Any]) -> str:
    """Each step behind its mark."""
    marks = {State.DONE: "+", State.SENT: "~", None: "o", State.REFUSED: "x"}
    return "  ".join(f"{marks[one.state]} {one.name}" for one in session.kind.steps(session))
