"""The Partner Swap API v2, one typed method per operation.

    async with PartnerApi(url, Credentials.of_key(key, secret), clock=clock) as api:
        found = await api.list_tokens(TokenQuery(symbol="BTC"))

Every method raises the tree of :mod:`swapdesk.client.errors`. Reading calls are retried by
rule, creating calls are not (see :mod:`swapdesk.client.retry`).
"""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from swapdesk.client.api_connection import ApiConnection, Receipt
from swapdesk.client.errors import AnswerRefused
from swapdesk.client.order_page import OrderPage, OrderRows, read_order_page
from swapdesk.client.retry import OnRepeat
from swapdesk.client.transport import refuse_answer
from swapdesk.wire.account import (
    ChartPoint,
    ChartQuery,
    CommissionQuery,
    CommissionSummary,
    RateLimits,
    VolumeStatistics,
    WeeklyVolume,
)
from swapdesk.wire.chains import ChainList, ChainQuery
from swapdesk.wire.dex import (
    ApproveAnswer,
    ApproveRequest,
    ChainSignaturesRequest,
    ConfirmTransactionRequest,
    SignatureRequirement,
)
from swapdesk.wire.encoding.codec import (
    ShapeError,
    refuse_deep,
)
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.health import Health
from swapdesk.wire.multi import (
    MultiBuildRequest,
    MultiExchange,
    MultiExchangeRequest,
    MultiExchangeStatus,
    MultiSenderQuery,
    MultiSubmission,
    MultiSubmitRequest,
    MultiTransactions,
)
from swapdesk.wire.operations import BY_NAME
from swapdesk.wire.orders import Order, OrderQuery
from swapdesk.wire.pair_limits import PairLimits, PairLimitsQuery
from swapdesk.wire.providers import ProviderQuery, SwapProvider
from swapdesk.wire.quotes import PrivateSendQuery, PrivateSendQuoteList, QuoteList, QuoteQuery
from swapdesk.wire.tokens import Token, TokenQuery, TokenSearchResult


class PartnerApi(ApiConnection):
    """Every operation of the table under its name."""

    async def health(self) -> Health:
        """What the service says of itself. Whether it is well its status says alone: others answer
        any JSON, text or nothing (contract 13.1)."""
        try:
            return await self._call("health", Health)
        except AnswerRefused as error:
            if not 200 <= error.status < 300:
                raise
            return Health()

    async def openapi(self) -> dict[str, Any]:
        """The description of the service: no money in it, and bounds such as 1.8e308, so it is
        read as ordinary JSON with Decimals."""
        answer = await self._transport.send(BY_NAME["openapi"])
        try:
            refuse_deep(answer.body)
            found = json.loads(answer.body, parse_float=Decimal)
        except ValueError:
            raise refuse_answer(answer, "not_json", "is no JSON document") from None
        if not isinstance(found, dict):
            raise refuse_answer(answer, "wrong_shape", "is no JSON object")
        return found

    async def list_chains(self, query: ChainQuery | None = None) -> ChainList:
        return await self._call("list_chains", ChainList, query=query)

    async def list_tokens(self, query: TokenQuery | None = None) -> TokenSearchResult:
        return await self._call("list_tokens", TokenSearchResult, query=query)

    async def get_token(self, token_id: str) -> Token:
        return await self._call("get_token", Token, path={"id": token_id})

    async def list_swaps(self, query: ProviderQuery | None = None) -> list[SwapProvider]:
        """All providers; a list inside ``{"swaps": ...}`` is read as well (contract 5.14)."""
        return await self._call("list_swaps", list[SwapProvider], query=query, wrapped="swaps")

    async def get_pair_limits(self, query: PairLimitsQuery) -> PairLimits:
        return await self._call("get_pair_limits", PairLimits, query=query)

    async def get_quotes(
        self, query: QuoteQuery, *, on_repeat: OnRepeat | None = None
    ) -> QuoteList:
        return await self._call("get_quotes", QuoteList, query=query, on_repeat=on_repeat)

    async def get_private_send_quotes(
        self, query: PrivateSendQuery, *, on_repeat: OnRepeat | None = None
    ) -> PrivateSendQuoteList:
        return await self._call(
            "get_private_send_quotes", PrivateSendQuoteList, query=query, on_repeat=on_repeat
        )

    async def create_exchange(
        self, request: ExchangeRequest, *, until: datetime | None = None
    ) -> Receipt[Order]:
        """Create an order. After :class:`OutcomeUnknown` look for it, never send it again.

        A refusal that says when to come back is repeated once, but never from ``until`` on,
        by the clock: the quote is over then.
        """
        return await self._create("create_exchange", Order, request, until)

    async def create_private_send(
        self, request: PrivateSendRequest, *, until: datetime | None = None
    ) -> Receipt[Order]:
        """Create a private send, with the rules of :meth:`create_exchange`."""
        return await self._create("create_private_send", Order, request, until)

    async def create_multi_exchange(
        self, request: MultiExchangeRequest, *, until: datetime | None = None
    ) -> Receipt[MultiExchange]:
        """Create a group of orders, with the rules of :meth:`create_exchange`: after
        :class:`OutcomeUnknown` look for its orders in the list, never send it again."""
        return await self._create("create_multi_exchange", MultiExchange, request, until)

    async def get_multi_exchange(self, multi_id: str) -> MultiExchangeStatus:
        return await self._call(
            "get_multi_exchange", MultiExchangeStatus, path={"multiId": multi_id}
        )

    async def build_multi_transactions(
        self, multi_id: str, request: MultiBuildRequest
    ) -> MultiTransactions:
        """What is to be signed to pay the deposits. Moves nothing, yet what was built before and
        is not submitted is void then: sign the newest answer only."""
        return await self._call(
            "build_multi_transactions", MultiTransactions, path={"multiId": multi_id}, body=request
        )

    async def get_multi_transactions(self, multi_id: str, sender: str) -> MultiTransactions:
        """The transactions of a group on Solana."""
        return await self._call(
            "get_multi_transactions",
            MultiTransactions,
            path={"multiId": multi_id},
            query=MultiSenderQuery(sender=sender),
        )

    async def submit_multi_transactions(
        self, multi_id: str, request: MultiSubmitRequest
    ) -> MultiSubmission:
        """Submit the signatures of the newest build. After :class:`OutcomeUnknown`, as after
        ``NOT_FOUND``, which a bundle that was submitted before is answered with, look at the
        group; never build anew for it."""
        return await self._call(
            "submit_multi_transactions", MultiSubmission, path={"multiId": multi_id}, body=request
        )

    async def get_order(self, service_id: str) -> Order:
        return await self._call("get_order", Order, path={"serviceId": service_id})

    async def list_orders(self, query: OrderQuery | None = None) -> OrderPage:
        """One page; orders that cannot be read are skipped and counted."""
        return await read_order_page(await self._call("list_orders", OrderRows, query=query))

    async def dex_approve(self, request: ApproveRequest) -> ApproveAnswer:
        """What has to be approved or signed before the venue may take the tokens."""
        return await self._call("dex_approve", ApproveAnswer, body=request)

    async def dex_allowance(self, request: ApproveRequest) -> bool:
        """Whether the venue may take the tokens already."""
        return await self._call("dex_allowance", bool, body=request, read=_boolean)

    async def dex_chain_signatures(
        self, request: ChainSignaturesRequest
    ) -> list[SignatureRequirement]:
        """What follows a signed step; some servers wrap the list."""
        return await self._call(
            "dex_chain_signatures",
            list[SignatureRequirement],
            body=request,
            wrapped="chainSignatures",
        )

    async def dex_confirm_transaction(
        self, request: ConfirmTransactionRequest, *, until: datetime | None = None
    ) -> bool:
        """Tell the order's transaction; False when the service does not see it yet."""
        return await self._call(
            "dex_confirm_transaction", bool, body=request, read=_boolean, until=until
        )

    async def get_rate_limits(self) -> RateLimits:
        """The effective limits; the budget learns them too."""
        limits = await self._call("get_rate_limits", RateLimits)
        self.budget.learn(limits)
        return limits

    async def get_commissions(self, query: CommissionQuery | None = None) -> CommissionSummary:
        return await self._call("get_commissions", CommissionSummary, query=query)

    async def get_volume(self) -> VolumeStatistics:
        return await self._call("get_volume", VolumeStatistics)

    async def get_weekly_volume(self) -> list[WeeklyVolume]:
        """Oldest first, weeks without an order included."""
        return await self._call("get_weekly_volume", list[WeeklyVolume])

    async def get_chart(self, query: ChartQuery) -> list[ChartPoint]:
        """Oldest first, days or months without an order included."""
        return await self._call("get_chart", list[ChartPoint], query=query)


def _boolean(found: object) -> bool:
    if not isinstance(found, bool):
        raise ShapeError([("", "is not true or false")])
    return found
