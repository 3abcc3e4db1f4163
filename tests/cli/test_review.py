"""At a terminal: the frozen order is shown whole, and created by the word yes alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.desks import Desk, batch_file
from harness import environment
from tui.terminal_window import TerminalWindow

ORDER = ("swap", "0.1", "btc.bitcoin", "eth.ethereum", "--to", "@bob", "--json")


def at_a_terminal(desk: Desk, answer: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, what went into a file, and what stood at the terminal."""
    command, env = [sys.executable, "-m", "swapdesk", *arguments], environment(desk.home)
    printed = desk.home / "printed"
    with printed.open("wb") as file:
        window = TerminalWindow(command, env | desk.environ, 200, 60, stdout=file.fileno())
    try:
        window.read_until('Type "yes":')
        window.press(f"{answer}\n")
        window.until(lambda: window.process.poll() is not None, "its end")
        window.read_until_quiet()
        return window.process.wait(), printed.read_text(), window.text
    finally:
        window.close()


def order_count(desk: Desk) -> int:
    return desk("orders", "list", "--json").document["total"]


def test_no_creates_nothing_and_warnings_are_part_of_what_is_shown(desk: Desk) -> None:
    before = order_count(desk)
    doubted = ("swap", "0.1", "btc.bitcoin", "btc.bsc", "--to", "@bob", "--json")
    code, data, shown = at_a_terminal(desk, "no", *doubted)
    assert (code, data) == (130, "")
    assert "! The service says:" in shown
    assert "Nothing was created." in shown
    assert order_count(desk) == before


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_batch_is_shown_where_it_is_asked_about(desk: Desk, tmp_path: Path, form: str) -> None:
    file = batch_file(tmp_path, "@bob,0.17,USDC,base,ETH.ethereum")
    words = [word for word in ("batch", "create", file, form) if word]
    code, data, shown = at_a_terminal(desk, "no", *words)
    assert (code, data) == (130, "")
    assert "0.17 ETH" in shown


def test_yes_creates_what_was_shown(desk: Desk) -> None:
    before = order_count(desk)
    code, data, shown = at_a_terminal(desk, "yes", *ORDER)
    assert code == 0, shown
    assert data.startswith('{"schemaVersion":1,"serviceId":')
    book = (desk.home / "profiles" / "sandbox" / "address_book.toml").read_text()
    bob = next(line.split('"')[1] for line in book.splitlines() if line.startswith("address"))
    groups = " ".join(["0x", *(bob[i : i + 4] for i in range(2, len(bob), 4))])
    assert groups in shown
    for fact in (
        "not promised: the rate floats",
        "SANDBOX",
        "0.1 BTC on Bitcoin",
        "ETH on Ethereum",
        "@bob",
        "valid ",
    ):
        assert fact in shown
    assert order_count(desk) == before + 1
