"""What a desk asks: one function for each request.

Of keys: open and close them, make, take in, name and give out one. Of chains, for which nothing
has to be unlocked: what is held, what may be taken, and the payloads that change it. Of payloads
and signed transactions: have one reviewed and signed, list what was signed, send it, resolve it
or give it up.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.agent.keys.keystore import KeyFileRefused, WrongPassword
from swapdesk.agent.keys.material import (
    SUGGESTED,
    KeyMaterial,
    KeyRefused,
    fresh,
    from_keygen,
    from_keystore,
    from_mnemonic,
    from_raw,
)
from swapdesk.agent.process.request import (
    AgentRefusal,
    Answer,
    assets,
    hash_of,
    one_of,
    optional_hash,
    optional_text,
    promised,
    refuse_far_clock,
    secret,
    text,
    texts,
    whole,
)
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import (
    Account,
    ChainLink,
    ImportChoice,
    KeyOrigin,
    Kind,
    export_phrase,
)
from swapdesk.wallet.encoding import payload_from_json, payload_to_json, to_json
from swapdesk.wallet.protocol import Frame
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

if TYPE_CHECKING:
    from swapdesk.agent.transactions.delivery import EvmDelivery, SolanaDelivery


MAX_PATHS = 32
_OF_KIND = {KeyOrigin.RAW: Kind.EVM, KeyOrigin.KEYSTORE: Kind.EVM, KeyOrigin.KEYGEN: Kind.SOLANA}


async def accounts(opened: OpenedWallet, frame: Frame) -> Answer:
    return to_json(opened.told()), {}


async def unlock(opened: OpenedWallet, frame: Frame) -> Answer:
    addresses = texts(frame, "addresses")
    result = await opened.keys.unlock(secret(frame, "passphrase"), addresses)
    opened.idle.start()
    closed = [to_json(one) for one in result.closed]
    told = to_json(opened.told())
    return {"accounts": told, "opened": list(result.addresses), "closed": closed}, {}


async def lock(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.close_keys()
    return to_json(opened.told()), {}


async def create(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    kind = one_of(Kind, frame, "kind")
    await opened.loaded()
    return await _add(opened, frame, fresh(kind))


async def _add(opened: OpenedWallet, frame: Frame, material: KeyMaterial) -> Answer:
    name = text(frame, "name", empty=True)
    account = await opened.keys.add(material, name, secret(frame, "passphrase"), opened.clock.now())
    opened.idle.start()
    return to_json(account), {}


async def preview(opened: OpenedWallet, frame: Frame) -> Answer:
    kind, origin = one_of(Kind, frame, "kind"), one_of(KeyOrigin, frame, "origin")
    paths = frame.head.get("paths") or list(SUGGESTED[kind])
    if not isinstance(paths, list) or not 0 < len(paths) <= MAX_PATHS:
        raise AgentRefusal(Code.BAD_REQUEST, f"paths must be a list of up to {MAX_PATHS}")
    chosen = paths if origin is KeyOrigin.MNEMONIC else [None]
    choices = []
    for path in chosen:
        material = await _material(opened, frame, kind, origin, path)
        choices.append(to_json(ImportChoice(kind, material.address, material.path)))
        material.secret.wipe()
    return choices, {}


async def import_(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    kind, origin = one_of(Kind, frame, "kind"), one_of(KeyOrigin, frame, "origin")
    material = await _material(opened, frame, kind, origin, frame.head.get("path"))
    if material.address != text(frame, "address"):
        material.secret.wipe()
        raise AgentRefusal(
            Code.NOT_CONFIRMED, f"it leads to {material.address}, which was not confirmed"
        )
    return await _add(opened, frame, material)


async def _material(
    opened: OpenedWallet, frame: Frame, kind: Kind, origin: KeyOrigin, path: object
) -> KeyMaterial:
    material = secret(frame, "material")
    if path is not None and not isinstance(path, str):
        raise AgentRefusal(Code.BAD_REQUEST, "a path is a text")
    if _OF_KIND.get(origin, kind) is not kind:
        raise AgentRefusal(Code.BAD_KEY, f"no {kind} key comes from there")
    await opened.loaded()
    try:
        if origin is KeyOrigin.MNEMONIC:
            return await asyncio.to_thread(from_mnemonic, material, kind, path)
        if origin is KeyOrigin.RAW:
            return from_raw(material)
        if origin is KeyOrigin.KEYGEN:
            return from_keygen(material)
        if origin is KeyOrigin.KEYSTORE:
            theirs = secret(frame, "file_passphrase")
            return await asyncio.to_thread(from_keystore, material, theirs)
    except WrongPassword:
        raise AgentRefusal(
            Code.WRONG_PASSPHRASE, "the file does not open with this pass phrase"
        ) from None
    except KeyFileRefused as refused:
        raise AgentRefusal(Code.KEY_FILE, str(refused)) from None
    except KeyRefused as refused:
        raise AgentRefusal(Code.BAD_KEY, str(refused)) from None
    raise AgentRefusal(Code.BAD_REQUEST, "such a key cannot be imported")


async def export(opened: OpenedWallet, frame: Frame) -> Answer:
    address = text(frame, "address")
    passphrase = secret(frame, "passphrase")
    if text(frame, "phrase") != export_phrase(address):
        raise AgentRefusal(Code.NOT_CONFIRMED, "the phrase that had to be typed was not")
    account, key = await opened.keys.reveal(address, passphrase)
    return to_json(account), {"key": _exported(account.kind, key)}


def _exported(kind: Kind, key: SecretBytes) -> SecretBytes:
    """As other programs read it: 0x-hex, or the 64 numbers of solana-keygen."""
    if kind is Kind.EVM:
        written = SecretBytes(b"0x" + key.reveal().hex().encode())
    else:
        from solders.keypair import Keypair

        written = SecretBytes(Keypair.from_seed(bytes(key.reveal())).to_json().encode())
    key.wipe()
    return written


async def rename(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    account = opened.keys.rename(text(frame, "address"), text(frame, "name"))
    return to_json(account), {}


async def set_clock(opened: OpenedWallet, frame: Frame) -> Answer:
    offset = frame.head.get("offset")
    if not isinstance(offset, int | float) or isinstance(offset, bool):
        raise AgentRefusal(Code.BAD_REQUEST, "the offset of the clock is a number of seconds")
    refuse_far_clock(offset)
    if not opened.place.live:
        opened.clock.advance_to(float(offset))
    return opened.clock.offset, {}


def _looked_at(opened: OpenedWallet, frame: Frame) -> tuple[Account, ChainLink]:
    account = opened.keys.account(text(frame, "address"))
    return account, opened.chains.link(text(frame, "chain"), account.kind)


async def balances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    asked = assets(frame)
    await opened.loaded()
    from swapdesk.agent.process.holdings import (
        evm_balances,
        payment_fee,
        solana_balances,
        solana_payment_fee,
    )

    genesis = opened.records.genesis(link.name)
    wants_fee = frame.head.get("fee") is True
    if account.kind is Kind.SOLANA:
        found = await solana_balances(link, genesis, account.address, asked)
        fee = await solana_payment_fee(link, genesis) if wants_fee else None
    else:
        client = opened.chains.evm(link)
        found = await evm_balances(client, link, genesis, account.address, asked)
        fee = await payment_fee(client) if wants_fee else None
    return to_json(replace(found, fee=fee)), {}


async def allowances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    tokens = assets(frame)
    await opened.loaded()
    genesis = opened.records.genesis(link.name)
    if account.kind is Kind.SOLANA:
        from swapdesk.agent.process.holdings import solana_allowances

        makers = opened.place.makers
        delegated = await solana_allowances(link, genesis, account.address, tokens, makers)
        return to_json(delegated), {}
    from swapdesk.agent.process.holdings import evm_allowances
    from swapdesk.chain.deployments import SANDBOX_VENUES

    place = opened.place
    told = await evm_allowances(
        opened.chains.evm(link),
        link,
        genesis,
        account.address,
        tokens,
        () if place.live else SANDBOX_VENUES,
        place.spenders,
    )
    return to_json(told), {}


async def smart_account(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    if account.kind is not Kind.EVM:
        raise AgentRefusal(Code.OTHER_CHAIN, f"there are no smart accounts on {link.name}")
    asked = assets(frame)
    await opened.loaded()
    from swapdesk.agent.process import holdings

    told = await holdings.smart_account(
        opened.place,
        opened.chains.evm(link),
        link,
        opened.records.genesis(link.name),
        account.address,
        asked,
    )
    return to_json(told), {}


async def withdrawal(opened: OpenedWallet, frame: Frame) -> Answer:
    promise = promised(frame)
    opened.keys.account(promise.account)
    await opened.loaded()
    from swapdesk.agent.process import holdings

    return to_json(holdings.withdrawal(opened.place, promise)), {}


async def revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    await opened.loaded()
    from swapdesk.agent.process.holdings import revocation

    granted = frame.head.get("permit2", False) is True
    return to_json(revocation(text(frame, "token"), text(frame, "spender"), granted=granted)), {}


async def solana_revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    if account.kind is not Kind.SOLANA:
        raise AgentRefusal(Code.OTHER_CHAIN, f"{link.name} is no chain of Solana's kind")
    await opened.loaded()
    from swapdesk.agent.process.holdings import solana_revocation

    genesis = opened.records.genesis(link.name)
    return to_json(
        await solana_revocation(link, genesis, account.address, text(frame, "token"))
    ), {}


async def solana_deposit(opened: OpenedWallet, frame: Frame) -> Answer:
    promise = promised(frame)
    account = opened.keys.account(promise.account)
    link = opened.chains.link(promise.chain, account.kind)
    if account.kind is not Kind.SOLANA:
        raise AgentRefusal(Code.OTHER_CHAIN, f"{link.name} is no chain of Solana's kind")
    await opened.loaded()
    from swapdesk.agent.process.holdings import solana_deposit

    return to_json(await solana_deposit(link, opened.records.genesis(link.name), promise)), {}


async def review(opened: OpenedWallet, frame: Frame) -> Answer:
    payload = payload_from_json(frame.head.get("payload"))
    promise = promised(frame)
    replaces = optional_hash(frame, "replaces")
    await opened.loaded()
    return to_json(await opened.reviewing.review(payload, promise, replaces)), {}


async def bump(opened: OpenedWallet, frame: Frame) -> Answer:
    hash_, gas_units = hash_of(frame, "hash"), whole(frame, "gas")
    opened.require_writing()
    await opened.loaded()
    payload, review = await opened.reviewing.bump(hash_, gas_units)
    return {"payload": payload_to_json(payload), "review": to_json(review)}, {}


async def sign(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    phrase = None if frame.head.get("phrase") is None else text(frame, "phrase", empty=True)
    await opened.loaded()
    async with opened.one_at_a_time:
        signed = await opened.reviewing.sign(text(frame, "review"), text(frame, "digest"), phrase)
    kind = "transaction" if isinstance(signed, SignedTransaction) else "signature"
    return {"kind": kind, kind: to_json(signed)}, {}


PAGE = 500
"""Transactions of one answer: with the longest words of a node they fit into a frame."""


async def transactions(opened: OpenedWallet, frame: Frame) -> Answer:
    after = whole(frame, "after")
    signed, last = opened.records.page(optional_text(frame, "intent"), after, PAGE)
    return {"transactions": [to_json(one) for one in signed], "after": last}, {}


async def broadcast(opened: OpenedWallet, frame: Frame) -> Answer:
    one = _signed(opened, frame)
    async with opened.one_at_a_time:
        return to_json(await _delivery(opened, one).send(one)), {}


async def resolve(opened: OpenedWallet, frame: Frame) -> Answer:
    one, resend = _signed(opened, frame), frame.head.get("resend", True) is not False
    async with opened.one_at_a_time:
        return to_json(await _delivery(opened, one).resolve(one, resend=resend)), {}


async def abandon(opened: OpenedWallet, frame: Frame) -> Answer:
    one = _signed(opened, frame)
    records = opened.records
    unsent = frozenset({TransactionState.SIGNED})
    if not records.move(one.hash, TransactionState.ABANDONED, among=unsent):
        raise AgentRefusal(Code.UNRESOLVED, "it was sent, so it cannot be given up any more")
    return to_json(records.find(one.hash) or one), {}


def _signed(opened: OpenedWallet, frame: Frame) -> SignedTransaction:
    opened.require_writing()
    one = opened.records.find(hash_of(frame, "hash"))
    if one is None:
        raise AgentRefusal(Code.NO_TRANSACTION, "this wallet signed no such transaction")
    return one


def _delivery(opened: OpenedWallet, one: SignedTransaction) -> EvmDelivery | SolanaDelivery:
    chains = opened.chains
    if one.nonce is None:
        from swapdesk.agent.transactions.delivery import SolanaDelivery

        link = chains.link(one.chain, Kind.SOLANA)
        return SolanaDelivery(chains.solana(link), opened.records)
    from swapdesk.agent.transactions.delivery import EvmDelivery

    link = chains.link(one.chain, Kind.EVM)
    return EvmDelivery(chains.evm(link), opened.records, link.confirmations)
