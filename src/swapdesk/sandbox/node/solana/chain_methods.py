"""Methods about the chain itself: its identity, its blocks and its blockhashes."""

from __future__ import annotations

from typing import Any

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana.fees import fee_of
from swapdesk.chain.solana.message import read_message
from swapdesk.chain.solana.transaction import TransactionRefused, read_serialized_message
from swapdesk.sandbox.node.solana.chain import Chain
from swapdesk.sandbox.node.solana.params import Params, as_hash, packet
from swapdesk.sandbox.node.solana.problem import bad_params
from swapdesk.sandbox.node.solana.view import VERSION, seen, with_context


def health(chain: Chain, given: Any) -> str:
    Params(given, 0)
    return "ok"


def version(chain: Chain, given: Any) -> dict[str, Any]:
    Params(given, 0)
    return {"solana-core": VERSION, "feature-set": 0}


def genesis_hash(chain: Chain, given: Any) -> str:
    Params(given, 0)
    return chain.genesis


def block_height(chain: Chain, given: Any) -> int:
    return seen(chain, Params(given, 1).options(0)).height


def slot(chain: Chain, given: Any) -> int:
    return seen(chain, Params(given, 1).options(0)).slot


def latest_blockhash(chain: Chain, given: Any) -> dict[str, Any]:
    at = seen(chain, Params(given, 1).options(0))
    blockhash, last = chain.blockhashes.latest(at.height)
    value = {"blockhash": base58.encode(blockhash), "lastValidBlockHeight": last}
    return with_context(at, value)


def is_blockhash_valid(chain: Chain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    blockhash = bytes(as_hash(params.text(0)))
    return with_context(at, chain.blockhashes.is_good(blockhash, chain.slots.now().height))


def rent_exemption(chain: Chain, given: Any) -> int:
    params = Params(given, 2)
    params.options(1)
    size = params.number(0)
    if size > 10 << 20:
        raise bad_params("Invalid params: an account has at most 10485760 bytes")
    return chain.machine.rent_exempt(size)


def fee_for_message(chain: Chain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    raw = packet(params.text(0), "base64")
    try:
        read = read_message(read_serialized_message(raw))
    except TransactionRefused as error:
        raise bad_params(f"invalid message: {error}") from None
    good = chain.blockhashes.is_good(read.blockhash, chain.slots.now().height)
    return with_context(at, fee_of(read) if good else None)
