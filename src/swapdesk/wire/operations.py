"""The table of operations: every operation of the API once.

The table is the source of the service's routes, validation, error documentation and OpenAPI
document, of the client's calls and ``swapdesk api``, and of the tests of access and documentation.
Add a row together with its handler. Paths are relative to ``{base_url}/v2`` (contract 1.2, 4.1).
"""

from __future__ import annotations

from msgspec.structs import replace

from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.errors import ErrorCode as E
from swapdesk.wire.operation import Access, Operation, RateClass
from swapdesk.wire.price_tiers import PriceTier

BODY_LIMIT = 256 * 1024
"""The largest request body that the service reads, in bytes."""


# Who may call, as what it is counted and as what it is priced (contract 2.9, 4.1, 14.4).
_REFERENCE = (Access.READ, RateClass.READ, PriceTier.READ)
_QUOTES = (Access.READ, RateClass.QUOTE, PriceTier.QUOTE)
_CREATES = (Access.KEY, RateClass.EXCHANGE, PriceTier.EXCHANGE)
_OWN = (Access.KEY, RateClass.READ, PriceTier.STATUS)
_PAYMENT = (Access.KEY, RateClass.READ, PriceTier.EXCHANGE)
_ASKS = (Access.KEY, RateClass.READ, PriceTier.READ)

_ALWAYS = (E.INTERNAL_SERVER_ERROR, E.SERVICE_UNAVAILABLE)
_CREDENTIALS = (E.INVALID_API_CREDENTIALS, E.ACCESS_DENIED, E.RATE_LIMIT_EXCEEDED)
_READ = (*_CREDENTIALS, E.VALIDATION_ERROR, *_ALWAYS)
_KEY_READ = (E.PARTNER_ID_NOT_SUPPORTED, *_READ)
_TOKENS = (E.TOKEN_NOT_FOUND, E.TOKEN_DISABLED)
_WRITE = (
    E.BAD_REQUEST,
    E.PAYLOAD_TOO_LARGE,
    E.UNSUPPORTED_MEDIA_TYPE,
    *_KEY_READ,
)
_FIXED = (E.FIXED_RATE_NOT_ALLOWED,)
_CREATE = (
    E.INVALID_SWAP,
    E.FIXED_RATE_QUOTE_EXPIRED,
    E.STATIC_DEPOSIT_IN_USE,
    E.TOKEN_DISABLED,
    E.PROVIDER_EXCHANGE_FAILED,
    *_FIXED,
    *_WRITE,
)
_ASKED_OF_CHAINS = (E.INVALID_SWAP, *_WRITE)

_CREATE_GROUP = (*_TOKENS, *_FIXED, *_WRITE)
_OWN_GROUP = (E.NOT_FOUND, *_KEY_READ)
_BUILD = (E.NOT_FOUND, E.ALREADY_SUBMITTED, *_WRITE)

_QUOTE_ID = {"quoteId": "/quotes/0/quoteId"}
_SAME_TOKENS = {"inTokenId": "/inTokenId", "outTokenId": "/outTokenId"}
_FROM_ORDER = {"get_order": {"serviceId": "/serviceId"}, "list_orders": _SAME_TOKENS}

_MIB = 1 << 20

DESCRIPTION_PATH = "/openapi.json"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "health",
        "GET",
        "/health",
        "Health of the service",
        Access.OPEN,
        RateClass.NONE,
        PriceTier.FREE,
        "health:Health",
        errors=(E.VALIDATION_ERROR, *_ALWAYS),
    ),
    Operation(
        "openapi",
        "GET",
        DESCRIPTION_PATH,
        "The OpenAPI 3.0 description of this service",
        *_REFERENCE,
        "object",
        errors=_READ,
        result_limit=4 * _MIB,
    ),
    Operation(
        "list_chains",
        "GET",
        "/chains",
        "Enabled chains",
        *_REFERENCE,
        "chains:ChainList",
        query_name="chains:ChainQuery",
        errors=_READ,
        result_limit=8 * _MIB,
    ),
    Operation(
        "list_tokens",
        "GET",
        "/tokens",
        "Search tokens",
        *_REFERENCE,
        "tokens:TokenSearchResult",
        query_name="tokens:TokenQuery",
        errors=_READ,
        result_limit=8 * _MIB,
    ),
    Operation(
        "get_token",
        "GET",
        "/tokens/{id}",
        "One token",
        *_REFERENCE,
        "tokens:Token",
        path_name="tokens:TokenPath",
        errors=(*_TOKENS, *_READ),
    ),
    Operation(
        "list_swaps",
        "GET",
        "/swaps",
        "Swap providers",
        *_REFERENCE,
        "chains:SwapProvider[]",
        query_name="chains:ProviderQuery",
        errors=_READ,
    ),
    Operation(
        "get_pair_limits",
        "GET",
        "/minMax",
        "Smallest and largest amounts of a pair, by route type",
        *_REFERENCE,
        "quotes:PairLimits",
        query_name="quotes:PairLimitsQuery",
        errors=(*_TOKENS, *_READ),
    ),
    Operation(
        "get_quotes",
        "GET",
        "/quotes",
        "Quotes of every route type for a pair and an amount",
        *_QUOTES,
        "quotes:QuoteList",
        query_name="quotes:QuoteQuery",
        errors=(*_TOKENS, *_FIXED, E.AMOUNT_TOO_LOW, E.QUOTE_OVER_LIMIT, *_READ),
        result_limit=2 * _MIB,
        deadline=20.0,
        links={
            "create_exchange": _QUOTE_ID,
            "dex_approve": _QUOTE_ID,
            "dex_allowance": _QUOTE_ID,
        },
    ),
    Operation(
        "get_private_send_quotes",
        "GET",
        "/quotes/private-send",
        "Quotes for sending a token privately to another wallet",
        *_QUOTES,
        "quotes:PrivateSendQuoteList",
        query_name="quotes:PrivateSendQuery",
        errors=(*_TOKENS, *_FIXED, E.AMOUNT_TOO_LOW, E.QUOTE_OVER_LIMIT, *_READ),
        result_limit=2 * _MIB,
        deadline=20.0,
        links={"create_private_send": _QUOTE_ID},
    ),
    Operation(
        "create_exchange",
        "POST",
        "/exchanges",
        "Create an order from a quote",
        *_CREATES,
        "orders:Order",
        body_name="exchanges:ExchangeRequest",
        errors=_CREATE,
        deadline=30.0,
        links=_FROM_ORDER,
    ),
    Operation(
        "create_private_send",
        "POST",
        "/exchanges/private-send",
        "Create a private send from its quote",
        *_CREATES,
        "orders:Order",
        body_name="exchanges:PrivateSendRequest",
        errors=_CREATE,
        deadline=30.0,
        links=_FROM_ORDER,
    ),
    Operation(
        "create_multi_exchange",
        "POST",
        "/exchanges/multi",
        "Create a group of orders that sell on one chain",
        *_CREATES,
        "multi:MultiExchange",
        body_name="multi:MultiExchangeRequest",
        errors=_CREATE_GROUP,
        result_limit=2 * _MIB,
        deadline=30.0,
        links={
            "get_multi_exchange": {"multiId": "/multiId"},
            "build_multi_transactions": {"multiId": "/multiId"},
        },
    ),
    Operation(
        "get_multi_exchange",
        "GET",
        "/exchanges/multi/{multiId}",
        "A group of orders and the bundle that funds it, within 48 hours of creation",
        *_OWN,
        "multi:MultiExchangeStatus",
        path_name="multi:MultiPath",
        errors=_OWN_GROUP,
        result_limit=2 * _MIB,
    ),
    Operation(
        "build_multi_transactions",
        "POST",
        "/exchanges/multi/{multiId}/tx/build",
        "What the sender signs to pay the deposits of a group",
        *_PAYMENT,
        "multi:MultiTransactions",
        path_name="multi:MultiPath",
        body_name="multi:MultiBuildRequest",
        errors=_BUILD,
        result_limit=2 * _MIB,
        deadline=20.0,
    ),
    Operation(
        "get_multi_transactions",
        "GET",
        "/exchanges/multi/{multiId}/tx",
        "The transactions that pay the deposits of a group on Solana",
        *_PAYMENT,
        "multi:MultiTransactions",
        path_name="multi:MultiPath",
        query_name="multi:MultiSenderQuery",
        errors=_OWN_GROUP,
        result_limit=2 * _MIB,
        deadline=20.0,
    ),
    Operation(
        "submit_multi_transactions",
        "POST",
        "/exchanges/multi/{multiId}/tx",
        "Submit the signatures of the bundle that was built",
        *_PAYMENT,
        "multi:MultiSubmission",
        path_name="multi:MultiPath",
        body_name="multi:MultiSubmitRequest",
        errors=(E.NOT_FOUND, E.INVALID_SWAP, *_WRITE),
        deadline=30.0,
    ),
    Operation(
        "get_order",
        "GET",
        "/orders/{serviceId}",
        "Order details, within 48 hours of creation",
        Access.READ,
        RateClass.READ,
        PriceTier.STATUS,
        "orders:Order",
        path_name="orders:OrderPath",
        errors=(E.NOT_FOUND, *_READ),
        links={"list_orders": _SAME_TOKENS},
    ),
    Operation(
        "list_orders",
        "GET",
        "/orders",
        "Orders of the last 48 hours",
        *_OWN,
        "orders:OrderList",
        query_name="orders:OrderQuery",
        errors=_KEY_READ,
        result_limit=8 * _MIB,
    ),
    Operation(
        "dex_approve",
        "POST",
        "/dex/approve",
        "What a wallet has to approve or to sign for a DEX quote",
        *_ASKS,
        "dex:ApproveAnswer",
        body_name="dex:ApproveRequest",
        errors=_ASKED_OF_CHAINS,
        deadline=20.0,
    ),
    Operation(
        "dex_allowance",
        "POST",
        "/dex/allowance",
        "Whether the venue of a DEX quote may take the tokens already",
        *_ASKS,
        "boolean",
        body_name="dex:ApproveRequest",
        errors=_ASKED_OF_CHAINS,
        deadline=20.0,
    ),
    Operation(
        "dex_chain_signatures",
        "POST",
        "/dex/chainSignatures",
        "The next step of a chain of signatures",
        *_ASKS,
        "dex:SignatureRequirement[]",
        body_name="dex:ChainSignaturesRequest",
        errors=_ASKED_OF_CHAINS,
        deadline=20.0,
    ),
    Operation(
        "dex_confirm_transaction",
        "POST",
        "/dex/confirmTx",
        "Tell that the transaction of a DEX order was sent, or that its venue may settle it",
        *_PAYMENT,
        "boolean",
        body_name="dex:ConfirmTransactionRequest",
        errors=(E.NOT_FOUND, E.ALREADY_SUBMITTED, *_ASKED_OF_CHAINS),
        deadline=20.0,
    ),
    Operation(
        "get_rate_limits",
        "GET",
        "/rateLimits",
        "Effective limits of the calling partner",
        *_ASKS,
        "account:RateLimits",
        errors=_KEY_READ,
    ),
    Operation(
        "get_commissions",
        "GET",
        "/commissions/summary",
        "What the calling partner earned, in all or in one month",
        *_ASKS,
        "account:CommissionSummary",
        query_name="account:CommissionQuery",
        errors=_KEY_READ,
    ),
    Operation(
        "get_volume",
        "GET",
        "/stats/volume",
        "Finished orders of the calling partner and their value",
        *_ASKS,
        "account:VolumeStatistics",
        errors=_KEY_READ,
    ),
    Operation(
        "get_weekly_volume",
        "GET",
        "/stats/weeklyVolume",
        "The same by week, from the first order on",
        *_ASKS,
        "account:WeeklyVolume[]",
        errors=_KEY_READ,
    ),
    Operation(
        "get_chart",
        "GET",
        "/stats/chart",
        "The same by day or month",
        *_ASKS,
        "account:ChartPoint[]",
        query_name="account:ChartQuery",
        errors=_KEY_READ,
    ),
    Operation(
        "receive_webhook",
        "POST",
        "/webhooks/{source}",
        "Take a signed event of a venue or bundler",
        Access.OPEN,
        RateClass.NONE,
        PriceTier.FREE,
        "webhooks:WebhookAcknowledgement",
        path_name="webhooks:WebhookPath",
        body_name="webhooks:WebhookEvent",
        errors=(
            E.BAD_REQUEST,
            E.INVALID_API_CREDENTIALS,
            E.NOT_FOUND,
            E.PAYLOAD_TOO_LARGE,
            E.UNSUPPORTED_MEDIA_TYPE,
            E.VALIDATION_ERROR,
            E.RATE_LIMIT_EXCEEDED,
            *_ALWAYS,
        ),
        signed=True,
    ),
)

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}


def operations_in(dialect: Dialect) -> tuple[Operation, ...]:
    """Returns the operations in a dialect. In the vendor's dialect, the operation that returns the
    OpenAPI document needs no credentials (contract 13.2)."""
    if dialect is Dialect.CONTRACT:
        return OPERATIONS
    health, described = BY_NAME["health"], BY_NAME["openapi"]
    to_everybody = replace(
        described,
        access=health.access,
        rate_class=health.rate_class,
        price_tier=health.price_tier,
        errors=health.errors,
    )
    return tuple(to_everybody if each is described else each for each in OPERATIONS)


STREAM_PATH = "/ws"
"""Path of the WebSocket with order updates, which needs an API key (contract 11.1)."""
