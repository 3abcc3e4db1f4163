"""Texts that hurt a terminal, a markup parser or a reader: made from rules, not from a list.

Three families: *control* texts steer a terminal, *markup* texts mean something to Rich or
Textual, *look-alikes* are symbols that read as another one. Each is built by crossing small
tables, so that the whole is reproducible and a sample of it is fair: ``sample`` takes every
n-th text, begun anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

ESC, BEL, ST, C1_CSI, C1_OSC = "\x1b", "\x07", "\x1b\\", "\x9b", "\x9d"


def control_texts() -> list[str]:
    """Sixty texts, each with a byte no row may hold: sequences whole, cut, nested, in C1 form,
    and inside the passthrough of a multiplexer."""
    osc = ["0;owned", "4;1;rgb:ff/00/00", "7;file:///etc", "8;;http://evil.example/", "9;paid",
           "52;c;aGVsbG8=", "777;notify;a;b", "1337;File=name=x:"]  # fmt: skip
    csi = ["2J", "H", "6n", "c", "?1049l", "?25l", "31m", "8;1;1t", "21t", "0q"]
    texts = [f"{ESC}]{body}{end}" for body in osc for end in (BEL, ST)]
    texts += [f"{start}{body}" for body in csi for start in (f"{ESC}[", C1_CSI)]
    texts += [f"{ESC}{kind}payload{ST}" for kind in "PX^_"]  # DCS, SOS, PM, APC
    texts += [f"{ESC}Ptmux;{ESC}{ESC}]52;c;eA=={BEL}{ST}", f"{ESC}P{ESC}[6n{ST}"]
    texts += [f"{C1_OSC}0;owned{BEL}", f"{ESC}]52;c;unterminated", f"a{ESC}", f"{ESC}[", "\x90q"]
    texts += ["a\x07b", "a\x08\x08b", "a\rb", "a\x0bb", "a\x0cb", "a\x00b", "a\x7fb", "a\tb"]
    texts += ["a\nb\n" * 40, "\u2028a\u2029b", "a\u0085b", "\u202eCDSU\u202c", "\u2066a\u2069"]
    return texts


def invisible_texts() -> list[str]:
    """Characters that no eye sees and every comparison does."""
    hidden = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u3164", "\u115f",
              "\uffa0", "\u2800", "\u180b", "\ufe0f", "\U000e0041", "\u061c"]  # fmt: skip
    return [f"US{char}DC" for char in hidden] + ["a" + "\u0301" * 300, "\u0301lead", "é" * 300]


def markup_texts() -> list[str]:
    """Forty texts that two markup languages would read as their own."""
    tags = ["red", "b", "bold red on white", "link=http://evil.example", "@click=app.quit",
            "@click=app.bell()", "$error", "on $panel", "not bold", "/"]  # fmt: skip
    texts = [f"[{tag}]x[/]" for tag in tags] + [f"[{tag}]x" for tag in tags]
    texts += [f"A[/{tag.split('=')[0].split()[0]}]B" for tag in tags[:5]]
    texts += [
        "[[red]]x[[/red]]",
        "\\[red]x",
        "\\\\[red]x",
        "[",
        "]",
        "[]",
        "[/]",
        "[red",
        "red]",
        "[bold",
    ]
    texts += ["[type=x, v={'a[0]'}]", '{"b": [true, false]}', ":skull:", "[@click='a[0]']x[/]"]
    return [*texts, "[red][b]x[/red][/b]"]


def wide_texts() -> list[str]:
    """Honest texts whose cells are not their characters."""
    return [
        *("漢字" * 40, "ｆｕｌｌｗｉｄｔｈ", "한국어 스왑", "مرحبا", "שלום", "नमस्ते"),
        *("e\u0301le\u0300ve", "👩\u200d👩\u200d👧 family", "🏳\ufe0f\u200d🌈", "ﷺ" * 20),
        *("W" * 400, " ", "", "—", "…"),
    ]


RANKED = ("BTC", "ETH", "USDT", "USDC", "BNB", "SOL", "XRP", "DOGE", "ADA", "TRX", "TON", "SUI",
          "DOT", "LTC", "XMR", "XLM", "ATOM", "LINK", "AVAX", "DAI", "UNI", "WBTC", "STETH", "SHIB",
          "PEPE", "AAVE", "ARB", "OP", "NEAR", "FIL", "BCH", "ETC", "HBAR", "ICP", "APT", "VET",
          "ALGO", "MKR", "GRT", "INJ", "RUNE", "LDO", "CRV", "SNX", "COMP", "ZEC", "DASH", "XTZ",
          "EOS", "WETH")  # fmt: skip
_CYRILLIC = str.maketrans("ABCEHIJKMOPSTXY", "АВСЕНІЈКМОРЅТХУ")
_GREEK = str.maketrans("ABEHIKMNOPTXYZ", "ΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
_CHEROKEE = str.maketrans("ABCDEGHJKLMPRSTVWZ", "ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ")
_FULL = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
_BOLD, _SANS, _MONO, _CIRCLED = (
    str.maketrans({chr(ord("A") + at): chr(first + at) for at in range(26)})
    for first in (0x1D400, 0x1D5A0, 0x1D670, 0x24B6)
)
_SCRIPTS = (_CYRILLIC, _GREEK, _CHEROKEE, _FULL, _BOLD, _SANS, _MONO, _CIRCLED)
_HIDDEN = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e")
_TURNED = ("\u202e{}", "\u2067{}\u2069", "\u200f{}", "{}\u202c", "\u061c{}")
_PADDED = ("\u00a0{}", "{}\u2003", "\u3164{}", "{}\u115f", "{}\u2800", "{}\ufe0f", "{}\u0307")


def look_alikes() -> list[tuple[str, str]]:
    """(what is shown, what it reads as): a ranked symbol in other scripts and in the letters
    that Unicode keeps for other uses, one letter of another script, hidden characters,
    directions, blanks that no one sees, and accents."""
    found: dict[str, str] = {}
    for symbol in RANKED:
        shown = [symbol.translate(table) for table in _SCRIPTS]
        for table in (_CYRILLIC, _GREEK, _FULL, _MONO, _BOLD):
            shown += [
                symbol[:at] + char.translate(table) + symbol[at + 1 :]
                for at, char in enumerate(symbol)
            ]
        shown += [f"{symbol[:1]}{hidden}{symbol[1:]}" for hidden in _HIDDEN]
        shown += [turned.format(symbol[::-1]) for turned in _TURNED]
        shown += [padded.format(symbol) for padded in _PADDED]
        shown += [symbol.lower(), symbol.title(), *(form.format(symbol) for form in _DRESSED)]
        # In small letters a letter of another script is a look-alike of the small one.
        shown += [symbol[:1] + symbol[1:].lower().translate(_SMALL)]
        shown += [symbol.replace(one, other) for one, other in _DIGITS]
        found.update((text, symbol) for text in shown if text != symbol)
    return list(found.items())


_DRESSED = (" {}", "{}.", "${}", "{}-")
_DIGITS = (("O", "0"), ("I", "l"), ("I", "|"), ("I", "1"))
_SMALL = str.maketrans("aceiopxy", "асеіорху")


def all_texts() -> list[str]:
    """Every family but the look-alikes, which are for symbols."""
    return [*control_texts(), *invisible_texts(), *markup_texts(), *wide_texts()]


def sample(items: Sequence[T], count: int, start: int = 0) -> list[T]:
    """``count`` items spread evenly over all, begun at ``start``."""
    step = max(1, len(items) // count)
    return [items[(start + at * step) % len(items)] for at in range(min(count, len(items)))]


def web_texts() -> list[str]:
    """Texts that a browser would run, load, hide or read backwards, and one that has no end."""
    run = "document.title='owned'"
    return [
        f"<script>{run}</script>",
        f"</style><script>{run}</script><style>",
        f"</script><script>{run}</script>",
        f'</title></head><body onload="{run}">',
        f'<img src=x onerror="{run}">',
        f'"><svg onload="{run}">',
        f"' autofocus onfocus='{run}' x='",
        f'<a href="javascript:{run}">pay here</a>',
        '<iframe src="http://127.0.0.1:9/owned"></iframe>',
        '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/owned">',
        '<base href="http://127.0.0.1:9/"><link rel=stylesheet href=owned.css>',
        "<style>*{display:none}</style>",
        "<!-- <!-- --!> ]]> <![CDATA[ <template> <noscript> <plaintext>",
        "&lt;script&gt; &#60;b&#62; &amp;amp; &zwj;",
        "{{ 7 * 7 }} {% raw %} ${7*7} #{7*7}",
        "\u202ednes ton oD\u202c \u2066x\u2069 \u200f\u061c",
        "\x00\x1b]52;c;aGVsbG8=\x07\u2028\u2029\ufeff\u0085",
        "o" + "\u0301" * 400,
        "Zalgo" + "\u0489\u035c" * 50,
        "W" * 5_000,
        "pay " * 2_000,
    ]
