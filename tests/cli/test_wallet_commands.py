"""``wallet`` as a script calls it: a real agent, the chains of the sandbox."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click

from cli.desks import Desk, InProcess, run_here
from harness import Result, cli
from patience import PATIENCE
from swapdesk.cli.wallet_commands import read_coins
from swapdesk.clock import SystemClock
from swapdesk.flows.wallet.chain_links import sandbox_links
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.promise import Asset
from wallet.agents import CHEAP
from wallet.approving import approve

ROUTER = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
USDC = Asset("USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
ETH, SOL = Asset("ETH", 18, None), Asset("SOL", 9, None)
PUBLISHED = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
KEY = "0x" + "5f" * 31 + "01"
PHRASE = "a phrase for a live wallet\n"


def live(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(
        'profile = "main"\n[profiles.main]\nurl = "https://api.example.com/v2"\n'
    )
    return tmp_path


def wallet(home: Path, *arguments: str, stdin: str = "") -> Result:
    # A descriptor with a pass phrase is one of a process.
    run = cli if "--passphrase-fd" in arguments else run_here
    return run("wallet", *arguments, "--json", home=home, stdin=stdin)


def test_the_sandbox_has_a_wallet_with_money_and_no_question(desk: Desk) -> None:
    """Made by the first command that looks at chains; an allowance is then seen and ended."""
    first = desk.made("wallet", "balance")
    assert {one["chain"] for one in first["balances"]} >= {"base", "solana"}
    asyncio.run(allow(desk))
    listed = desk.made("wallet", "allowances")
    told = listed["allowances"]
    (one,) = [allowed for one in told for allowed in one["allowances"]]
    assert (one["spender"], one["venue"], one["units"]) == (ROUTER, "fa", "5000000")
    for other in (("usdc", "ba"), ("eth", "fa")):
        desk.refused(5, "NO_ALLOWANCE", "wallet", "revoke", *other, "--chain", "base", "--yes")
    ended = desk.made("wallet", "revoke", "usdc", "fa", "--chain", "base", "--yes")
    assert ended["spender"] == ROUTER
    desk.refused(5, "NO_ALLOWANCE", "wallet", "revoke", "usdc", "fa", "--chain", "base", "--yes")
    signed = desk.made("wallet", "transactions")
    last = signed["transactions"][-1]
    assert (last["hash"], last["purpose"]) == (ended["hash"], "revoke")
    assert last["state"] == "succeeded"
    late = desk.refused(9, "NOT_CANCELLED", "wallet", "cancel", last["hash"], "--yes")
    assert late["money"] == "where the transaction takes it"
    counted = desk.made("wallet", "bump", last["hash"], "--yes")
    assert counted == {"bumped": last["hash"], "hash": last["hash"]}


async def allow(desk: Desk) -> None:
    """As soon as the gifts have arrived."""
    settings = load_settings({}, Home.at(desk.home))
    links, clock = sandbox_links(desk.sandbox.ready), SystemClock()
    local = LocalWallet(settings, clock, links, program=CHEAP)
    try:
        await local.unlock()
        evm, solana = (await local.accounts()).accounts
        assert [(o.kind, o.name) for o in (evm, solana)] == [
            (Kind.EVM, "trading"),
            (Kind.SOLANA, "solana"),
        ]
        link, client = local.link("base"), await local.client()
        assert link is not None
        async with asyncio.timeout(PATIENCE):
            while not all(
                one.units
                for one in (await client.balances(evm.address, "base", [ETH, USDC])).balances
            ):
                await clock.sleep(0.1)
        (lamports,) = (await client.balances(solana.address, "solana", [SOL])).balances
        # What is left of the gift: other commands pay out of the same wallet.
        assert 90 * 10**9 < lamports.units <= 100 * 10**9
        await approve(local, clock, evm, link, USDC, ROUTER, 5_000_000)
        async with asyncio.timeout(PATIENCE):
            while not (await client.allowances(evm.address, "base", [USDC])).allowances:
                await clock.sleep(0.1)
    finally:
        await local.close()


ANYWHERE = click.Context(click.Command("bump"))
ANY = click.Option(["--gas"])
UNSENT = tuple((verb, "0x" + "ab" * 32) for verb in ("cancel", "bump"))


def test_the_most_that_gas_may_cost_is_a_number_of_coins(here: InProcess) -> None:
    for coins in ("0", "1e3", "-1", "0.0000000000000000001", "101", "١", "."):
        refused = here("wallet", "bump", "0x" + "ab" * 32, "--yes", f"--gas={coins}", "--json")
        assert refused.code == 2, coins
    assert read_coins(ANYWHERE, ANY, "0.02") == 2 * 10**16
    assert read_coins(ANYWHERE, ANY, ".5") == 5 * 10**17
    assert read_coins(ANYWHERE, ANY, None) is None


def test_nothing_is_signed_without_a_yes(here: InProcess) -> None:
    for words in (("revoke", "usdc", "fa", "--chain", "base"), *UNSENT):
        here.refused(2, "NEEDS_YES", "wallet", *words)


def test_a_live_wallet_asks_for_its_pass_phrase(tmp_path: Path) -> None:
    home = live(tmp_path)
    nobody = wallet(home, "new")
    assert (nobody.code, nobody.error["code"]) == (2, "NEEDS_SECRET")
    # Editors of Windows write a byte order mark before each of the two.
    (home / "key.txt").write_text(f"\ufeff{KEY}\n")
    made = wallet(
        home, "import", "hex", "--file", str(home / "key.txt"), "--name", "main", "--yes",
        "--passphrase-fd", "0", stdin=f"\ufeff{PHRASE}",
    )  # fmt: skip
    assert made.code == 0, made
    account = made.document["account"]
    assert (account["kind"], account["profile"], account["origin"]) == ("evm", "main", "raw")

    wrong = wallet(home, "new", "--kind", "solana", "--passphrase-fd", "0", stdin="another\n")
    assert (wrong.code, wrong.error["code"]) == (2, "WRONG_PASSPHRASE")
    assert "only a copy of a key helps" in wrong.error["next"]
    phrase = f"export {account['address'][-6:]}"
    refused = wallet(home, "export", "main", "--confirm", "export it", "--passphrase-fd", "0")
    assert (refused.code, refused.error["code"]) == (9, "NOT_CONFIRMED")
    given = wallet(
        home, "export", "main", "--confirm", phrase, "--passphrase-fd", "0", stdin=PHRASE
    )
    assert given.document["key"] == KEY
    for said in (made, wrong, refused):
        assert KEY[2:] not in said.stdout + said.stderr
        assert PHRASE.strip() not in said.stdout + said.stderr
    # Also live a chain is only read through a node that was configured.
    missing = wallet(home, "export", "nobody", "--confirm", phrase)
    assert (missing.code, missing.error["code"]) == (5, "NO_ACCOUNT")


def test_an_imported_key_is_not_said_to_be_nowhere_else(tmp_path: Path) -> None:
    home = live(tmp_path)
    (home / "key.txt").write_text(KEY + "\n")
    taken = cli(
        "wallet", "import", "hex", "--file", str(home / "key.txt"), "--yes",
        "--passphrase-fd", "0", home=home, stdin=PHRASE,
    )  # fmt: skip
    assert taken.code == 0, taken
    assert "nowhere else" not in taken.stderr
    assert "Whoever has what it came from can spend with it as well." in taken.stderr


def test_what_cannot_be_imported_is_said(tmp_path: Path) -> None:
    home = live(tmp_path)
    (home / "key.txt").write_text(PUBLISHED)
    source = ("--file", str(home / "key.txt"), "--yes", "--passphrase-fd", "0")
    published = wallet(home, "import", "hex", *source, stdin=PHRASE)
    assert (published.code, published.error["code"]) == (9, "PUBLISHED_KEY")
    assert published.error["money"] == "in your wallet; nothing was sent"
    (home / "key.txt").write_text("no key at all")
    bad = wallet(home, "import", "hex", *source, stdin=PHRASE)
    assert (bad.code, bad.error["code"]) == (2, "BAD_KEY")
    (home / "key.txt").write_text("legal winner thank year wave sausage worth useful legal winner"
                                  " thank yellow")  # fmt: skip
    several = wallet(home, "import", "mnemonic", "--kind", "evm", *source, stdin=PHRASE)
    assert (several.code, several.error["code"]) == (2, "AMBIGUOUS")
    kind = wallet(home, "import", "mnemonic", *source, stdin=PHRASE)
    assert (kind.code, kind.error["code"]) == (2, "NEEDS_KIND")
    assert wallet(home, "list").document["accounts"] == []


def test_loose_key_files_are_refused_and_told(tmp_path: Path) -> None:
    home = live(tmp_path)
    assert wallet(home, "list").document["readOnly"] is False
    keys = home / "profiles" / "main" / "keys"
    keys.chmod(0o755)
    loose = wallet(home, "list")
    assert (loose.code, loose.error["code"]) == (2, "UNSAFE_FILES")
    assert json.dumps(str(keys))[1:-1] in loose.error["message"]
