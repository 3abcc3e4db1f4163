"""Tokens and their security scans (contract 5.5 to 5.13)."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, field_validator

from swapdesk.wire.chains import Chain, ChainName, Link
from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.ids import ObjectId
from swapdesk.wire.encoding.interning import Shared
from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import FreeText, QueryBoolean, QueryInteger
from swapdesk.wire.encoding.text import Display, Identity, OpenEnum
from swapdesk.wire.model import RequestModel, WireModel


class ScanResult(StrEnum):
    """The overall result of a security scan. Decide by it, not by single findings. ``UNSCANNED``
    alone never blocks a token."""

    BENIGN = "Benign"
    WARNING = "Warning"
    MALICIOUS = "Malicious"
    UNSCANNED = "Unscanned"


class UnscannedReason(StrEnum):
    NOT_CONFIGURED = "NOT_CONFIGURED"
    UNSUPPORTED_CHAIN = "UNSUPPORTED_CHAIN"
    NATIVE_TOKEN = "NATIVE_TOKEN"
    RATE_LIMITED = "RATE_LIMITED"
    TIMEOUT = "TIMEOUT"
    PROVIDER_ERROR = "PROVIDER_ERROR"
    NO_RESULT = "NO_RESULT"
    SCAN_PENDING = "SCAN_PENDING"
    NOT_A_TOKEN = "NOT_A_TOKEN"
    UNKNOWN_RESULT_TYPE = "UNKNOWN_RESULT_TYPE"


class TokenScanFeature(WireModel):
    """One finding of a scan, for display only."""

    feature_id: Annotated[str, Display(100)] = ""
    type: Annotated[str, Display(32)] = ""
    description: Annotated[str, Display(500)] = ""


class TokenSecurityScan(WireModel):
    REQUIRED = frozenset({"scannedAt", "expiresAt"})

    provider: Annotated[str, Display(100)] | None = None
    result_type: Annotated[str, OpenEnum(ScanResult)] | None = None
    provider_result_type: Annotated[str, Display(100)] | None = None
    malicious_score: Amount | None = Field(
        default=None, json_schema_extra={"minimum": 0, "maximum": 1}
    )
    features: list[TokenScanFeature] = Field(default_factory=list)
    unscanned_reason: Annotated[str, OpenEnum(UnscannedReason)] | None = None
    unscanned_detail: Annotated[str, Display(500)] | None = None
    scanned_at: Timestamp
    expires_at: Timestamp


class Token(WireModel):
    """A token on one chain, identified by its ``id``, never by its symbol."""

    NULLABLE = frozenset(
        {
            "address",
            "description",
            "rank",
            "cgId",
            "price",
            "marketCap",
            "volume",
            "fdv",
            "change",
            "priority",
        }
    )

    REQUIRED = frozenset(
        {
            "icon",
            "id",
            "chain",
            "decimals",
            "symbol",
            "name",
            "created",
            "chainData",
            "enabled",
        }
    )

    id: ObjectId
    icon: Link = ""
    address: Annotated[str, Identity(200)] | None = None
    chain: ChainName
    chain_data: Annotated[Chain, Shared()]
    decimals: Annotated[
        WireInteger, Field(ge=0, le=40), Field(json_schema_extra={"format": "int32"})
    ]
    symbol: Annotated[str, Display(40)]
    name: Annotated[str, Display(120)]
    created: Timestamp | None = None
    modified: Timestamp | None = None
    description: Annotated[str, Display(2000)] | None = None
    mainnet: bool = False
    enabled: bool = True
    unverified: bool = False
    has_dex: bool = False
    has_cex: bool = False
    has_bundler: bool = False
    has_self_private: bool = False
    cex_token_id: Annotated[str, Display(64)] = ""
    rank: Amount | None = None
    cg_id: Annotated[str, Display(100)] | None = None
    market_cap_change24h: Amount | None = Field(default=None, alias="marketCapChange24h")
    circulating_supply: Amount | None = None
    price: Amount | None = None
    market_cap: Amount | None = None
    volume: Amount | None = None
    fdv: Amount | None = None
    change: Amount | None = None
    priority: Amount | None = None
    warning_message: Annotated[str, Display(500)] | None = None
    security_scan: TokenSecurityScan | None = None

    @field_validator("address", mode="before")
    @classmethod
    def _native_has_no_contract(cls, value: Any) -> Any:
        if isinstance(value, str) and (
            value == ""
            or (value.startswith("0x") and value[2:].strip("0") == "")
            or (len(value) >= 32 and value.strip("1") == "")
        ):
            return None
        return value


class TokenSearchResult(WireModel):
    tokens: list[Token]
    total: WireInteger
    total_pages: WireInteger


class TokenQuery(RequestModel):
    """Filters of ``GET /tokens``. ``symbol`` must match as a whole; its case is ignored."""

    page_size: Annotated[QueryInteger, Field(ge=1, le=1000)] = 1000
    page: Annotated[QueryInteger, Field(ge=1, le=10000)] = 1
    term: Annotated[str, FreeText(100)] | None = None
    chain: Annotated[str, FreeText(64)] | None = None
    mainnet: QueryBoolean | None = None
    has_cex: QueryBoolean | None = None
    has_dex: QueryBoolean | None = None
    address: Annotated[str, FreeText(200)] | None = None
    symbol: Annotated[str, FreeText(20)] | None = None
    unverified: QueryBoolean = False
    has_self_private: QueryBoolean | None = None
    has_bundler: QueryBoolean | None = None


class TokenPath(RequestModel):
    id: ObjectId
