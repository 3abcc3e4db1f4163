"""A change of the spending policy: the present policy, in which the parts that the user gave are
replaced. The agent needs the pass phrase unless the new policy is at least as strict in every
respect."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec.structs import replace

from swapdesk.chain.deployments import call_asset
from swapdesk.flows.failure_messages import POLICY_ANEW
from swapdesk.flows.notation import iso
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import ChainLink
from swapdesk.wallet.spending import (
    Limit,
    PolicyChain,
    PolicyToken,
    Price,
    SpendingPolicy,
    SpendWindow,
    plain_amount,
)

NONE, ANY = "none", "any"
NO_POLICY = "No spending policy: the wallet signs whatever is confirmed."
_AMOUNT = re.compile(r"[0-9]{1,40}(\.[0-9]{1,36})?", re.ASCII)

PolicyChange = Mapping[str, tuple[str, ...]]
"""The parts of the policy that the user gave, by option of the command: ``per_day``, ``prices``,
and so on. A limit or price is written ``TOKEN.CHAIN=AMOUNT`` or, for a limit, ``usd=AMOUNT``; the
amount ``none`` removes it. A given list replaces the present list; the word ``any`` in it removes
the restriction. ``anew`` has no value and means that the change starts from an empty policy."""


class PolicyProblem(ValueError):
    """Raised if a change does not lead to a valid policy. ``field`` names the wrong option, or is
    None. ``next`` says who acts next; it is empty if the message says enough."""

    def __init__(self, code: str, message: str, field: str | None = None, next_: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.next = next_


_OPTIONS = {
    **{f"per-{window.value}": f"per_{window.value}" for window in SpendWindow},
    "price": "prices",
    "chain": "chains",
    "token": "tokens",
    "payee": "payees",
    "call-payee": "call_payees",
    "until": "until",
}


def typed_change(text: str) -> PolicyChange:
    """Returns the change in a typed text such as ``per-day usdc.base=100 until 2026-12-31``, with
    or without dashes. Raises PolicyProblem."""
    change: dict[str, tuple[str, ...]] = {}
    words = iter(text.replace(",", " ").split())
    for word in words:
        name = word.removeprefix("--").lower()
        if name == "anew":
            change[name] = ()
            continue
        option = _OPTIONS.get(name)
        if option is None:
            options = ", ".join(_OPTIONS)
            raise PolicyProblem("BAD_OPTION", f"{word!r} is no rule; there are {options} and anew.")
        value = next(words, None)
        if value is None:
            raise PolicyProblem("BAD_OPTION", f"{word} has no value after it.")
        before = () if option == "until" else change.get(option, ())
        change[option] = (*before, value)
    return change


async def proposed_policy(wallet: LocalWallet, change: PolicyChange) -> SpendingPolicy:
    """Returns the present policy with the change applied, without setting it. Raises PolicyProblem
    and WalletError."""
    status = await (await wallet.client()).policy()
    if status.problem is not None and "anew" not in change:
        raise PolicyProblem(
            "POLICY_CHANGED",
            "The file of the spending policy is not what was set. Nothing is signed.",
            next_=POLICY_ANEW,
        )
    old = None if "anew" in change else status.policy
    return await _changed(wallet, old or SpendingPolicy(), change)


async def _changed(
    wallet: LocalWallet, old: SpendingPolicy, change: PolicyChange
) -> SpendingPolicy:
    limits = {limit.key: limit for limit in old.limits}
    for window in SpendWindow:
        for given in change.get(f"per_{window.value}", ()):
            name, most = _parts(given, f"per-{window.value}")
            token = None if name.lower() == "usd" else await _token(wallet, name)
            key = (window, None if token is None else token.key)
            limits.pop(key, None)
            if most is not None:
                limits[key] = Limit(window, most, token)
    prices = {price.token.key: price for price in old.prices}
    for given in change.get("prices", ()):
        name, usd = _parts(given, "price")
        token = await _token(wallet, name)
        prices.pop(token.key, None)
        if usd is not None:
            prices[token.key] = Price(token, usd)
    policy = replace(old, limits=tuple(limits.values()), prices=tuple(prices.values()))
    lists: dict[str, Sequence[object]] = {
        "chains": [_chain(wallet, chain) for chain in change.get("chains", ()) if chain != ANY],
        "tokens": [
            await _token(wallet, chain) for chain in change.get("tokens", ()) if chain != ANY
        ],
        "payees": change.get("payees", ()),
        "call_payees": change.get("call_payees", ()),
    }
    for name, listed in lists.items():
        if typed := change.get(name):
            kept = None if ANY in typed else tuple(dict.fromkeys(listed))
            policy = replace(policy, **{name: kept})
    for until in change.get("until", ()):
        policy = replace(policy, until=_moment(until))
    return policy


def _parts(given: str, field: str) -> tuple[str, Decimal | None]:
    name, separator, amount = given.rpartition("=")
    if not separator or not name or (amount != NONE and _AMOUNT.fullmatch(amount) is None):
        message = f"{given!r} is no TOKEN.CHAIN=AMOUNT or usd=AMOUNT, in plain digits or none."
        raise PolicyProblem("BAD_LIMIT", message, field)
    return name, None if amount == NONE else Decimal(amount)


def _moment(text: str) -> datetime | None:
    if text == NONE:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is no date as 2026-12-31 or time as 2026-12-31T18:00."
        raise PolicyProblem("BAD_TIME", message, "until") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _chain(wallet: LocalWallet, name: str) -> PolicyChain:
    link = _link(wallet, name)
    return PolicyChain(link.chain_id, link.name)


def _link(wallet: LocalWallet, name: str) -> ChainLink:
    link = wallet.link(name)
    if link is None:
        names = ", ".join(one.name for one in wallet.links)
        message = f"There is no node of {name!r}; there are {names}."
        raise PolicyProblem("NO_SUCH_CHAIN", message, "chain")
    return link


async def _token(wallet: LocalWallet, given: str) -> PolicyToken:
    """Returns the verified token written like ``usdc.base`` or as contract and chain. Raises
    PolicyProblem unless exactly one token fits."""
    name, separator, chain = given.rpartition(".")
    if not separator or not name:
        raise PolicyProblem("BAD_TOKEN", f"{given!r} is no token and chain as usdc.base.")
    link = _link(wallet, chain)
    assets = [asset for asset, _ in await wallet.tokens.priced(link.name)]
    fits = [asset for asset in assets if (asset.contract or "").lower() == name.lower()]
    fits = fits or [asset for asset in assets if asset.symbol.lower() == name.lower()]
    # What calls are paid in is known here; another token of that name is named by its contract.
    fits = [fit for fit in fits if call_asset(link.chain_id, fit.contract)] or fits
    if not fits:
        message = f"{name} is no verified token of {link.name}."
        raise PolicyProblem("TOKEN_NOT_FOUND", message, next_="you: swapdesk tokens finds it")
    if len(fits) > 1:
        contracts = ", ".join(str(fit.contract) for fit in fits)
        message = f"{given!r} is the symbol of several tokens: {contracts}."
        raise PolicyProblem("AMBIGUOUS", message)
    asset = fits[0]
    return PolicyToken(link.chain_id, asset.contract, asset.decimals, asset.symbol, link.name)


# What is told


def named_token(token: PolicyToken) -> str:
    return f"{token.symbol}.{token.chain}"


def policy_facts(policy: SpendingPolicy) -> Sequence[tuple[str, str]]:
    """Returns (name, value) pairs, as texts, for everything in a policy except its limits."""
    facts = [
        (f"price of {named_token(price.token)}", f"{plain_amount(price.usd)} USD")
        for price in policy.prices
    ]
    # The symbol is a word of the service; this is what counts.
    for token in dict.fromkeys(policy.known_tokens):
        contract = token.contract or "the coin of the chain"
        facts.append((named_token(token), f"{contract}, {token.decimals} decimals"))
    lists: dict[str, Sequence[str] | None] = {
        "chains": None if policy.chains is None else [chain.name for chain in policy.chains],
        "tokens": None if policy.tokens is None else [*map(named_token, policy.tokens)],
        "payees": policy.payees,
        "payees of calls": policy.call_payees,
    }
    facts += [
        (what, ", ".join(listed) or NONE) for what, listed in lists.items() if listed is not None
    ]
    if policy.until is not None:
        facts.append(("until", iso(policy.until)))
    return facts
