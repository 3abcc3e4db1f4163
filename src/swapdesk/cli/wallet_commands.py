"""The ``wallet`` commands: the keys of this profile, what their accounts have, and who may take
tokens from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import Declared, Effect, on_chains, on_keys, reader

KINDS = ("evm", "solana")
FORMS = {
    "mnemonic": "mnemonic",
    "hex": "raw",
    "keystore": "keystore",
    "keygen": "keygen",
    "base58": "keygen",
}
"""The forms in which a key can be imported: for each name on the command line, the wallet's
name."""
MOST_GAS_COINS = 100
"""The most gas that can be typed, in whole coins. More is probably a typing error."""


@click.group()
def wallet() -> None:
    """Keys of this profile: make, import, list, balances, allowances.

    Keys are in files of the profile, encrypted with one pass phrase, and are used by a process of
    their own. In the sandbox, the sandbox keeps the pass phrase of its wallet.
    """


@reader
def read_coins(value: str) -> int:
    """Reads a number of whole EVM coins and returns wei. Raises click.BadParameter for any other
    text."""
    whole, _, part = value.partition(".")
    if not (f"{whole}{part}".isascii() and f"{whole}{part}".isdigit()) or len(part) > 18:
        raise click.BadParameter(f"{value!r} is no number of coins in plain digits.")
    units = int(whole or 0) * 10**18 + int(part.ljust(18, "0"))
    if not 0 < units <= MOST_GAS_COINS * 10**18:
        raise click.BadParameter(f"Gas costs more than 0 and at most {MOST_GAS_COINS} coins.")
    return units


account_option = click.option(
    "--account",
    metavar="NAME|ADDRESS",
    shell_complete=completion.accounts,
    help="Of this account only.",
)


@wallet.command("list")
@on_keys(
    "wallet_keys:list_accounts",
    Declared(Effect.ONLY_READS, prints=("swapdesk.wallet.accounts:Accounts",)),
)
def list_wallet() -> None:
    """List the accounts of this profile. Nothing is unlocked."""


@wallet.command()
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="evm",
    show_default=True,
    help="Chains that the account is for.",
)
@click.option("--name", default="", metavar="NAME", help="1 to 32 characters; else the address.")
@on_keys(
    "wallet_keys:new_account",
    Declared(Effect.CHANGES_DESK, prints=("wallet_keys:AccountDocument",)),
)
def new() -> None:
    """Make an account with a new random key."""


@wallet.command("import")
@click.argument("form", type=click.Choice(tuple(FORMS)))
@click.option("--kind", type=click.Choice(KINDS), help="Chains of a mnemonic's account.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Derivation path; repeatable.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A keystore v3 or solana-keygen file, or one with the secret.",
)
@click.option("--secret-fd", "secret", type=click.IntRange(0), metavar="N", help="The secret.")
@click.option(
    "--file-passphrase-fd", "theirs", type=click.IntRange(0), metavar="N", help="Of a keystore."
)
@click.option("--name", default="", metavar="NAME", help="1 to 32 characters; else the address.")
@click.option("--yes", is_flag=True, help="Keep the one account it leads to without asking.")
@on_keys(
    "wallet_keys:import_account",
    Declared(Effect.CHANGES_DESK, prints=("wallet_keys:AccountDocument",)),
)
def import_() -> None:
    """Import a key: its address is shown before the key is kept.

    A key of Solana is the file of solana-keygen, or base58 as Phantom and Solflare export it. The
    secret is typed without an echo, or read from --file or --secret-fd; never an argument.
    """


@wallet.command()
@click.argument("account", shell_complete=completion.accounts)
@click.option("--confirm", metavar="PHRASE", help="What else is typed: export and 6 characters.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it into a new file that you alone can read.",
)
@on_keys(
    "wallet_keys:export_key", Declared(Effect.CHANGES_DESK, prints=("wallet_keys:ExportDocument",))
)
def export() -> None:
    """Export the key of an account in plain text, after a typed phrase.

    On a terminal the key is shown for 30 seconds, or until a key is pressed, and stays in no
    scrollback. Otherwise it is written to --out or into a pipe.
    """


@wallet.command()
@account_option
@on_chains(
    "wallet_chains:show_balances",
    Declared(Effect.ONLY_READS, prints=("wallet_chains:BalancesDocument",)),
    fill=True,
)
def balance() -> None:
    """Show the balances of every account on every chain with a node. Exit 7 if a chain could not be
    read."""


@wallet.command()
@account_option
@on_chains(
    "wallet_chains:show_allowances",
    Declared(Effect.ONLY_READS, prints=("wallet_chains:AllowancesDocument",)),
)
def allowances() -> None:
    """List who may take which tokens from the accounts."""


@wallet.command()
@click.argument("token")
@click.argument("spender")
@click.option(
    "--chain",
    required=True,
    metavar="CHAIN",
    shell_complete=completion.chains,
    help="Short name of the chain.",
)
@account_option
@click.option(
    "--permit2/--direct",
    default=None,
    help="Where there are both: the one in Permit2, or the other.",
)
@click.option("--yes", is_flag=True, help="Sign without asking.")
@on_chains(
    "wallet_chains:revoke_allowance",
    Declared(Effect.MOVES_MONEY, prints=("wallet_chains:RevokedDocument",)),
    signs=True,
)
def revoke() -> None:
    """End an allowance. TOKEN: symbol or contract; SPENDER: address, or code or name of a venue.

    Run again, the command continues with a transaction that is not confirmed yet.
    """


@wallet.command()
@click.option("--waiting", is_flag=True, help="Only what is not final yet.")
@on_chains(
    "wallet_chains:list_transactions",
    Declared(Effect.ONLY_READS, prints=("wallet_chains:TransactionsDocument",)),
)
def transactions() -> None:
    """List every transaction this wallet signed, from its own records.

    Payments of calls, permits and orders are only signatures and are not listed; wallet policy show
    says how much of each limit they use.
    """


@wallet.command()
@click.argument("hash_", metavar="HASH")
@click.option("--yes", is_flag=True, help="Sign without asking.")
@on_chains(
    "wallet_chains:cancel_transaction",
    Declared(Effect.MOVES_MONEY, prints=("wallet_chains:ReplacedDocument",)),
    signs=True,
)
def cancel() -> None:
    """Cancel a waiting transaction: replace it by one that moves nothing.

    The chain executes one of the two, as a rule the one that pays more for gas, so the first may
    still be executed. A transaction that was never sent is given up. Exit 8 while neither is
    executed; run again, the command sends the same bytes.
    """


@wallet.command()
@click.argument("hash_", metavar="HASH")
@click.option(
    "--gas",
    callback=read_coins,
    metavar="COINS",
    help="Most it may pay for gas; 0.01 of the chain's coin, or what was confirmed if more.",
)
@click.option("--yes", is_flag=True, help="Sign without asking.")
@on_chains(
    "wallet_chains:bump_transaction",
    Declared(Effect.MOVES_MONEY, prints=("wallet_chains:ReplacedDocument",)),
    signs=True,
)
def bump() -> None:
    """Pay more gas for a waiting transaction: replace it by the same call with a higher fee.

    The new transaction is checked again against what was confirmed for the first one. The chain
    executes one of the two, never both, and the desk continues with either. Exit 8 while neither is
    executed; run again, the command sends the same bytes. To raise the fee further, bump the
    newest hash.
    """


@wallet.command()
@click.option(
    "--chain",
    required=True,
    metavar="CHAIN",
    shell_complete=completion.chains,
    help="Short name of the chain.",
)
@click.option("--token", metavar="TOKEN", help="Symbol or contract; else everything.")
@account_option
@click.option("--despite-bundle", is_flag=True, help="Also where a bundle that waits needs it.")
@click.option("--yes", is_flag=True, help="Sign without asking.")
@on_chains(
    "wallet_chains:withdraw",
    Declared(Effect.MOVES_MONEY, prints=("wallet_chains:WithdrawalDocument",)),
    signs=True,
)
def withdraw() -> None:
    """Withdraw what your smart account holds, such as after a bundle that failed.

    The money goes to the account that owns the smart account, and nowhere else. If the smart
    account does not exist yet, it is created first. Run again, the command continues with a
    transaction that is not confirmed yet.
    """


@wallet.command()
@on_keys(
    "wallet_keys:lock_wallet", Declared(Effect.CHANGES_DESK, prints=("wallet_keys:LockedDocument",))
)
def lock() -> None:
    """Make sure that no process has keys open; exit 9 when another desk has the wallet."""


@wallet.group()
def policy() -> None:
    """The wallet's spending limits: per payment, hour and day, where, for whom, until when.

    The process with the keys checks every signature against this policy, and counts by its own
    records.
    """


@policy.command()
@on_keys(
    "wallet_chains:show_policy",
    Declared(Effect.ONLY_READS, prints=("wallet_chains:PolicyDocument",)),
)
def show() -> None:
    """Show the policy, and what is left of each limit. Exit 9 if its file was changed."""


def limit_option(window: str, help_: str) -> Callable[[Any], Any]:
    return click.option(
        f"--per-{window}",
        multiple=True,
        metavar="TOKEN.CHAIN=AMOUNT",
        help=f"{help_} Or usd=AMOUNT.",
    )


@policy.command("set")
@limit_option("call", "Most for one call, in place of ten times its price in the contract.")
@limit_option("payment", "Most that one signature lets leave.")
@limit_option("hour", "Most in any 60 minutes.")
@limit_option("day", "Most in any 24 hours.")
@click.option(
    "--price", "prices", multiple=True, metavar="TOKEN.CHAIN=USD", help="What a token is worth."
)
@click.option(
    "--chain",
    "chains",
    multiple=True,
    metavar="CHAIN",
    help="The chains allowed, or any.",
    shell_complete=completion.chains,
)
@click.option(
    "--token", "tokens", multiple=True, metavar="TOKEN.CHAIN", help="The tokens allowed, or any."
)
@click.option(
    "--payee",
    "payees",
    multiple=True,
    metavar="ADDRESS",
    help="Who may get or take something, contracts included, or any.",
)
@click.option(
    "--call-payee",
    "call_payees",
    multiple=True,
    metavar="ADDRESS",
    help="Who may be paid for calls, or any: then whoever is new is asked about.",
)
@click.option("--until", metavar="TIME", help="Nothing is signed from then on (UTC), or none.")
@click.option("--anew", is_flag=True, help="Begin with no rule at all.")
@on_chains(
    "wallet_chains:set_policy",
    Declared(Effect.CHANGES_DESK, prints=("wallet_chains:PolicyDocument",)),
)
def set_() -> None:
    """Change the given rules of the policy; all options but --until may be repeated.

    A change needs the pass phrase unless it only lowers limits; the first policy always needs it.
    AMOUNT none removes a limit or a price. A limit in USD needs the prices of all tokens that are
    spent, including coins for gas.
    """
