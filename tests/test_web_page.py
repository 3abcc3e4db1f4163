"""A page that leaves as a file holds its texts as texts, and its policy lets nothing else run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from corpus.texts import control_texts, invisible_texts, web_texts
from service.test_paid_calls import TERMS
from swapdesk import web_page as made
from swapdesk.service.payments import PaymentNeeded
from swapdesk.web_page import LONGEST_TEXT, web_page
from swapdesk.wire.encoding.text import is_unsafe, safe_text
from swapdesk.wire.price_tiers import PriceTier
from web_documents import WebDocument, hold_sealed

TEXTS = web_texts() + control_texts()[::5] + invisible_texts()[::4]
ENTRY = TERMS.entry(PriceTier.READ)
SHAPE = WebDocument(PaymentNeeded(ENTRY, {}).page()).shape


def with_text(where: tuple[str, ...], text: str) -> dict[str, Any]:
    name, *below = where
    inner = {**ENTRY[name], below[0]: text} if below else text
    return {**ENTRY, name: inner}


@pytest.mark.parametrize(
    "where", [("network",), ("asset",), ("payTo",), ("amount",), ("extra", "name")], ids="-".join
)
def test_the_terms_of_a_payment_stay_texts(where: tuple[str, ...]) -> None:
    for text in TEXTS:
        page = hold_sealed(PaymentNeeded(with_text(where, text), {}).page())
        assert page.shape == SHAPE, text
        assert " ".join(safe_text(text, 100).rstrip("…").split()) in page.said
        assert not any(is_unsafe(char) for char in page.said), text
        assert len(page.said) < LONGEST_TEXT + 1_000


def test_a_title_is_a_text() -> None:
    for text in TEXTS:
        assert hold_sealed(web_page("payment", title=text, rows=())).of("script") == []


def test_a_fact_that_nobody_gave_is_no_blank() -> None:
    with pytest.raises(UndefinedError):
        web_page("payment", title="Payment required")


def test_styles_and_scripts_of_ours_hold_no_end_of_themselves() -> None:
    """They are written into the page as they are."""
    for file in (Path(made.__file__).parent / "web_pages").iterdir():
        text = file.read_text(encoding="utf-8")
        if file.suffix in (".css", ".js"):
            assert "</" not in text, file.name
            assert "<!--" not in text, file.name
        else:
            assert "|safe" not in text.replace(" ", ""), file.name
            assert "autoescape" not in text, file.name
