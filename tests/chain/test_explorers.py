"""Explorer links come out of a server's template only when they are plain https links."""

from __future__ import annotations

import pytest

from swapdesk.chain.addresses.display import transaction_link

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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "value", ["", ".", "..", "a b", "a\n", "\u202eabc", "\x1b", "a" * 201, "\u0430"]
)
def test_unsafe_values_give_no_link(value: str) -> None:
    assert transaction_link("https://e.io/a/{txHash}", value) is None
