"""Swap providers (contract 5.14)."""

from typing import Annotated

from swapdesk.wire.chains import Link
from swapdesk.wire.encoding.query import QueryBoolean
from swapdesk.wire.encoding.text import Display, Identity
from swapdesk.wire.model import RequestModel, WireModel

ProviderCode = Annotated[str, Identity(32)]
"""A provider's ``shortName``: the ``swap`` of a quote and the value of provider filters."""


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
