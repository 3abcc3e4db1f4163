"""The form for every kind of quote, the code of a deposit, the address book."""

from __future__ import annotations

import re

from swapdesk.flows.quotes.quote_request import QuoteOptions
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.widgets.overlay import TypedConfirm
from tui.desk_run import DeskRun
from tui.lost_create import answers_are_lost, to_candidates, without_order_ids
from tui.picture import NORMAL
from tui.quote_rows import TWO_LEGS, only_these
from tui.scenes import home, quotes, scene, swap
from tui.scenes.swap import masked

STRANGER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
CLEARED = ("ctrl+u", "up", "ctrl+u", "escape")
MISTYPED = "bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq"


@scene("create-reverse", after=quotes.reverse, back=CLEARED, decides=True, fed=False)
async def reverse(run: DeskRun) -> None:
    await run.press("enter")
    await run.enter(STRANGER)
    await run.type(MISTYPED, sees='character 23 is "o"')


@scene("create-fixed-frozen", after=quotes.reverse, decides=True, fed=False)
async def fixed_frozen(run: DeskRun) -> None:
    await run.press("enter")
    await run.enter("@bob")
    await run.enter("@cold")
    await run.settle(lambda: run.screen(CreateScreen).state.step == "ready", "a locked intent")
    await run.calm()


@scene("create-alike", after=swap.form, back=swap.BOB_AGAIN, decides=True, also=(NORMAL,))
async def alike(run: DeskRun) -> None:
    await run.press("ctrl+u")
    entry = run.app.session.desk.book.entry("bob")
    known = entry.address.lower()
    middle = "".join("f" if char == "0" else "0" for char in known[10:30])
    await run.type(known[:10] + middle + known[30:], sees="looks like @bob and is not")


@scene("create-tag", apart="create-tag", decides=True)
async def tag(run: DeskRun) -> None:
    await run.to_form("0.5 btc xrp")
    await run.type("rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh")
    await run.press("enter", "enter", sees='Type "NO MEMO"')
    await run.calm()


@scene("create-expired", after=swap.frozen, decides=True)
async def expired(run: DeskRun) -> None:
    run.advance(70)
    await run.see("This quote ended at 14:03.")
    await run.calm()


@scene(
    "deposit-code",
    after=swap.deposit_tag,
    back=("escape",),
    decides=True,
    mask=masked,
    own_ascii=True,
)
async def code(run: DeskRun) -> None:
    await run.press("v", sees="In code")
    await run.calm()


@scene("deposit-code-address", after=code, back=("v",), decides=True, mask=masked, own_ascii=True)
async def code_address(run: DeskRun) -> None:
    await run.press("v", sees="not in the code")
    await run.calm()


@scene("address-book", after=home.empty, back=("escape",), also=(NORMAL,))
async def address_book(run: DeskRun) -> None:
    await run.press("at", sees="@cold")


@scene("address-book-add", after=address_book, back=("escape",), decides=True)
async def book_entry(run: DeskRun) -> None:
    await run.press("plus")
    await run.enter("carol")
    await run.type(STRANGER, sees="checksum correct")


def asked_group(run: DeskRun, text: str) -> str:
    """The group that is asked for is drawn by lot: the text with the whole address instead."""
    answer = run.screen(TypedConfirm).question.phrase
    text = re.sub(r"group +\d+ +of", "group N of", text)
    return re.sub(r"(?<![•*])[•*]{4}(?![•*])", answer, text)


@scene("create-first-payment", apart="create-first-payment", mask=asked_group, decides=True)
async def first_payment(run: DeskRun) -> None:
    await run.to_frozen(recipient=STRANGER)
    await run.press("c", sees="First payment to this address")


@scene(
    "create-middle-refund",
    apart="create-middle-refund",
    answers=only_these(TWO_LEGS),
    decides=True,
    fed=False,
)
async def middle_refund(run: DeskRun) -> None:
    """One private route over XMR, as the service answers when the hop is pinned."""
    await run.ready()
    run.app.session.quote_options = QuoteOptions(use_xmr=True)
    await run.to_form()
    await run.enter("@bob")
    await run.type(STRANGER, sees="Middle refund")
    await run.see("XMR on Monero needs one")
    await run.calm()


@scene("candidates", prepare=answers_are_lost, mask=without_order_ids, decides=True, fed=False)
async def candidates(run: DeskRun) -> None:
    await to_candidates(run)
