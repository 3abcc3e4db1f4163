"""An intent in the words of the wallet agent: what it may sign for it, in whole units."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from swapdesk.flows.intents.intent import COIN_DECIMALS, DexTerms, Intent, TokenFacts, least_units
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wire.encoding.numbers import to_base_units


class NoDexSwap(ValueError):
    """The intent is none of an on-chain swap, or not one that can be promised."""


def terms(intent: Intent) -> DexTerms:
    """Raises NoDexSwap."""
    if intent.route != "dex" or intent.dex is None:
        raise NoDexSwap("this was not confirmed as an on-chain swap")
    return intent.dex


def promise_of(intent: Intent) -> Promise:
    """What was confirmed. Raises NoDexSwap, and NumberError for an amount with more digits than
    its token has."""
    agreed = terms(intent)
    chain_id = intent.token_in.chain_id if intent.token_in.kind == "evm" else None
    if intent.token_in.kind not in COIN_DECIMALS or (
        intent.token_in.kind == "evm" and chain_id is None
    ):
        raise NoDexSwap(f"swaps on {intent.token_in.chain_name} cannot be signed here")
    quoted = _units_down(intent.amount_out, intent.token_out.decimals)
    return Promise(
        intent_id=intent.id,
        account=agreed.sender,
        chain=intent.token_in.chain,
        chain_id=chain_id,
        sell=_asset(intent.token_in),
        sell_units=to_base_units(intent.amount_in, intent.token_in.decimals),
        buy=_asset(intent.token_out),
        chain_out=intent.token_out.chain,
        chain_out_id=intent.token_out.chain_id,
        least_units=least_units(quoted, agreed.slippage),
        quoted_units=quoted,
        recipient=intent.recipient,
        venue=intent.provider,
        quote_id=intent.quote_id,
        valid_until=intent.valid_until,
        gas_units=agreed.gas_units,
        fee_units=agreed.fee_units,
    )


def _asset(token: TokenFacts) -> Asset:
    return Asset(token.symbol, token.decimals, token.contract)


def _units_down(amount: Decimal, decimals: int) -> int:
    return int(Fraction(amount) * 10**decimals)
