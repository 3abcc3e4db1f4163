"""``wallet``: keys of this profile, what they have and who may take of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("evm", "solana")
FORMS = {
    "mnemonic": "mnemonic",
    "hex": "raw",
    "keystore": "keystore",
    "keygen": "keygen",
    "base58": "keygen",
}
"""Forms of a key as the command names them and as the wallet does."""
MOST_GAS_COINS = 100
"""More than this is a slip of the finger and no price of gas."""


@click.group()
def wallet() -> None:
    """Keys of this profile: make, import, list, balances, allowances.

    Keys are in files of the profile, closed with one pass phrase, and are used by a process of
    their own. The sandbox keeps the pass phrase of its wallet itself.
    """


def read_coins(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """Whole coins of an EVM chain in wei, in plain digits."""
    if value is None:
        return None
    whole, _, part = value.partition(".")
    if not (f"{whole}{part}".isascii() and f"{whole}{part}".isdigit()) or len(part) > 18:
        raise click.BadParameter(f"{value!r} is no number of coins in plain digits.")
    units = int(whole or 0) * 10**18 + int(part.ljust(18, "0"))
    if not 0 < units <= MOST_GAS_COINS * 10**18:
        raise click.BadParameter(f"Gas costs more than 0 and at most {MOST_GAS_COINS} coins.")
    return units


def account_option(command: F) -> F:
    return click.option(
        "--account",
        metavar="NAME|ADDRESS",
        shell_complete=completion.accounts,
        help="Of this account only.",
    )(command)


@wallet.command("list")
@desk_command
def list_wallet(call: CliContext) -> int:
    """The accounts of this profile. Nothing is unlocked."""
    from swapdesk.cli.wallet_keys import list_accounts
    from swapdesk.cli.wallet_session import run_wallet

    return run_wallet(call, lambda wallet: list_accounts(call, wallet))


@wallet.command()
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="evm",
    show_default=True,
    help="Chains that the account is for.",
)
@click.option("--name", default="", metavar="NAME", help="1 to 32 characters; else the address.")
@desk_command
def new(call: CliContext, kind: str, name: str) -> int:
    """Make an account from the system's randomness."""
    from swapdesk.cli.wallet_keys import new_account
    from swapdesk.cli.wallet_session import run_wallet
    from swapdesk.wallet.accounts import Kind

    return run_wallet(call, lambda wallet: new_account(call, wallet, Kind(kind), name))


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
@desk_command
def import_(
    call: CliContext,
    form: str,
    kind: str | None,
    paths: tuple[str, ...],
    file: Path | None,
    secret: int | None,
    theirs: int | None,
    name: str,
    yes: bool,
) -> int:
    """Take in a key: its address is shown before it is kept.

    A key of Solana is the file of solana-keygen, or base58 as Phantom and Solflare export it.
    The secret is typed without an echo, or read from --file or --secret-fd; never an argument.
    """
    from swapdesk.cli.wallet_keys import KeySource, import_account
    from swapdesk.cli.wallet_session import run_wallet
    from swapdesk.wallet.accounts import KeyOrigin, Kind

    source = KeySource(
        KeyOrigin(FORMS[form]), Kind(kind) if kind else None, paths, file, secret, theirs
    )
    return run_wallet(call, lambda wallet: import_account(call, wallet, source, name, yes))


@wallet.command()
@click.argument("account", shell_complete=completion.accounts)
@click.option("--confirm", metavar="PHRASE", help="What else is typed: export and 6 characters.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it into a new file that you alone can read.",
)
@desk_command
def export(call: CliContext, account: str, confirm: str | None, out: Path | None) -> int:
    """Give out the key of an account in plain, after a typed phrase.

    On a terminal it is shown for 30 seconds, or until a key is pressed, and stays in no
    scrollback. Otherwise it goes to --out or into a pipe.
    """
    from swapdesk.cli.wallet_keys import export_key
    from swapdesk.cli.wallet_session import run_wallet

    return run_wallet(call, lambda wallet: export_key(call, wallet, account, confirm, out))


@wallet.command()
@account_option
@desk_command
def balance(call: CliContext, account: str | None) -> int:
    """What every account has on every chain with a node. Exit 7 when one could not be read."""
    from swapdesk.cli.wallet_chains import show_balances
    from swapdesk.cli.wallet_session import run_on_chains

    return run_on_chains(
        call, lambda session, wallet: show_balances(session, wallet, account), fill=True
    )


@wallet.command()
@account_option
@desk_command
def allowances(call: CliContext, account: str | None) -> int:
    """Who may take which tokens of the accounts."""
    from swapdesk.cli.wallet_chains import show_allowances
    from swapdesk.cli.wallet_session import run_on_chains

    return run_on_chains(call, lambda session, wallet: show_allowances(session, wallet, account))


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
@desk_command
def revoke(
    call: CliContext,
    token: str,
    spender: str,
    chain: str,
    account: str | None,
    permit2: bool | None,
    yes: bool,
) -> int:
    """End an allowance. TOKEN: symbol or contract; SPENDER: address, or code or name of a venue.

    Given again it goes on with a transaction that is not confirmed yet.
    """
    if not (yes or call.interactive):
        raise bad_input("NEEDS_YES", "Signing without a terminal needs --yes.", field="yes")
    from swapdesk.cli.wallet_chains import RevocationRequest, revoke_allowance
    from swapdesk.cli.wallet_session import run_on_chains

    wanted = RevocationRequest(token, spender, chain, account, permit2)
    return run_on_chains(
        call,
        lambda session, wallet: revoke_allowance(session, wallet, wanted, yes),
    )


@wallet.command()
@click.option("--waiting", is_flag=True, help="Only what is not final yet.")
@desk_command
def transactions(call: CliContext, waiting: bool) -> int:
    """List every transaction this wallet signed, as its own records have it.

    Payments of calls, permits and orders are signatures alone and not listed: wallet policy show
    says how much of each limit they use.
    """
    from swapdesk.cli.wallet_session import run_on_chains
    from swapdesk.cli.wallet_transactions import list_transactions

    return run_on_chains(
        call, lambda session, wallet: list_transactions(session, wallet, waiting=waiting)
    )


@wallet.command()
@click.argument("hash_", metavar="HASH")
@click.option("--yes", is_flag=True, help="Sign without asking.")
@desk_command
def cancel(call: CliContext, hash_: str, yes: bool) -> int:
    """Take back a transaction that waits, by one that moves nothing in its place.

    The chain executes one of the two, as a rule the one that pays more for gas: the first may
    still be executed. One that was never sent is given up. Exit 8 while it is not decided: given
    again the same bytes are sent.
    """
    if not (yes or call.interactive):
        raise bad_input("NEEDS_YES", "Signing without a terminal needs --yes.", field="yes")
    from swapdesk.cli.wallet_session import run_on_chains
    from swapdesk.cli.wallet_transactions import replace_transaction
    from swapdesk.flows.wallet.replacement import cancelling

    return run_on_chains(
        call,
        lambda session, wallet: replace_transaction(
            session, wallet, cancelling(wallet, session.desk.clock), hash_, yes
        ),
    )


@wallet.command()
@click.argument("hash_", metavar="HASH")
@click.option(
    "--gas",
    callback=read_coins,
    metavar="COINS",
    help="Most it may pay for gas; 0.01 of the chain's coin, or what was confirmed if more.",
)
@click.option("--yes", is_flag=True, help="Sign without asking.")
@desk_command
def bump(call: CliContext, hash_: str, gas: int | None, yes: bool) -> int:
    """Pay more gas for a transaction that waits: the same call again, in its place.

    It is judged once more against what was confirmed for the first one. The chain executes one of
    the two, never both, and whatever waits for the first goes on with either. Exit 8 while
    neither was executed: given again the same bytes are sent. To go higher still, bump the newest
    hash.
    """
    if not (yes or call.interactive):
        raise bad_input("NEEDS_YES", "Signing without a terminal needs --yes.", field="yes")
    from swapdesk.cli.wallet_session import run_on_chains
    from swapdesk.cli.wallet_transactions import replace_transaction
    from swapdesk.flows.wallet.replacement import GAS_UNITS, bumping

    units = GAS_UNITS if gas is None else gas
    return run_on_chains(
        call,
        lambda session, wallet: replace_transaction(
            session, wallet, bumping(wallet, session.desk.clock, units), hash_, yes
        ),
    )


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
@desk_command
def withdraw(
    call: CliContext,
    chain: str,
    token: str | None,
    account: str | None,
    despite_bundle: bool,
    yes: bool,
) -> int:
    """Take out what your smart account holds, such as after a bundle that failed.

    It pays the account that owns it, and nobody else; one that does not stand yet is made first.
    Given again it goes on with a transaction that is not confirmed yet.
    """
    if not (yes or call.interactive):
        raise bad_input("NEEDS_YES", "Signing without a terminal needs --yes.", field="yes")
    from swapdesk.cli.wallet_session import run_on_chains
    from swapdesk.cli.wallet_withdrawing import WithdrawalRequest
    from swapdesk.cli.wallet_withdrawing import withdraw as take_out

    wanted = WithdrawalRequest(chain, token, account, despite_bundle)
    return run_on_chains(call, lambda session, wallet: take_out(session, wallet, wanted, yes))


@wallet.command()
@desk_command
def lock(call: CliContext) -> int:
    """Make sure that no process has keys open; exit 9 when another desk has the wallet."""
    from swapdesk.cli.wallet_keys import lock_wallet
    from swapdesk.cli.wallet_session import run_wallet

    return run_wallet(call, lambda wallet: lock_wallet(call, wallet))


@wallet.group()
def policy() -> None:
    """What the wallet may sign at most: per payment, hour and day, where, for whom, until when.

    The process with the keys holds everything that it signs to it, and counts by its own records.
    """


@policy.command()
@desk_command
def show(call: CliContext) -> int:
    """The policy, and what is left of each limit. Exit 9 when its file was changed."""
    from swapdesk.cli.wallet_policy import show_policy
    from swapdesk.cli.wallet_session import run_wallet

    return run_wallet(call, lambda wallet: show_policy(call, wallet))


def limit_option(window: str, help_: str) -> Callable[[F], F]:
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
@desk_command
def set_(
    call: CliContext,
    per_call: tuple[str, ...],
    per_payment: tuple[str, ...],
    per_hour: tuple[str, ...],
    per_day: tuple[str, ...],
    prices: tuple[str, ...],
    chains: tuple[str, ...],
    tokens: tuple[str, ...],
    payees: tuple[str, ...],
    call_payees: tuple[str, ...],
    until: str | None,
    anew: bool,
) -> int:
    """Change the parts that are given; all options but --until may be repeated.

    What only lowers needs no pass phrase; the first policy and anything else do. AMOUNT none
    takes a limit or a price away. A limit in USD needs the price of all that moves, coins for gas
    among it.
    """
    from swapdesk.cli.wallet_policy import set_policy
    from swapdesk.cli.wallet_session import run_on_chains
    from swapdesk.flows.wallet.policy_change import PolicyChange
    from swapdesk.wallet.spending import SpendWindow

    limits = {
        SpendWindow.CALL: per_call,
        SpendWindow.PAYMENT: per_payment,
        SpendWindow.HOUR: per_hour,
        SpendWindow.DAY: per_day,
    }
    change = PolicyChange(limits, prices, chains, tokens, payees, call_payees, until, anew)
    if change.says_nothing:
        raise bad_input("NOTHING_GIVEN", "Give at least one rule to set, or --anew.")
    return run_on_chains(call, lambda session, wallet: set_policy(session, wallet, change))
