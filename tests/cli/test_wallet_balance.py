"""``wallet balance`` beside a chain that says nothing."""

from __future__ import annotations

import io
import os
import socket
import sys
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

from msgspec.structs import replace

from cli.desks import Desk
from swapdesk.cli.output import Form, Output
from swapdesk.cli.wallet_chains import BalanceTable
from swapdesk.flows.wallet.chain_holdings import ChainHoldings, Holding
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.promise import Asset
from tui.terminal_window import TerminalWindow

PHRASE = "a phrase for a live wallet\n"


def test_chains_are_printed_in_the_order_of_the_wallet() -> None:
    """Also those that answer late."""
    made = datetime(2026, 6, 1, tzinfo=UTC)
    account = Account("0x1", Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, made)
    waits = [
        ChainHoldings(account, name, name, reading=True) for name in ("base", "polygon", "bsc")
    ]
    coin = Holding(Asset("ETH", 18, None), Decimal(2))
    out = io.StringIO()
    table = BalanceTable(Output(Form.PLAIN, stdout=out))
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
