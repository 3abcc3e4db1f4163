"""One raw call: journaled before it leaves when it writes, its answer printed as it came."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.cli.command_error import UNTOUCHED, Exit, bad_input, own_refusal
from swapdesk.cli.session import CommandSession
from swapdesk.client.api import find_operation
from swapdesk.client.errors import ApiError, ClientError, OutcomeUnknown
from swapdesk.client.transport import RawAnswer, refuse_answer
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.paths import without_mark
from swapdesk.wire.encoding.codec import CodecError, decode, decode_json, encode_json
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.operation import Operation
from swapdesk.wire.orders import Order


async def call_operation(
    session: CommandSession,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> int:
    """Send and print. Raises ClientError, and CommandError with exit 9 without a journal.

    An answer that is no JSON is nobody's answer to a call of this API, as from a portal of a hotel
    or a maintenance page: it is refused as by every other command, and after a writing call nobody
    knows what was done.
    """
    operation, _ = find_operation(method, path)
    if body is not None:
        body = _checked(body)
    if operation.writes:
        answer = await _written(session, operation, method, path, query, body)
    else:
        answer = await _asked(session, method, path, query, body)
    session.call.output.raw_json(_one_line(answer))
    return Exit.DONE


async def _asked(
    session: CommandSession,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> RawAnswer:
    answer = await session.link.api.call(method, path, query, body)
    try:
        _read(answer)
    except CodecError as error:
        kind = safe_text(answer.headers.get("content-type", "no type"), 100)
        raise refuse_answer(answer, "not_json", f"{error} ({kind})") from None
    return answer


async def _written(
    session: CommandSession,
    operation: Operation,
    method: str,
    path: str,
    query: Sequence[tuple[str, str]],
    body: bytes | None,
) -> RawAnswer:
    calls = session.desk.journal.calls
    try:
        call_id = calls.add(method, path, body or b"")
    except JournalUnavailable:
        raise own_refusal(
            "NO_JOURNAL", NO_JOURNAL.cause, money=UNTOUCHED, next=NO_JOURNAL.next
        ) from None
    try:
        answer = await _asked(session, method, path, query, body)
    except OutcomeUnknown as error:
        calls.mark_unknown(
            call_id,
            code=error.code or "NO_ANSWER",
            status=error.status,
            request_id=error.request_id,
        )
        raise
    except ApiError as error:
        code = error.code or f"HTTP_{error.status}"
        calls.mark_refused(call_id, code=code, status=error.status, request_id=error.request_id)
        raise
    except ClientError:
        calls.mark_refused(call_id, code="NOT_SENT")
        raise
    order = _order_of(answer, operation)
    if order is None:
        calls.mark_done(call_id, status=answer.status, request_id=answer.request_id)
    else:
        calls.mark_created(call_id, order, status=answer.status, request_id=answer.request_id)
        session.call.output.talk(f"Order {order.service_id} is in the journal.")
    return answer


def _order_of(answer: RawAnswer, operation: Operation) -> Order | None:
    if operation.result is not Order:
        return None
    try:
        return decode(Order, answer.body, side="client", max_bytes=operation.result_limit)
    except CodecError:
        # The answer is printed all the same; what it names, only a person can tell.
        return None


def _checked(body: bytes) -> bytes:
    """The body, compact; exit 2 when it is no JSON the service would read. Editors may have written
    a byte order mark before it."""
    try:
        return encode_json(decode_json(without_mark(body)))
    except CodecError as error:
        raise bad_input("BAD_BODY", f"The body cannot be read: {error}.", field="d") from None


def _read(answer: RawAnswer) -> object:
    return decode_json(answer.body, side="client", max_bytes=answer.operation.result_limit)


def _one_line(answer: RawAnswer) -> str:
    """The answer's JSON on one line, every digit as it came."""
    return encode_json(_read(answer)).decode()
