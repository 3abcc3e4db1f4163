"""Delegates of the wallet's tokens on Solana by command: told, and ended once."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from cli.desks import Desk
from cli.test_fund_solana import USDC, account, chain
from harness import start_command
from patience import PATIENCE
from sandbox.chain_money import SolanaChain
from sandbox.running import until
from sandbox.solana.solana_world import signed
from swapdesk.chain.solana import TOKEN, token_account

__all__ = ["account", "chain"]


MINT = Pubkey.from_string(str(USDC.address))
REVOKE = ("wallet", "revoke", "usdc")
ON_SOLANA = ("--chain", "solana", "--yes", "--json")


def delegate(desk: Desk, chain: SolanaChain, account: str, to: Pubkey, units: int) -> None:
    """By another program with the same key: this wallet signs no approval (Token, 4)."""
    phrase = f"export {account[-6:]}"
    given = desk("wallet", "export", "solana", "--confirm", phrase, "--json")
    assert given.code == 0, given.stderr
    key = Keypair.from_bytes(bytes(json.loads(given.document["key"])))
    assert str(key.pubkey()) == account
    metas = [
        AccountMeta(token_account(key.pubkey(), MINT), False, True),
        AccountMeta(to, False, False),
        AccountMeta(key.pubkey(), True, False),
    ]
    approve = Instruction(TOKEN, b"\x04" + units.to_bytes(8, "little"), metas)
    newest = chain("getLatestBlockhash", {"commitment": "processed"})["value"]["blockhash"]
    text = b64encode(bytes(signed(newest, [key], approve))).decode()
    chain("sendTransaction", text, {"encoding": "base64", "skipPreflight": True})
    until(lambda: delegates(chain, account) == [str(to)], what="the delegate")


def delegates(chain: SolanaChain, owner: str) -> list[str]:
    options = {"encoding": "jsonParsed"}
    found = chain("getTokenAccountsByOwner", owner, {"mint": str(MINT)}, options)["value"]
    infos = [one["account"]["data"]["parsed"]["info"] for one in found]
    return [info["delegate"] for info in infos if info.get("delegate")]


def test_a_delegate_is_listed_and_its_right_ended(
    desk: Desk, account: str, chain: SolanaChain
) -> None:
    stranger = Keypair().pubkey()
    delegate(desk, chain, account, stranger, 5_000_000)
    held = chain.balance(USDC, account)
    listed = desk("wallet", "allowances", "--account", account, "--json")
    assert listed.code == 0, listed.stderr
    (one,) = [allowed for each in listed.document["allowances"] for allowed in each["allowances"]]
    assert (one["spender"], one["venue"], one["units"]) == (str(stranger), None, "5000000")
    wrong = desk(*REVOKE, str(Keypair().pubkey()), *ON_SOLANA)
    assert (wrong.code, wrong.error["code"]) == (5, "NO_ALLOWANCE")
    assert delegates(chain, account) == [str(stranger)]
    revoking = start_command(
        *(*REVOKE, str(stranger), *ON_SOLANA),
        home=desk.home,
        env=desk.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until(lambda: delegates(chain, account) == [], "the end of the right")
    # Blocks come by the clock, so nobody has to wait until it is final.
    desk.sandbox.control("POST", "/clock", {"advance": 15})
    out, err = revoking.communicate(timeout=PATIENCE)
    assert revoking.returncode == 0, err
    ended = json.loads(out)
    assert ended["spender"] == str(stranger)
    assert chain.balance(USDC, account) == held
    assert ended["hash"] in [each["signature"] for each in chain.history(account)]
    gone = desk(*REVOKE, str(stranger), *ON_SOLANA)
    assert (gone.code, gone.error["code"]) == (5, "NO_ALLOWANCE")
    told = desk("wallet", "transactions", "--json")
    (last,) = [one for one in told.document["transactions"] if one["hash"] == ended["hash"]]
    assert (last["purpose"], last["state"]) == ("revoke", "succeeded")
