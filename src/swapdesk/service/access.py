"""Authentication: accounts, API keys, ``partner-id``, scopes and tiers (contract 2.1 to 2.7)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.errors import ServiceError
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import Access


class Tier(StrEnum):
    FREE = "FREE"
    PRO = "PRO"


FEE_SHARES = {Tier.FREE: Decimal(0), Tier.PRO: Decimal(20)}
"""Percent of a venue's fee that a partner earns, by tier (contract 12.7)."""

Scope = Literal["full", "read"]


class ApiKey(Struct, frozen=True):
    """An API key and the SHA-256 of its secret; the secret itself is never kept."""

    key: str
    secret_digest: bytes
    scope: Scope = "full"
    dialect: Dialect | None = None


class Partner(Struct, frozen=True):
    """An account of the service. ``default_markup``, in percent, applies to requests that state no
    markup. ``fee_share`` is in percent of the venue's fee; None means the tier's share. If
    ``allowed_origins`` is empty, every website may use the ``partner-id``."""

    partner_id: str
    name: str
    tier: Tier
    keys: tuple[ApiKey, ...]
    quote_limits: RateWindows
    exchange_limits: RateWindows
    read_limits: RateWindows | None = None
    suspended: bool = False
    fixed_rates: bool = True
    default_markup: Decimal = Decimal(0)
    allowed_origins: tuple[str, ...] = ()
    fee_share: Decimal | None = None

    @property
    def earns_of_fees(self) -> Decimal:
        return FEE_SHARES[self.tier] if self.fee_share is None else self.fee_share


TIERS = {
    Tier.FREE: Partner(
        partner_id="",
        name="",
        tier=Tier.FREE,
        keys=(),
        quote_limits=RateWindows(per_minute=5, per_hour=20, per_day=50),
        exchange_limits=RateWindows(per_minute=1, per_hour=5, per_day=10),
        read_limits=RateWindows(per_minute=60, per_hour=3600, per_day=86_400),
        fixed_rates=False,
    ),
    Tier.PRO: Partner(
        partner_id="",
        name="",
        tier=Tier.PRO,
        keys=(),
        quote_limits=RateWindows(per_minute=500, per_hour=2000, per_day=5000),
        exchange_limits=RateWindows(per_minute=50, per_hour=500, per_day=2000),
        read_limits=RateWindows(per_minute=600, per_hour=36_000, per_day=864_000),
    ),
}
"""The default terms of an account by its tier (contract 2.9, 12.7, 17.8)."""

Windows = tuple[int, int, int]


class Overrides(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Terms of an account that replace those of its tier; None keeps the tier's.

    ``fee_share`` and ``default_markup`` are in percent.
    """

    quote: Windows | None = None
    exchange: Windows | None = None
    read: Windows | None = None
    fee_share: Decimal | None = None
    default_markup: Decimal | None = None
    fixed_rates: bool | None = None


class StoredKey(ApiKey, frozen=True, kw_only=True):
    """An API key as it is stored. ``revoked`` is the time at which the key was revoked; None while
    the key is active."""

    PRINTED: ClassVar = {
        "apiKey": "key", "scope": "scope", "dialect": "dialect",
        "created": "created", "revoked": "revoked",
    }  # fmt: skip

    created: datetime
    revoked: datetime | None = None


class StoredPartner(Struct, frozen=True):
    """An account with the terms in force. ``overrides`` holds the terms that differ from those of
    the tier. If ``origins`` is empty, every website may use the account's ``partner-id``. ``keys``
    include revoked keys. ``feeShare`` and ``defaultMarkup`` are in percent; ``read`` is None if
    reads are not limited."""

    PRINTED: ClassVar = {
        "partnerId": "partner_id", "name": "name", "tier": "tier", "suspended": "suspended",
        "created": "created", "quote": "terms.quote_limits", "exchange": "terms.exchange_limits",
        "read": "terms.read_limits", "feeShare": "terms.earns_of_fees",
        "defaultMarkup": "terms.default_markup", "fixedRates": "terms.fixed_rates",
        "overrides": "overridden", "origins": "origins", "keys": "keys",
    }  # fmt: skip

    partner_id: str
    name: str
    tier: Tier
    created: datetime
    suspended: bool = False
    overrides: Overrides = Overrides()
    origins: tuple[str, ...] = ()
    keys: tuple[StoredKey, ...] = ()

    @property
    def overridden(self) -> tuple[str, ...]:
        """The overridden terms as the command line spells them, such as ``fee-share``."""
        return tuple(
            name.removeprefix("default_").replace("_", "-")
            for name in self.overrides.__struct_fields__
            if getattr(self.overrides, name) is not None
        )

    @property
    def terms(self) -> Partner:
        """Returns the account with the terms in force, without revoked API keys."""
        tier, own = TIERS[self.tier], self.overrides
        return replace(
            tier,
            partner_id=self.partner_id,
            name=self.name,
            keys=tuple(key for key in self.keys if key.revoked is None),
            quote_limits=_windows(own.quote) or tier.quote_limits,
            exchange_limits=_windows(own.exchange) or tier.exchange_limits,
            read_limits=_windows(own.read) or tier.read_limits,
            suspended=self.suspended,
            fixed_rates=tier.fixed_rates if own.fixed_rates is None else own.fixed_rates,
            default_markup=own.default_markup or Decimal(0),
            allowed_origins=self.origins,
            fee_share=own.fee_share,
        )


def _windows(windows: Windows | None) -> RateWindows | None:
    if windows is None:
        return None
    minute, hour, day = windows
    return RateWindows(per_minute=minute, per_hour=hour, per_day=day)


class Caller(Struct, frozen=True):
    """The sender of an authenticated request. ``key`` is None if the sender gave only a
    ``partner-id`` or pays for this call."""

    partner: Partner
    key: ApiKey | None
    payment: str | None = None
    """Identifies the payment if the sender pays for this call (contract 2.4); otherwise None."""

    @property
    def pays(self) -> bool:
        return self.payment is not None

    def dialect(self, usual: Dialect) -> Dialect:
        return (self.key.dialect if self.key is not None else None) or usual


def digest(secret: bytes) -> bytes:
    """Returns the SHA-256 of a secret. A slow hash is not needed for 32 random bytes."""
    return hashlib.sha256(secret).digest()


_NOBODY = digest(b"no such key")
_BAD = "The API credentials are missing, malformed or unknown."


class Directory:
    """The partners of the service, found by API key or partner id. ``version`` is the number of
    changes made to partners in the store so far; without a store it is 0."""

    def __init__(self, partners: Iterable[Partner]) -> None:
        self.replace(partners, 0)

    def replace(self, partners: Iterable[Partner], version: int) -> None:
        self.version = version
        self.partners = {partner.partner_id: partner for partner in partners}
        self._by_key = {
            key.key: Caller(partner, key)
            for partner in self.partners.values()
            for key in partner.keys
        }

    def accepts(self, key: str) -> bool:
        caller = self._by_key.get(key)
        return caller is not None and not caller.partner.suspended

    def authenticate(
        self, headers: Mapping[str, str], access: Access, *, writes: bool = False
    ) -> Caller:
        """Returns the partner and API key that the request headers (lower-case names) state.
        ``access`` says whether ``partner-id`` alone is enough; with ``writes``, a read-only key is
        refused. Raises ServiceError, whose message and timing do not reveal which part was
        wrong."""
        authorization = headers.get("authorization")
        if authorization is not None:
            caller = self._by_credentials(authorization)
        else:
            partner_id = headers.get("partner-id")
            partner = self.partners.get(partner_id) if partner_id is not None else None
            if partner is None:
                raise ServiceError(ErrorCode.INVALID_API_CREDENTIALS, _BAD)
            if access is Access.KEY:
                raise ServiceError(
                    ErrorCode.PARTNER_ID_NOT_SUPPORTED,
                    "This operation needs an API key; partner-id alone is read-only.",
                )
            caller = Caller(partner, None)
        if caller.partner.suspended:
            raise ServiceError(ErrorCode.ACCESS_DENIED, "This account is suspended.")
        if writes and caller.key is not None and caller.key.scope == "read":
            raise ServiceError(ErrorCode.ACCESS_DENIED, "This API key may only read.")
        return caller

    def _by_credentials(self, authorization: str) -> Caller:
        key_text, colon, secret = authorization.partition(":")
        caller = self._by_key.get(key_text)
        expected = caller.key.secret_digest if caller and caller.key else _NOBODY
        given = digest(secret.encode("utf-8", "surrogateescape"))
        right = hmac.compare_digest(given, expected)
        if not (colon and caller and right):
            raise ServiceError(ErrorCode.INVALID_API_CREDENTIALS, _BAD)
        return caller
