"""The table of the faults that a sandbox can produce on purpose. The sandbox's control operations,
``swapdesk trigger``, the desk's page of faults and the reference use this table.

Each row says what the fault does, which targets it may have and which settings it takes. The
functions that produce a fault are in ``fault_layer``, ``exchange`` and ``faults`` of the sandbox,
and in ``venue_accounts`` of its node.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from msgspec import Struct

from swapdesk.toml_document import nearest

SELECTORS = {
    "serviceId": "order",
    "multiId": "group",
    "quoteId": "quote",
    "operation": "operation",
    "venue": "provider",
    "chain": "chain",
}
"""Members of ``POST /faults`` that name a target, each with a noun for it, such as ``order``."""

EVM_CHAINS = ("ethereum", "base", "arbitrum", "polygon", "bsc")
"""Short names of the EVM chains that the sandbox runs itself."""


class Fault(Struct, frozen=True):
    """A fault that the sandbox can produce. A request names one of ``selectors`` as the target; it
    may name none if ``unselected`` is True."""

    PRINTED: ClassVar = {
        "fault": "name", "targets": "targets", "takes": "members", "needs": "needs",
        "shows": "does",
    }  # fmt: skip
    needs: ClassVar[str | None] = None

    name: str
    does: str
    selectors: tuple[str, ...]
    takes: tuple[str, ...] = ("times",)
    """Members that a request for this fault may contain beside its name and target, such as
    ``seconds``."""
    seconds: float = 2.0
    """Duration of the fault in seconds if the request does not state ``seconds``."""
    unselected: bool = False
    stays: bool = False
    """If True, the fault continues until faults are cleared or ``times`` is reached. Otherwise it
    happens once by default."""
    chains: tuple[str, ...] = ()
    """The only chains on which the fault can happen; empty for all."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Nouns of the possible targets, such as ``order``; ``nothing`` if no target is needed."""
        kinds = [kind for member, kind in SELECTORS.items() if member in self.selectors]
        return (*kinds, "nothing") if self.unselected else tuple(kinds)

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(sorted(self.takes))


class FaultRefused(ValueError):
    """Raised if a fault cannot be set, with a sentence that says why. ``field`` is the input to
    change."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


_LONGEST_SHOWN = 60
_REQUEST = ("operation", "serviceId", "quoteId", "multiId")
_STREAM = ("operation", "serviceId")
_ORDER = ("serviceId", "venue")
_TIMED = ("times", "seconds")
_LEG = ("leg", "times")

ANSWER_FAULTS = (
    Fault(
        "lost_response",
        "The request is carried out to the end; the connection breaks instead of an answer.",
        _REQUEST,
    ),
    Fault("delay", "The request is carried out seconds later.", _REQUEST, _TIMED),
    Fault("http_500", "The request is answered 500 and not carried out.", _REQUEST),
    Fault("http_503", "The request is answered 503 and not carried out.", _REQUEST),
    Fault(
        "rate_limited",
        "The request is answered 429 with retry-after, and not carried out.",
        _REQUEST,
        _TIMED,
    ),
    Fault(
        "garbage",
        "The request is carried out; a page for people comes instead of the answer.",
        _REQUEST,
    ),
    Fault(
        "truncate",
        "The request is carried out; the connection breaks in the middle of the answer.",
        _REQUEST,
    ),
)
STREAM_FAULTS = (
    Fault(
        "ws_drop",
        "The stream breaks without a close frame, and for seconds no new one begins.",
        _STREAM,
        _TIMED,
        seconds=0.0,
        unselected=True,
    ),
    Fault("ws_duplicate", "An update comes twice.", _STREAM, unselected=True),
    Fault(
        "ws_reorder",
        "An update comes after the next frame, or after seconds.",
        _STREAM,
        _TIMED,
        unselected=True,
    ),
)
ORDER_FAULTS = (
    Fault("fail_after_deposit", "The exchange fails and keeps the deposit.", _ORDER, _LEG),
    Fault(
        "reroute",
        "The exchange declines the deposit, and another exchange carries the order out.",
        _ORDER,
        _LEG,
    ),
    Fault("refund", "The exchange sends the deposit back.", _ORDER, _LEG),
    Fault("hold", "The exchange holds the deposit until a release.", _ORDER, _LEG),
    Fault("release", "Ends the holds of an order or of an exchange.", _ORDER, ("leg",)),
    Fault("fallback", "Another hot wallet of the exchange pays out.", _ORDER, _LEG),
    Fault("expire", "The leg expires now. Only before its deposit has arrived.", _ORDER, _LEG),
)
"""Faults of an exchange. Of several on one leg of an order, the first decides."""
DELETE = Fault(
    "delete", "The order is deleted, unless it is being carried out.", ("serviceId",), ()
)
VENUE_FAULTS = (
    Fault(
        "venue_down",
        "The exchange cannot be reached; nothing happens there.",
        ("venue",),
        stays=True,
    ),
    Fault(
        "venue_slow",
        "Each call to the exchange takes seconds longer.",
        ("venue",),
        _TIMED,
        stays=True,
    ),
)
CHAIN_FAULTS = (
    Fault(
        "node_down",
        "Calls that need the chain fail. Nothing on it is lost.",
        ("chain",),
        stays=True,
    ),
    Fault(
        "forged_receipt",
        "A receipt tells the opposite of what happened.",
        ("chain",),
        chains=EVM_CHAINS,
    ),
    Fault(
        "drop_transaction",
        "A transaction is taken and forgotten.",
        ("chain",),
        chains=(*EVM_CHAINS, "solana"),
    ),
)
BUNDLE_FAULTS = (
    Fault(
        "bundle_fail",
        "The bundle is given up. What the smart account holds stays there.",
        ("multiId",),
    ),
    Fault(
        "bundle_withdraw",
        "The bundle is called off; the money is its owner's as before.",
        ("multiId",),
    ),
    Fault(
        "bundle_stuck",
        "The bundle stays submitted until faults are cleared.",
        ("multiId",),
        stays=True,
    ),
)

FAULTS = {
    fault.name: fault
    for fault in (
        *ANSWER_FAULTS,
        *STREAM_FAULTS,
        *ORDER_FAULTS,
        DELETE,
        *VENUE_FAULTS,
        *CHAIN_FAULTS,
        *BUNDLE_FAULTS,
    )
}

NODE_FAULTS = frozenset(fault.name for fault in (*ORDER_FAULTS, *CHAIN_FAULTS))
"""Names of the faults that the sandbox's node produces. All other faults are produced by its
service."""

_LIES = (
    "what a wallet refuses to sign is in the Trader's guide, and docs/architecture.md says who"
    " checks what a service says"
)
REMOVED = {
    "reorg": "chains of the sandbox keep their blocks; drop_transaction loses a transaction",
    "tamper_spender": _LIES,
    "tamper_amount": _LIES,
    "tamper_chain_id": _LIES,
    "tamper_recipient": _LIES,
    "tamper_calldata": _LIES,
    "tamper_extra_field": _LIES,
    "tamper_user_operation": _LIES,
    "chain_repeat_step": _LIES,
    "chain_endless": _LIES,
    "stale_calldata": _LIES,
}
"""Faults that this version no longer has, each with a text that names its replacement."""


def fault_of(name: str, given: Collection[str]) -> Fault:
    """Returns the fault with this name. Raises FaultRefused for an unknown fault, a member that it
    does not take, or a wrong number of targets."""
    fault = FAULTS.get(name)
    if fault is None and name in REMOVED:
        raise FaultRefused("fault", f"{name} is gone in this version: {REMOVED[name]}.")
    if fault is None:
        near = nearest(name, FAULTS)
        hint = f" Did you mean {near}?" if near else ""
        raise FaultRefused("fault", f"There is no fault {name[:_LONGEST_SHOWN]!r}.{hint}")
    for member in given:
        if member not in (*fault.selectors, *fault.takes):
            raise FaultRefused(member, f"{name} takes no {SELECTORS.get(member, member)}.")
    selected = [member for member in given if member in fault.selectors]
    if len(selected) > 1:
        raise FaultRefused(selected[1], "A fault has one selector.")
    if not selected and not fault.unselected:
        raise FaultRefused(
            fault.selectors[0], f"{name} needs a target: {' or '.join(fault.targets)}."
        )
    return fault
