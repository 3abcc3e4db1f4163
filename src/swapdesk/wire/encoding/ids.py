"""Ids of orders, rows and quotes: their form, new random ids, and ids in a URL."""

from __future__ import annotations

import random
import re
from typing import Annotated
from urllib.parse import quote

from swapdesk.wire.encoding.text import Identity, UnsafeText

ORDER_ID_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"
OBJECT_ID_PATTERN = r"^[a-fA-F0-9]{24}$"

OrderId = Annotated[str, Identity(64, pattern=ORDER_ID_PATTERN)]
"""The id of an order, or of a group of orders (contract 1.16)."""

AskedId = Annotated[str, Identity(64)]
"""The id of an order or of a group of orders in a path. A malformed id is answered as unknown, not
as an error (contract 1.16)."""

ObjectId = Annotated[str, Identity(24, pattern=OBJECT_ID_PATTERN)]
"""The id of a token row or chain row: 24 hexadecimal digits."""

QuoteId = Annotated[str, Identity(128, pattern=r"^[!-~]{1,128}$")]
"""A quote id: printable ASCII without blanks, which has no meaning to the client."""

# The short-uuid alphabet: no 0, 1, I, O, l. 57 ** 22 is a little over 2 ** 128.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ORDER_ID_LENGTH = 22
_SEGMENT = re.compile(ORDER_ID_PATTERN, re.ASCII)


def new_order_id(rng: random.Random) -> str:
    """Returns a new order id of 128 random bits: 22 characters of the short-uuid alphabet (contract
    1.16)."""
    # 64 bits more than needed keep the remainder unbiased.
    number = rng.getrandbits(192) % len(_ALPHABET) ** _ORDER_ID_LENGTH
    letters = []
    for _ in range(_ORDER_ID_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[digit])
    return "".join(letters)


def new_object_id(rng: random.Random) -> str:
    """Returns a new id: 24 random hexadecimal digits, which do not tell when it was made (contract
    1.17)."""
    return f"{rng.getrandbits(96):024x}"


def safe_segment(text: str) -> str:
    """Returns the id ``text`` as one segment of a URL path. Raises UnsafeText if ``text`` is not an
    id."""
    if _SEGMENT.fullmatch(text) is None:
        raise UnsafeText("an id has 1 to 64 letters, digits, _ or -")
    return quote(text, safe="")
