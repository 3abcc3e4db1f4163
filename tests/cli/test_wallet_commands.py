"""``wallet`` as a script or a trader calls it, with a real agent: keys, the chains of the
sandbox, the policy, and a key that is given out."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import socket
import stat
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from cli.desks import Commands, Desk, InProcess, run_here
from harness import Result, cli
from patience import PATIENCE
from rows import each_row
from swapdesk.cli.output import Output
from swapdesk.cli.secret_input import HIDE_AFTER, show_secret, typed_lines
from swapdesk.cli.wallet_chains import BalanceTable
from swapdesk.cli.wallet_commands import read_coins
from swapdesk.clock import SystemClock
from swapdesk.flows.wallet.chain_links import sandbox_links
from swapdesk.flows.wallet.local_wallet import ChainHoldings, Holding, LocalWallet
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.promise import Asset
from tui.terminal_window import TerminalWindow
from wallet.agents import CHEAP
from wallet.approving import approve

ROUTER = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
USDC = Asset("USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
KEY = "0x" + "5f" * 31 + "01"
MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow"
PHRASE = "a phrase for a live wallet\n"


class LiveWallet(Commands):
    """``wallet`` of a live profile."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "config.toml").write_text(
            'profile = "main"\n[profiles.main]\nurl = "https://api.example.com/v2"\n'
        )

    def __call__(self, *words: str, stdin: str = "") -> Result:
        # A descriptor with a pass phrase is one of a process.
        run = cli if "--passphrase-fd" in words else run_here
        return run("wallet", *words, home=self.home, stdin=stdin)


@pytest.fixture
def live(tmp_path: Path) -> LiveWallet:
    return LiveWallet(tmp_path)


def test_the_sandbox_has_a_wallet_with_money_and_no_question(desk: Desk) -> None:
    """Made by the first command that looks at chains; an allowance is then seen and ended."""
    first = desk.made("wallet", "balance")
    assert {one["chain"] for one in first["balances"]} >= {"base", "solana"}
    accounts = desk.made("wallet", "list")["accounts"]
    assert [(one["kind"], one["name"]) for one in accounts] == [
        ("evm", "trading"),
        ("solana", "solana"),
    ]
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
    settings = load_settings({}, Home.at(desk.home))
    links, clock = sandbox_links(desk.sandbox.ready), SystemClock()
    local = LocalWallet(settings, clock, links, program=CHEAP)
    try:
        await local.unlock()
        evm, _ = (await local.accounts()).accounts
        link, client = local.link("base"), await local.client()
        assert link is not None
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
    withdraw = ("withdraw", "--chain", "base")
    for words in (("revoke", "usdc", "fa", "--chain", "base"), withdraw, *UNSENT):
        here.refused(2, "NEEDS_YES", "wallet", *words)


def test_a_live_wallet_asks_for_its_pass_phrase(live: LiveWallet) -> None:
    live.refused(2, "NEEDS_SECRET", "new")
    # Editors of Windows write a byte order mark before each of the two.
    (live.home / "key.txt").write_text(f"\ufeff{KEY}\n")
    made = live(
        "import", "hex", "--file", str(live.home / "key.txt"), "--name", "main", "--yes",
        "--passphrase-fd", "0", stdin=f"\ufeff{PHRASE}",
    )  # fmt: skip
    assert made.code == 0, made
    assert "nowhere else" not in made.stderr
    assert "Whoever has what it came from can spend with it as well." in made.stderr
    (account,) = live.made("list")["accounts"]
    assert (account["kind"], account["profile"], account["origin"]) == ("evm", "main", "raw")

    words = ("new", "--kind", "solana", "--passphrase-fd", "0")
    wrong = live.refused(2, "WRONG_PASSPHRASE", *words, stdin="another\n")
    assert "only a copy of a key helps" in wrong["next"]
    export, phrase = ("export", "main", "--passphrase-fd", "0"), account["address"][-6:]
    refused = live.refused(9, "NOT_CONFIRMED", *export, "--confirm", "export it")
    given = live.made(*export, "--confirm", f"export {phrase}", stdin=PHRASE)
    assert given["key"] == KEY
    said = f"{made} {wrong} {refused}"
    assert KEY[2:] not in said
    assert PHRASE.strip() not in said
    # Also live a chain is only read through a node that was configured.
    live.refused(5, "NO_ACCOUNT", "export", "nobody", "--confirm", f"export {phrase}")


def test_what_cannot_be_imported_is_said(live: LiveWallet) -> None:
    source = ("--file", str(live.home / "key.txt"), "--yes", "--passphrase-fd", "0")
    (live.home / "key.txt").write_text(MNEMONIC)
    words = ("import", "mnemonic", *source)
    live.refused(2, "AMBIGUOUS", *words, "--kind", "evm", stdin=PHRASE)
    live.refused(2, "NEEDS_KIND", *words, stdin=PHRASE)
    assert live.made("list")["accounts"] == []


def test_chains_are_printed_in_the_order_of_the_wallet() -> None:
    """Also those that answer late."""
    made = datetime(2026, 6, 1, tzinfo=UTC)
    account = Account("0x1", Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, made)
    waits = [
        ChainHoldings(account, name, name, reading=True) for name in ("base", "polygon", "bsc")
    ]
    coin = Holding(Asset("ETH", 18, None), Decimal(2))
    out = io.StringIO()
    table = BalanceTable(Output("plain", stdout=out))
    table.heard(waits)
    for at in (1, 0, 2):
        waits[at] = replace(waits[at], reading=False, holdings=(coin,))
        table.heard(waits)
        said = [line.split()[-1].rstrip(".") for line in out.getvalue().splitlines()]
        assert said == {1: [], 0: ["base", "polygon"], 2: ["base", "polygon", "bsc"]}[at]


def test_a_chain_is_printed_as_it_answers_and_what_fails_says_who_acts(live_desk: Desk) -> None:
    made = live_desk.process("wallet", "new", "--passphrase-fd", "0", "--json", stdin=PHRASE)
    assert made.code == 0, made.stderr
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        config = live_desk.home / "config.toml"
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config.write_text(f'{config.read_text()}arbitrum = "{url}"\n')
        environ = {**os.environ, "SWAPDESK_HOME": str(live_desk.home), **live_desk.environ}
        command = [sys.executable, "-m", "swapdesk", "wallet", "balance"]
        window = TerminalWindow(command, environ, 120, 20)
        try:
            window.until(lambda: "ACCOUNT" in window.text and "Base" in window.text, "one chain")
            assert window.process.poll() is None
            assert "Arbitrum" not in window.text
            silent.close()
            window.until(lambda: window.process.poll() is not None, "its end")
            window.read_until_quiet()
            assert window.process.wait() == 7
        finally:
            window.close()
    shown = " ".join(window.text.split())
    assert "Arbitrum could not be read: " in shown
    # A window breaks a long line inside of a word.
    said = "What is there stays there. Next you: read it again, or name another node:"
    assert said.replace(" ", "") in shown.replace(" ", "")
    assert "arbitrum under [profiles.main.rpc]." in shown
    assert shown.count("ACCOUNT CHAIN") == 1


SWAP = ("swap", "20", "usdc.base", "weth.base", "--type", "dex", "--provider", "fa", "--yes")


@pytest.fixture
def free(desk: Desk) -> Iterator[Desk]:
    """A desk whose policy is gone after the test: others sign with the same wallet."""
    assert desk("wallet", "balance", "--json").code == 0
    yield desk
    assert desk("wallet", "policy", "set", "--anew", "--json").code == 0


def test_a_swap_is_refused_by_what_was_set(free: Desk) -> None:
    made = free.made(
        *("wallet", "policy", "set", "--per-day", "usdc.base=15", "--per-payment", "usd=50"),
        *("--price", "usdc.base=1", "--price", "eth.base=3000"),
    )
    payment, day = sorted(made["policy"]["limits"], key=lambda one: one["per"] == "day")
    assert (day["per"], day["most"], day["token"]["symbol"]) == ("day", 15, "USDC")
    assert (payment["per"], payment["most"], payment["token"]) == ("payment", 50, None)
    refused = free.refused(9, "POLICY_DAY", *SWAP)
    assert refused["money"].startswith("in your wallet; nothing was swapped")
    assert "per day 15 USDC" in refused["message"]
    assert "left, this is 20" in refused["message"]
    assert refused["next"] == (
        "you: pay less, wait, or raise it with swapdesk wallet policy set, or w and m in an open"
        " desk"
    )
    dry = free(*SWAP, "--dry-run", "--json")
    assert (dry.code, dry.document["refused"]) == (9, True)
    told = free("wallet", "policy", "show")
    assert told.code == 0, told
    assert "USDC.base" in told.stdout
    assert "price of ETH.base" in told.stdout
    # In the sandbox the pass phrase that raises it is known.
    raised = free.made(
        *("wallet", "policy", "set", "--per-day", "usdc.base=none", "--chain", "base"),
        *("--until", "2100-01-01"),
    )
    policy = raised["policy"]
    assert [one["per"] for one in policy["limits"]] == ["payment"]
    assert (policy["chains"], policy["until"]) == (["base"], "2100-01-01T00:00:00Z")
    plain = free("wallet", "policy", "show", "--plain")
    assert plain.code == 0, plain


NO_RULES = [
    ((), "NOTHING_GIVEN"),
    (("--per-day", "usdc.base"), "BAD_LIMIT"),
    (("--per-day", "usd=-1"), "BAD_LIMIT"),
    (("--per-day", "usd=١"), "BAD_LIMIT"),
    (("--per-hour", "usd=1e9"), "BAD_LIMIT"),
    (("--token", "usdc"), "BAD_TOKEN"),
    (("--token", "usdc.nowhere"), "NO_SUCH_CHAIN"),
    (("--token", "nothing.base"), "TOKEN_NOT_FOUND"),
    (("--until", "tomorrow"), "BAD_TIME"),
    (("--payee", "0x12"), "BAD_REQUEST"),
]


def test_what_is_no_rule_changes_nothing(desk: Desk, subtests: pytest.Subtests) -> None:
    before = desk.made("wallet", "policy", "show")
    for words, code in NO_RULES:
        with subtests.test(words=words):
            desk.refused(5 if "FOUND" in code else 2, code, "wallet", "policy", "set", *words)
    assert desk.made("wallet", "policy", "show") == before


def test_without_one_nothing_is_limited(here: InProcess) -> None:
    told = here("wallet", "policy", "show", "--json")
    assert (told.code, told.document) == (0, {"policy": None, "problem": None})
    assert "No spending policy" in here("wallet", "policy", "show").stdout


def test_a_file_from_elsewhere_is_told(live: LiveWallet) -> None:
    live.made("new", "--passphrase-fd", "0", stdin="a phrase\n")
    [keys] = (live.home / "profiles").rglob("keys")
    policy = keys / "spending_policy.json"
    policy.write_text("{}")
    policy.chmod(0o600)
    told = live("policy", "show", "--json")
    assert told.code == 9, told
    assert "nothing is signed" in told.document["problem"]


ENTER, LEAVE, CLEAR = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[H\x1b[2J"
SECRET = bytearray(b"0x" + b"5f" * 32)


def shown(*keys: bool) -> tuple[bytes, int]:
    """What is written when keys come or do not come, and for how many seconds it is there."""
    reading, writing = os.pipe()
    answers, waited = iter(keys), []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return next(answers, False)

    show_secret(("The key of main",), SECRET, out=writing, wait=wait)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        return told.read(), int(sum(waited))


def test_a_secret_is_hidden_after_half_a_minute_or_by_a_key() -> None:
    for keys, seconds in (((), HIDE_AFTER), ((False, False, True), 3)):
        written, shown_for = shown(*keys)
        assert (shown_for, HIDE_AFTER) == (seconds, 30)
        assert written.startswith(ENTER)
        assert written.endswith(CLEAR + LEAVE)
        assert written.count(bytes(SECRET)) == 1


def test_what_could_steer_a_terminal_is_no_secret() -> None:
    with pytest.raises(ValueError, match="printable"):
        show_secret((), bytearray(b"\x1b[2J"), out=1, wait=lambda _: True)


@pytest.fixture
def account(tmp_path: Path) -> str:
    made = cli("wallet", "new", "--name", "main", "--json", home=tmp_path)
    assert made.code == 0, made
    return str(made.document["account"]["address"])


@pytest.fixture
def terminal(tmp_path: Path, account: str):
    env = {**os.environ, "SWAPDESK_HOME": str(tmp_path), "HOME": str(tmp_path), "TERM": "xterm"}
    windows = []

    def begin(*words: str) -> TerminalWindow:
        command = [sys.executable, "-m", "swapdesk", "wallet", "export", "main", *words]
        windows.append(TerminalWindow(command, env, 120, 30))
        return windows[-1]

    yield begin
    for window in windows:
        window.close()


def test_an_exported_key_leaves_nothing_in_the_scrollback(
    terminal, account: str, here: InProcess, tmp_path: Path
) -> None:
    window = terminal()
    window.read_until("Type")
    window.type(f"export {account[-6:]}")
    window.press("\r", sees="Hidden in")
    secret = next(line for line in window.text.splitlines() if len(line) == 66)
    window.press("\x03")
    window.until(lambda: b"hidden again" in window.written, "the end")
    assert window.process.wait(PATIENCE) == 0
    before, _, rest = window.written.partition(ENTER)
    inside, _, after = rest.partition(LEAVE)
    assert secret.encode() in inside
    assert inside.endswith(CLEAR)
    assert secret.encode() not in before + after

    key = tmp_path / "main.key"
    phrase = ("--confirm", f"export {account[-6:]}")
    words = ("wallet", "export", "main", *phrase, "--out", str(key))
    given = here(*words, "--json")
    assert given.code == 0, given
    assert secret not in given.stdout + given.stderr
    assert key.read_text().strip() == secret
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    here.refused(2, "FILE_EXISTS", *words)


def test_a_terminal_keeps_no_key_as_plain_output(terminal, account: str) -> None:
    """Asked for as JSON it would stand in the scrollback: nothing is even asked then."""
    window = terminal("--json", "--confirm", f"export {account[-6:]}")
    window.until(lambda: window.process.poll() is not None or "NEEDS_OUT" in window.text, "no")
    assert "NEEDS_OUT" in window.text
    assert window.process.wait(PATIENCE) == 2


@each_row(
    ("pasted", "read"),
    [
        (f"{MNEMONIC}\n", MNEMONIC),
        ("".join(f"{at}. {word}\n" for at, word in enumerate(MNEMONIC.split(), 1)), None),
        (f"{MNEMONIC}\n{MNEMONIC}\n", f"{MNEMONIC}\n{MNEMONIC}"),
        ("legal winner\n\nnever read\n", "legal winner"),
        ("\n", ""),
    ],
)
def test_a_phrase_is_pasted_in_one_line_or_in_many(pasted: str, read: str | None) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, pasted.encode())
        echoing = termios.tcgetattr(theirs)
        said = typed_lines(theirs, "Mnemonic: ", 12)
        assert said == (pasted.strip() if read is None else read)
        assert termios.tcgetattr(theirs) == echoing
        # Nothing of it is left for the question or the shell that comes next.
        os.set_blocking(theirs, False)
        with pytest.raises(BlockingIOError):
            os.read(theirs, 100)
    finally:
        os.close(ours)
        os.close(theirs)
