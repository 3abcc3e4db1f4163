"""Verbs of the address book."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class AddressBook(EverywhereCommand):
    """Names for addresses: who was paid, how often and when."""

    KEY = "at"
    SHOWN_KEY = "@"
    VERB = "address book"
    PLACE = 60
    OPENS = "swapdesk.tui.screens.address_book.AddressBookScreen"


class AddEntry(Command):
    """Give an address a name."""

    KEY = "plus"
    SHOWN_KEY = "+"
    VERB = "add"


class RenameEntry(Command):
    """Give this entry another name."""

    KEY = "e"
    VERB = "rename"


class MarkOwn(Command):
    """Say whether this is your own wallet."""

    KEY = "u"
    VERB = "own wallet"


class DeleteEntry(Command):
    """Take this entry out of the address book; asked first."""

    KEY = "d"
    VERB = "delete"


class CopyEntry(Command):
    """Copy the address, without spaces."""

    KEY = "y"
    VERB = "copy address"


class SaveEntry(Command):
    """Check the field and go on; after the last one the entry is written."""

    KEY = "enter"
    VERB = "next field"


class NextKind(Command):
    """Another kind of chain that has addresses of this form."""

    KEY = "tab"
    VERB = "other chain"
