"""What a transaction was signed for: its payload, and the promise it was held against.

Kept beside the transaction, so that the same call can be judged again for a higher fee against
what was confirmed then, and against nothing that somebody says later.
"""

from __future__ import annotations

import json

from swapdesk.wallet.encoding import MessageError, from_json, payload_from_json, payload_to_json
from swapdesk.wallet.encoding import to_json as as_json
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Promise


def asked_text(payload: TransactionPayload, promise: Promise) -> str:
    """As the records keep it."""
    return json.dumps({"payload": payload_to_json(payload), "promise": as_json(promise)})


def read_asked(text: str) -> tuple[TransactionPayload, Promise]:
    """Raises MessageError for what another release wrote in another way."""
    told = json.loads(text)
    payload = payload_from_json(told.get("payload"))
    if not isinstance(payload, TransactionPayload):
        raise MessageError("a payload of another kind")
    return payload, from_json(Promise, told.get("promise"))
