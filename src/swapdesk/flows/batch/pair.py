"""What the tokens of a row must be for a batch: a group goes by exchanges, and by one payment."""

from __future__ import annotations

from typing import Literal

from swapdesk.flows.batch.finding import Finding, problem
from swapdesk.flows.batch.planned import BatchRoute
from swapdesk.flows.batch.sheet import Column
from swapdesk.wire.tokens import Token

Paid = Literal["bundle", "solana"]
"""How the deposits of a group are paid: by operations of a smart account, or by ordinary
transactions of several transfers."""

NO_SMART_ACCOUNTS = "NO_SMART_ACCOUNTS"
"""A bundle would pay the row, and this wallet signs none."""

_PAID: dict[str, Paid] = {"evm": "bundle", "sol": "solana"}


def paid_by(token: Token) -> Paid | None:
    """How deposits of this token are paid together; None where that is not possible
    (``hasBundler``, contract 5.5)."""
    return _PAID.get(token.chain_data.kind) if token.has_bundler else None


def pair_findings(
    token_in: Token, token_out: Token, route: BatchRoute | None, *, smart_accounts: bool
) -> list[Finding]:
    """``smart_accounts``: whether this profile has one to pay bundles from."""
    found: list[Finding] = []
    for token, column in ((token_in, Column.SELL), (token_out, Column.BUY)):
        if not token.has_cex:
            reason = f"No exchange takes {_name(token)}, and a batch goes by exchanges."
            found.append(problem("NO_EXCHANGE", column, reason, "Choose another token."))
    if token_in.has_cex and paid_by(token_in) is None:
        reason = f"Deposits of {_name(token_in)} cannot be paid together."
        do = "Sell another token here, or swap this one by itself."
        brief = f"{token_in.symbol[:12]} has no bundles"
        found.append(problem("NO_BUNDLER", Column.SELL, reason, do, brief))
    if token_in.has_cex and paid_by(token_in) == "bundle" and not smart_accounts:
        chain = token_in.chain_data.name
        reason = (
            f"A live wallet pays no bundles on {chain}: who makes its smart account is known in"
            " the sandbox alone."
        )
        do = "Swap or send this row by itself, or sell a token on Solana."
        found.append(problem(NO_SMART_ACCOUNTS, Column.SELL, reason, do, f"no bundles on {chain}"))
    if token_in.id == token_out.id and route == "standard":
        reason = f"{token_in.symbol} is sold for itself, which only a private route does."
        found.append(problem("SAME_TOKEN", Column.BUY, reason, "Write private as route."))
    return found


def _name(token: Token) -> str:
    return f"{token.symbol} on {token.chain_data.name}"
