"""What a desk asks: one function for each request.

Of keys: open and close them, make, take in, name and give out one. Of chains, for which nothing
has to be unlocked: what is held, what may be taken, and the payloads that change it. Of payloads
and signed transactions: have one reviewed and signed, list what was signed, send it, resolve it
or give it up.
"""

from __future__ import annotations

import asyncio

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
    Answer,
    one_of,
    refuse_far_clock,
    secret,
    text,
    texts,
    whole,
)
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import (
    ImportChoice,
    KeyOrigin,
    Kind,
    export_phrase,
)
from swapdesk.wallet.encoding import to_json
from swapdesk.wallet.protocol import Frame, RefusalCode, Refused

MAX_PATHS = 32
_OF_KIND = {KeyOrigin.RAW: Kind.EVM, KeyOrigin.KEYSTORE: Kind.EVM, KeyOrigin.KEYGEN: Kind.SOLANA}


async def accounts(opened: OpenedWallet, frame: Frame) -> Answer:
    return to_json(opened.told()), {}


async def unlock(opened: OpenedWallet, frame: Frame) -> Answer:
    addresses = texts(frame, "addresses")
    closed = await opened.keys.unlock(secret(frame, "passphrase"), addresses)
    opened.idle.start()
    told = [to_json(one) for one in closed]
    return {"accounts": to_json(opened.told()), "closed": told}, {}


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
        raise Refused(RefusalCode.BAD_REQUEST, f"paths must be a list of up to {MAX_PATHS}")
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
        raise Refused(
            RefusalCode.NOT_CONFIRMED, f"it leads to {material.address}, which was not confirmed"
        )
    return await _add(opened, frame, material)


async def _material(
    opened: OpenedWallet, frame: Frame, kind: Kind, origin: KeyOrigin, path: object
) -> KeyMaterial:
    material = secret(frame, "material")
    if path is not None and not isinstance(path, str):
        raise Refused(RefusalCode.BAD_REQUEST, "a path is a text")
    if _OF_KIND.get(origin, kind) is not kind:
        raise Refused(RefusalCode.BAD_KEY, f"no {kind} key comes from there")
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
        raise Refused(
            RefusalCode.WRONG_PASSPHRASE, "the file does not open with this pass phrase"
        ) from None
    except KeyFileRefused as refused:
        raise Refused(RefusalCode.KEY_FILE, str(refused)) from None
    except KeyRefused as refused:
        raise Refused(RefusalCode.BAD_KEY, str(refused)) from None
    raise Refused(RefusalCode.BAD_REQUEST, "such a key cannot be imported")


async def export(opened: OpenedWallet, frame: Frame) -> Answer:
    address = text(frame, "address")
    passphrase = secret(frame, "passphrase")
    if text(frame, "phrase") != export_phrase(address):
        raise Refused(RefusalCode.NOT_CONFIRMED, "the phrase that had to be typed was not")
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
        raise Refused(RefusalCode.BAD_REQUEST, "the offset of the clock is a number of seconds")
    refuse_far_clock(offset)
    if not opened.place.live:
        opened.clock.advance_to(float(offset))
    return opened.clock.offset, {}


PAGE = 500
"""Transactions of one answer: with the longest words of a node they fit into a frame."""


async def transactions(opened: OpenedWallet, frame: Frame) -> Answer:
    intent = None if frame.head.get("intent") is None else text(frame, "intent")
    signed, last = opened.records.page(intent, whole(frame, "after"), PAGE)
    return {"transactions": [to_json(one) for one in signed], "after": last}, {}
