"""Names for addresses in a file the user edits."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from rows import each_row
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.display import grouped
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.payees.address_book import (
    STARTERS,
    AddressBook,
    AddressBookError,
    BookEntry,
    check_entry,
    write_starters,
)

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def address(kind: str, name: str) -> str:
    return derive_address(kind, hashlib.sha256(name.encode()).digest())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "profile" / "address_book.toml"


def write(path: Path, text: str) -> AddressBook:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return AddressBook.load(path)


def test_an_absent_file_is_an_empty_book(path: Path) -> None:
    book = AddressBook.load(path)
    assert (len(book), book.problems) == (0, ())
    assert book.entry("@bob") is None
    assert not path.exists()


def test_the_sandbox_begins_with_one_name_for_each_kind_of_chain(path: Path) -> None:
    book = AddressBook.load(path, sandbox=True)
    assert book.problems == ()
    assert len(book) == len(STARTERS)
    for entry in book.entries():
        assert check_address(entry.kind, entry.address).ok
    bob = book.entry("@bob")
    assert (bob.kind, bob.label) == ("evm", "@bob")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_starters_never_replace_a_file(path: Path) -> None:
    book = write(path, f'[mine]\naddress = "{EVM}"\nkind = "evm"\n')
    assert not write_starters(path)
    assert AddressBook.load(path, sandbox=True).names() == book.names() == ["mine"]


XRP = address("xrp", "r")
COLD = ("cold", "bitcoin", None)


@pytest.mark.parametrize(
    ("kind", "written", "more", "facts"),
    [
        ("evm", EVM.lower(), "own = true", {"address": EVM, "own": True}),
        # As the desk draws it.
        ("evm", grouped(EVM), "", {"address": EVM, "own": False}),
        # A memo may be written as the number it is.
        ("xrp", XRP, "memo = 20117", {"address": XRP, "memo": "20117"}),
    ],
)
def test_an_entry_as_it_is_written_by_hand(
    kind: str, written: str, more: str, facts: dict[str, object], path: Path
) -> None:
    """Behind a byte order mark."""
    book = write(path, f'\ufeff[Bob]\naddress = "{written}"\nkind = "{kind}"\n{more}\n')
    assert book.problems == ()
    for name in ("bob", "@bob", "@BOB"):
        assert {fact: getattr(book.entry(name), fact) for fact in facts} == facts
    assert book.name_of(kind, str(facts["address"])) == "bob"
    assert book.name_of("sol", EVM) is None
    book.add(BookEntry("ann", address("evm", "ann"), "evm"))
    assert AddressBook.load(path).names() == ["bob", "ann"]


def test_an_entry_is_typed_as_the_desk_draws_it(path: Path) -> None:
    added = check_entry(AddressBook.load(path), "carol", grouped(address("bitcoin", "g")), "")
    assert added.entry.address == address("bitcoin", "g")


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("evm",), ["anywhere", "base_only"]),
        (("evm", "Base"), ["anywhere", "base_only"]),
        (("evm", "ethereum"), ["anywhere"]),
        ((), ["anywhere", "base_only", "cold"]),
        (("sol",), []),
    ],
)
def test_names_by_kind_and_chain(chosen: tuple[str, ...], names: list[str], path: Path) -> None:
    book = AddressBook.load(path)
    for name, kind, chain in (("anywhere", "evm", None), ("base_only", "evm", "base"), COLD):
        book.add(BookEntry(name, address(kind, name), kind, chain=chain))
    assert book.names(*chosen) == names


def test_an_added_entry_is_read_back_and_the_users_text_stays(path: Path) -> None:
    before = f'# my friends\n[ann]  # from school\naddress = "{EVM}"\nkind = "evm"'
    book = write(path, before)
    added = BookEntry(
        "rita", address("xrp", "r"), "xrp", memo="20117", note='an "exchange" \\ käse', own=False
    )
    book.add(added)
    assert path.read_text(encoding="utf-8").startswith(before)
    again = AddressBook.load(path)
    assert again.problems == ()
    assert again.entry("rita") == added
    assert again.names() == ["ann", "rita"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@each_row(
    ("entry", "said"),
    [
        (BookEntry("a b", EVM, "evm"), "letters, digits"),
        (BookEntry("", EVM, "evm"), "letters, digits"),
        (BookEntry("x" * 33, EVM, "evm"), "letters, digits"),
        (BookEntry("eve", EVM[:-1] + "f", "evm"), "checksum"),
        (BookEntry("eve", EVM, "bitcoin"), "Ethereum address"),
        (BookEntry("eve", EVM, "moon"), "kind is one of"),
        (BookEntry("eve", EVM, "evm", note="a\nb"), "U+000A"),
        (BookEntry("eve", EVM, "evm", note="\u202eevil"), "U+202E"),
        (BookEntry("eve", EVM, "evm", memo="1"), "has no memos"),
        (BookEntry("eve", address("ton", "t"), "ton", memo="a\tb"), "plain text"),
        (BookEntry("eve", address("xrp", "x"), "xrp", memo="many"), "digits only"),
        (BookEntry("Bob", EVM, "evm"), "already"),
    ],
)
def test_a_wrong_entry_is_not_written(entry: BookEntry, said: str, path: Path) -> None:
    book = write(path, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    before = path.read_bytes()
    with pytest.raises(AddressBookError, match=said.replace("+", r"\+")):
        book.add(entry)
    assert path.read_bytes() == before
    assert book.names() == ["bob"]


def test_a_wrong_entry_is_reported_with_file_and_line_and_left_out(path: Path) -> None:
    book = write(
        path,
        f'# book\n[good]\naddress = "{EVM}"\nkind = "evm"\n\n'
        f'[typo]\naddress = "{EVM[:-1]}f"\nkind = "evm"\n\n'
        f'[odd]\naddres = "{EVM}"\n\nloose = 3\n',
    )
    assert book.names() == ["good"]
    assert book.problems == (
        "address_book.toml, line 6: @typo: The checksum of this address is wrong. "
        "Copy it again from its source.",
        'address_book.toml, line 10: @odd: "addres" is not a field of an entry.',
    )
    assert write(path, "bob = 3").problems == (
        "address_book.toml, line 1: [bob] is not a table with an address.",
    )


KEPT = [
    'note = "the \U0001f468\u200d\U0001f469\u200d\U0001f467 next door"',
    'note = "rent\\t\\u202E and more"',
    'note = """two\nrows"""',
    'note = " blanks "',
    f'note = "{"long " * 60}"',
    "note = 5",
    "note = ['a', 'b']",
    "note = 2026-11-27",
    'own = "yes"',
    'colour = "red"',
    'e-mail = "bob@example.com"\n"since when" = 2026-11-27',
]


@each_row("more", KEPT)
def test_an_entry_is_not_lost_for_what_pays_nobody(more: str, path: Path) -> None:
    book = write(path, f'[zwj]\naddress = "{EVM}"\nkind = "evm"\n{more}\n')
    entry = book.entry("@zwj")
    assert (entry.address, entry.memo) == (EVM, None)
    assert entry.note.isprintable()
    assert len(entry.note) <= 100
    # What is no note is told, and a note is nobody's business.
    assert bool(book.problems) is not more.startswith("note")


def test_a_change_keeps_what_the_desk_does_not_know_of_an_entry(path: Path) -> None:
    more = 'note = "\U0001f468\u200d\U0001f469 \\u007F"\ncolour = "red"\n"since when" = 3\n'
    book = write(path, f'[zwj]\naddress = "{EVM.lower()}"\nkind = "evm"\n{more}')
    before = tomllib.loads(path.read_text(encoding="utf-8"))["zwj"]
    book.mark_own("zwj", True)
    book.rename("zwj", "family")
    after = tomllib.loads(path.read_text(encoding="utf-8"))["family"]
    assert after == {**before, "own": True}


@each_row(
    ("table", "said"),
    [
        (f'[odd]\naddress = "{EVM[:-1]}f"\nkind = "evm"', "line 1: @odd: The checksum"),
        (f'[odd]\naddress = "{EVM}"\nkind = "evm"\nmeno = "5"', '"meno" is not a field'),
        (f'[odd]\naddress = "{EVM}"\nkind = "evm"\nDestinationTag = 5', "is not a field"),
        (f'[odd]\naddress = "{EVM}"', "kind is one of"),
        ("odd = 5", "is not a table"),
        (f'["@odd"]\naddress = "{EVM}"\nkind = "evm"', "A name has up to 32 letters"),
        (
            f'[odd]\naddress = "{EVM}"\nkind = "evm"\n[Odd]\naddress = "{EVM}"\nkind = "evm"',
            "@odd is there twice",
        ),
    ],
)
def test_what_stands_in_the_file_is_not_said_to_be_missing(
    table: str, said: str, path: Path
) -> None:
    book = write(path, table + "\n")
    assert book.entry("odd") is None
    assert book.missing("@odd").startswith("@odd stands in the address book and cannot be used: ")
    assert said in book.missing("@odd")
    assert book.missing("@other") == "@other is not in the address book."
    for name, why in (("odd", "cannot be used"), ("nobody", "not in the address book")):
        with pytest.raises(AddressBookError, match=why):
            book.remove(name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (f'[bob]\naddress = "{EVM}\nkind = "evm"\n'.encode(), "address_book.toml, line 2: "),
        (b"\xff\xfe[bob]", "address_book.toml cannot be read: "),
        (b"#" * (1 << 20) + b"##", "address_book.toml cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_left_alone(
    data: bytes, said: str, path: Path
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    book = AddressBook.load(path)
    assert (len(book), len(book.problems)) == (0, 1)
    assert book.problems[0].startswith(said)
    # Nobody is said to be missing from it.
    assert book.missing("@bob") == f"@bob cannot be looked up: {book.problems[0]}"
    with pytest.raises(AddressBookError, match="Nothing is added"):
        book.add(BookEntry("ann", EVM, "evm"))
    assert path.read_bytes() == data


def test_a_directory_in_the_place_of_the_file_is_reported(path: Path) -> None:
    path.mkdir(parents=True)
    assert len(AddressBook.load(path).problems) == 1


HAND = f"""# my people
[bob]  # the one from work
address = "{EVM}"
kind = "evm"
note = "rent"

# an exchange
[rita]
address = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"
kind = "xrp"
memo = "7"
"""


def test_a_change_leaves_every_other_byte_of_the_file(path: Path) -> None:
    book = write(path, HAND)
    book.rename("@bob", "robert")
    text = path.read_text()
    assert text.startswith("# my people\n[robert]\n")
    assert text[text.index("\n# an exchange") :] == HAND[HAND.index("\n# an exchange") :]
    assert [entry.name for entry in book.entries()] == ["robert", "rita"]
    book.mark_own("rita", True)
    assert AddressBook.load(path).entry("rita") == book.entry("rita")
    assert tomllib.loads(path.read_text())["rita"]["own"] is True
    book.remove("robert")
    assert [entry.name for entry in AddressBook.load(path).entries()] == ["rita"]
    assert "# an exchange" in path.read_text()


@each_row(
    ("fresh", "said"),
    [("rita", "already"), ("a b", "A name has"), ("", "A name has"), ("x" * 33, "A name has")],
)
def test_a_name_that_cannot_be_is_no_name(path: Path, fresh: str, said: str) -> None:
    book = write(path, HAND)
    with pytest.raises(AddressBookError, match=said):
        book.rename("bob", fresh)
    assert path.read_text() == HAND


@each_row(
    "text",
    [
        f'bob = {{ address = "{EVM}", kind = "evm" }}\n',
        f'bob.address = "{EVM}"\nbob.kind = "evm"\n',
        f'[x]\naddress = "{EVM}"\nkind = "evm"\nnote = """\n[bob]\n"""\n'
        f'[bob]\naddress = "{EVM}"\nkind = "evm"\n',
    ],
)
def test_a_file_written_otherwise_is_left_to_its_owner(path: Path, text: str) -> None:
    book = write(path, text)
    with pytest.raises(AddressBookError, match="by hand"):
        book.remove("bob")
    assert path.read_text() == text
    assert book.entry("bob") is not None


OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"


def test_what_was_changed_by_hand_meanwhile_is_never_written_back(path: Path) -> None:
    """A desk that read the file earlier would else send the next payment to the old address."""
    book = write(path, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    by_hand = f'[bob]\naddress = "{OTHER}"\nkind = "evm"\n'
    path.write_text(by_hand, encoding="utf-8")
    for change in (
        lambda: book.mark_own("bob", True),
        lambda: book.rename("bob", "rob"),
        lambda: book.remove("bob"),
    ):
        with pytest.raises(AddressBookError, match="changed since"):
            change()
    assert path.read_text(encoding="utf-8") == by_hand


def test_a_name_that_another_desk_wrote_meanwhile_is_not_written_twice(path: Path) -> None:
    one, other = AddressBook.load(path), AddressBook.load(path)
    one.add(BookEntry("bob", EVM, "evm"))
    with pytest.raises(AddressBookError, match="in the address book already"):
        other.add(BookEntry("bob", OTHER, "evm"))
    other.add(BookEntry("rob", OTHER, "evm"))
    again = AddressBook.load(path)
    assert again.problems == ()
    assert again.names() == ["bob", "rob"]


def test_nothing_is_added_to_a_file_that_became_unreadable(path: Path) -> None:
    book = write(path, f'[bob]\naddress = "{EVM}"\nkind = "evm"\n')
    path.write_text("[bob\n", encoding="utf-8")
    with pytest.raises(AddressBookError, match="Nothing is added"):
        book.add(BookEntry("rob", OTHER, "evm"))
    assert path.read_text(encoding="utf-8") == "[bob\n"
