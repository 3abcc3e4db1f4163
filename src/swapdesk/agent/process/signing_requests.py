"""What a desk asks about payloads: look at one, sign what was looked at."""

from __future__ import annotations

from swapdesk.agent.process.arguments import (
    Answer,
    hash_of,
    optional_hash,
    promised,
    text,
    whole,
)
from swapdesk.agent.process.opened import OpenedWallet
from swapdesk.wallet.encoding import payload_from_json, payload_to_json, to_json
from swapdesk.wallet.protocol import Frame
from swapdesk.wallet.transactions import SignedTransaction


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
