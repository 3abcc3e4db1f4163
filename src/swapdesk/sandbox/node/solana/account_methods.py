"""Methods about accounts and what they hold."""

from __future__ import annotations

from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from swapdesk.chain.solana.programs import TOKEN_PROGRAMS
from swapdesk.sandbox.node.solana.chain import Chain
from swapdesk.sandbox.node.solana.documents import (
    account_document,
    read_mint,
    read_token_account,
    token_amount,
)
from swapdesk.sandbox.node.solana.params import Params, as_pubkey, encoding_of
from swapdesk.sandbox.node.solana.problem import bad_params
from swapdesk.sandbox.node.solana.view import seen, with_context

ENCODINGS = ("base64", "base58", "jsonParsed")
_MOST_IN_BASE58 = 128


def balance(chain: Chain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    at = seen(chain, params.options(1))
    account = chain.machine.get(params.pubkey(0))
    return with_context(at, 0 if account is None else account.lamports)


def account_info(chain: Chain, given: Any) -> dict[str, Any]:
    params = Params(given, 2)
    options = params.options(1)
    at = seen(chain, options)
    account = chain.machine.get(params.pubkey(0))
    shown = None if account is None else show_account(chain, account, options, "base58")
    return with_context(at, shown)


def token_account_balance(chain: Chain, given: Any) -> dict[str, Any]:
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


def token_accounts_by_owner(chain: Chain, given: Any) -> dict[str, Any]:
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
    chain: Chain, account: Account, options: dict[str, Any], default: str
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
