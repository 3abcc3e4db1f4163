"""``wallet policy``: what the wallet may sign at most, shown and set.

What is set is the policy there is with the given parts in place of its own. The agent decides
whether that only lowers it; where it does not, the pass phrase is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.deployments import call_asset
from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, bad_input, own_refusal
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Output
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.session import CommandSession
from swapdesk.flows.failure_messages import POLICY_ANEW
from swapdesk.flows.notation import IsoTime, iso
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import ChainLink
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase
from swapdesk.wallet.spending import (
    Limit,
    LimitUse,
    PolicyChain,
    PolicyStatus,
    PolicyToken,
    Price,
    SpendingPolicy,
    SpendWindow,
    plain_amount,
)

NONE, ANY = "none", "any"
_AMOUNT = re.compile(r"[0-9]{1,40}(\.[0-9]{1,36})?", re.ASCII)

Amounts = tuple[str, ...]
"""Each ``TOKEN.CHAIN=AMOUNT`` or ``usd=AMOUNT``; ``none`` as amount takes it away."""


class PolicyTokenFacts(Struct, frozen=True):
    """``contract`` None: the coin of the chain. ``decimals`` are what amounts are counted by."""

    symbol: str
    chain: str
    contract: str | None
    decimals: int


class PolicyLimit(Struct, frozen=True):
    """``token`` None: in USD. ``used`` None: a token that was signed for has no price."""

    per: SpendWindow
    token: PolicyTokenFacts | None
    most: Decimal
    used: Decimal | None
    left: Decimal


class PolicyPrice(Struct, frozen=True):
    """USD for one whole token."""

    token: PolicyTokenFacts
    usd: Decimal


class PolicyFacts(Struct, frozen=True, rename="camel"):
    """A list that is None allows all; ``until`` None has no end. ``call_payees`` None: of who is
    paid for calls only a change is asked about."""

    limits: tuple[PolicyLimit, ...]
    prices: tuple[PolicyPrice, ...]
    chains: tuple[str, ...] | None
    tokens: tuple[PolicyTokenFacts, ...] | None
    payees: tuple[str, ...] | None
    call_payees: tuple[str, ...] | None
    until: IsoTime | None


class PolicyDocument(Struct, frozen=True):
    """``policy`` None: everything that is confirmed is signed. ``problem``: the file of the policy
    is not what was set, and nothing is signed."""

    policy: PolicyFacts | None
    problem: str | None


class PolicyChange(Struct, frozen=True):
    """The parts that were given. A list is in place of the whole list; ``any`` alone ends it."""

    limits: Mapping[SpendWindow, Amounts]
    prices: Amounts = ()
    chains: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    payees: tuple[str, ...] = ()
    call_payees: tuple[str, ...] = ()
    until: str | None = None
    anew: bool = False

    @property
    def says_nothing(self) -> bool:
        return self == PolicyChange(dict.fromkeys(SpendWindow, ()))


async def show_policy(call: CliContext, wallet: LocalWallet) -> int:
    return _told(call.output, await (await wallet.client()).policy())


async def set_policy(session: CommandSession, wallet: LocalWallet, change: PolicyChange) -> int:
    client = await wallet.client()
    status = await client.policy()
    if status.problem is not None and not change.anew:
        raise own_refusal(
            "POLICY_CHANGED",
            "The file of the spending policy is not what was set. Nothing is signed.",
            next=POLICY_ANEW,
        )
    old = None if change.anew else status.policy
    policy = await _changed(wallet, old or SpendingPolicy(), change)
    try:
        if session.call.passphrase_fd is not None:
            raise Refused(RefusalCode.PASSPHRASE_NEEDED, "it was given")
        status = await client.set_policy(policy)
    except Refused as refused:
        if refused.code is not RefusalCode.PASSPHRASE_NEEDED:
            raise
        status = await client.set_policy(policy, _phrase(session.call, wallet))
    return _told(session.call.output, status)


def _phrase(call: CliContext, wallet: LocalWallet) -> Secret:
    """In the sandbox its own; a live one is asked for."""
    if call.passphrase_fd is None and not wallet.live:
        return sandbox_passphrase(wallet.settings.places)
    return read_passphrase(call)


async def _changed(
    wallet: LocalWallet, old: SpendingPolicy, change: PolicyChange
) -> SpendingPolicy:
    limits = {one.key: one for one in old.limits}
    for window, amounts in change.limits.items():
        for given in amounts:
            name, most = _parts(given, f"per-{window.value}")
            token = None if name.lower() == "usd" else await _token(wallet, name)
            key = (window, None if token is None else token.key)
            limits.pop(key, None)
            if most is not None:
                limits[key] = Limit(window, most, token)
    prices = {one.token.key: one for one in old.prices}
    for given in change.prices:
        name, usd = _parts(given, "price")
        token = await _token(wallet, name)
        prices.pop(token.key, None)
        if usd is not None:
            prices[token.key] = Price(token, usd)
    policy = replace(old, limits=tuple(limits.values()), prices=tuple(prices.values()))
    if change.chains:
        links = [_link(wallet, one) for one in change.chains if one != ANY]
        chains = tuple(PolicyChain(one.chain_id, one.name) for one in links)
        policy = replace(policy, chains=None if ANY in change.chains else chains)
    if change.tokens:
        tokens = [await _token(wallet, one) for one in change.tokens if one != ANY]
        policy = replace(policy, tokens=None if ANY in change.tokens else tuple(tokens))
    if change.payees:
        payees = tuple(dict.fromkeys(change.payees))
        policy = replace(policy, payees=None if ANY in payees else payees)
    if change.call_payees:
        called = tuple(dict.fromkeys(change.call_payees))
        policy = replace(policy, call_payees=None if ANY in called else called)
    if change.until is not None:
        policy = replace(policy, until=_moment(change.until))
    return policy


def _parts(given: str, field: str) -> tuple[str, Decimal | None]:
    name, found, amount = given.rpartition("=")
    if not found or not name or (amount != NONE and _AMOUNT.fullmatch(amount) is None):
        message = f"{given!r} is no TOKEN.CHAIN=AMOUNT or usd=AMOUNT, in plain digits or none."
        raise bad_input("BAD_LIMIT", message, field=field)
    return name, None if amount == NONE else Decimal(amount)


def _moment(text: str) -> datetime | None:
    """A date, which ends as it begins, or a time; UTC where it says no zone."""
    if text == NONE:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is no date as 2026-12-31 or time as 2026-12-31T18:00."
        raise bad_input("BAD_TIME", message, field="until") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _link(wallet: LocalWallet, name: str) -> ChainLink:
    link = wallet.link(name)
    if link is None:
        known = ", ".join(one.name for one in wallet.links)
        message = f"There is no node of {name!r}; there are {known}."
        raise bad_input("NO_SUCH_CHAIN", message, field="chain")
    return link


async def _token(wallet: LocalWallet, given: str) -> PolicyToken:
    """``usdc.base``, or a contract and its chain."""
    name, found, chain = given.rpartition(".")
    if not found or not name:
        raise bad_input("BAD_TOKEN", f"{given!r} is no token and chain as usdc.base.")
    link = _link(wallet, chain)
    known = [one for one, _ in await wallet.tokens.priced(link.name)]
    fits = [one for one in known if (one.contract or "").lower() == name.lower()]
    fits = fits or [one for one in known if one.symbol.lower() == name.lower()]
    # What calls are paid in is known here; another token of that name is named by its contract.
    fits = [one for one in fits if call_asset(link.chain_id, one.contract)] or fits
    if not fits:
        raise CommandError(
            Exit.NOT_FOUND,
            "TOKEN_NOT_FOUND",
            f"{name} is no verified token of {link.name}.",
            next="you: swapdesk tokens finds it",
        )
    if len(fits) > 1:
        contracts = ", ".join(str(one.contract) for one in fits)
        raise bad_input("AMBIGUOUS", f"{given!r} is the symbol of several tokens: {contracts}.")
    one = fits[0]
    return PolicyToken(link.chain_id, one.contract, one.decimals, one.symbol, link.name)


# What is told


def _told(output: Output, status: PolicyStatus) -> int:
    policy = status.policy
    if output.json:
        shown = None if policy is None else _shown(policy, status.uses)
        output.document(PolicyDocument(shown, status.problem))
    elif policy is not None and policy != SpendingPolicy():
        rows = [
            (f"per {one.limit.window.value}", plain_amount(one.limit.most), _unit(one.limit),
             "?" if one.used is None else plain_amount(one.used), plain_amount(one.left))
            for one in status.uses
        ]  # fmt: skip
        if rows:
            output.table(("limit", "most", "of", "used", "left"), rows, numbers=(1, 3, 4))
        output.facts(_facts(policy))
    elif status.problem is None:
        output.say("No spending policy: the wallet signs whatever is confirmed.")
    if status.problem is None:
        return Exit.DONE
    output.talk(
        f"{status.problem[:1].upper()}{status.problem[1:]}.",
        f"Money stays where it is. Next {POLICY_ANEW}.",
    )
    return Exit.OWN_REFUSAL


def _unit(limit: Limit) -> str:
    return "USD" if limit.token is None else _named(limit.token)


def _named(token: PolicyToken) -> str:
    return f"{token.symbol}.{token.chain}"


def _facts(policy: SpendingPolicy) -> Sequence[tuple[str, str]]:
    facts = [
        (f"price of {_named(one.token)}", f"{plain_amount(one.usd)} USD") for one in policy.prices
    ]
    # The symbol is a word of the service; this is what counts.
    for token in dict.fromkeys(policy.known_tokens):
        contract = token.contract or "the coin of the chain"
        facts.append((_named(token), f"{contract}, {token.decimals} decimals"))
    if policy.chains is not None:
        facts.append(("chains", ", ".join(one.name for one in policy.chains) or NONE))
    if policy.tokens is not None:
        facts.append(("tokens", ", ".join(map(_named, policy.tokens)) or NONE))
    if policy.payees is not None:
        facts.append(("payees", ", ".join(policy.payees) or NONE))
    if policy.call_payees is not None:
        facts.append(("payees of calls", ", ".join(policy.call_payees) or NONE))
    if policy.until is not None:
        facts.append(("until", iso(policy.until)))
    return facts


def _shown(policy: SpendingPolicy, uses: Sequence[LimitUse]) -> PolicyFacts:
    return PolicyFacts(
        limits=tuple(
            PolicyLimit(
                one.limit.window,
                None if one.limit.token is None else _named_token(one.limit.token),
                one.limit.most,
                one.used,
                one.left,
            )
            for one in uses
        ),
        prices=tuple(PolicyPrice(_named_token(one.token), one.usd) for one in policy.prices),
        chains=None if policy.chains is None else tuple(one.name for one in policy.chains),
        tokens=None if policy.tokens is None else tuple(map(_named_token, policy.tokens)),
        payees=policy.payees,
        call_payees=policy.call_payees,
        until=None if policy.until is None else iso(policy.until),
    )


def _named_token(token: PolicyToken) -> PolicyTokenFacts:
    return PolicyTokenFacts(token.symbol, token.chain, token.contract, token.decimals)
