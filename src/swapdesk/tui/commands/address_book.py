"""Verbs of the address book."""

from swapdesk.tui.commands.command import Verb

ADDRESS_BOOK = Verb(
    "address-book",
    "at",
    "address book",
    "Names for addresses: who was paid, how often and when.",
    place=60,
    opens="swapdesk.tui.screens.address_book.AddressBookScreen",
)
ADD_ENTRY = Verb("add-entry", "plus", "add", "Give an address a name.")
RENAME_ENTRY = Verb("rename-entry", "e", "rename", "Give this entry another name.", current=True)
MARK_OWN = Verb("mark-own", "u", "own wallet", "Say whether this is your own wallet.", current=True)
DELETE_ENTRY = Verb(
    "delete-entry",
    "d",
    "delete",
    "Take this entry out of the address book; asked first.",
    current=True,
)
COPY_ENTRY = Verb(
    "copy-entry", "y", "copy address", "Copy the address, without spaces.", current=True
)
SAVE_ENTRY = Verb(
    "save-entry",
    "enter",
    "next field",
    "Check the field and go on; after the last one the entry is written.",
)
NEXT_KIND = Verb(
    "next-kind", "tab", "other chain", "Another kind of chain that has addresses of this form."
)
