"""Methods about the chain and its accounts, each seen at a commitment and with its context."""

from __future__ import annotations

from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from swapdesk.chain.addresses import base58
from swapdesk.chain.solana import (
    TOKEN_PROGRAMS,
    TransactionRefused,
    fee_of,
    read_message,
    read_serialized_message,
)
from swapdesk.sandbox.node.solana.chain import SolanaChain
from swapdesk.sandbox.node.solana.documents import (
    account_document,
    read_mint,
    read_token_account,
    token_amount,
)
from swapdesk.sandbox.node.solana.machine import Instant
from swapdesk.sandbox.node.solana.params import (
    BEHIND,
    Commitment,
    Params,
    Problem,
    SolanaCode,
    as_hash,
    as_pubkey,
    bad_params,
    commitment_of,
    encoding_of,
    packet,
)

VERSION = "3.0.0+swapdesk"
"""Of the field's node whose answers these are; the rest says that it is ours."""


def seen(chain: SolanaChain, options: dict[str, Any]) -> Instant:
    """The newest block that the asked commitment knows. Raises Problem."""
    at = behind(chain.slots.now(), commitment_of(options))
    least = options.get("minContextSlot")
    if least is not None:
        if type(least) is not int:
            raise bad_params("Invalid params: minContextSlot should be a number")
        if at.slot < least:
            raise Problem(
                "Minimum context slot has not been reached",
                SolanaCode.SLOT_NOT_REACHED,
                {"contextSlot": at.slot},
            )
    return at


def behind(at: Instant, commitment: Commitment) -> Instant:
    lag = BEHIND[commitment]
    return Instant(at.height - lag, at.slot - lag, at.seconds)


def with_context(at: Instant, value: Any) -> dict[str, Any]:
    return {"context": {"apiVersion": VERSION, "slot": at.slot}, "value": value}


def health(chain: SolanaChain, given: Any) -> str:
    Params(given, 0)
    return "ok"


def version(chain: SolanaChain, given: Any) -> dict[str, Any]:
    Params(given, 0)
    return {"solana-core": VERSION, "feature-set": 0}


def genesis_hash(chain: SolanaChain, given: Any) -> str:
    Params(given, 0)
    return chain.genesis


def block_height(chain: SolanaChain, given: Any) -> int:
    return seen(chain, Params(given, 1).options(0)).height


def slot(chain: SolanaChain, given: Any) -> int:
    return seen(chain, Params(given, 1).options(0)).slot


def latest_blockhash(chain: SolanaChain, given: Any) -> dict[str, Any]:
    at = seen(chain, Params(given, 1).options(0))
    blockhash, last = chain.blockhashes.latest(at.height)
    value = {"blockhash": base58.encode(blockhash), "lastValidBlockHeight": last}
    return with_context(at, value)


def is_blockhash_valid(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    blockhash = bytes(as_hash(params.text(0)))
    return with_context(at, chain.blockhashes.is_good(blockhash, chain.slots.now().height))


def rent_exemption(chain: SolanaChain, given: Any) -> int:
    params = Params(given, 2)
    params.options(1)
    size = params.number(0)
    if size > 10 << 20:
        raise bad_params("Invalid params: an account has at most 10485760 bytes")
    return chain.machine.rent_exempt(size)


def fee_for_message(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    raw = packet(params.text(0), "base64")
    try:
        read = read_message(read_serialized_message(raw))
    except TransactionRefused as error:
        raise bad_params(f"invalid message: {error}") from None
    good = chain.blockhashes.is_good(read.blockhash, chain.slots.now().height)
    return with_context(at, fee_of(read) if good else None)


ENCODINGS = ("base64", "base58", "jsonParsed")
_MOST_IN_BASE58 = 128


def balance(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    account = chain.machine.get(params.pubkey(0))
    return with_context(at, 0 if account is None else account.lamports)


def account_info(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    options = params.options(1)
    at = seen(chain, options)
    account = chain.machine.get(params.pubkey(0))
    shown = None if account is None else show_account(chain, account, options, "base58")
    return with_context(at, shown)


def token_account_balance(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    account = chain.machine.get(params.pubkey(0))
    if account is None:
        raise bad_params("Invalid param: could not find account")
    token = read_token_account(account)
    decimals = None if token is None else chain.decimals(token.mint)
    if token is None or decimals is None:
        raise bad_params("Invalid param: not a Token account")
    return with_context(at, token_amount(token.amount, decimals))


def token_accounts_by_owner(chain: SolanaChain, given: Any) -> dict[str, Any]:
    params = Params(given, 3)
    owner, filters, options = params.pubkey(0), params.options(1), params.options(2)
    at = seen(chain, options)
    mint = program = None
    if set(filters) == {"mint"}:
        mint = as_pubkey(filters["mint"])
        if read_mint(chain.machine.get(mint)) is None:
            raise bad_params("Invalid param: could not find mint")
    elif set(filters) == {"programId"}:
        program = as_pubkey(filters["programId"])
        if program not in TOKEN_PROGRAMS:
            raise bad_params("Invalid param: unrecognized Token program id")
    else:
        raise bad_params("Invalid params: expected either mint or programId")
    held = chain.store.held(
        bytes(owner),
        mint=None if mint is None else bytes(mint),
        program=None if program is None else bytes(program),
    )
    shown = [
        {
            "pubkey": str(Pubkey.from_bytes(address)),
            "account": show_account(chain, Account.from_bytes(account), options, "base64"),
        }
        for address, account in held
    ]
    return with_context(at, shown)


def show_account(
    chain: SolanaChain, account: Account, options: dict[str, Any], default: str
) -> dict[str, Any]:
    """Raises Problem for an encoding that is not served or does not fit."""
    if options.get("dataSlice") is not None:
        raise bad_params("Invalid params: dataSlice is not served")
    encoding = encoding_of(options, ENCODINGS, default)
    if encoding == "base58" and len(account.data) > _MOST_IN_BASE58:
        raise bad_params(
            "Encoded binary (base 58) data should be less than 128 bytes,"
            " please use Base64 encoding."
        )
    token = read_token_account(account) if encoding == "jsonParsed" else None
    return account_document(
        account, encoding, None if token is None else chain.decimals(token.mint)
    )
