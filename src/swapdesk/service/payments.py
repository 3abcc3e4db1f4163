"""Calls that are paid for individually, by a signature instead of credentials: x402 version 2,
scheme ``exact``, EIP-3009 (contract 2.4, 3.6, 14.1 to 14.4).

A payment is stored and verified before its call is carried out, and settled after the call
succeeded. If the settlement fails, the answer is withheld, and the created order is not announced
until the payer repeats and pays the same request. After a crash, a payment that may have been
settled serves no other call.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct, field

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Partner, Tier
from swapdesk.service.orders.route_opening import CARRY_SECONDS
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.price_tiers import PRICES, PriceTier

VERSION = 2
MAX_HEADER = 8 * 1024
SETTLING_SECONDS = 6
"""Seconds for which a payment must still be valid when its settlement begins."""
CARRYING_SECONDS: Mapping[PriceTier, float] = {PriceTier.EXCHANGE: CARRY_SECONDS}
"""Seconds that a paid call may take before its payment is settled, by price tier; negligible for
other tiers."""
FOLLOWED = timedelta(minutes=10)
"""Time for which a payment's transaction is still looked for after ``ends``, when chains no longer
accept it."""
FOLLOW_SECONDS = 5.0
PAYMENTS_KEPT = timedelta(days=1)
"""Time for which a payment is remembered after ``ends``, when chains no longer accept it."""
PAYER_PREFIX = "x402:"
LIMITS = RateWindows(per_minute=60, per_hour=3_600, per_day=86_400)


class CallTerms(Struct, frozen=True):
    """The prices of calls, in smallest units, and the account to pay. ``name`` and ``version``
    belong to the token's EIP-712 domain. A payment should be valid for the number of seconds in
    ``seconds``."""

    chain_id: int
    asset: str
    name: str
    version: str
    pay_to: str
    seconds: int = 60
    prices: Mapping[PriceTier, int] = field(default_factory=lambda: PRICES)

    def entry(self, tier: PriceTier) -> dict[str, Any]:
        return {
            "scheme": "exact",
            "network": f"eip155:{self.chain_id}",
            "amount": str(self.prices[tier]),
            "asset": self.asset,
            "payTo": self.pay_to,
            "maxTimeoutSeconds": self.seconds,
            "extra": {"name": self.name, "version": self.version},
        }


Reason = Literal[
    "invalid_payload",
    "invalid_x402_version",
    "unsupported_scheme",
    "network_mismatch",
    "invalid_exact_evm_asset_mismatch",
    "invalid_exact_evm_payload_authorization_value_mismatch",
    "invalid_exact_evm_payload_recipient_mismatch",
    "invalid_exact_evm_payload_authorization_valid_before",
    "invalid_exact_evm_payload_authorization_valid_after",
    "invalid_exact_evm_payload_signature",
    "invalid_exact_evm_nonce_already_used",
    "invalid_exact_evm_insufficient_balance",
    "invalid_exact_evm_transaction_failed",
    "chain_unavailable",
]
"""The reason why a payment was rejected. The values are error codes that x402 facilitators use."""


_LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


class CallPayment(Struct, frozen=True):
    """A signed authorization to transfer the price of a call, valid between two times in Unix
    seconds. Hexadecimal texts are in lower case, except for the payer's address, which has a
    checksum."""

    payer: str
    units: int
    valid_after: int
    valid_before: int
    nonce: str
    signature: str
    terms: CallTerms

    @property
    def key(self) -> str:
        """The id of the payment. Of several payments with the same id, the chain executes only
        one."""
        return f"{self.terms.chain_id} {self.terms.asset} {self.payer} {self.nonce}"

    @property
    def ends(self) -> datetime:
        """The time from which chains no longer accept the payment."""
        return datetime.fromtimestamp(min(self.valid_before, _LAST_SECOND), UTC)


class Settled(Struct, frozen=True):
    """The outcome of a settlement. If the payment failed, ``transaction`` is None and ``reason``
    says why. ``open`` is True if the chain can still execute the payment later."""

    transaction: str | None = None
    reason: Reason | None = None
    open: bool = False


Note = Callable[[str], Awaitable[None]]


class Facilitator(Protocol):
    async def objection(self, payment: CallPayment) -> Reason | None:
        """Returns the reason why the chain would reject the payment now; None if there is none."""
        ...

    async def settle(self, payment: CallPayment, note: Note) -> Settled:
        """Sends the payment to the chain and waits a limited time for the outcome. Before sending,
        calls ``note`` with the transaction's hash."""
        ...

    async def outcome(self, transaction: str) -> Settled: ...


class PaymentNeeded(Exception):
    """Raised to answer a call with 402 (payment required). ``headers`` and ``entry`` say what to
    pay."""

    def __init__(self, entry: Mapping[str, Any], headers: dict[str, str]) -> None:
        super().__init__("a payment is needed")
        self.entry = entry
        self.headers = headers

    def page(self) -> str:
        """Returns the HTML page for a person who opened the call's URL in a browser."""
        # Programs never see it, and templates take a while to load.
        from swapdesk.web_page import web_page

        rows = (
            ("Network", self.entry["network"]),
            ("Token", f"{self.entry['extra']['name']}, {self.entry['asset']}"),
            ("Amount", f"{self.entry['amount']} in its smallest unit"),
            ("Paid to", self.entry["payTo"]),
        )
        return web_page("payment", title="Payment required", rows=rows)


PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}


class CallPayments:
    """Accepts and settles payments for single calls. Methods raise StoreUnavailable if a payment
    cannot be stored."""

    def __init__(
        self, terms: CallTerms, facilitator: Facilitator, store: Store, clock: Clock
    ) -> None:
        self._terms = terms
        self._facilitator = facilitator
        self._store = store
        self._clock = clock

    def priced(self, tier: PriceTier) -> bool:
        return tier in self._terms.prices

    def needed(
        self, tier: PriceTier, url: str, reason: Reason | None = None, response: str | None = None
    ) -> PaymentNeeded:
        """Returns the exception that answers with 402. ``reason`` says why a payment was rejected;
        None if no payment was sent. ``response`` is the value of the header ``payment-response``;
        None omits the header."""
        entry = self._terms.entry(tier)
        required = {
            "x402Version": VERSION,
            "error": "payment required" if reason is None else reason,
            "resource": {"url": url, "mimeType": "application/json"},
            "accepts": [entry],
        }
        headers = {"payment-required": _encoded(required), "cache-control": "no-store"}
        if response is not None:
            headers["payment-response"] = response
        return PaymentNeeded(entry, headers)

    async def accept(self, header: str | None, tier: PriceTier, url: str) -> CallPayment:
        """Verifies the payment in ``header`` and reserves it for this call. Raises PaymentNeeded if
        there is no header or the payment is rejected."""
        if header is None:
            raise self.needed(tier, url)
        try:
            payment = read_payment(header, self._terms, tier)
            self._in_time(payment, tier)
        except PaymentRefused as refused:
            raise self.needed(tier, url, refused.reason) from None
        reason = await self._facilitator.objection(payment)
        if reason is not None:
            raise self.needed(tier, url, reason)
        if not await self._store.payments.reserve(payment.key, payment.ends):
            raise self.needed(tier, url, "invalid_exact_evm_nonce_already_used")
        return payment

    def _in_time(self, payment: CallPayment, tier: PriceTier) -> None:
        now = self._clock.now().timestamp()
        if payment.valid_after > now:
            raise PaymentRefused("invalid_exact_evm_payload_authorization_valid_after")
        if payment.valid_before < now + CARRYING_SECONDS.get(tier, 0) + SETTLING_SECONDS:
            raise PaymentRefused("invalid_exact_evm_payload_authorization_valid_before")

    async def free(self, payment: CallPayment) -> None:
        """Makes a payment usable for another call, after its own call was refused and before the
        payment was sent to a chain."""
        await self._store.payments.free(payment.key)

    async def settle(self, payment: CallPayment, tier: PriceTier, url: str) -> str:
        """Executes the payment on its chain; returns the value of the header ``payment-response``.
        Raises PaymentNeeded if the payment failed; the caller must then not get the answer."""
        sent: str | None = None

        async def note(transaction: str) -> None:
            nonlocal sent
            await self._store.payments.note_sent(payment.key, transaction)
            sent = transaction

        settled = await self._facilitator.settle(payment, note)
        response = _encoded(
            {
                "success": settled.transaction is not None,
                "transaction": settled.transaction or "",
                "network": f"eip155:{payment.terms.chain_id}",
                "payer": payment.payer,
                **({} if settled.reason is None else {"errorReason": settled.reason}),
            }
        )
        if settled.transaction is None:
            if not settled.open:
                await self._store.payments.free(payment.key, sent)
            raise self.needed(
                tier, url, settled.reason or "invalid_exact_evm_transaction_failed", response
            )
        await self._store.payments.settle(payment.key, settled.transaction)
        return response

    async def follow(self) -> None:
        since = self._clock.now() - FOLLOWED
        for payment, transaction in await self._store.payments.under_way(since):
            settled = await self._facilitator.outcome(transaction)
            if settled.transaction is not None:
                await self._store.payments.settle(payment, settled.transaction)
            elif not settled.open:
                await self._store.payments.free(payment, transaction)


def payer_of(partner_id: str) -> str | None:
    """Returns the payer's address if ``partner_id`` is the account of a payer of single calls;
    otherwise None."""
    is_payer = partner_id.startswith(PAYER_PREFIX)
    return checksummed(partner_id.removeprefix(PAYER_PREFIX)) if is_payer else None


def caller_of(payment: CallPayment) -> Caller:
    """Returns the payer as a caller with an account of its own, so that each payer sees only what
    it paid for."""
    partner = Partner(
        partner_id=f"{PAYER_PREFIX}{payment.payer.lower()}",
        name=payment.payer,
        tier=Tier.FREE,
        keys=(),
        quote_limits=LIMITS,
        exchange_limits=LIMITS,
        read_limits=LIMITS,
    )
    return Caller(partner, None, payment.key)


class PaymentRefused(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class _Body(Struct, frozen=True):
    accepted: dict[str, Any]
    authorization: dict[str, str]
    signature: str


_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,77}", re.ASCII)
_NONCE = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}", re.ASCII)
_FIELDS: Mapping[str, re.Pattern[str]] = {
    "from": _ADDRESS,
    "to": _ADDRESS,
    "value": _NUMBER,
    "validAfter": _NUMBER,
    "validBefore": _NUMBER,
    "nonce": _NONCE,
}


def read_payment(header: str, terms: CallTerms, tier: PriceTier) -> CallPayment:
    """Parses the payment in ``header`` and checks it against ``terms``. Does not check signature,
    balance and times. Raises PaymentRefused."""
    payload = _body(header)
    wanted, accepted = terms.entry(tier), payload.accepted
    if accepted.get("scheme") != wanted["scheme"]:
        raise PaymentRefused("unsupported_scheme")
    if accepted.get("network") != wanted["network"]:
        raise PaymentRefused("network_mismatch")
    if str(accepted.get("asset")).lower() != terms.asset.lower():
        raise PaymentRefused("invalid_exact_evm_asset_mismatch")
    given = payload.authorization
    if accepted.get("amount") != wanted["amount"] or given["value"] != wanted["amount"]:
        raise PaymentRefused("invalid_exact_evm_payload_authorization_value_mismatch")
    payee = terms.pay_to.lower()
    if str(accepted.get("payTo")).lower() != payee or given["to"].lower() != payee:
        raise PaymentRefused("invalid_exact_evm_payload_recipient_mismatch")
    return CallPayment(
        payer=checksummed(given["from"]),
        units=int(given["value"]),
        valid_after=int(given["validAfter"]),
        valid_before=int(given["validBefore"]),
        nonce=given["nonce"].lower(),
        signature=payload.signature.lower(),
        terms=terms,
    )


def _body(header: str) -> _Body:
    unreadable = PaymentRefused("invalid_payload")
    if len(header) > MAX_HEADER:
        raise unreadable
    try:
        document = decode_json(base64.b64decode(header, validate=True))
    except (CodecError, binascii.Error, ValueError):
        raise unreadable from None
    if not isinstance(document, dict):
        raise unreadable
    if str(document.get("x402Version")) != str(VERSION):
        raise PaymentRefused("invalid_x402_version")
    payload = document.get("payload")
    if not isinstance(payload, dict):
        raise unreadable
    try:
        body = msgspec.convert(
            {**payload, "accepted": document.get("accepted")}, _Body, strict=True
        )
    except msgspec.ValidationError:
        raise unreadable from None
    given = body.authorization
    fits = given.keys() == _FIELDS.keys() and all(
        type(given[name]) is str and form.fullmatch(given[name]) for name, form in _FIELDS.items()
    )
    fits = fits and all(int(given[name]) < 2**256 for name in ("validAfter", "validBefore"))
    if not fits or _SIGNATURE.fullmatch(body.signature) is None:
        raise unreadable
    return body


def _encoded(value: dict[str, Any]) -> str:
    return base64.b64encode(encode_json(value)).decode("ascii")
