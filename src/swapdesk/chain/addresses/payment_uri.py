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
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from swapdesk.chain.addresses.kind import Payment, PaymentLink
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.wire.encoding.numbers import short, to_base_units

Part = Literal["token", "amount", "memo"]

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
    memo = memo or None
    link = _link(chain, contract, address, amount, memo, decimals, symbol)
    if link is None:
        missing: list[Part] = ["token"] if contract is not None else []
        missing.append("amount")
        if memo is not None:
            missing.append("memo")
        return PaymentUri(address, False, False, tuple(missing), is_link=False)
    lost: tuple[Part, ...] = ("memo",) if memo is not None and not link.memo else ()
    return PaymentUri(link.text, True, link.memo, lost, is_link=True)


def _link(
    chain: ChainFacts,
    contract: str | None,
    address: str,
    amount: Decimal,
    memo: str | None,
    decimals: int,
    symbol: str,
) -> PaymentLink | None:
    known = ADDRESS_KINDS.get(chain.kind)
    plain = all(_NAME.fullmatch(text) for text in (address, contract) if text is not None)
    payable = -int(short(amount).as_tuple().exponent) <= decimals
    if known is None or known.link is None or not plain or not payable:
        return None
    units = to_base_units(amount, decimals)
    return known.link(Payment(address, amount, units, contract, memo, symbol, chain.chain_id))
