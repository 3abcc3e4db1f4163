"""What a payment code holds: the address with amount and memo, as far as wallets can read them.

A link never asks for less than the whole truth: where its scheme cannot name the token, it
holds the address alone, because an amount without its token would be paid in the chain's own
coin.

Sources: BIP 21 (Bitcoin and the chains that took it over), ERC-681, the Solana Pay
specification, Monero's ``uri_spec``, the ``xrpl`` links that XRP Ledger wallets document,
SEP-7, the ``ton://transfer`` links of the TON documentation, ARC-26. ``tron:`` has no
specification: wallets read it in the form of BIP 21.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from urllib.parse import quote

from swapdesk.wire.encoding.numbers import short, to_base_units

Part = Literal["token", "amount", "memo"]

MAX_MEMO_ID = 2**64 - 1

_NAME = re.compile(r"[0-9A-Za-z:_-]+")
"""What addresses, contracts and asset numbers are written with: nothing that ends a part of a
link or begins another."""


@dataclass(frozen=True)
class ChainFacts:
    """What a code needs to know of a chain (``kind``, ``chainId``; contract 5.1)."""

    kind: str
    chain_id: int | None = None


@dataclass(frozen=True)
class PaymentUri:
    """The text of a code, and which parts of the payment stand in it.

    ``missing`` names what a wallet does not learn from the code and a person must enter, in
    the order of ``Part``; a part the payment does not have is never missing. ``is_link`` is
    False when the code is the plain address.
    """

    text: str
    carries_amount: bool
    carries_memo: bool
    missing: tuple[Part, ...]
    is_link: bool


@dataclass(frozen=True)
class _Payment:
    chain: ChainFacts
    contract: str | None
    address: str
    amount: Decimal
    memo: str | None
    decimals: int
    symbol: str

    @property
    def units(self) -> int:
        return to_base_units(self.amount, self.decimals)


@dataclass(frozen=True)
class _Link:
    text: str
    memo: bool = False


def payment_uri(
    chain: ChainFacts,
    contract: str | None,
    address: str,
    amount: Decimal,
    memo: str | None,
    *,
    decimals: int,
    symbol: str = "",
) -> PaymentUri:
    """The code for paying ``amount`` (in whole tokens) to a checked ``address``.

    ``contract`` is None for the chain's own coin, ``memo`` None or empty for none,
    ``decimals`` those of the token, ``symbol`` its code on the chain. An amount with more
    places than the token has cannot be paid and gives the plain address, and so does a contract
    that is none: a link says what the card beside it says, whatever a service wrote. Raises
    ValueError for an amount that is not above zero.
    """
    if not amount.is_finite() or amount <= 0:
        raise ValueError("a payment has an amount above zero")
    payment = _Payment(chain, contract, address, amount, memo or None, decimals, symbol)
    payable = -int(short(amount).as_tuple().exponent) <= decimals
    scheme = _SCHEMES.get(chain.kind) if payable else None
    plain = all(_NAME.fullmatch(text) for text in (address, contract) if text is not None)
    link = scheme(payment) if scheme is not None and plain else None
    if link is None:
        missing: list[Part] = ["token"] if contract is not None else []
        missing.append("amount")
        if payment.memo is not None:
            missing.append("memo")
        return PaymentUri(address, False, False, tuple(missing), is_link=False)
    lost: tuple[Part, ...] = ("memo",) if payment.memo is not None and not link.memo else ()
    return PaymentUri(link.text, True, link.memo, lost, is_link=True)


def _plain(amount: Decimal) -> str:
    """Digits without exponent and without trailing zeros: ``0.5``, ``2500``."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _query(*pairs: tuple[str, str | None]) -> str:
    """Percent-encoded throughout; the specifications count ``+`` as itself, not a space."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs if value is not None)


def _bip21(scheme: str, parameter: str = "amount") -> Callable[[_Payment], _Link | None]:
    def link(payment: _Payment) -> _Link | None:
        if payment.contract is not None:
            return None
        address = payment.address.removeprefix(f"{scheme}:")
        return _Link(f"{scheme}:{address}?{_query((parameter, _plain(payment.amount)))}")

    return link


def _evm(payment: _Payment) -> _Link | None:
    """ERC-681. Without a chain id a wallet would take the chain it happens to be on."""
    chain_id = payment.chain.chain_id
    if chain_id is None:
        return None
    if payment.contract is None:
        return _Link(f"ethereum:{payment.address}@{chain_id}?value={payment.units}")
    call = _query(("address", payment.address), ("uint256", str(payment.units)))
    return _Link(f"ethereum:{payment.contract}@{chain_id}/transfer?{call}")


def _sol(payment: _Payment) -> _Link:
    asked = _query(
        ("amount", _plain(payment.amount)),
        ("spl-token", payment.contract),
        ("memo", payment.memo),
    )
    return _Link(f"solana:{payment.address}?{asked}", payment.memo is not None)


def _xrp(payment: _Payment) -> _Link | None:
    if payment.contract is not None:
        return None
    asked = _query(("amount", _plain(payment.amount)), ("dt", payment.memo))
    return _Link(f"xrpl://{payment.address}?{asked}", payment.memo is not None)


def _xlm(payment: _Payment) -> _Link:
    """SEP-7. Digits are a memo id, as exchanges hand them out; anything else is text."""
    memo, kind = payment.memo, None
    if memo is not None:
        is_id = memo.isascii() and memo.isdecimal() and str(int(memo)) == memo
        kind = "MEMO_ID" if is_id and int(memo) <= MAX_MEMO_ID else "MEMO_TEXT"
    asked = _query(
        ("destination", payment.address),
        ("amount", _plain(payment.amount)),
        ("asset_code", payment.symbol if payment.contract is not None else None),
        ("asset_issuer", payment.contract),
        ("memo", memo),
        ("memo_type", kind),
    )
    return _Link(f"web+stellar:pay?{asked}", memo is not None)


def _ton(payment: _Payment) -> _Link | None:
    """Nanotons. A wallet that overlooks a jetton would send that many nanotons instead."""
    if payment.contract is not None:
        return None
    asked = _query(("amount", str(payment.units)), ("text", payment.memo))
    return _Link(f"ton://transfer/{payment.address}?{asked}", payment.memo is not None)


def _algo(payment: _Payment) -> _Link:
    """ARC-26: base units; ``xnote`` is a note the payer may not change."""
    asked = _query(
        ("amount", str(payment.units)),
        ("asset", payment.contract),
        ("xnote", payment.memo),
    )
    return _Link(f"algorand://{payment.address}?{asked}", payment.memo is not None)


_SCHEMES: dict[str, Callable[[_Payment], _Link | None]] = {
    "bitcoin": _bip21("bitcoin"),
    "ltc": _bip21("litecoin"),
    "doge": _bip21("dogecoin"),
    "bch": _bip21("bitcoincash"),
    "dash": _bip21("dash"),
    "xmr": _bip21("monero", "tx_amount"),
    "tron": _bip21("tron"),
    "evm": _evm,
    "sol": _sol,
    "xrp": _xrp,
    "xlm": _xlm,
    "ton": _ton,
    "algo": _algo,
}
