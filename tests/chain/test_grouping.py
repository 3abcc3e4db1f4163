"""Groups of four, short forms, and addresses that only look alike. Explorer links come out of a
server's template only when they are plain https links."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from swapdesk.chain.addresses.display import (
    differing_characters,
    differing_groups,
    grouped,
    groups,
    looks_like,
    prefix_of_form,
    short,
    transaction_link,
    ungrouped,
    wrapped_address,
)
from swapdesk.chain.addresses.kinds import KINDS, derive_address

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB = "0x5aAe71c0D28b03Aa5512e9F407bE6c3dEf1BeAed"
BITCOIN = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"


def test_groups() -> None:
    assert grouped(EVM) == "0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed"
    assert grouped("rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh") == (
        "rEb8 TK3g Bgk5 auZk wc6s Hnwr GVJH 8Dua Lh"
    )
    assert groups("") == []
    assert groups("0x") == ["0x"]


@given(text=st.text(max_size=120), width=st.integers(1, 62))
def test_nothing_is_lost_in_groups(text: str, width: int) -> None:
    assert "".join(groups(text)) == text
    rejoined = "".join(line.strip(" ") for line in wrapped_address(text, width))
    assert rejoined.replace(" ", "") == text.replace(" ", "")


@given(text=st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=110),
       width=st.integers(1, 62), at=st.integers(0, 130))  # fmt: skip
def test_what_is_drawn_in_groups_is_read_back_and_nothing_else_is_changed(
    text: str, width: int, at: int
) -> None:
    assert ungrouped(grouped(text)) == text
    assert ungrouped("\n".join(wrapped_address(text, width))) == text
    other = f"{text[:at]} {text[at:]}"
    assert ungrouped(other) in (other, text)
    assert ungrouped(other) == other or other.split() == groups(text)


def test_lines_break_at_groups_and_continue_under_the_first() -> None:
    assert wrapped_address(EVM, 22) == [
        "0x 5aAe b605 3F3E 94C9",
        "   b9A0 9f33 6694 35E7",
        "   Ef1B eAed",
    ]
    assert wrapped_address(BITCOIN, 29) == [
        "bc1q ar0s rrr7 xfkv y5l6 43ly",
        "dnw9 re59 gtzz wf5m dq",
    ]
    monero = derive_address("xmr", bytes(32))
    assert [len(line) for line in wrapped_address(monero, 59)] == [59, 58]
    assert wrapped_address(EVM, 0) == wrapped_address(EVM, 7), "a group in each, however narrow"


def test_short_forms() -> None:
    assert short("0x71C7656EC7ab88b098defB751B7401B5f6d8976F") == "0x 71C7 …976F"
    assert short(BITCOIN) == "bc1q …5mdq"
    assert short("abcd1234") == "abcd 1234"


def test_differing_groups() -> None:
    assert differing_groups(EVM, EVM) == []
    assert differing_groups(EVM, EVM.lower()) == []
    assert differing_groups(EVM, BOB) == [2, 3, 4, 5, 6, 7, 8]
    assert differing_groups("rEb8TK3g", "rEb8tK3gXX") == [1, 2]


def test_look_alikes() -> None:
    assert looks_like(EVM, BOB)
    assert looks_like(EVM.lower(), BOB)
    assert not looks_like(EVM, EVM)
    assert not looks_like(EVM, EVM.lower())
    assert not looks_like(BITCOIN, BITCOIN.upper())
    assert not looks_like("", EVM)
    assert not looks_like("0x5aAe", EVM)
    assert looks_like("rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh", "rEb8tK3gBgk5auZkwc6sHnwrGVJH8DuaLh")


def test_differing_characters() -> None:
    assert differing_characters(EVM, EVM.lower()) == 0
    assert differing_characters("rEb8TK3g", "rEb8tK3gXX") == 3
    assert differing_characters(EVM, BOB) == sum(
        a != b for a, b in zip(EVM.lower(), BOB.lower(), strict=True)
    )
    assert 0 < differing_characters(EVM, BOB) <= 28


def test_made_look_alikes_are_found_and_strangers_are_not() -> None:
    rng = random.Random(4)
    for kind in KINDS:
        known = derive_address(kind, rng.randbytes(32))
        keep = max(6, len(prefix_of_form(known)) + 4)
        for _ in range(100):
            stranger = derive_address(kind, rng.randbytes(32))
            poisoned = known[:keep] + stranger[keep:-4][: len(known) - keep - 4] + known[-4:]
            assert looks_like(poisoned, known)
            assert not looks_like(stranger, known)
            assert differing_characters(poisoned, known) > 0


HASH = "0xe9873d79c6d87dc0fb6a5778633389f4453213303da61f20bd67fc233aa33262"


def test_links_are_filled() -> None:
    assert transaction_link("https://etherscan.io/tx/{txHash}", HASH) == (
        f"https://etherscan.io/tx/{HASH}"
    )
    assert transaction_link("https://scan.example:8443/a?q={txHash}#top", "rEb8") == (
        "https://scan.example:8443/a?q=rEb8#top"
    )


def test_values_are_percent_encoded() -> None:
    assert transaction_link("https://e.io/a/{txHash}", "a/../b?x=1#y&z%41") == (
        "https://e.io/a/a%2F..%2Fb%3Fx%3D1%23y%26z%2541"
    )


@each_row(
    "template",
    [
        None,
        "",
        "https://etherscan.io/tx/",
        "https://etherscan.io/tx/{address}",
        "http://etherscan.io/tx/{txHash}",
        "HTTPS://etherscan.io/tx/{txHash}",
        "javascript:alert('{txHash}')",
        "javascript://e.io/%0aalert(1)//{txHash}",
        "data:text/html,{txHash}",
        "file:///etc/passwd#{txHash}",
        "//e.io/{txHash}",
        " https://e.io/{txHash}",
        "https://e.io/{txHash}\n",
        "https://e.io/\x1b]8;;{txHash}",
        "https://e.io/{txHash}/{apiKey}",
        "https://e.io/$(id)`{txHash}`",
        "https://e.io/'{txHash}'",
        "https://user:pass@e.io/{txHash}",
        "https://e.io\\@evil.io/{txHash}",
        "https://{txHash}.evil.io/",
        "https://{txHash}/",
        "https:///{txHash}",
        "https://localhost/{txHash}",
        "https://127.0.0.1/{txHash}",
        "https://2130706433/{txHash}",
        "https://[::1]/{txHash}",
        "https://[oops/{txHash}",
        "https://e.io:99999/{txHash}",
        "https://e.io:x/{txHash}",
        "https://\u0435.io/{txHash}",
        "https://e..io/{txHash}",
        "https://e.io/" + "a" * 500 + "{txHash}",
    ],
)
def test_unsafe_templates_give_no_link(template: str | None) -> None:
    assert transaction_link(template, HASH) is None


@each_row("value", ["", ".", "..", "a b", "a\n", "\u202eabc", "\x1b", "a" * 201, "\u0430"])
def test_unsafe_values_give_no_link(value: str) -> None:
    assert transaction_link("https://e.io/a/{txHash}", value) is None
