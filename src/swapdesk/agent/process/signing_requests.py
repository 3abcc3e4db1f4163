"""What a desk asks about payloads and signed transactions.

It has a payload reviewed and signed, lists what was signed, sends it, resolves it or gives it up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.agent.process.arguments import (
    Answer,
    hash_of,
    optional_hash,
    optional_text,
    promised,
    text,
    whole,
)
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.encoding import payload_from_json, payload_to_json, to_json
from swapdesk.wallet.protocol import Frame
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

if TYPE_CHECKING:
    from swapdesk.agent.transactions.delivery import EvmDelivery, SolanaDelivery


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
        raise Refusal(Code.UNRESOLVED, "it was sent, so it cannot be given up any more")
    return to_json(records.find(one.hash) or one), {}


def _signed(opened: OpenedWallet, frame: Frame) -> SignedTransaction:
    opened.require_writing()
    one = opened.records.find(hash_of(frame, "hash"))
    if one is None:
        raise Refusal(Code.NO_TRANSACTION, "this wallet signed no such transaction")
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
