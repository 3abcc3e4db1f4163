"""The spending policy of a wallet: limits on amounts, chains, payees and time for everything that
is signed.

The user sets the policy; the agent stores it beside the keys and checks every payload against it
before signing. A chain is identified by its EVM id, or by None for Solana, never by a name. Token
prices are those that the user enters, not a market's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from operator import attrgetter
from typing import ClassVar, TypeVar

from msgspec import Struct

RULE = "POLICY_"
"""The prefix that the codes of all findings of the spending policy share."""


class SpendWindow(StrEnum):
    """The span over which a limit counts. HOUR is the last 60 minutes, DAY the last 24 hours. A
    CALL limit takes the place of the highest price that the contract (14.10) sets for an API
    call."""

    CALL = "call"
    PAYMENT = "payment"
    HOUR = "hour"
    DAY = "day"


SECONDS: Mapping[SpendWindow, int] = {SpendWindow.HOUR: 3_600, SpendWindow.DAY: 86_400}

Entry = TypeVar("Entry")

TokenKey = tuple[int | None, str | None]
"""A token's chain id (None for Solana) and its contract or Solana mint (None for the chain's native
coin)."""


class PolicyChain(Struct, frozen=True, forbid_unknown_fields=True):
    """A chain that the policy allows. It is identified by ``chain_id`` (None for Solana); ``name``
    is only shown."""

    chain_id: int | None
    name: str


class PolicyToken(Struct, frozen=True, forbid_unknown_fields=True):
    """A token that the policy names. ``contract`` is None for the native coin. ``symbol`` and
    ``chain`` are only shown."""

    PRINTED: ClassVar = {
        "symbol": "symbol", "chain": "chain", "contract": "contract", "decimals": "decimals",
    }  # fmt: skip

    chain_id: int | None
    contract: str | None
    decimals: int
    symbol: str
    chain: str

    @property
    def key(self) -> TokenKey:
        return self.chain_id, self.contract


def _scale(decimals: int) -> Fraction:
    return Fraction(10) ** decimals


class Limit(Struct, frozen=True, forbid_unknown_fields=True):
    """A limit on what may leave within ``window``. ``most`` is in whole tokens of ``token``; if
    ``token`` is None, it is in USD over all tokens together."""

    window: SpendWindow
    most: Decimal
    token: PolicyToken | None = None

    @property
    def token_key(self) -> TokenKey | None:
        """The key of the limited token; None for a limit in USD."""
        return None if self.token is None else self.token.key

    @property
    def key(self) -> tuple[SpendWindow, TokenKey | None]:
        return self.window, self.token_key

    @property
    def unit(self) -> str:
        return "USD" if self.token is None else self.token.symbol

    @property
    def exact(self) -> Fraction:
        """The limit in base units of its token, or in USD."""
        return Fraction(self.most) * _scale(0 if self.token is None else self.token.decimals)


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """The user's price of one whole token, in USD."""

    token: PolicyToken
    usd: Decimal

    @property
    def exact(self) -> Fraction:
        """The price of one base unit of the token, in USD."""
        return Fraction(self.usd) / _scale(self.token.decimals)


class SpendingPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """The limits and allowed parties of a wallet. A policy with no field set allows everything."""

    PRINTED: ClassVar = {
        "prices": "prices", "chains": "chain_names", "tokens": "tokens", "payees": "payees",
        "callPayees": "call_payees",
    }  # fmt: skip

    limits: tuple[Limit, ...] = ()
    prices: tuple[Price, ...] = ()
    chains: tuple[PolicyChain, ...] | None = None
    """The allowed chains; None allows any."""
    tokens: tuple[PolicyToken, ...] | None = None
    """The allowed tokens; None allows any."""
    payees: tuple[str, ...] | None = None
    """The allowed payees; None allows any."""
    until: datetime | None = None
    """The time from which on nothing is signed."""
    call_payees: tuple[str, ...] | None = None
    """The allowed payees of paid API calls. None allows each payee that the user agrees to when a
    call first pays it."""

    @property
    def chain_names(self) -> tuple[str, ...] | None:
        return None if self.chains is None else tuple(chain.name for chain in self.chains)

    @property
    def known_tokens(self) -> Iterator[PolicyToken]:
        yield from (limit.token for limit in self.limits if limit.token is not None)
        yield from (price.token for price in self.prices)
        yield from self.tokens or ()


class LimitUse(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a limit is used and how much is left, in tokens or USD. If the used amount is
    unlimited or has no USD price, ``used`` is None and ``left`` is 0."""

    PRINTED: ClassVar = {
        "per": "limit.window", "token": "limit.token", "most": "limit.most", "used": "used",
        "left": "left",
    }  # fmt: skip

    limit: Limit
    used: Decimal | None
    left: Decimal


class PolicyStatus(Struct, frozen=True, forbid_unknown_fields=True):
    """The spending policy (None if none was ever set) and the use of its limits. While ``problem``
    is not None, nothing is signed."""

    policy: SpendingPolicy | None
    uses: tuple[LimitUse, ...] = ()
    problem: str | None = None


def only_lowers(new: SpendingPolicy, old: SpendingPolicy) -> bool:
    """True if ``new`` refuses everything that ``old`` refuses."""
    limits = {limit.key: limit.exact for limit in new.limits}
    if any(limit.key not in limits or limits[limit.key] > limit.exact for limit in old.limits):
        return False
    keys = {keys.key for keys in old.limits}
    if any(limit.window is SpendWindow.CALL and limit.key not in keys for limit in new.limits):
        # It would replace the bound that the contract sets.
        return False
    if new.call_payees != old.call_payees and (
        old.call_payees is None or not _within(new.call_payees, old.call_payees)
    ):
        # The payees that it names are paid without a question.
        return False
    if any(limit.token is None for limit in old.limits):
        # A missing price refuses; a lower one lets more through.
        prices = {price.token.key: price.exact for price in old.prices}
        for price in new.prices:
            if price.token.key not in prices or price.exact < prices[price.token.key]:
                return False
    return (
        _within(new.chains, old.chains, attrgetter("chain_id"))
        and _within(new.tokens, old.tokens, attrgetter("key"))
        and _within(new.payees, old.payees)
        and (old.until is None or (new.until is not None and new.until <= old.until))
    )


def _within(
    new: tuple[Entry, ...] | None,
    old: tuple[Entry, ...] | None,
    key: Callable[[Entry], object] = str,
) -> bool:
    """True if ``new`` allows no entry that ``old`` forbids. Entries are compared by ``key``. A list
    that is None allows everything."""
    return old is None or (new is not None and {*map(key, new)} <= {*map(key, old)})


def plain_amount(value: Decimal | Fraction, decimals: int = 2) -> str:
    """Returns the amount like ``1,000.5``. A Fraction is rounded up to ``decimals`` places; a
    Decimal keeps every digit."""
    if isinstance(value, Fraction):
        whole = -(-value.numerator * 10**decimals // value.denominator)
        value = Decimal(f"{whole}e-{decimals}")
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
