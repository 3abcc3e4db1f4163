"""The commands that use the connected desk: ``quote``, ``tokens``, ``chains``, ``orders``,
``account``, ``why``, ``inspect``, ``support``, ``api`` and ``listen``."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import (
    CliContext,
    Declared,
    Effect,
    WithLists,
    desk_command,
    on_call,
    on_desk,
    options,
    reader,
    refuse_to_write,
)
from swapdesk.cli.command_error import bad_input, refused_as
from swapdesk.cli.quote_options import (
    ROUTES,
    preset_option,
    read_digits,
    read_route,
    receive_option,
    route_options,
    slippage_option,
)

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_listing import FilterLine
    from swapdesk.flows.support.case_file import Shown


def _require_sense(
    types: tuple[str, ...], providers: tuple[str, ...], receive: bool, **options: Any
) -> None:
    if options["both"] and receive:
        raise bad_input(
            "BAD_OPTION", "--receive asks for fixed rates; leave out --both.", field="both"
        )
    read_route(options, types, providers)


@click.command(cls=WithLists, lists=("exchanges", "venues"))
@click.argument("amount", callback=read_digits)
@click.argument("sell", metavar="FROM", shell_complete=completion.tokens)
@click.argument("buy", metavar="TO", shell_complete=completion.tokens)
@route_options
@receive_option
@click.option("--both", is_flag=True, help="Floating and fixed rates; this takes two quotes.")
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="CODE",
    help="Only routes of this exchange; private routes are left out.",
)
@preset_option
@click.option(
    "--type", "types", multiple=True, type=click.Choice(ROUTES), help="Only routes of this type."
)
@slippage_option
@click.option(
    "--account",
    metavar="NAME|ADDR",
    help="The account of the wallet that would sign: routes that pay nobody else are told.",
)
@click.option("--explain", is_flag=True, help="Say of each route why it pays what it pays.")
@on_desk(
    "quotes:report_quotes",
    Declared(Effect.SPENDS_LIMIT, reading=True, prints=("quotes:QuotesDocument",)),
    check=_require_sense,
)
def quote() -> None:
    """Compare routes for selling AMOUNT of FROM for TO.

    A token is SYMBOL, SYMBOL.chain, an id or contract.chain. A quote id can be given to "swap
    --quote" while it is valid: for a minute, or for ten if something has to be approved first. Exit
    4 if no route is usable.
    """


@click.command()
@click.argument("term", required=False, default="")
@click.option(
    "--chain",
    metavar="NAME",
    shell_complete=completion.chains,
    help="Short name of a chain, as in USDC.base.",
)
@click.option("--symbol", metavar="SYMBOL", help="Only tokens of exactly this symbol.")
@click.option(
    "--limit",
    type=click.IntRange(1, 20_000),
    default=20,
    show_default=True,
    help="How many tokens are listed at most.",
)
@on_desk(
    "service_reports:report_tokens",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:TokensDocument",)),
)
def tokens() -> None:
    """Search tokens by symbol, name, chain or contract, or by a link that contains one of these.

    If a contract is not in the list, the service is asked for it; such tokens are unverified.
    """


@click.command()
@on_desk(
    "service_reports:report_chains",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:ChainsDocument",)),
)
def chains() -> None:
    """List chains, most important first."""


@click.group()
def orders() -> None:
    """List, show, watch, export and put away orders."""


SORTINGS = ("deadline", "newest", "oldest", "late", "state", "pair", "amount")


@reader
def _filter_line(words: str) -> FilterLine:
    from swapdesk.flows.orders.order_listing import FilterProblem, read_filter

    with refused_as(FilterProblem, "BAD_FILTER", field="filter"):
        return read_filter(words)


choosing = options(
    click.option(
        "--sort",
        type=click.Choice(SORTINGS),
        default=SORTINGS[0],
        show_default=True,
        help="The sequence within the groups.",
    ),
    click.option(
        "--filter",
        "kept",
        callback=_filter_line,
        metavar="WORDS",
        default="",
        help='Orders that match every word, as "private hold >1h" or "get:eth -late"; a word'
        " may be part of an address, a hash or a request id.",
    ),
)
"""The options ``--filter`` and ``--sort``, with the syntax of the desk's orders screen."""


@orders.command("list")
@choosing
@on_desk(
    "order_reports:report_orders",
    Declared(Effect.ONLY_READS, reading=True, prints=("order_reports:OrdersDocument",)),
    from_journal=True,
)
def list_orders() -> None:
    """List every order of this profile: first ended orders that need you, then open orders, then
    the other ended orders.

    The journal remembers orders for longer than the 48 hours of the service.
    """


@orders.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "json")),
    default="csv",
    show_default=True,
    help="How the orders are written.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file (0600, replaced as a whole) instead of standard output.",
)
@choosing
@on_desk(
    "order_reports:export_orders",
    Declared(
        Effect.CHANGES_DESK,
        reading=True,
        instead="writes a file of orders, in the form that --format names",
    ),
    from_journal=True,
)
def export() -> None:
    """Write orders for other programs, with exact amounts and ISO 8601 times.

    A deposit address that must not be paid is left out.
    """


@orders.command()
@click.argument("order", shell_complete=completion.open_orders)
@on_desk(
    "order_reports:report_order",
    Declared(Effect.ONLY_READS, reading=True, prints=("order_reports:OrderDocument",)),
    from_journal=True,
)
def show() -> None:
    """Show one order, named by its id or the beginning of one, or by something that only this order
    has: a part of an address, a transaction hash, or the id of the request that created it."""


@orders.command("put-away")
@click.argument("order", shell_complete=completion.open_orders)
@click.option("--undo", is_flag=True, help="Take it back: it needs you again.")
@on_desk(
    "order_reports:put_order_away",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("order_reports:OrderDocument",)),
    from_journal=True,
)
def put_away() -> None:
    """Put a failed order away after you dealt with it; it stays in the journal.

    Only an order whose money is stuck, or whose transaction failed, can be put away. If something
    else goes wrong with it, it comes back.
    """


@reader
def _seconds(value: float) -> float:
    if not 0 < value < float("inf"):
        raise bad_input("BAD_TIMEOUT", "A timeout is above 0 seconds.", field="timeout")
    return value


@orders.command()
@click.argument(
    "ids", metavar="ID...", nargs=-1, required=True, shell_complete=completion.open_orders
)
@click.option(
    "--until",
    type=click.Choice(("ended", "refunded")),
    default="ended",
    show_default=True,
    help="Whether an expired or failed order is waited on until it is refunded.",
)
@click.option(
    "--timeout",
    type=float,
    callback=_seconds,
    metavar="SECONDS",
    help="Stop watching then, with exit 3.",
)
@on_desk(
    "order_watch:watch_orders",
    Declared(Effect.ONLY_READS, reading=True, prints=("order_watch:WatchedDocument",)),
    from_journal=True,
)
def watch() -> None:
    """Follow orders until all have ended and the service has confirmed that.

    Prints one line for each change. Exit 0 if all completed, 10 if one ended otherwise.
    """


GRANULARITIES = ("day", "month")


@click.group()
def account() -> None:
    """Show this account's limits, commissions and volume."""


@account.command()
@click.option(
    "--fail-over",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="End with 3 when more than so much of a limit is used.",
)
@on_desk(
    "service_reports:report_limits",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:LimitsDocument",)),
)
def limits() -> None:
    """Show the limits of quotes and exchanges, and how much of each this profile used.

    Counts the calls of every desk and command of the profile, by the UTC minute, hour and day.
    """


@reader
def _month(value: str) -> str:
    from swapdesk.flows.account.reading import MONTH

    if MONTH.fullmatch(value) is None:
        raise click.BadParameter(f"{value!r} is no month like 2026-11.")
    return value


@account.command()
@click.option(
    "--month", callback=_month, metavar="YYYY-MM", help="Only what this month earned, in UTC."
)
@on_desk(
    "service_reports:report_commissions",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:CommissionsDocument",)),
)
def commissions() -> None:
    """Show the commissions earned, paid out and still to be paid, in US dollars."""


@account.command()
@on_desk(
    "service_reports:report_volume",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:VolumeDocument",)),
)
def volume() -> None:
    """Show how many orders were finished, and how much was sent for them in all, in US dollars."""


@account.command()
@on_desk(
    "service_reports:report_weeks",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:WeeksDocument",)),
)
def weekly() -> None:
    """List the weeks since the first finished order, newest first."""


@reader
def _moment(value: str) -> datetime:
    from swapdesk.wire.encoding.time_range import within_range
    from swapdesk.wire.encoding.timestamps import parse_rfc3339

    try:
        return within_range(parse_rfc3339(value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no date like 2026-11-20.") from None


@account.command()
@click.option(
    "--granularity",
    type=click.Choice(GRANULARITIES),
    default=GRANULARITIES[0],
    show_default=True,
    help="One bar for each day or for each month, in UTC.",
)
@click.option(
    "--from", "since", callback=_moment, metavar="DATE", help="The first day; 29 before the last."
)
@click.option("--to", "until", callback=_moment, metavar="DATE", help="The last day; today.")
@on_desk(
    "service_reports:report_chart",
    Declared(Effect.ONLY_READS, reading=True, prints=("service_reports:ChartDocument",)),
)
def chart() -> None:
    """Draw the volume by day or by month, in US dollars."""


searching = options(
    click.option(
        "--reads",
        type=click.IntRange(0, 1000),
        default=10,
        show_default=True,
        help="Calls of the service that may be spent. The journal costs none.",
    ),
    click.argument("text", nargs=-1, required=True, shell_complete=completion.open_orders),
)
"""The argument TEXT, and the option ``--reads`` that limits how often the service is asked."""


@click.command()
@searching
@on_desk(
    "support_report:why",
    Declared(Effect.ONLY_READS, reading=True, prints=("support_report:CaseListDocument",)),
    from_journal=True,
)
def why() -> None:
    """Say why an order is where it is, and what to reply to its customer.

    TEXT is whatever names the order: an id, an address, a memo, a transaction hash, a link, a
    request id, an amount with its symbol, or a message with one of these in it. A text of - is read
    from standard input.
    """


@click.command()
@searching
@on_desk(
    "support_report:inspect",
    Declared(Effect.ONLY_READS, reading=True, prints=("support_report:CaseListDocument",)),
    from_journal=True,
)
def inspect() -> None:
    """Show the same as why, and also how TEXT was read, every place searched, and the time line.

    TEXT is whatever names the order, as for why; - is standard input.
    """


KINDS = ("addresses", "amounts", "memos", "hashes", "names")
FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def support() -> None:
    """Write an order into a file that may be posted publicly, and read such files."""


@reader
def _kinds(words: str) -> set[Shown]:
    from swapdesk.flows.support.case_file import Shown

    kinds = {word.strip() for word in words.split(",") if word.strip()}
    if unknown := sorted(kinds - set(KINDS)):
        raise bad_input(
            "NO_SUCH_KIND",
            f"There is no {unknown[0]!r} to show: there are {', '.join(KINDS)}.",
            field="with",
        )
    return {kind for kind in get_args(Shown) if kind in kinds}


@support.command()
@click.argument("order", shell_complete=completion.open_orders)
@click.option("--out", type=FILE, help="The file; by default one named after the order, here.")
@click.option(
    "--with",
    "shown",
    metavar="KINDS",
    default="",
    callback=_kinds,
    help=f"What is not masked, with commas: {', '.join(KINDS)}.",
)
@on_desk(
    "support_report:write_bundle",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("support_report:BundleWritten",)),
    from_journal=True,
)
def bundle() -> None:
    """Write ORDER with its updates, requests, diagnosis and versions into one file (0600).

    ORDER is its id or the beginning of one. Nothing is sent. The file never contains keys, secrets
    and tokens; addresses, amounts, memos, hashes and names are masked unless --with names them. An
    existing file is not replaced.
    """


@support.command("open")
@click.argument("file", type=FILE)
@on_call(
    "support_report:show_case_file",
    Declared(
        Effect.ONLY_READS, reading=True, prints=("swapdesk.flows.support.case_file:CaseFile",)
    ),
)
def open_file() -> None:
    """Show the case in FILE as the desk showed it, without profile, keys, service or journal.

    In a terminal the pages of the desk open; elsewhere the case is printed. The texts come from
    whoever wrote FILE, so do not send them on.
    """


@support.command()
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, help="The page; by default one named after the order, here.")
@on_call(
    "support_report:write_page",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("support_report:BundleWritten",)),
)
def page() -> None:
    """Write FILE as one web page (0600) for a colleague without the desk.

    The page needs no network and runs no script. It has the texts that open shows; they come from
    whoever wrote FILE. An existing file is not replaced.
    """


@click.command(cls=WithLists, lists=("operations",))
@click.argument("method")
@click.argument("path")
@click.option("-q", "query", multiple=True, metavar="K=V", help="A parameter; repeatable.")
@click.option("-d", "data", metavar="JSON|@FILE|-", help="The body: JSON, a file, or from stdin.")
@click.option("--yes", is_flag=True, help="Allow a call that writes; it is journaled.")
@desk_command(
    Declared(
        Effect.MOVES_MONEY,
        reading=True,
        instead="prints the answer of the service as it came: swapdesk api GET /openapi.json says"
        " its form",
    )
)
def api(
    call: CliContext, method: str, path: str, query: tuple[str, ...], data: str | None, yes: bool
) -> int:
    """Call one operation under /v2 and print its answer unchanged.

    Only reading calls are made without --yes. The answer is printed as JSON also without --json.
    """
    pairs = [_pair(text) for text in query]
    body = _body(data) if data is not None else None
    if method.upper() not in ("GET", "HEAD"):
        if not yes:
            raise bad_input("NEEDS_YES", f"{method.upper()} writes; add --yes.", field="yes")
        refuse_to_write(call)
    from swapdesk.cli.service_reports import call_operation
    from swapdesk.cli.session import run_session

    return run_session(call, lambda call: call_operation(call, method.upper(), path, pairs, body))


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise bad_input("BAD_PARAMETER", f"Write -q name=value, not {text!r}.", field="q")
    return name, value


def _body(data: str) -> bytes:
    if data == "-":
        return sys.stdin.buffer.read()
    if not data.startswith("@"):
        return data.encode()
    with refused_as(OSError, "BAD_BODY", f"{data[1:]} cannot be read: ", field="d"):
        return Path(data[1:]).read_bytes()


@reader
def _receiver(url: str) -> str:
    from swapdesk.flows.webhooks import WebhookRefused, receiver

    with refused_as(WebhookRefused, "BAD_RECEIVER", field="forward-to"):
        return receiver(url)


@click.command()
@click.option(
    "--forward-to",
    "url",
    required=True,
    callback=_receiver,
    metavar="URL",
    help="What is posted to.",
)
@click.option(
    "--orders",
    "ids",
    multiple=True,
    metavar="ORDER",
    shell_complete=completion.open_orders,
    help="Only this order; may be given again. All orders by default.",
)
@click.option("--replay", "delivery", metavar="ID", help="Send one delivery again, and end.")
@on_desk(
    "order_watch:post_orders",
    Declared(Effect.ONLY_READS, reading=True, prints=("swapdesk.flows.webhooks:AttemptDocument",)),
    from_journal=True,
)
def listen() -> None:
    """Post every state of your orders to URL, signed in the form of Standard Webhooks.

    A delivery is repeated under the same id until the answer is 200 to 299, but never before the
    time that Retry-After names. An answer of 410 ends the command. The states of an order are
    posted in sequence. However the command ended, the next run continues after the last accepted
    delivery. The file webhook.secret of the profile holds the secret with which signatures are
    checked.
    """
