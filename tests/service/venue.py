"""A small real venue for tests: deterministic prices, own accounts, switches for trouble.

It speaks the venue protocol for its own sake. Deposits and progress are injected by the
test; with a path the accounts live in their own SQLite file, so that a venue outlives the
service process that talks to it, as venues do.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from decimal import Context, Decimal
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.kinds import KINDS, derive_address
from swapdesk.service.venues.adapter import (
    FLOATING,
    Ambiguous,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    LegReport,
    RateExpired,
    Rejected,
    Terms,
    Transient,
    Unavailable,
    VenueLimits,
    VenueQuote,
    VenueTraits,
)
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.encoding.numbers import quantize
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

_WIDE = Context(prec=80)
"""A cheap token of many decimals has more digits than the usual 28."""


class Trouble(Struct):
    """Switches. ``answers_lost`` and ``rejections`` count down; the rest stay until reset."""

    reject: bool = False
    addresses_held: bool = False
    rates_ended: bool = False
    rejections: int = 0
    hang: bool = False
    answers_lost: int = 0
    silent: bool = False
    no_quotes: bool = False
    restate_in: Decimal | None = None
    restate_out: Decimal | None = None
    report_slowly: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)


class PlainVenue:
    """Trades every pair of priced tokens at their prices less ``spread``."""

    def __init__(
        self,
        code: str,
        name: str,
        *,
        spread: str = "0.005",
        minimum_usd: str = "10",
        maximum_usd: str = "1000000",
        minutes: str = "5",
        poll_seconds: float = 5.0,
        enabled: bool = True,
        path: Path | None = None,
    ) -> None:
        digits = hashlib.sha256(code.encode()).hexdigest()[:24]
        self.provider = SwapProvider(
            id=digits, name=name, short_name=code, enabled=enabled, markup_supported=True
        )
        self._spread = Decimal(spread)
        self._bounds_usd = (Decimal(minimum_usd), Decimal(maximum_usd))
        self._minutes = Decimal(minutes)
        self.poll_seconds = poll_seconds
        self.traits = VenueTraits()
        self.trouble = Trouble()
        self.sent_on: dict[str, tuple[str, str | None]] = {}
        self.opened: list[LegOrder] = []
        self.asked: list[str] = []
        self._reports: dict[str, LegReport] = {}
        self._accounts: dict[str, DepositInstruction] = {}
        self._file = None if path is None else _open_file(path)
        self._look_up()

    # The protocol

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return token_in.id != token_out.id and None not in (token_in.price, token_out.price)

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        if not self.supports(token_in, token_out) or token_in.price is None:
            return None
        unit = Decimal(1).scaleb(-token_in.decimals)
        low, high = (
            (usd / token_in.price).quantize(unit, context=_WIDE) for usd in self._bounds_usd
        )
        return VenueLimits(low, high)

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        limits = self.limits(token_in, token_out)
        if limits is None or token_in.price is None or token_out.price is None:
            return Unavailable("not traded")
        if self.trouble.no_quotes:
            raise Transient("no quotes at present")
        if not limits.minimum <= amount <= limits.maximum:
            return Unavailable("amount out of bounds", limits)
        kept = (1 - self._spread) * (1 - terms.markup / 100)
        given = amount * token_in.price / token_out.price * kept
        amount_out = quantize(given, token_out.decimals, up=False)
        return VenueQuote(amount, amount_out, self._minutes, limits)

    async def open(self, leg: LegOrder) -> DepositInstruction:
        known = self._account(leg.key)
        if known is not None:
            return known
        trouble = self.trouble
        if trouble.hang:
            await trouble.released.wait()
        if trouble.addresses_held:
            raise DepositAddressesInUse("no free address")
        if trouble.rates_ended and leg.terms.fixed:
            raise RateExpired("the rate has ended")
        if trouble.reject or trouble.rejections > 0:
            trouble.rejections -= 1
            raise Rejected("not accepted")
        digits = hashlib.sha256(f"{self.provider.short_name}/{leg.key}".encode()).hexdigest()
        instruction = DepositInstruction(
            address=_address(leg.token_in, digits),
            tag=str(int(digits[:8], 16)) if leg.token_in.chain_data.memo_needed else None,
            amount_in=trouble.restate_in or leg.amount_in,
            amount_out=trouble.restate_out or leg.amount_out,
        )
        self._keep(leg, instruction)
        if trouble.answers_lost > 0:
            trouble.answers_lost -= 1
            raise Ambiguous("the answer was lost")
        return instruction

    async def find(self, key: str) -> DepositInstruction | None:
        self._answer(key)
        return self._account(key)

    async def report(self, key: str) -> LegReport | None:
        self._answer(key)
        self._account(key)
        known = self._reports.get(key)
        if self.trouble.report_slowly:
            await self.trouble.released.wait()
        return known

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        self._answer(key)
        report = self._reports.get(key)
        before = self.sent_on.get(key)
        if before is None and (report is None or report.status is not LegStatus.FAILED):
            raise Rejected("nothing is held")
        if before not in (None, (address, tag)):
            raise Rejected("sent elsewhere")
        self.sent_on[key] = (address, tag)
        self.move(
            key,
            LegStatus.REFUNDED,
            refund_hash=_hash(key, "refund"),
            refund_amount=report.amount_in if report else None,
            refund_chain="ethereum",
            declined=False,
        )

    # What tests do to it

    def tell(self, key: str, report: LegReport) -> None:
        """Set the state of a leg."""
        if key not in self._reports:
            raise KeyError(key)
        self._reports[key] = report

    def move(self, key: str, status: LegStatus, **changes: object) -> None:
        """Take a leg to ``status``, with the hashes such a leg has by then."""
        report = replace(self._reports[key], status=status, **changes)  # type: ignore[arg-type]
        if status in (
            LegStatus.CONFIRMING,
            LegStatus.EXCHANGING,
            LegStatus.SENDING,
            LegStatus.FINISHED,
        ):
            report = replace(
                report,
                deposit_arrived=True,
                deposit_hash=report.deposit_hash or _hash(key, "deposit"),
            )
        if status in (LegStatus.FINISHED, LegStatus.FALLBACK):
            report = replace(
                report,
                payout_hash=report.payout_hash or _hash(key, "payout"),
                amount_out=report.amount_out or self._accounts[key].amount_out,
            )
        self._reports[key] = report

    @property
    def keys(self) -> list[str]:
        """Keys of all accounts, in the order they were opened."""
        return list(self._accounts)

    def _answer(self, key: str) -> None:
        self.asked.append(key)
        if self.trouble.silent:
            raise Transient("no answer")

    def _account(self, key: str) -> DepositInstruction | None:
        """What was opened under a key, by whichever process asked this venue for it."""
        if key not in self._accounts:
            self._look_up("AND key = ?", key)
        return self._accounts.get(key)

    def _look_up(self, where: str = "", *values: str) -> None:
        if self._file is None:
            return
        for key, address, tag, amount_in, amount_out in self._file.execute(
            "SELECT key, address, tag, amount_in, amount_out FROM accounts"  # noqa: S608 - ours
            f" WHERE venue = ? {where}",
            (self.provider.short_name, *values),
        ):
            self._accounts[key] = DepositInstruction(
                address, tag, Decimal(amount_in), Decimal(amount_out)
            )
            self._reports[key] = LegReport(LegStatus.WAITING)

    def _keep(self, leg: LegOrder, instruction: DepositInstruction) -> None:
        if self._file is not None:
            with self._file:
                self._file.execute(
                    "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        self.provider.short_name,
                        leg.key,
                        instruction.address,
                        instruction.tag,
                        str(instruction.amount_in),
                        str(instruction.amount_out),
                    ),
                )
        self.opened.append(leg)
        self._accounts[leg.key] = instruction
        self._reports[leg.key] = LegReport(LegStatus.WAITING)


def _open_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS accounts (venue TEXT, key TEXT PRIMARY KEY, address TEXT,"
        " tag TEXT, amount_in TEXT, amount_out TEXT)"
    )
    return connection


def _address(token: Token, digits: str) -> str:
    if token.chain_data.kind == "evm":
        return "0x" + digits[:40]
    if token.chain_data.kind in KINDS:
        return derive_address(token.chain_data.kind, bytes.fromhex(digits))
    return f"{token.chain_data.kind}{digits[:32]}"


def _hash(key: str, what: str) -> str:
    return "0x" + hashlib.sha256(f"{what} {key}".encode()).hexdigest()
