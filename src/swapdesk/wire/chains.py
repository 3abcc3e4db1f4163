"""Chains and swap providers (contract 5.1 to 5.3, 5.14)."""

from typing import Annotated

from pydantic import Field

from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import FreeText, QueryBoolean, QueryInteger
from swapdesk.wire.encoding.text import Display, Identity
from swapdesk.wire.model import RequestModel, WireModel

ChainName = Annotated[str, Identity(64)]
"""A chain's ``shortName``, by which requests name the chain."""

Link = Annotated[str, Identity(500)]


class Chain(WireModel):
    """A chain, with regular expressions for its addresses. The vendor's public service leaves out
    some fields (contract 1.23)."""

    NULLABLE = frozenset({"memoNeeded", "chainId"})
    REQUIRED = frozenset(
        {
            "id",
            "created",
            "name",
            "shortName",
            "shortNameV1",
            "icon",
            "addressValidation",
            "tokenAddressValidation",
            "explorerUrl",
            "addressUrl",
            "priority",
            "kind",
            "enabled",
        }
    )

    id: Annotated[str, Identity(64)]
    created: Timestamp | None = None
    modified: Timestamp | None = None
    name: Annotated[str, Display(100)]
    short_name: ChainName
    short_name_v1: Annotated[str, Identity(64)] | None = Field(default=None, alias="shortNameV1")
    icon: Link = ""
    address_validation: Annotated[str, Identity(512)] = ""
    token_address_validation: Annotated[str, Identity(512)] = ""
    memo_needed: bool | None = None
    hash_url: Link | None = None
    explorer_url: Link = ""
    address_url: Link = ""
    priority: Amount = Field(default=99999, validate_default=True)
    kind: Annotated[str, Identity(32)]
    chain_id: WireInteger | None = None
    enabled: bool = True


class ChainList(WireModel):
    chains: list[Chain]
    total: WireInteger
    total_pages: WireInteger


ChainKind = Annotated[str, FreeText(16)]


class ChainQuery(RequestModel):
    """Filters of ``GET /chains``. The case of ``kind`` and ``name`` is ignored."""

    has_cex: QueryBoolean | None = None
    has_dex: QueryBoolean | None = None
    kind: Annotated[list[ChainKind], Field(max_length=10)] | None = None
    name: Annotated[str, FreeText(50)] | None = None
    chain_id: Annotated[QueryInteger, Field(ge=1)] | None = None
    memo_needed: QueryBoolean | None = None
    page: Annotated[QueryInteger, Field(ge=1, le=10000)] = 1
    page_size: Annotated[QueryInteger, Field(ge=1, le=100)] = 100


ProviderCode = Annotated[str, Identity(32)]
"""A provider's ``shortName``, as in ``swap`` of a quote and in filters."""


class SwapProvider(WireModel):
    NULLABLE = frozenset({"autoSlippageSupported"})
    REQUIRED = frozenset({"id", "name", "shortName", "enabled"})

    id: Annotated[str, Identity(64)]
    name: Annotated[str, Display(100)]
    short_name: ProviderCode
    tx_url: Link = ""
    enabled: bool
    is_dex: bool = False
    deprecated: bool = False
    markup_supported: bool = False
    slippage_supported: bool = False
    auto_slippage_supported: bool | None = None
    logo_url: Link = ""


class ProviderQuery(RequestModel):
    is_dex: QueryBoolean | None = None
    markup_supported: QueryBoolean | None = None
    slippage_supported: QueryBoolean | None = None
