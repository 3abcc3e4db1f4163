"""Links in the text (OSC 8): whose, where, and what is written to the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.style import Style
from textual.app import ComposeResult

from corpus.texts import control_texts
from swapdesk.chain.addresses.display import KNOWN, known_page
from swapdesk.tui.cell_updates import written as cells_written
from swapdesk.tui.painting import paint, unknown
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.terminal import SafeApp, draws_links
from swapdesk.tui.widgets.detail_rows import Fact, fact_lines

HASH = "0x" + "8f2c91d04b1e77ab" * 4
PAGE = f"https://etherscan.io/tx/{HASH}"
OPEN, CLOSE = "\x1b]8;", "\x1b]8;;\x1b\\"


@pytest.mark.parametrize(
    ("environ", "draws"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "dumb", "WT_SESSION": "1"}, False),
        ({"TERM": "linux", "VTE_VERSION": "7600"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "5000"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "７６００"}, False),
        ({"TERM": "screen-256color", "STY": "1.a", "WT_SESSION": "1"}, False),
        ({"TERM": "tmux-256color", "TMUX": "/t", "VTE_VERSION": "7600"}, False),
        (_tmux := {"TERM": "tmux-256color", "TMUX": "/t", "TERM_PROGRAM": "tmux"}, False),
        ({**_tmux, "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({**_tmux, "TERM_PROGRAM_VERSION": "3.4"}, True),
        ({**_tmux, "TERM_PROGRAM_VERSION": "next-3.5"}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_which_terminals_get_links(environ: Mapping[str, str], draws: bool) -> None:
    assert draws_links(environ) is draws


def test_only_pages_of_explorers_of_the_table() -> None:
    assert known_page(PAGE) == PAGE
    others = [
        None,
        "",
        PAGE.replace("https", "http"),
        PAGE.replace("etherscan.io", "evil.example"),
        PAGE.replace("etherscan.io", "etherscan.io.evil.example"),
        PAGE.replace("etherscan.io", "etherscan.io:8443"),
        PAGE.replace("etherscan.io", "me@etherscan.io"),
        PAGE.replace("etherscan.io", "ETHERSCAN.io"),
        PAGE.replace("etherscan.io", "еtherscan.io"),
        PAGE + "é",
        PAGE + "a" * 2000,
        "https://[etherscan.io/tx",
    ]
    assert [known_page(one) for one in others] == [None] * len(others)


@pytest.mark.parametrize("payload", control_texts())
def test_no_text_that_steers_a_terminal_is_a_link(payload: str) -> None:
    assert known_page(f"{PAGE}{payload}") is None
    assert known_page(payload) is None


def test_every_host_of_the_table_is_a_plain_name() -> None:
    for host in KNOWN:
        assert known_page(f"https://{host}/tx/1"), host


class OneApp(SafeApp[None]):
    """An application whose terminal takes links or does not."""

    def __init__(self, *, links: bool) -> None:
        super().__init__()
        self.draws_links = links

    def compose(self) -> ComposeResult:
        yield from ()


def written(app: OneApp, line: Line, width: int = 90) -> str:
    strip = paint(app, line, width, Style())
    assert strip.cell_length == width
    console = Console(color_system="truecolor", force_terminal=True)
    return cells_written([(0, 0, strip)], console)


def fact(link: str) -> Line:
    return fact_lines(Fact("Payout tx", address=HASH, link=link), 90, 12)[0]


async def test_the_hash_leads_to_its_page_and_nothing_else_does() -> None:
    app = OneApp(links=True)
    async with app.run_test():
        said = written(app, [*fact(PAGE), Span("   "), Span("on Ethereum", "muted")], 120)
        start, rest = said.split(OPEN, 1)
        inside, after = rest.split(CLOSE)
        assert f";{PAGE}\x1b\\" in inside
        assert "Payout tx" in start
        # The blanks behind the hash and the note are no part of it.
        assert inside.removesuffix("\x1b[0m").endswith(" 4b1e")
        assert "on Ethereum" in after


async def test_no_link_where_it_may_not_be_drawn() -> None:
    line = fact(PAGE)
    for app in (OneApp(links=False), hidden := OneApp(links=True)):
        async with app.run_test():
            hidden.privacy = SimpleNamespace(hides_amounts=True, known_symbol=unknown)  # type: ignore[attr-defined]
            assert OPEN not in written(app, line)
    shown = OneApp(links=True)
    async with shown.run_test():
        assert OPEN not in written(shown, fact("https://evil.example/tx/1"))
