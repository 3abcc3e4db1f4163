"""Everything that a rule may look at, and the form of a rule.

A case holds the claim (what the payload does), the promise (what was confirmed), the policy (what
the profile allows), the facts that were read from the chain, and what was signed earlier under the
same intent.

A permit, an approval, an order, a transfer and a swap may each stay within what was confirmed and
together exceed it, so they are added up (``Taking``). The same money counts once: if a contract
takes by an order what an allowance permits, the two are not added. Of several documents of which
the chain executes only one, only one counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache

from msgspec import Struct, field

from swapdesk.agent.shapes.claim import Act, Claim, ClaimField, Meaning, NonceKind
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import Method
from swapdesk.chain.deployments import PERMIT2, VenueContract
from swapdesk.chain.smart_account import GET_NONCE, account_address
from swapdesk.wallet.answers import Severity, Simulation, TransactionCode
from swapdesk.wallet.promise import Asset, ChainStep, Promise, Purpose
from swapdesk.wallet.rule_codes import RULES

NEVER_ARRIVES: tuple[TransactionCode, ...] = ("ABANDONED", "REPLACED")

MOVING: frozenset[Act] = frozenset({"allow", "order", "swap", "pay", "bundle"})
"""The acts that may take the token sold from its owner. A withdrawal is not among them, because it
pays the owner."""


class Taking(Struct, frozen=True):
    """What one signature allows to leave the account: at most ``units`` base units of the token
    sold. ``by`` is the address that can take these units, empty if the payload itself moves
    them."""

    units: int
    by: str = ""
    grants: bool = True
    """True if this signature allows ``by`` to take the units, False if ``by`` uses an allowance
    from another signature."""
    once: str | None = None
    """An identifier: of several signatures with the same one, the chain executes at most one. None
    for a signature that only its content identifies."""
    kind: NonceKind = "none"
    """With ``nonce``, says where the chain records that a document was used."""
    nonce: int | bytes | None = None
    ends: int | None = None
    """The time, in Unix seconds, after which a document can no longer be used."""


def taking_of(claim: Claim, promise: Promise) -> Taking:
    """Returns how much of the token sold may leave the account because of the payload. The taking
    has 0 units if the payload cannot move that token."""
    if claim.act not in MOVING:
        return Taking(0)
    by, grants = taker(claim)
    if claim.target == "token" and by == PERMIT2:
        # Permit2 takes nothing without this signature.
        return Taking(0, by)
    allowed = sum(
        # Unlimited by typed consent: counted as the confirmed amount.
        min(outflow.units, promise.sell_units)
        if promise.unlimited and outflow.units == claim.limitless
        else outflow.units
        for outflow in claim.allowed
    )
    leaving = sum(outflow.units for outflow in claim.outflows if outflow.field.meaning != "value")
    units = max(allowed, leaving)
    if not claim.typed:
        return Taking(units, by, grants)
    nonce = next(iter(claim.of("nonce")), None)
    value = None if nonce is None or isinstance(nonce.value, str) else nonce.value
    ends = [seconds for _, seconds in claim.numbers("ends")]
    return Taking(
        units,
        by,
        grants,
        once_of(claim, value, by),
        claim.nonce_kind,
        value,
        max(ends, default=None),
    )


def taker(claim: Claim) -> tuple[str, bool]:
    """Returns (taker, grants). ``taker`` is the address that the payload lets take the token, empty
    if there is none. ``grants`` is False if the taker also needs an allowance from another
    signature."""
    if claim.act == "allow":
        return next((text for _, text in claim.texts("spender")), ""), True
    if claim.act == "bundle" and not claim.solana:
        return next((text for _, text in claim.texts("smart account")), ""), False
    if claim.act in ("order", "swap") and claim.target == "venue" and claim.contract:
        return claim.contract, False
    return "", True


def once_of(claim: Claim, nonce: int | bytes | None, spender: str) -> str | None:
    """Returns an identifier made from the document's nonce; None if the document has no nonce. The
    chain executes only one of several documents with the same identifier."""
    if nonce is None or claim.nonce_kind == "none":
        return None
    text = nonce.hex() if isinstance(nonce, bytes) else str(nonce)
    # Permit2 counts nonces for each spender separately.
    whose = spender if claim.nonce_kind == "permit2 allowance" else ""
    return f"{claim.nonce_kind} {claim.contract} {whose} {text}"


def most_taken(signed: Iterable[tuple[str, Taking]]) -> int:
    """Returns the most that all these signatures together can take, in base units. ``signed`` has
    (identifier, taking) pairs; of pairs with the same identifier, only the largest taking
    counts."""
    granted: dict[str, dict[str, int]] = defaultdict(dict)
    used: dict[str, dict[str, int]] = defaultdict(dict)
    for once, taking in signed:
        way = granted[taking.by] if taking.grants else used[taking.by]
        way[once] = max(taking.units, way.get(once, 0))
    return sum(max(sum(granted[by].values()), sum(used[by].values())) for by in {*granted, *used})


class PastSignature(Struct, frozen=True):
    """One signature that the agent gave out earlier."""

    content: bytes
    """The hash that identifies what was signed (``Claim.content``)."""
    act: Act
    quote_id: str | None
    chain_id: int | None
    owner: str
    token: str | None
    contract: str | None
    key: str | None = None
    """Names the chain of signatures that a document belongs to; for a UserOperation, its smart
    account and nonce."""
    step: int | None = None
    total: int | None = None
    complete: bool = False
    hash: str | None = None
    code: TransactionCode | None = None
    taking: Taking | None = None
    """None if an earlier release of the program did not record it."""
    nonce: int | None = None

    @property
    def spent(self) -> bool:
        """True if the signature can have no further effect: its transaction was replaced, was given
        up unsent, or (on Solana) has expired."""
        # Not even after a failure: a node can report a wrong one, and the money would leave twice.
        if self.code == "LOST":
            return self.chain_id is None
        return self.code in NEVER_ARRIVES


PastSignatures = tuple[PastSignature, ...]
"""All signatures given out under one intent, in the order of signing."""


PaidCall = tuple[int | None, str | None, str]
"""The chain id, token and payee of a paid API call."""


class Policy(Struct, frozen=True):
    """What the profile allows for one signing key on one chain."""

    account: str
    """The key's address."""
    chain_id: int | None
    """None on Solana."""
    genesis_hash: str
    venues: tuple[VenueContract, ...] = ()
    """The contracts of each provider."""
    makers: frozenset[tuple[str, str]] = frozenset()
    """The Solana keys with which providers sign their half of a swap, each as (provider, key)."""
    known: frozenset[str] = field(default_factory=frozenset)
    """The addresses that were paid earlier."""
    smart_accounts: bool = False
    """True if the profile uses smart accounts. UserOperations are signed only for the account's own
    one."""
    calls: frozenset[PaidCall] = frozenset()
    """The chain, token and payee of earlier paid API calls. A call with a different chain, token or
    payee needs the user's consent."""

    @property
    def smart_account(self) -> str | None:
        """The address of the account's smart account, even before the chain has that contract. None
        on Solana, and if the profile uses no smart accounts."""
        exists = self.smart_accounts and self.chain_id is not None
        return account_address(self.account) if exists else None

    def contracts_of(self, provider: str | None) -> tuple[VenueContract, ...]:
        return tuple(venue for venue in self.venues if venue.provider == provider)


_WITHOUT_CHECKSUM = re.compile(r"0x([0-9a-f]{40}|[0-9A-F]{40})", re.ASCII)


def spelled(address: str) -> str:
    """Returns an EVM address with its checksum if the address was written without one. Returns any
    other text unchanged."""
    return checksummed(address) if _WITHOUT_CHECKSUM.fullmatch(address) else address


WORD = 32


def words_of(data: bytes | None, count: int) -> tuple[int, ...] | None:
    """Returns the numbers in ``data``, a contract's answer made of 32-byte words; None if ``data``
    is not exactly ``count`` words."""
    if data is None or len(data) != count * WORD:
        return None
    return tuple(int.from_bytes(data[i : i + WORD], "big") for i in range(0, len(data), WORD))


class Read(Struct, frozen=True):
    """A read-only call of ``contract``, to be made with ``eth_call`` at the newest block."""

    contract: str
    data: bytes


class GasPlan(Struct, frozen=True):
    """The gas of a transaction: ``limit`` in units of gas, and ``fee``, the highest price in wei
    per unit."""

    limit: int
    fee: int

    @property
    def most(self) -> int:
        """The highest cost of gas for the transaction, in wei."""
        return self.limit * self.fee


class Facts(Struct, frozen=True):
    """What the chain answered for one decision. A field is None if it could not be read or is not
    needed; ``problem`` says why something could not be read."""

    now: datetime
    """The time by the agent's clock."""
    chain_id: int | None = None
    genesis_hash: str | None = None
    code: Mapping[str, bytes] = field(default_factory=dict)
    """The code by address; empty bytes for an address without code."""
    answers: Mapping[Read, bytes] = field(default_factory=dict)
    """The result of each call that succeeded."""
    native: int | None = None
    """The account's balance of the native coin."""
    gas: GasPlan | None = None
    simulation: Simulation | None = None
    """The balance changes of every holder, without the fee for gas."""
    blocks_left: int | None = None
    """The number of blocks for which the blockhash of a Solana payload stays valid."""
    time: int | None = None
    """The time of the newest block, in Unix seconds."""
    bought_decimals: int | None = None
    """The decimals of a token bought on another chain, as that chain's node states them."""
    bought_symbol: str | None = None
    """The symbol of that token, from the same node."""
    nonce: int | None = None
    """The node's next nonce. Only the signer needs this and the next three fields."""
    base_fee: int | None = None
    """In wei per unit of gas."""
    priority: int | None = None
    """The priority fee in wei per unit of gas."""
    last_valid: int | None = None
    """On Solana, the last block height at which a transaction made now can be executed."""
    problem: str | None = None

    @property
    def executed(self) -> Simulation | None:
        """The simulation; None if the transaction was not simulated or failed in the simulation."""
        simulation = self.simulation
        return None if simulation is None or simulation.failure is not None else simulation

    def words(self, read: Read, count: int) -> tuple[int, ...] | None:
        """Returns the numbers in the contract's answer to ``read``; None if there is no answer or
        it is not exactly ``count`` 32-byte words."""
        return words_of(self.answers.get(read), count)


def needed(
    claim: Claim, promise: Promise, policy: Policy, memory: PastSignatures = ()
) -> tuple[set[str], set[Read]]:
    """Returns what the rules need from an EVM chain to judge this payload: the addresses whose code
    to read, and the calls to make. ``memory`` has the earlier signatures under the same intent."""
    parties = claim.of("spender", "receiver", "payee", "smart account")
    code = {str(party.value) for party in parties}
    if claim.contract is not None:
        code.add(claim.contract)
    reads = _asset_reads(claim, promise)
    if claim.act == "bundle":
        read = operation_nonce_read(claim)
        return code, reads if read is None else {read, *reads}
    reads |= {read for _, read in nonce_reads(claim, policy.account)}
    reads |= {read for past in memory if (read := unused_read(past)) is not None}
    if claim.typed and claim.contract is not None:
        reads.add(read_of(claim.contract, erc20.DOMAIN_SEPARATOR))
    reads |= {
        read_of(token, erc20.BALANCE_OF, policy.account)
        for token in {flow.token for flow in claim.outflows + claim.allowed}
        if token is not None
    }
    return code, reads


def assets_here(claim: Claim, promise: Promise) -> tuple[Asset, ...]:
    """Returns the confirmed tokens on the chain where the payment is made. Empty for a payload
    without a confirmed amount, such as one that ends an allowance."""
    if claim.revokes or claim.act in ("nothing", "deploy"):
        return ()
    here = [promise.sell, *(payment.asset for payment in promise.taken)]
    if claim.act in ("order", "swap") and promise.chain_out == promise.chain:
        here.append(promise.buy)
    return tuple(dict.fromkeys(here))


def _asset_reads(claim: Claim, promise: Promise) -> set[Read]:
    return {
        read_of(spelled(asset.contract), method)
        for asset in assets_here(claim, promise)
        if asset.contract is not None
        for method in (erc20.DECIMALS, erc20.SYMBOL)
    }


def operation_nonce_read(claim: Claim) -> Read | None:
    """Returns the call that reads a UserOperation's next nonce from its EntryPoint; None unless the
    operation has exactly one nonce and one sender."""
    nonces = [nonce for _, nonce in claim.numbers("nonce")]
    senders = [sender for _, sender in claim.texts("smart account")]
    if claim.contract is None or len(nonces) != 1 or len(senders) != 1:
        return None
    return read_of(claim.contract, GET_NONCE, senders[0], nonces[0] >> 64)


@lru_cache(maxsize=1024)
def read_of(contract: str, method: Method, *arguments: str | int | bytes) -> Read:
    """Returns a read-only call of ``method``. Calls are cached, because several rules make the same
    one."""
    return Read(contract, method.call(*arguments))


def nonce_reads(claim: Claim, owner: str) -> list[tuple[int | bytes, Read]]:
    """Returns a pair for each nonce of the payload: the nonce, and the call that asks the chain
    whether it is unused."""
    kind, contract = claim.nonce_kind, claim.contract
    if kind == "none" or contract is None:
        return []
    nonces = [field.value for field in claim.of("nonce")]
    if kind == "permit2 allowance":
        spender = next(text for _, text in claim.texts("spender"))
        tokens = [text for _, text in claim.texts("sold token")]
        return [
            (_number(nonce), _nonce_read(kind, contract, owner, _number(nonce), token, spender))
            for nonce, token in zip(nonces, tokens, strict=True)
        ]
    nonce = nonces[0]
    if kind == "authorization":
        if not isinstance(nonce, bytes):
            raise TypeError("an authorization has a nonce of bytes")
    else:
        nonce = _number(nonce)
    return [(nonce, _nonce_read(kind, contract, owner, nonce))]


def unused_read(signed: PastSignature) -> Read | None:
    """Returns the call that asks the chain whether a document signed earlier is still unused. None
    for a transaction and for a document that never expires."""
    taking = signed.taking
    if taking is None or taking.nonce is None or taking.ends is None or signed.contract is None:
        return None
    token = signed.token or ""
    return _nonce_read(taking.kind, signed.contract, signed.owner, taking.nonce, token, taking.by)


def _nonce_read(
    kind: NonceKind,
    contract: str,
    owner: str,
    nonce: int | bytes,
    token: str = "",
    spender: str = "",
) -> Read:
    if kind == "permit2 allowance":
        return read_of(PERMIT2, permit2.ALLOWANCE, owner, token, spender)
    if kind == "authorization":
        return read_of(contract, erc20.AUTHORIZATION_STATE, owner, nonce)
    if kind == "sequence":
        return read_of(contract, erc20.NONCES, owner)
    if kind == "permit2 bitmap":
        return read_of(PERMIT2, permit2.NONCE_BITMAP, owner, _number(nonce) >> 8)
    return read_of(contract, venues.NONCE_USED, owner, _number(nonce))


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a nonce is a number")
    return value


class Case(Struct, frozen=True):
    """A payload in decoded form (``claim``) and everything that the rules compare it with."""

    claim: Claim
    purpose: Purpose
    step: ChainStep | None
    """The document's position in a chain of signatures; None for transactions."""
    promise: Promise
    policy: Policy
    facts: Facts
    memory: PastSignatures = ()
    replaces: str | None = None
    """The hash of the waiting transaction whose nonce the payload reuses; None if it has a nonce of
    its own."""
    nonce: int | None = None
    """The nonce of an EVM transaction; None for other payloads."""


class Objection(Struct, frozen=True):
    """One rule's objection to a payload, in words. ``field`` is the field at fault, None if the
    objection concerns the whole payload."""

    words: str
    field: ClaimField | None = None


Objections = Iterator[Objection]


class Rule(Struct, frozen=True):
    """A rule of the gate. ``code`` is its permanent name. ``binds`` names the kinds of fields
    (``Meaning``) that the rule compares with what the user confirmed."""

    code: str
    severity: Severity
    binds: frozenset[Meaning]
    check: Callable[[Case], Objections]

    def __call__(self, case: Case) -> tuple[Objection, ...]:
        return tuple(self.check(case))


def refuses(code: str, *binds: Meaning) -> Callable[[Callable[[Case], Objections]], Rule]:
    """Returns a decorator that turns a function into a rule. If the function yields an objection,
    the gate refuses the payload."""
    assert code in RULES, f"{code} is not in wallet.rule_codes"
    return lambda check: Rule(code, Severity.REFUSE, frozenset(binds), check)


def warns(code: str, *binds: Meaning) -> Callable[[Callable[[Case], Objections]], Rule]:
    """Returns a decorator that turns a function into a rule. Each objection that the function
    yields is shown as a warning."""
    assert code in RULES, f"{code} is not in wallet.rule_codes"
    return lambda check: Rule(code, Severity.WARN, frozenset(binds), check)
