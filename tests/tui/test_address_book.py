"""The address book on its screens: add with a comparison, rename, own wallet, delete."""

from __future__ import annotations

import tomllib

from flows.orders import created_here, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.tui.screens.address_book import AddressBookScreen, BookEntryScreen
from swapdesk.tui.widgets.overlay import TypedConfirm
from swapdesk.wire.orders import DisplayStatus
from tui.desk_run import DeskRun, Market

CAROL = derive_address("evm", b"c" * 32)


async def to_book(run: DeskRun) -> AddressBookScreen:
    await run.ready()
    await run.press("at")
    return run.screen(AddressBookScreen)


async def test_the_list_says_how_often_and_when_somebody_was_paid(market: Market) -> None:
    async with market.ready_desk((120, 40)) as run:
        book = run.app.session.desk.book
        bob = book.entry("bob")
        done = DisplayStatus.SWAP_COMPLETED.value
        paid = order(receiver_address=bob.address, display_status=done, modified=market.clock.now())
        created_here(run.app.session.desk.journal, paid)
        await to_book(run)
        row = next(line for line in run.text.split("\n") if "@bob" in line)
        assert "once" in row
        assert "today 14:02" in row
        assert " ".join(run.text.split()).count(bob.address[-4:]) >= 1
        cold = next(line for line in run.text.split("\n") if "@cold" in line)
        assert "never" in cold


async def test_a_name_is_added_after_the_address_was_compared(market: Market) -> None:
    """Bad names and addresses say why; leaving the comparison writes nothing."""
    async with market.desk() as run:
        await to_book(run)
        bob = run.app.session.desk.book.entry("bob")
        await run.press("plus")
        run.screen(BookEntryScreen)
        await run.type("bob")
        assert "@bob is in the address book already." in run.text
        await run.retype("a b")
        assert "A name has up to 32 letters" in run.text
        await run.press("enter")
        known = bob.address.lower()
        middle = "".join("f" if char == "0" else "0" for char in known[10:30])
        for address, said in (
            ("0x12", "This is no address of a chain the desk knows."),
            (bob.address, "This address has a name already: @bob."),
            (known[:10] + middle + known[30:], "This address looks like @bob and is not."),
        ):
            await run.retype(address)
            assert said in run.text
        await run.press("enter", "enter")
        assert isinstance(run.app.screen, BookEntryScreen)

        await run.press("escape", "plus")
        run.screen(BookEntryScreen)
        await run.enter("carol")
        await run.type(CAROL)
        assert "checksum correct" in run.text
        await run.press("enter", "enter", sees="A name for this address")
        await run.type("no")
        await run.press("enter", "escape")
        assert run.app.session.desk.book.entry("carol") is None
        assert "•" not in run.text

        await run.press("enter", sees="A name for this address")
        asked = run.screen(TypedConfirm).question
        assert asked.phrase not in run.text
        await run.enter(asked.phrase, to=AddressBookScreen)
        assert "@carol" in run.text
        entry = run.app.session.desk.book.entry("carol")
        assert (entry.address, entry.kind) == (CAROL, "evm")


async def test_renaming_the_own_wallet_and_deleting_change_one_table_of_the_file(
    market: Market,
) -> None:
    """A name is deleted after it was typed."""
    async with market.desk() as run:
        screen = await to_book(run)
        path = screen.desk.book.path
        path.write_text(f"# mine\n{path.read_text()}", encoding="utf-8")
        await run.press("e")
        await run.retype("robert")
        await run.press("enter", to=AddressBookScreen)
        assert "@robert" in run.text
        assert "@bob " not in run.text
        await run.press("u")
        assert "own wallet" in run.text
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# mine\n")
        assert tomllib.loads(text)["robert"]["own"] is True
        await run.press("u")
        assert "own" not in tomllib.loads(path.read_text(encoding="utf-8"))["robert"]

        await run.press("d")
        await run.enter("robert", sees="@robert is deleted.")
        assert run.app.session.desk.book.entry("robert") is None
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# mine\n")
        assert not {"bob", "robert"} & tomllib.loads(text).keys()
