"""The ``wallet`` commands that work on chains: balances, allowances, the wallet's own transactions,
withdrawals, and the spending policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import UNTOUCHED, CommandError, Exit, bad_input
from swapdesk.cli.output import Output, cells
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.wallet_session import account_named, account_on, require_done, sign_and_send
from swapdesk.flows.batch.bundles import smart_accounts
from swapdesk.flows.batch.progress import way_out
from swapdesk.flows.batch.withdrawing import NOTHING_HELD, Withdrawal, propose_withdrawal
from swapdesk.flows.failure_messages import NO_JOURNAL, POLICY_ANEW
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import IsoTime, exact_amount, grouped_address, iso, split_at_point, usd
from swapdesk.flows.payments import Sum
from swapdesk.flows.signing.wallet_signing import propose_revocation
from swapdesk.flows.transactions import Outcome
from swapdesk.flows.wallet.local_wallet import ChainAllowances, ChainHoldings, LocalWallet
from swapdesk.flows.wallet.policy_change import (
    NO_POLICY,
    PolicyProblem,
    named_token,
    policy_facts,
    proposed_policy,
)
from swapdesk.flows.wallet.replacement import (
    CANCELLATION,
    GAS_UNITS,
    HIGHER_FEE,
    REVERTED,
    WAITS,
    Replacement,
    ReplacementKind,
)
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance, SignedTransaction
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import Refused
from swapdesk.wallet.spending import (
    LimitUse,
    PolicyStatus,
    SpendingPolicy,
    plain_amount,
)
from swapdesk.wire.encoding.numbers import from_base_units, short


class BalancesDocument(Struct, frozen=True):
    """The balances of accounts, one entry for each account and chain; those of smart accounts come
    last."""

    balances: tuple[ChainHoldings, ...]


class AllowancesDocument(Struct, frozen=True):
    """The allowances that accounts have given, one entry for each account and chain."""

    allowances: tuple[ChainAllowances, ...]


class BalanceTable:
    """Prints balances as one document or as a table. On a terminal, each chain is printed as soon
    as it answers."""

    WHOLE, REST = 9, 19
    """Characters before the decimal point, and from the point on, in the column of amounts."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._printed = 0
        self._least: tuple[int, ...] | None = None
        self._headed = False

    def heard(self, holdings: Sequence[ChainHoldings]) -> None:
        """Prints chains that have answered, in the order of ``holdings``, up to the first chain
        that has not."""
        if self._least is None:
            names = max((cells(_holder(chain)) for chain in holdings), default=0)
            chains = max((cells(chain.chain_name) for chain in holdings), default=0)
            self._least = (names, chains, self.WHOLE + self.REST, 6, 11)
        self.add(tuple(takewhile(lambda chain: not chain.reading, holdings)))

    def add(self, holdings: Sequence[ChainHoldings]) -> None:
        """Prints the entries of ``holdings`` that were not printed before, and which chains could
        not be read."""
        new, self._printed = holdings[self._printed :], len(holdings)
        self._output.talk(*_unread(new))
        held = [
            (
                _holder(chain_holdings),
                chain_holdings.chain_name,
                "?" if holding.amount is None else exact_amount(holding.amount),
                holding,
            )
            for chain_holdings in new
            for holding in chain_holdings.holdings
        ]
        self._output.table(
            ("account", "chain", "amount", "token", "usd"),
            [
                (who, chain, self._aligned(amount), holding.asset.symbol,
                 "" if holding.usd is None else usd(holding.usd))
                for who, chain, amount, holding in held
            ],
            numbers=(2,),
            least=self._least,
            headed=not self._headed,
            plain=[
                f"{who} has {amount} {holding.asset.symbol} on {chain}."
                for who, chain, amount, holding in held
            ],
            document=BalancesDocument(tuple(new)),
        )  # fmt: skip
        self._headed = self._headed or bool(held)

    def _aligned(self, amount: str) -> str:
        if self._least is None:
            return amount
        whole, rest, _ = split_at_point(amount)
        return whole.rjust(self.WHOLE) + rest.ljust(self.REST)


def _holder(holdings: ChainHoldings) -> str:
    return (
        holdings.account.name
        if holdings.smart is None
        else f"smart account of {holdings.account.name}"
    )


def _unread(reads: Sequence[ChainHoldings] | Sequence[ChainAllowances]) -> list[str]:
    return [
        f"{read.chain_name} could not be read: {read.problem}. What is there stays there."
        f" Next {read.next or 'you: give the command again'}."
        for read in reads
        if read.problem is not None
    ]


def allowed_words(allowance: Allowance) -> str:
    if allowance.unlimited:
        return "unlimited"
    return exact_amount(short(from_base_units(allowance.units, allowance.token.decimals)))


def spender_words(allowance: Allowance, named: Callable[[str | None], str | None]) -> str:
    """Returns the name of the spender's venue, or ``not known here``. For an allowance by Permit2,
    the text also says when it ends. ``named`` returns the name of a venue code."""
    who = named(allowance.venue) or "not known here"
    return (
        f"{who}, by Permit2 until {iso(allowance.ends)}"
        if allowance.permit2 and allowance.ends
        else who
    )


async def show_balances(call: CliContext, account: str | None) -> int:
    """Prints the balances of one account, or of all for None. Returns 7 if a chain could not be
    read, otherwise 0."""
    output, wallet = call.output, call.desk.wallet
    whose = await account_or_all(wallet, account)
    table = BalanceTable(output)
    held = await wallet.holdings(whose, table.heard if output.to_person else lambda _: None)
    held += await wallet.smart_holdings(smart_accounts(call.desk.journal), whose)
    table.add(held)
    output.talk(
        *(
            f"What the smart account on {holdings.chain_name} has comes back with:"
            f" {way_out(holdings.chain)}."
            for holdings in held
            if holdings.smart
        )
    )
    return _end_of(held)


async def show_allowances(call: CliContext, account: str | None) -> int:
    """Prints the allowances of one account, or of all for None. Returns 7 if a chain could not be
    read, otherwise 0."""
    output, wallet = call.output, call.desk.wallet
    reads = await wallet.allowances(await account_or_all(wallet, account))
    rows = [
        (read.account.name, read.chain_name, allowance.token.symbol, allowed_words(allowance),
         allowance.spender, spender_words(allowance, call.desk.catalog.provider_name))
        for read in reads
        for allowance in read.allowances
    ]  # fmt: skip
    output.table(
        ("account", "chain", "token", "may take", "spender", "venue"),
        rows,
        numbers=(3,),
        plain=[
            f"{spender} ({who}) may take {amount} {symbol} of {name} on {chain}."
            for name, chain, symbol, amount, spender, who in rows
        ],
        document=AllowancesDocument(tuple(reads)),
    )
    if not rows and all(read.problem is None and read.complete for read in reads):
        output.hint("Nobody is allowed to take anything.")
    output.talk(
        *(
            f"{read.chain_name} does not list every approval: there may be more."
            for read in reads
            if not read.complete and read.problem is None
        ),
        *_unread(reads),
    )
    return _end_of(reads)


def _end_of(reads: Sequence[ChainHoldings] | Sequence[ChainAllowances]) -> int:
    return Exit.UNREACHABLE if any(read.problem is not None for read in reads) else Exit.DONE


async def account_or_all(wallet: LocalWallet, named: str | None) -> Account | None:
    return None if named is None else account_named(await wallet.accounts(), named)


_NONE_WAITS = "No transaction still waits."
_NONE = (
    "No transaction was signed. Payments of calls, permits and orders are signatures alone: wallet"
    " policy show says how much of each limit they use."
)


class TransactionsDocument(Struct, frozen=True):
    """The wallet's transactions, oldest first."""

    transactions: tuple[SignedTransaction, ...]


class ReplacedDocument(Struct, frozen=True):
    """The result of ``bump`` or ``cancel``. ``hash`` is the replacement; None if none was
    necessary."""

    hash: str | None
    bumped: str | UnsetType = UNSET
    cancelled: str | UnsetType = UNSET


class RevokedDocument(Struct, frozen=True):
    """An allowance that was ended, and the transaction that ended it."""

    account: str
    chain: str
    token: str | None
    spender: str
    hash: str | None


class TakenFacts(Struct, frozen=True):
    """A withdrawn amount. ``prepaid`` means that the EntryPoint contract held it for the smart
    account's gas."""

    PRINTED: ClassVar = {
        "symbol": "sum.symbol", "contract": "sum.contract", "amount": "sum.amount",
        "prepaid": "sum.prepaid",
    }  # fmt: skip

    sum: Sum


class WithdrawalDocument(Struct, frozen=True):
    """What was withdrawn from a smart account to its owner. ``deployment`` is the transaction that
    created the smart account, if it was new."""

    account: str
    chain: str
    withdrawn: Sequence[TakenFacts]
    hash: str | None
    deployment: str | None


async def list_transactions(call: CliContext, waiting: bool) -> None:
    signed = await (await call.desk.wallet.client()).transactions()
    shown = [entry for entry in signed if not (waiting and entry.final)]
    call.output.table(
        ("signed", "chain", "for", "state", "nonce", "hash"),
        [
            (iso(entry.created), entry.chain, str(entry.purpose), entry.word,
             "" if entry.nonce is None else str(entry.nonce), entry.hash)
            for entry in shown
        ],
        plain=[
            f"{entry.hash} on {entry.chain}, to {entry.purpose}, is {entry.word}."
            for entry in shown
        ],
        document=TransactionsDocument(tuple(shown)),
    )  # fmt: skip
    if not shown:
        call.output.talk(_NONE_WAITS if waiting else _NONE)


async def replace_transaction(
    call: CliContext, hash_: str, yes: bool, gas: int | None = None, *, kind: ReplacementKind
) -> None:
    """Cancels a waiting transaction or raises its fee, as ``kind`` says. Raises CommandError: exit
    10 if the replacement failed, 9 if no replacement is possible, 8 while neither transaction is
    executed."""
    desk, gas_units = call.desk, GAS_UNITS if gas is None else gas
    outcome = await Replacement(desk.wallet, desk.clock, kind, gas_units).propose(hash_)
    if not isinstance(outcome, Outcome):
        signed = outcome.transaction
        before = "" if signed is None else kind.signed_before(signed)
        outcome = await sign_and_send(call, outcome, yes=yes, before=before, money=WAITS)
    if outcome.failure is not None and outcome.code == kind.kept_code:
        failure = replace(outcome.failure, cause=kind.stays(outcome, hash_))
        outcome = replace(outcome, failure=failure)
    in_vain = outcome.code == REVERTED
    require_done(outcome, refused=Exit.ENDED_OTHERWISE if in_vain else Exit.OWN_REFUSAL)
    call.output.say(
        *kind.done(hash_, outcome.hash),
        document=ReplacedDocument(outcome.hash, **{kind.done_code: hash_}),
    )


cancel_transaction = partial(replace_transaction, kind=CANCELLATION)
bump_transaction = partial(replace_transaction, kind=HIGHER_FEE)


async def revoke_allowance(
    call: CliContext,
    token: str,
    spender: str,
    chain: str,
    account: str | None,
    permit2: bool | None,
    yes: bool,
) -> None:
    """Ends an allowance. ``permit2`` is True for one by Permit2, False for a direct one, None for
    either. Raises CommandError unless exactly one fits."""
    wallet = call.desk.wallet
    link = wallet.link(chain)
    if link is None:
        chain_names = ", ".join(other.name for other in wallet.links)
        raise bad_input(
            "NO_SUCH_CHAIN",
            f"There is no node of {chain!r}; there are {chain_names}.",
            field="chain",
        )
    provider_name = call.desk.catalog.provider_name

    def fits(allowance: Allowance) -> bool:
        tokens = {allowance.token.symbol.lower(), (allowance.token.contract or "").lower()}
        names = (allowance.spender, allowance.venue, provider_name(allowance.venue))
        spenders = {name.lower() for name in names if name}
        kept = permit2 is None or permit2 is allowance.permit2
        return kept and token.lower() in tokens and spender.lower() in spenders

    # No other chain is read: that takes a node hundreds of calls.
    reads = await wallet.allowances(await account_or_all(wallet, account), link)
    for read in reads:
        if read.problem is not None:
            raise CommandError(
                Exit.UNREACHABLE, "UNREAD", f"{read.chain_name} could not be read: {read.problem}.",
            )  # fmt: skip
    fitting = [
        (read.account, allowed) for read in reads for allowed in read.allowances if fits(allowed)
    ]
    if not fitting:
        raise CommandError(
            Exit.NOT_FOUND, "NO_ALLOWANCE", f"{spender} may take no {token} on {link.name}."
        )
    if len(fitting) > 1:
        several = "; ".join(
            f"{owner.name}: {allowed.token.contract} to {allowed.spender}"
            f"{' (--permit2)' if allowed.permit2 else ' (--direct)'}"
            for owner, allowed in fitting
        )
        raise bad_input("AMBIGUOUS", f"Several allowances fit: {several}.")
    [(owner, allowance)] = fitting
    step = await propose_revocation(wallet, call.desk.clock, owner, link, allowance)
    before = "This revocation was signed before. The same transaction is sent again."
    outcome = await sign_and_send(call, step, yes=yes, before=before)
    require_done(outcome)
    contract, taker = allowance.token.contract, allowance.spender
    call.output.say(
        f"Revoked: {grouped_address(taker)} may take no {allowance.token.symbol}"
        f" of {owner.name} on {link.name} any more.",
        f"Transaction {outcome.hash}",
        document=RevokedDocument(owner.address, link.name, contract, taker, outcome.hash),
    )


async def withdraw(
    call: CliContext,
    chain: str,
    token: str | None,
    account: str | None,
    despite_bundle: bool,
    yes: bool,
) -> None:
    """Withdraws ``token``, or everything if None, from the smart account to its owner; with
    ``despite_bundle``, even what a waiting bundle needs. Raises CommandError: exit 5 if nothing is
    there, 9 if refused, 10 if failed, 8 if unknown."""
    wallet = call.desk.wallet
    link = wallet.link(chain)
    if link is None or link.kind is not Kind.EVM:
        names = ", ".join(other.name for other in wallet.links if other.kind is Kind.EVM)
        raise bad_input(
            "NO_SUCH_CHAIN",
            f"There are smart accounts on {names}, and none on {chain!r}.",
            field="chain",
        )
    owner = account_on(await wallet.accounts(), link.kind, link.name, account, field="account")
    output, desk, deployment = call.output, call.desk, None
    before = "This was signed before. The same transaction is sent again."
    while True:
        try:
            step = await propose_withdrawal(
                wallet, desk.journal, desk.clock, owner.address, link, token, despite_bundle
            )
            if isinstance(step, Outcome):
                nothing = step.code == NOTHING_HELD
                require_done(step, refused=Exit.NOT_FOUND if nothing else Exit.OWN_REFUSAL)
                raise AssertionError("there is nothing to do, and it is no refusal")
            money = UNTOUCHED
            if step.review is not None:
                output.talk(*_plan(step, link))
                money = f"in your smart account {step.sender}"
            outcome = await sign_and_send(call, step, yes=yes, before=before, money=money)
        except JournalUnavailable:
            raise CommandError(
                Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, NO_JOURNAL.money, NO_JOURNAL.next
            ) from None
        require_done(outcome, refused=Exit.ENDED_OTHERWISE)
        if step.purpose is Purpose.WITHDRAW:
            break
        deployment = outcome.hash
        output.talk(f"The smart account exists now. Transaction {deployment}")
    whole = ", ".join(map(_words, step.taken)) or "What the smart account held"
    output.say(
        f"Withdrawn: {whole} on {link.name}, back in {owner.name or owner.address}.",
        f"Transaction {outcome.hash}",
        document=WithdrawalDocument(
            owner.address,
            link.name,
            list(map(TakenFacts, step.taken)),
            outcome.hash,
            deployment,
        ),
    )


def _plan(step: Withdrawal, link: ChainLink) -> list[str]:
    lines = [
        f"Your smart account {grouped_address(step.sender)} on {link.name} holds:",
        *(f"  {_words(taken)}" for taken in step.taken),
    ]
    if step.purpose is Purpose.DEPLOY:
        lines.append("It does not exist yet: one transaction makes it, and a second one pays you.")
    return lines


def _words(taken: Sum) -> str:
    kept = ", prepaid for gas" if taken.prepaid else ""
    return f"{exact_amount(taken.amount)} {taken.symbol}{kept}"


class PolicyFacts(Struct, frozen=True):
    """The rules of the spending policy. A list that is None allows everything. If ``callPayees`` is
    None, API calls may be paid to anyone; the wallet asks when the payee changes."""

    PRINTED: ClassVar = {"limits": "limits", "until": "until", "policy": "policy"}
    MERGED: ClassVar = "policy"

    limits: tuple[LimitUse, ...]
    policy: SpendingPolicy

    @property
    def until(self) -> IsoTime | None:
        return None if self.policy.until is None else iso(self.policy.until)


class PolicyDocument(Struct, frozen=True):
    """The spending policy. If ``policy`` is None, everything that the user confirms is signed.
    ``problem`` means that the file was changed; then nothing is signed."""

    policy: PolicyFacts | None
    problem: str | None


async def show_policy(call: CliContext, wallet: LocalWallet) -> int:
    return _told(call.output, await (await wallet.client()).policy())


async def set_policy(
    call: CliContext, until: str | None, anew: bool, **rules: tuple[str, ...]
) -> int:
    """Changes the given rules of the spending policy and keeps the other rules, unless ``anew`` is
    True. Raises CommandError (exit 2) if no rule is given."""
    wallet = call.desk.wallet
    rules["until"] = () if until is None else (until,)
    change = {name: given for name, given in rules.items() if given}
    if anew:
        change["anew"] = ()
    if not change:
        raise bad_input("NOTHING_GIVEN", "Give at least one rule to set, or --anew.")
    try:
        policy = await proposed_policy(wallet, change)
    except PolicyProblem as problem:
        if (end := _ENDS.get(problem.code)) is not None:
            raise CommandError(end, problem.code, str(problem), next=problem.next) from None
        raise bad_input(problem.code, str(problem), field=problem.field) from None
    try:
        phrase = None if call.passphrase_fd is None else read_passphrase(call)
        status = await wallet.set_policy(policy, phrase)
    except Refused as refused:
        if refused.code != "passphrase_needed":
            raise
        status = await wallet.set_policy(policy, read_passphrase(call))
    return _told(call.output, status)


_ENDS = {"POLICY_CHANGED": Exit.OWN_REFUSAL, "TOKEN_NOT_FOUND": Exit.NOT_FOUND}


# What is told


def _told(output: Output, status: PolicyStatus) -> int:
    policy = status.policy
    facts = None if policy is None else PolicyFacts(status.uses, policy)
    output.say(document=PolicyDocument(facts, status.problem))
    if policy is not None and policy != SpendingPolicy():
        rows = [
            (f"per {use.limit.window.value}", plain_amount(use.limit.most),
             "USD" if use.limit.token is None else named_token(use.limit.token),
             "?" if use.used is None else plain_amount(use.used), plain_amount(use.left))
            for use in status.uses
        ]  # fmt: skip
        if rows:
            output.table(("limit", "most", "of", "used", "left"), rows, numbers=(1, 3, 4))
        output.facts(policy_facts(policy))
    elif status.problem is None:
        output.say(NO_POLICY)
    if status.problem is None:
        return Exit.DONE
    output.talk(
        f"{status.problem[:1].upper()}{status.problem[1:]}.",
        f"Money stays where it is. Next {POLICY_ANEW}.",
    )
    return Exit.OWN_REFUSAL
