"""Calls that are paid one by one: the payment terms in a 402, and the header that pays.

The protocol is x402 version 2, scheme ``exact`` (contract 14.1 to 14.4). The terms come from the
service and are not trusted: whoever pays checks them against its own limits.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json, rfc3339
from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.operation import Operation

REQUIRED = "payment-required"
SIGNATURE = "payment-signature"
RESPONSE = "payment-response"
PAID_SECONDS = 60.0
"""Deadline of a paid call in seconds. The service settles the payment on a chain before it
answers."""
BETWEEN_PAYMENTS = 5.0
"""Seconds before the next payment if the last one was not confirmed as settled."""
VERSION = 2
MAX_HEADER = 16 * 1024
MAX_WAYS = 16
MAX_TEXT = 128
MAX_SECONDS = 600
_NETWORK = re.compile(r"eip155:([1-9][0-9]{0,17})", re.ASCII)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_UNITS = re.compile(r"[1-9][0-9]{0,30}", re.ASCII)
_SECONDS = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class PaymentTerms(Struct, frozen=True):
    """One form of payment that the service accepts for a call."""

    chain_id: int
    asset: str
    """The token's contract."""
    units: int
    """The price in the token's smallest unit."""
    pay_to: str
    seconds: int
    """The longest time for which the payment may be valid."""
    name: str
    """Of the token's EIP-712 domain, like ``version``."""
    version: str
    accepted: dict[str, Any]
    """This offer exactly as received; the payment must repeat it."""


class RequiredPayment(Struct, frozen=True):
    """The content of a 402 answer. ``ways`` are the terms that this program can pay; if empty,
    ``problem`` says why."""

    ways: tuple[PaymentTerms, ...] = ()
    reason: str = ""
    problem: str = ""


class Authorization(Struct, frozen=True):
    """A signed EIP-3009 ``TransferWithAuthorization``. ``nonce`` and ``signature`` are hexadecimal
    with ``0x``; times are Unix seconds."""

    payer: str
    valid_after: int
    valid_before: int
    nonce: str
    signature: str


class CallAuthorization(Struct, frozen=True):
    """The payment that was signed for one call, without its signature."""

    amount: str
    symbol: str
    chain: str
    chain_id: int
    asset: str
    payer: str
    payee: str
    nonce: str
    ends: datetime
    """Until then, anybody with the signature may execute the payment."""
    taken: bool | None = None
    """Whether the chain shows the payment as executed; None if not read."""

    @property
    def words(self) -> str:
        return f"{self.amount} {self.symbol} to {self.payee} until {rfc3339(self.ends)}"


class PaysCalls(Protocol):
    async def pay(
        self, required: RequiredPayment, operation: Operation
    ) -> tuple[str, CallAuthorization]:
        """Signs a payment for one call; returns the header and a description of the payment. Raises
        NotPaid."""

    async def look(self, payment: CallAuthorization) -> CallAuthorization:
        """Reads from the chain whether the payment was executed; returns the payment with ``taken``
        set accordingly."""


def read_required(header: str | None) -> RequiredPayment:
    if not header:
        return RequiredPayment(problem="the service did not say what a call costs")
    if len(header) > MAX_HEADER:
        return RequiredPayment(problem="what a call costs is too long to read")
    try:
        document = decode_json(base64.b64decode(header, validate=True), side="client")
    except (CodecError, binascii.Error, ValueError):
        return RequiredPayment(problem="what a call costs cannot be read")
    if not isinstance(document, dict) or not isinstance(document.get("accepts"), list):
        return RequiredPayment(problem="what a call costs cannot be read")
    reason = document.get("error")
    ways = tuple(
        terms for entry in document["accepts"][:MAX_WAYS] if (terms := _terms(entry)) is not None
    )
    return RequiredPayment(
        ways,
        safe_text(reason, 200) if isinstance(reason, str) else "",
        "" if ways else "the service takes no payment that can be made here",
    )


def _terms(entry: Any) -> PaymentTerms | None:
    if not isinstance(entry, dict) or entry.get("scheme") != "exact":
        return None
    extra = entry.get("extra")
    if not isinstance(extra, dict) or extra.get("assetTransferMethod", "eip3009") != "eip3009":
        return None
    texts = [entry.get(name) for name in ("network", "asset", "amount", "payTo")]
    texts += [extra.get(name) for name in ("name", "version")]
    if not all(type(text) is str and len(text) <= MAX_TEXT for text in texts):
        return None
    network, asset, amount, pay_to, name, version = map(str, texts)
    chain, seconds = _NETWORK.fullmatch(network), _whole(entry.get("maxTimeoutSeconds"))
    fits = _ADDRESS.fullmatch(asset) and _ADDRESS.fullmatch(pay_to) and _UNITS.fullmatch(amount)
    if chain is None or not fits or seconds is None:
        return None
    return PaymentTerms(
        chain_id=int(chain[1]),
        asset=checksummed(asset),
        units=int(amount),
        pay_to=checksummed(pay_to),
        seconds=min(seconds, MAX_SECONDS),
        name=name,
        version=version,
        accepted=entry,
    )


def _whole(value: Any) -> int | None:
    fits = isinstance(value, WireNumber) and _SECONDS.fullmatch(value) is not None
    return int(value) if fits else None


def payment_header(terms: PaymentTerms, signed: Authorization) -> str:
    payload = {
        "x402Version": VERSION,
        "accepted": terms.accepted,
        "payload": {
            "signature": signed.signature,
            "authorization": {
                "from": signed.payer,
                "to": terms.accepted["payTo"],
                "value": terms.accepted["amount"],
                "validAfter": str(signed.valid_after),
                "validBefore": str(signed.valid_before),
                "nonce": signed.nonce,
            },
        },
    }
    return base64.b64encode(encode_json(payload)).decode("ascii")
