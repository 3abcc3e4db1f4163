"""Pass phrases and keys, typed at a terminal or read from a descriptor; never an argument."""

from __future__ import annotations

import getpass
import os
import sys

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.error_table import UNTOUCHED
from swapdesk.cli.exit_codes import Exit
from swapdesk.paths import without_mark
from swapdesk.secret import Secret

MAX_SECRET = 16 * 1024


def read_secret(call: CliContext, what: str, descriptor: int | None, option: str) -> Secret:
    """The secret from its descriptor, else typed. Exit 2 where nobody can be asked."""
    if descriptor is not None:
        return _from_descriptor(descriptor, what, option)
    if not call.interactive:
        raise bad_input(
            "NEEDS_SECRET",
            f"The {what} is asked for at a terminal; else give {option} N.",
            field=option.removeprefix("--"),
        )
    return Secret(_typed(f"{what[:1].upper()}{what[1:]}: "))


def read_passphrase(call: CliContext, what: str = "pass phrase") -> Secret:
    """That of the wallet. Exit 2 where nobody can be asked."""
    if call.passphrase is None:
        phrase = read_secret(call, what, call.passphrase_fd, "--passphrase-fd")
        if call.passphrase_fd is None:
            return phrase
        call.passphrase = phrase
    return call.passphrase


def new_passphrase(call: CliContext) -> Secret:
    """A pass phrase for the first account of a wallet, typed twice."""
    typed = call.passphrase_fd is None
    if typed and call.interactive:
        call.output.talk(
            "Nobody can replace a forgotten pass phrase: keys come back from copies of them alone."
        )
    first = read_passphrase(call, "new pass phrase of this wallet")
    if typed and _typed("Once more: ") != first.reveal():
        raise bad_input("PASSPHRASES_DIFFER", "The two are not the same.")
    return first


def _typed(question: str) -> str:
    try:
        typed = getpass.getpass(question, stream=sys.stderr)
    except EOFError:
        typed = ""
    if not typed:
        raise CommandError(
            Exit.INTERRUPTED,
            "INTERRUPTED",
            "Nothing was typed.",
            money=UNTOUCHED,
            next="you: give the command again",
        )
    return typed


def _from_descriptor(descriptor: int, what: str, option: str) -> Secret:
    name = option.removeprefix("--")
    read = bytearray()
    try:
        while len(read) <= MAX_SECRET and (chunk := os.read(descriptor, 4096)):
            read += chunk
    except OSError as error:
        message = f"The descriptor {descriptor} cannot be read: {error.strerror}."
        raise bad_input("BAD_DESCRIPTOR", message, field=name) from None
    if len(read) > MAX_SECRET:
        raise bad_input("BAD_SECRET", f"The {what} is longer than {MAX_SECRET} bytes.", field=name)
    try:
        text = without_mark(bytes(read)).decode("utf-8")
    except UnicodeDecodeError:
        raise bad_input("BAD_SECRET", f"The {what} is no text.", field=name) from None
    finally:
        read[:] = bytes(len(read))
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise bad_input("BAD_SECRET", f"The {what} is empty.", field=name)
    return Secret(text)
