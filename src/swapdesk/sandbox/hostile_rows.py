"""Tokens whose issuers attack whoever reads their names: markup, control bytes, look-alikes.

Nobody trades them. They stand in the catalogue so that every screen, table and pipe that
shows a token meets such text from the first day. Half a surrogate pair is not among them:
no JSON answer can carry one.
"""

from __future__ import annotations

from swapdesk.sandbox.token_rows import Seen, TokenRow

_ESC = "\x1b"
_BEL = "\x07"
_ST = f"{_ESC}\\"
_STOLEN = "c3dhcGRlc2s="

_MARKUP = (
    "[red]x[/]",
    "A[/]B",
    "[@click=app.quit]x[/]",
    "[type=x, v={'a[0]'}]",
    '{"b": [true, false]}',
    "\\[red]",
    "[link=https://example.invalid]USDC[/link]",
    ":skull: [b]bold",
)
_CONTROL = (
    f"{_ESC}]52;c;{_STOLEN}{_BEL}",
    f"{_ESC}]52;c;{_STOLEN}{_ST}",
    f"{_ESC}]8;;https://example.invalid{_ST}USDC{_ESC}]8;;{_ST}",
    f"{_ESC}]0;title{_BEL}",
    f"{_ESC}[6n",
    f"{_ESC}[2J{_ESC}[H",
    "\x9b2J",
    f"{_ESC}P1$q{_ST}",
    "A\rB\x08C\x00D\x7fE\tF",
)
_HIDDEN = (
    "\u202eCDSU",
    "\u2066USDC\u2069",
    "US\u200bDC",
    "U\u0405D\u0421",
    "\uff35\uff33\uff24\uff23",
    "USDC\u3164",
    "\u00adUSDC",
    "e" + "\u0301" * 60,
)
_LONG = ("W" * 200, "A\n" * 100)

_SCANS: tuple[tuple[str, Seen], ...] = (
    ("malicious", "fresh"),
    ("TIMEOUT", "fresh"),
    ("warning", "fresh"),
    ("malicious", ""),
)
_CHAINS = ("ethereum", "base", "arbitrum", "bsc")
# One of each family stays in the default list; the others need ``unverified=true``.
_SHOWN = frozenset({_MARKUP[2], _CONTROL[4], _HIDDEN[3], _LONG[0]})


def _row(position: int, text: str) -> TokenRow:
    hostile_symbol = len(text) <= 20
    verdict, seen = _SCANS[position % len(_SCANS)]
    return TokenRow(
        chain=_CHAINS[position % len(_CHAINS)],
        symbol=text if hostile_symbol else f"BAD{position}",
        name=text,
        decimals=18,
        asset=None,
        unverified=text not in _SHOWN,
        traded=False,
        verdict=verdict,
        seen=seen,
        warning=text if position % 3 == 0 else "",
        description=f"{text} {text}" if position % 2 else None,
    )


HOSTILE_ROWS: tuple[TokenRow, ...] = tuple(
    _row(position, text) for position, text in enumerate((*_MARKUP, *_CONTROL, *_HIDDEN, *_LONG))
)
