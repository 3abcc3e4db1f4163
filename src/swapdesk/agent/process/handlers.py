"""The handlers of the desk's requests, one function for each request.

Requests on keys open and close them, create, import, name and export a key. Requests on chains need
no unlocked wallet: balances, allowances, and the payloads that change them. Requests on payloads
and signed transactions review, sign, list, send, resolve and give up.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from datetime import UTC
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from swapdesk.agent.keys.material import (
    SUGGESTED,
    KeyMaterial,
    fresh,
    from_keygen,
    from_keystore,
    from_mnemonic,
    from_raw,
)
from swapdesk.agent.process.request import (
    MAX_NUMBER,
    Answer,
    AnyText,
    Text,
    Whole,
    argument,
    refuse_far_clock,
    secret,
)
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.agent.spending.limits import uses
from swapdesk.agent.spending.policy_file import PolicyUnknown
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.deployments import call_asset
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import (
    COIN_DECIMALS,
    MAX_DECIMALS,
    MAX_NAME,
    ImportChoice,
    KeyOrigin,
    Kind,
    export_phrase,
)
from swapdesk.wallet.protocol import Frame, Refused, from_json, to_json
from swapdesk.wallet.spending import (
    Limit,
    PolicyChain,
    PolicyStatus,
    PolicyToken,
    Price,
    SpendingPolicy,
    only_lowers,
)
from swapdesk.wire.encoding.time_range import within_range

T = TypeVar("T")
Paths = Annotated[list[str | None], Meta(max_length=32)]
_OF_KIND = {KeyOrigin.RAW: Kind.EVM, KeyOrigin.KEYSTORE: Kind.EVM, KeyOrigin.KEYGEN: Kind.SOLANA}


async def accounts(opened: OpenedWallet, frame: Frame) -> Answer:
    return to_json(opened.told()), {}


async def unlock(opened: OpenedWallet, frame: Frame) -> Answer:
    addresses = argument(frame, "addresses", list[str] | None)
    closed = await opened.keys.unlock(secret(frame, "passphrase"), addresses)
    opened.idle.start()
    return {"accounts": to_json(opened.told()), "closed": [to_json(key) for key in closed]}, {}


async def lock(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.close_keys()
    return to_json(opened.told()), {}


async def create(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    kind = argument(frame, "kind", Kind)
    await opened.loaded()
    return await _add(opened, frame, fresh(kind))


async def _add(opened: OpenedWallet, frame: Frame, material: KeyMaterial) -> Answer:
    name = argument(frame, "name", AnyText | None) or ""
    account = await opened.keys.add(material, name, secret(frame, "passphrase"), opened.clock.now())
    opened.idle.start()
    return to_json(account), {}


async def preview(opened: OpenedWallet, frame: Frame) -> Answer:
    kind, origin = argument(frame, "kind", Kind), argument(frame, "origin", KeyOrigin)
    paths = argument(frame, "paths", Paths | None) or list(SUGGESTED[kind])
    chosen = paths if origin is KeyOrigin.MNEMONIC else [None]
    choices = []
    for path in chosen:
        material = await _material(opened, frame, kind, origin, path)
        choices.append(to_json(ImportChoice(kind, material.address, material.path)))
        material.secret.wipe()
    return choices, {}


async def import_(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    kind, origin = argument(frame, "kind", Kind), argument(frame, "origin", KeyOrigin)
    material = await _material(opened, frame, kind, origin, argument(frame, "path", str | None))
    if material.address != argument(frame, "address", Text):
        material.secret.wipe()
        raise Refused("not_confirmed", f"it leads to {material.address}, which was not confirmed")
    return await _add(opened, frame, material)


async def _material(
    opened: OpenedWallet, frame: Frame, kind: Kind, origin: KeyOrigin, path: str | None
) -> KeyMaterial:
    material = secret(frame, "material")
    if _OF_KIND.get(origin, kind) is not kind:
        raise Refused("bad_key", f"no {kind} key comes from there")
    await opened.loaded()
    if origin is KeyOrigin.MNEMONIC:
        return await asyncio.to_thread(from_mnemonic, material, kind, path)
    if origin is KeyOrigin.RAW:
        return from_raw(material)
    if origin is KeyOrigin.KEYGEN:
        return from_keygen(material)
    if origin is KeyOrigin.KEYSTORE:
        theirs = secret(frame, "file_passphrase")
        return await asyncio.to_thread(from_keystore, material, theirs)
    raise Refused("bad_request", "such a key cannot be imported")


async def export(opened: OpenedWallet, frame: Frame) -> Answer:
    address = argument(frame, "address", Text)
    passphrase = secret(frame, "passphrase")
    if argument(frame, "phrase", Text) != export_phrase(address):
        raise Refused("not_confirmed", "the phrase that had to be typed was not")
    account, key = await opened.keys.reveal(address, passphrase)
    return to_json(account), {"key": _exported(account.kind, key)}


def _exported(kind: Kind, key: SecretBytes) -> SecretBytes:
    if kind is Kind.EVM:
        written = SecretBytes(b"0x" + key.reveal().hex().encode())
    else:
        from solders.keypair import Keypair

        written = SecretBytes(Keypair.from_seed(bytes(key.reveal())).to_json().encode())
    key.wipe()
    return written


async def rename(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    account = opened.keys.rename(argument(frame, "address", Text), argument(frame, "name", Text))
    return to_json(account), {}


async def set_clock(opened: OpenedWallet, frame: Frame) -> Answer:
    offset = argument(frame, "offset", float)
    refuse_far_clock(offset)
    if not opened.place.live:
        opened.clock.advance_to(offset)
    return opened.clock.offset, {}


PAGE = 500
"""The most transactions in one answer. Even if each has the longest possible error message of a
node, they fit into one frame."""


async def transactions(opened: OpenedWallet, frame: Frame) -> Answer:
    intent = argument(frame, "intent", Text | None)
    signed, last = opened.records.page(intent, argument(frame, "after", Whole), PAGE)
    return {"transactions": [to_json(transaction) for transaction in signed], "after": last}, {}


# The spending policy: everything that is set is read strictly

MAX_ENTRIES = 200
"""The most entries in each list of a policy."""
MOST = Decimal(10) ** 60
FINEST = 36
"""The most decimals of an amount or a price."""
_DIGITS = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?", re.ASCII)
_EVM = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_SOLANA = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)


async def policy(opened: OpenedWallet, frame: Frame) -> Answer:
    return to_json(_status(opened)), {}


def _status(opened: OpenedWallet) -> PolicyStatus:
    try:
        held = opened.policy.read()
    except PolicyUnknown as unknown:
        return PolicyStatus(None, problem=str(unknown))
    if held is None:
        return PolicyStatus(None)
    past = opened.records.spent.past(opened.clock.now())
    return PolicyStatus(held.policy, uses(held.policy, past))


async def set_policy(opened: OpenedWallet, frame: Frame) -> Answer:
    """Sets the spending policy. Without a pass phrase, only a policy at least as strict as the
    current one is accepted. The first policy always needs the pass phrase."""
    written = frame.head.get("policy")
    policy = _checked(from_json(SpendingPolicy, written))
    _refuse_odd_digits(written)
    opened.require_writing()
    sealing = frame.secrets.get("passphrase") is not None
    await _refuse_miscounted(opened, policy, sealing=sealing)
    async with opened.one_at_a_time:
        if sealing:
            await opened.loaded()
            await opened.keys.seal_policy(policy, secret(frame, "passphrase"))
        else:
            _lower(opened, policy)
    return to_json(_status(opened)), {}


async def _refuse_miscounted(
    opened: OpenedWallet, policy: SpendingPolicy, *, sealing: bool
) -> None:
    """Raises Refused if the policy states other decimals for a token than the token's chain. If
    ``sealing`` is False, tokens of the current policy are not checked again."""
    asked = dict.fromkeys(policy.known_tokens)
    if not sealing:
        try:
            held = opened.policy.read()
        except PolicyUnknown:
            held = None
        for token in () if held is None else held.policy.known_tokens:
            asked.pop(token, None)
    by_chain: dict[int | None, list[PolicyToken]] = {}
    for token in asked:
        call = call_asset(token.chain_id, token.contract)
        if token.contract is None:
            _require(token, COIN_DECIMALS[Kind.SOLANA if token.chain_id is None else Kind.EVM])
        elif call is not None:
            _require(token, call.decimals)
        else:
            by_chain.setdefault(token.chain_id, []).append(token)
    for chain_id, tokens in by_chain.items():
        link = opened.chains.with_id(chain_id)
        if link is None:
            raise Refused(
                "other_chain",
                f"this profile has no node of {tokens[0].chain}, which says how many decimals"
                f" {tokens[0].symbol} has",
            )
        await opened.loaded()
        contracts = [token.contract or "" for token in tokens]
        counted = await opened.chains.decimals(link, contracts)
        for token, decimals in zip(tokens, counted, strict=True):
            _require(token, decimals)


def _require(token: PolicyToken, decimals: int | None) -> None:
    where = f"{token.symbol} on {token.chain}"
    if decimals is None:
        raise Refused(
            "token_decimals",
            f"the contract of {where} does not say how many decimals it has",
        )
    if decimals != token.decimals:
        raise Refused(
            "token_decimals",
            f"{where} would be counted by {token.decimals} decimals; it has {decimals}",
        )


def _lower(opened: OpenedWallet, policy: SpendingPolicy) -> None:
    try:
        held = opened.policy.read()
    except PolicyUnknown as unknown:
        raise Refused("passphrase_needed", str(unknown)) from None
    if held is None:
        raise Refused(
            "passphrase_needed",
            "the first spending policy is sealed with the pass phrase",
        )
    if not only_lowers(policy, held.policy):
        raise Refused(
            "passphrase_needed",
            "it would let more be signed than now, which needs the pass phrase",
        )
    try:
        opened.policy.lower(held, policy)
    except OSError as error:
        raise Refused("unsafe_files", f"the policy cannot be kept: {error}") from None


def _bad(words: str) -> Refused:
    return Refused("bad_request", words)


def _checked(policy: SpendingPolicy) -> SpendingPolicy:
    until = policy.until
    if until is not None and (until.tzinfo is None or within_range(until) != until):
        raise _bad("until is no time that can be counted with")
    for many in (
        policy.limits,
        policy.prices,
        policy.chains,
        policy.tokens,
        policy.payees,
        policy.call_payees,
    ):
        if many is not None and len(many) > MAX_ENTRIES:
            raise _bad(f"a policy has up to {MAX_ENTRIES} entries of a kind")
    limits = tuple(
        Limit(
            limit.window, _amount(limit.most), None if limit.token is None else _token(limit.token)
        )
        for limit in policy.limits
    )
    prices = tuple(Price(_token(o.token), _amount(o.usd)) for o in policy.prices)
    _once([limit.key for limit in limits], "a limit")
    _once([price.token.key for price in prices], "a price")
    checked = replace(
        policy,
        limits=limits,
        prices=prices,
        chains=_each(_chain, policy.chains),
        tokens=_each(_token, policy.tokens),
        payees=_each(_address, policy.payees),
        call_payees=_each(_address, policy.call_payees),
        until=None if until is None else until.astimezone(UTC),
    )
    decimals: dict[object, int] = {}
    for token in checked.known_tokens:
        if decimals.setdefault(token.key, token.decimals) != token.decimals:
            raise _bad(f"{token.symbol} has one number of decimals")
    return checked


def _refuse_odd_digits(written: Any) -> None:
    amounts = [limit["most"] for limit in written.get("limits", ())]
    for digits in (*amounts, *(price["usd"] for price in written.get("prices", ()))):
        if type(digits) is not str or _DIGITS.fullmatch(digits) is None:
            raise _bad("an amount is digits with at most one point")


def _once(keys: Iterable[object], what: str) -> None:
    listed = list(keys)
    if len(set(listed)) != len(listed):
        raise _bad(f"{what} is set twice")


def _amount(value: Decimal) -> Decimal:
    if not value.is_finite() or value.is_signed() or value >= MOST:
        raise _bad("an amount is a number from 0 to less than 10^60")
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or not -FINEST <= exponent <= FINEST:
        raise _bad(f"an amount has up to {FINEST} decimals")
    return value


def _token(token: PolicyToken) -> PolicyToken:
    if not 0 <= token.decimals <= MAX_DECIMALS:
        raise _bad("a token has 0 to 255 decimals")
    contract = None if token.contract is None else _address(token.contract)
    if contract is not None and contract.startswith("0x") is (token.chain_id is None):
        raise _bad(f"{_name(token.symbol)} is no token of its chain")
    return PolicyToken(
        _id(token.chain_id), contract, token.decimals, _name(token.symbol), _name(token.chain)
    )


def _chain(chain: PolicyChain) -> PolicyChain:
    return PolicyChain(_id(chain.chain_id), _name(chain.name))


def _each(checked: Callable[[T], T], entries: tuple[T, ...] | None) -> tuple[T, ...] | None:
    return None if entries is None else tuple(map(checked, entries))


def _id(chain_id: int | None) -> int | None:
    if chain_id is not None and not 0 < chain_id < MAX_NUMBER:
        raise _bad("a chain id is a number above 0")
    return chain_id


def _name(name: str) -> str:
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise _bad(f"a name has 1 to {MAX_NAME} printable characters")
    return name


def _address(address: str) -> str:
    if _EVM.fullmatch(address):
        spelled, digits = checksummed(address), address[2:]
        if address != spelled and digits not in (digits.lower(), digits.upper()):
            raise _bad(f"the checksum of {address} is wrong")
        return spelled
    if _SOLANA.fullmatch(address) is None:
        raise _bad("a payee or contract is no address of an EVM chain or of Solana")
    return address
