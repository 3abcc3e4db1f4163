"""Signatures to the service once, and then what becomes of the bundle.

They leave in one request, which the journal knows of before. After an answer that nobody saw, or
one that says somebody was first, the service is looked at and nothing is sent: the group's own
status decides. What the service does not have after a minute may leave again, as it is: the
operations have the same hashes and nonces, so that at most one of each is ever executed
(contract 9.8, 9.16).
"""

from __future__ import annotations

from datetime import timedelta

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import (
    ApiError,
    ClientError,
    Conflict,
    NotFound,
    OutcomeUnknown,
    RateLimited,
)
from swapdesk.clock import Clock
from swapdesk.flows.batch.settle_words import BUILD_AGAIN, GOES_ON, SUBMIT_AGAIN, Stopped
from swapdesk.flows.journal.batch_records import BundleState, JournaledBundle
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import BundleStatus, MultiExchangeStatus, MultiSubmitRequest

ARRIVES_WITHIN = timedelta(seconds=60)
"""How long a request may be on its way."""

_ENDS: dict[str, BundleState] = {
    BundleStatus.CONFIRMED: BundleState.CONFIRMED,
    BundleStatus.FAILED: BundleState.FAILED,
    BundleStatus.WITHDRAWN: BundleState.WITHDRAWN,
}


class Submission:
    """Of one group. A request that left longer ago than ``arrives`` does not arrive any more."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        multi_id: str,
        pace: Pace,
        arrives: timedelta = ARRIVES_WITHIN,
    ) -> None:
        self._api = api
        self._log = journal.bundles
        self._clock = clock
        self._multi_id = multi_id
        self._pace = pace
        self._arrives = arrives

    async def submit(self, bundle: JournaledBundle) -> None:
        """Send the signatures. Raises Stopped, ClientError where nothing left, and
        JournalUnavailable; the journal then says how it stands."""
        if not self._log.sent(bundle, self._api.server_now()):
            raise Stopped("SENT_BEFORE", "These signatures left before.", GOES_ON)
        request = MultiSubmitRequest(signatures=list(bundle.signatures))
        try:
            await self._api.submit_multi_transactions(self._multi_id, request)
        except OutcomeUnknown as error:
            self._log.unknown(bundle, error.code or "NO_ANSWER")
        except RateLimited:
            self._log.again(bundle)
            raise
        except ApiError as error:
            code = error.code or f"HTTP_{error.status}"
            if isinstance(error, NotFound | Conflict) or code == ErrorCode.ALREADY_SUBMITTED:
                # Somebody was first, which may have been this request; or there is no bundle, or
                # none any more.
                self._log.unknown(bundle, code)
                return
            problems = "; ".join(f"{name}: {one.message}" for name, one in error.fields.items())
            reason = problems or error.message
            self._log.ended(bundle, BundleState.REFUSED, code=code, reason=reason)
        except ClientError:
            # Definite by the client's own word: nothing left.
            self._log.again(bundle)
            raise
        else:
            self._log.submitted(bundle)

    async def look(self, bundle: JournaledBundle) -> None:
        """What the service has of a bundle whose answer was lost, once or until it is decided.
        Raises Stopped and ClientError."""
        left = bundle.server_at or self._api.server_now()
        while True:
            status = await self._api.get_multi_exchange(self._multi_id)
            told = status.bundle_status
            if told in (*_ENDS, BundleStatus.SUBMITTED):
                self._log.submitted(bundle)
                self._decided(bundle, status)
                return
            if self._api.server_now() - left >= self._arrives:
                break
            await self._clock.sleep(self._pace.look)
        if told is not None and told not in tuple(BundleStatus):
            # It may be executed by now: neither refused nor sent again.
            raise Stopped("UNKNOWN_STATUS", _not_known(told), GOES_ON)
        if told != BundleStatus.PENDING:
            reason = "it has no bundle that awaits these signatures"
            self._log.ended(bundle, BundleState.REFUSED, code="NO_BUNDLE", reason=reason)
            said = "The service has no bundle that awaits these signatures."
            raise Stopped("NO_BUNDLE", said, BUILD_AGAIN)
        self._log.again(bundle)
        said = "The signatures did not arrive at the service; nothing was submitted."
        raise Stopped("NOT_SUBMITTED", said, SUBMIT_AGAIN)

    async def follow(self, bundle: JournaledBundle) -> None:
        """Wait for the outcome. Raises Stopped when there is none in time, and ClientError."""
        ends = self._clock.monotonic() + self._pace.patience
        while True:
            status = await self._api.get_multi_exchange(self._multi_id)
            if self._decided(bundle, status):
                return
            if self._clock.monotonic() >= ends:
                said = "The bundle is submitted and not carried out yet."
                told = status.bundle_status
                if told is not None and told not in tuple(BundleStatus):
                    said = _not_known(told)
                raise Stopped("ON_ITS_WAY", said, "the service: it carries the bundle out")
            await self._clock.sleep(self._pace.look)

    def _decided(self, bundle: JournaledBundle, status: MultiExchangeStatus) -> bool:
        """Whether the bundle is over, which is committed before it is told."""
        state = _ENDS.get(status.bundle_status or "")
        if state is None:
            return False
        self._log.ended(
            bundle, state, tx_hash=status.tx_hash, code=None, reason=status.failure_reason
        )
        return True


def _not_known(told: str) -> str:
    return f"The service says {told} of the bundle, a status that this desk does not know."
