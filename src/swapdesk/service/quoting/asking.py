"""Turns the parameters of a request into the question that is priced (contract 6.9 to 6.20), and
asks all venues at once, with a common deadline of 2 s (contract 17.3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.quoting.routes import RouteQuestion, leg_filters, require_known
from swapdesk.service.quoting.rows import Asked
from swapdesk.service.store.records import RouteChoice
from swapdesk.service.venues.adapter import Terms
from swapdesk.service.venues.onchain.adapter import DexQuestion
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import quantize, to_base_units
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.quotes import AmountType, PrivateSendQuery, QuoteQuery, RouteOptions
from swapdesk.wire.tokens import Token

logger = logging.getLogger(__name__)

_CENTRALIZED: dict[RouteType, Literal["standard", "private"]] = {
    RouteType.STANDARD: "standard",
    RouteType.PRIVATE: "private",
}


def quotes_asked(
    catalog: ServiceCatalog, venues: Venues, caller: Caller, query: QuoteQuery
) -> Asked:
    types = frozenset(query.types or RouteType)
    same = query.from_.lower() == query.to.lower()
    if same and types != {RouteType.PRIVATE}:
        message = "must differ from 'from'; the same token needs types=private"
        raise invalid("to", message, query.to)
    if query.types is not None and RouteType.DEX in types:
        _refuse_on_dex(query)
    receive = query.amount_type is AmountType.RECEIVE
    if receive and not query.fixed:
        raise invalid("amountType", "receive needs fixed=true", query.amount_type.value)
    _check_options(caller, query)
    if query.swaps is not None:
        require_known("swaps", query.swaps, venues, routing=True)
    choice = _choice(venues, query, None if query.swaps is None else tuple(query.swaps))
    token_in = catalog.enabled_token(query.from_, "from")
    token_out = catalog.enabled_token(query.to, "to")
    if same:
        require_self_private(token_in, query.from_)
    amount = in_units(token_out if receive else token_in, query.amount)
    centralized = frozenset(_CENTRALIZED[route] for route in types if route in _CENTRALIZED)
    asked = _asked(
        caller,
        query,
        RouteQuestion(token_in, token_out, amount, choice=choice, types=centralized),
        receive=receive,
    )
    if RouteType.DEX not in types or same or query.fixed or query.markup:
        return asked
    return replace(asked, onchain=_onchain(query, token_in, token_out, amount))


def private_send_asked(
    catalog: ServiceCatalog, venues: Venues, caller: Caller, query: PrivateSendQuery
) -> Asked:
    _check_options(caller, query)
    choice = _choice(venues, query, None)
    token = catalog.enabled_token(query.from_, "from")
    require_self_private(token, query.from_)
    amount = in_units(token, query.amount)
    types: frozenset[Literal["standard", "private"]] = frozenset({"private"})
    question = RouteQuestion(token, token, amount, choice=choice, types=types)
    return _asked(caller, query, question, receive=False)


def _asked(caller: Caller, query: RouteOptions, question: RouteQuestion, *, receive: bool) -> Asked:
    default = caller.partner.default_markup
    markup = default if query.markup is None else query.markup
    return Asked(
        replace(
            question,
            terms=Terms(query.fixed, receive, markup),
            markup_optional=query.markup is None,
        ),
        caller.partner.partner_id,
        private_send=question.token_in.id == question.token_out.id,
        markup_told=query.markup is not None or default > 0,
    )


def _check_options(caller: Caller, query: RouteOptions) -> None:
    if query.rotate_fallback and not query.rotate_payout_wallets:
        raise invalid("rotateFallback", "needs rotatePayoutWallets=true", True)
    if query.fixed and not caller.partner.fixed_rates:
        raise ServiceError(
            ErrorCode.FIXED_RATE_NOT_ALLOWED, "This account may not use fixed rates."
        )


def _choice(venues: Venues, query: RouteOptions, swaps: tuple[str, ...] | None) -> RouteChoice:
    return RouteChoice(
        swaps=swaps,
        **leg_filters(query, venues),
        use_xmr=query.use_xmr,
        rotate_payout_wallets=query.rotate_payout_wallets,
        deviation_threshold=query.deviation_threshold,
        rotation_lookback=query.rotation_lookback,
        rotate_fallback=query.rotate_fallback,
    )


def _onchain(query: QuoteQuery, token_in: Token, token_out: Token, amount: Decimal) -> DexQuestion:
    return DexQuestion(
        token_in=token_in,
        token_out=token_out,
        amount=to_base_units(amount, token_in.decimals),
        slippage=query.slippage,
        sender=query.sender_address,
        receiver=query.receiver_address,
    )


def _refuse_on_dex(query: QuoteQuery) -> None:
    if query.amount_type is AmountType.RECEIVE:
        raise invalid("amountType", "is not supported with types=dex", query.amount_type.value)
    if query.fixed:
        raise invalid("fixed", "is not supported with types=dex", True)
    if query.markup:
        raise invalid("markup", "is not supported with types=dex", query.markup)


def require_self_private(token: Token, value: str) -> None:
    if not token.has_self_private:
        raise invalid("from", "must be a token with hasSelfPrivate", value)


def in_units(token: Token, amount: Decimal) -> Decimal:
    """Returns ``amount`` without excess zeros. Raises VALIDATION_ERROR if the amount has more
    decimals than the token."""
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= token.decimals:
        return amount
    cut = quantize(amount, token.decimals, up=False)
    if cut != amount:
        raise invalid("amount", f"{token.symbol} has {token.decimals} decimals", amount)
    return cut


T = TypeVar("T")


Steps = tuple[tuple[float, int], ...]
"""Steps of a wait for answers, as (seconds, percent). Up to those seconds, the wait ends early only
if that percentage of answers has arrived."""

STEPS: Steps = ((0.6, 100), (0.9, 90), (1.2, 80), (1.5, 70), (1.8, 60), (2.0, 50))

HALF_STEPS: Steps = tuple((seconds / 2, percent) for seconds, percent in STEPS)
"""Steps for questions inside a question that uses STEPS: the same percentages in half the time."""

DEADLINE = STEPS[-1][0]
"""Longest wait for answers, in seconds."""


async def gather(
    clock: Clock,
    questions: Sequence[Coroutine[Any, Any, T]],
    *,
    steps: Steps = STEPS,
    begin: float | None = None,
) -> tuple[list[T | None], float]:
    """Asks all questions at once. Returns the answers and the elapsed seconds; an answer is None if
    it came too late or the question raised. Late questions are cancelled. ``begin`` is when the
    request began, by ``clock.monotonic``; None means now."""
    if begin is None:
        begin = clock.monotonic()
    if not questions:
        return [], 0.0
    tasks = [asyncio.ensure_future(question) for question in questions]
    left = len(tasks)
    enough = 0
    some = asyncio.Event()

    def one_more(_: asyncio.Future[T]) -> None:
        nonlocal left
        left -= 1
        if left <= enough:
            some.set()

    for task in tasks:
        task.add_done_callback(one_more)
    try:
        for until, percent in steps:
            enough = len(tasks) - -(-percent * len(tasks) // 100)
            remaining = begin + until - clock.monotonic()
            if remaining <= 0 and until != steps[-1][0]:
                continue
            timer = asyncio.ensure_future(clock.sleep(remaining))
            timer.add_done_callback(lambda _: some.set())
            try:
                while left > enough and not timer.done():
                    some.clear()
                    await some.wait()
            finally:
                timer.cancel()
            if left <= enough:
                break
        return [_answer(task) for task in tasks], clock.monotonic() - begin
    finally:
        for task in tasks:
            task.cancel()


def _answer(task: asyncio.Future[T]) -> T | None:
    if not task.done() or task.cancelled():
        return None
    defect = task.exception()
    if defect is not None:
        logger.error("a question of the fan-out raised %r", defect, exc_info=defect)
        return None
    return task.result()
