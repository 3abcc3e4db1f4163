"""The ``wallet`` commands about keys: keys are created, imported and listed, and exported after a
phrase was typed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    not_confirmed,
    own_refusal,
    refused_as,
)
from swapdesk.cli.secret_input import (
    MAX_SECRET,
    can_show,
    new_passphrase,
    read_passphrase,
    read_secret,
    show_secret,
)
from swapdesk.cli.wallet_commands import FORMS
from swapdesk.cli.wallet_session import account_named, passphrase_of, says_yes
from swapdesk.flows.notation import grouped_address
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.paths import without_mark, write_private
from swapdesk.secret import Secret, SecretBytes
from swapdesk.wallet.accounts import (
    Account,
    ImportChoice,
    KeyOrigin,
    Kind,
    export_phrase,
)
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase

FEWEST_WORDS = 12
"""The least number of words in a mnemonic."""
OF_KIND = {KeyOrigin.RAW: Kind.EVM, KeyOrigin.KEYSTORE: Kind.EVM, KeyOrigin.KEYGEN: Kind.SOLANA}
"""The kind of account that each form of key leads to. A mnemonic leads to both kinds."""


class AccountDocument(Struct, frozen=True):
    """The account that was created or imported."""

    account: Account


class ExportDocument(Struct, frozen=True):
    """The exported key in plain text, or the file to which it was written."""

    account: Account
    key: str | UnsetType = UNSET
    file: str | UnsetType = UNSET


class LockedDocument(Struct, frozen=True):
    """States that no process has keys of this wallet open."""

    locked: bool


async def list_accounts(call: CliContext, wallet: LocalWallet) -> None:
    accounts, output = await wallet.accounts(), call.output
    output.table(
        ("name", "kind", "address", "origin", "path"),
        [
            (o.name, str(o.kind), grouped_address(o.address), str(o.origin), o.path or "")
            for o in accounts.accounts
        ],
        plain=[
            f"{account.name} is an account of {account.kind}, {account.address} ({account.origin})."
            for account in accounts.accounts
        ],
        document=accounts,
    )
    if not accounts.accounts:
        output.hint("This wallet has no account. swapdesk wallet new makes one.")
    output.hint(*(f"{file.file} is not usable: {file.reason}." for file in accounts.unusable))
    if accounts.read_only:
        output.hint("Another desk has this wallet; here it is read only.")


async def new_account(call: CliContext, wallet: LocalWallet, kind: str, name: str) -> None:
    _kept(call, await wallet.create(Kind(kind), name, await _phrase(call, wallet)))


async def _phrase(call: CliContext, wallet: LocalWallet) -> Secret:
    """Returns the pass phrase for a new key. For a live wallet without accounts, the user chooses
    one."""
    if not wallet.live:
        if call.passphrase_fd is not None:
            raise bad_input(
                "NOT_NEEDED",
                "The sandbox keeps the pass phrase of its wallet itself.",
                field="passphrase-fd",
            )
        return sandbox_passphrase(wallet.settings.places)
    if (await wallet.accounts()).accounts:
        return read_passphrase(call)
    return new_passphrase(call)


def _kept(call: CliContext, account: Account, *, imported: bool = False) -> None:
    line = f"{account.name}  {grouped_address(account.address)}"
    call.output.say(line, document=AccountDocument(account))
    copies = " and nowhere else. Keep a copy: wallet export makes one."
    if imported:
        copies = " too. Whoever has what it came from can spend with it as well."
    call.output.hint(f"The key is in {account.profile}'s wallet{copies}")


async def import_account(
    call: CliContext,
    wallet: LocalWallet,
    form: str,
    kind: str | None,
    paths: tuple[str, ...],
    file: Path | None,
    secret: int | None,
    theirs: int | None,
    name: str,
    yes: bool,
) -> None:
    """Imports a signing key from ``file``, from the descriptor ``secret``, or typed. The account
    that the user confirms is stored as ``name``. ``theirs`` is the descriptor from which a
    keystore's own pass phrase is read."""
    origin = KeyOrigin(FORMS[form])
    chains = Kind(kind) if kind else OF_KIND.get(origin)
    if chains is None:
        raise bad_input("NEEDS_KIND", "A mnemonic leads to either: add --kind evm or solana.")
    what, words = ("key", 0) if origin is not KeyOrigin.MNEMONIC else ("mnemonic", FEWEST_WORDS)
    if file is not None:
        material = _file_secret(file)
    else:
        material = read_secret(call, what, secret, "--secret-fd", words=words)
    phrase = None
    if origin is KeyOrigin.KEYSTORE:
        phrase = read_secret(call, "pass phrase of the file", theirs, "--file-passphrase-fd")
    client = await wallet.client()
    choices = await client.preview(
        chains, origin, material, paths=paths or None, file_passphrase=phrase
    )
    choice = _chosen(call, choices, yes)
    ours = await _phrase(call, wallet)
    account = await client.import_key(choice, origin, name, material, ours, file_passphrase=phrase)
    _kept(call, account, imported=True)


def _file_secret(path: Path) -> Secret:
    unread = f"{path} cannot be read: "
    with refused_as(OSError, "BAD_FILE", unread, field="file"), path.open("rb") as file:
        content = file.read(MAX_SECRET + 1)
    if len(content) > MAX_SECRET:
        raise bad_input("BAD_FILE", f"{path} is larger than {MAX_SECRET} bytes.")
    try:
        return Secret(without_mark(content).decode("utf-8"))
    except UnicodeDecodeError:
        raise bad_input("BAD_FILE", f"{path} is no text.", field="file") from None


def _chosen(call: CliContext, choices: Sequence[ImportChoice], yes: bool) -> ImportChoice:
    output = call.output
    if yes:
        if len(choices) == 1:
            return choices[0]
        paths = ", ".join(str(choice.path) for choice in choices)
        raise bad_input(
            "AMBIGUOUS",
            f"The secret leads to several addresses: choose one with --path ({paths}).",
            field="path",
        )
    output.talk(
        *(
            f"{place}  {grouped_address(choice.address)}  {choice.path or ''}".rstrip()
            for place, choice in enumerate(choices, 1)
        )
    )
    if not call.interactive:
        raise bad_input("NEEDS_YES", "Without a terminal add --yes and one --path.", field="yes")
    if len(choices) == 1:
        if says_yes(output, "Keep this account?"):
            return choices[0]
    else:
        answer = output.ask(f"Which one? [1-{len(choices)}]")
        if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(choices):
            return choices[int(answer) - 1]
    raise not_confirmed("Nothing was kept.")


async def export_key(
    call: CliContext, wallet: LocalWallet, account: str, confirm: str | None, out: Path | None
) -> None:
    """Exports a signing key in plain text after a typed phrase: to a private file, to a pipe, or
    for half a minute to a terminal. ``confirm`` is the phrase from the command line."""
    kept = account_named(await wallet.accounts(), account)
    wanted = export_phrase(kept.address)
    on_screen = _goes_to_screen(call, out)
    if confirm is None:
        if not call.interactive:
            raise bad_input(
                "NEEDS_CONFIRMATION",
                f'Without a terminal add --confirm "{wanted}".',
                field="confirm",
            )
        call.output.talk(
            f"{kept.name}  {grouped_address(kept.address)}",
            "Whoever sees the key has all that is on this account, for ever.",
        )
        confirm = call.output.ask(f'Type "{wanted}":')
    if confirm != wanted:
        raise own_refusal("NOT_CONFIRMED", f'Not exported: "{wanted}" was not typed.')
    phrase = passphrase_of(call, wallet) or sandbox_passphrase(wallet.settings.places)
    key = await (await wallet.client()).export(kept.address, confirm, phrase)
    # The process with the keys is not needed while one of them is looked at.
    await wallet.close()
    try:
        _give(call, kept, key, out, on_screen=on_screen)
    finally:
        key.wipe()


def _goes_to_screen(call: CliContext, out: Path | None) -> bool:
    """Returns True if the key will be shown on a terminal. Raises CommandError if the terminal
    would keep it in its scrollback."""
    if out is not None:
        if os.path.lexists(out):
            raise bad_input(
                "FILE_EXISTS", f"{out} exists already; a key replaces no file.", field="out"
            )
        return False
    if not sys.stdout.isatty():
        return False
    if call.output.form != "table" or not can_show():
        raise bad_input(
            "NEEDS_OUT",
            "A key is not written into what a terminal keeps: add --out FILE, or use a pipe.",
            field="out",
        )
    return True


def _give(
    call: CliContext, account: Account, key: SecretBytes, out: Path | None, *, on_screen: bool
) -> None:
    if out is not None:
        with refused_as(OSError, "BAD_FILE", f"{out} cannot be written: ", field="out"):
            write_private(out, bytes(key.reveal()) + b"\n")
        call.output.say(
            f"The key of {account.name} is in {out}, readable by you alone.",
            document=ExportDocument(account, file=str(out)),
        )
    elif on_screen:
        above = (f"The key of {account.name}", grouped_address(account.address))
        show_secret(above, key.reveal())
        call.output.talk("The key is hidden again.")
    else:
        text = bytes(key.reveal()).decode("ascii")
        call.output.say(text, document=ExportDocument(account, key=text))


async def lock_wallet(call: CliContext, wallet: LocalWallet) -> None:
    """Makes sure that no process has the wallet's keys open. Raises CommandError (exit 9) if
    another desk uses the wallet."""
    accounts = await wallet.accounts()
    if accounts.read_only:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "READ_ONLY",
            "Another desk has this wallet, and its keys may be open there.",
            next="you: lock it there, w and l, or close that desk",
        )
    await wallet.lock()
    call.output.say(
        "Locked: no process has keys of this wallet open.", document=LockedDocument(True)
    )
