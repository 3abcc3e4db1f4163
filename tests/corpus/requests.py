"""Requests that no application is asked to answer, with the status each is refused with."""

from __future__ import annotations

FIELDS_LIMIT = 16 * 1024
URL_LIMIT = 64 * 1024

_POST = b"POST /v2/exchanges HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_GET = b"GET /v2/chains HTTP/1.1\r\nHost: 127.0.0.1\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"

UNREADABLE: dict[str, tuple[bytes, int]] = {
    "no request line": (b"what is this\r\n\r\n", 400),
    "no method": (b"G@T /v2/chains HTTP/1.1\r\n\r\n", 400),
    "another protocol": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a handshake of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "no path": (b"CONNECT example.com:443 HTTP/1.1\r\n\r\n", 400),
    "a line without a colon": (_GET + b"nonsense\r\n\r\n", 400),
    "a space in a name": (_GET + b"x y: 1\r\n\r\n", 400),
    "a control character in a value": (_GET + b"x: a\x00b\r\n\r\n", 400),
    "a negative length": (_POST + b"Content-Length: -1\r\n\r\n", 400),
    "a length that is no number": (_POST + b"Content-Length: 1e3\r\n\r\n", 400),
    "a length beyond all numbers": (_POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n", 400),
    "two lengths": (_POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    "length and chunks": (
        _POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    "a chunk without a size": (_CHUNKED + b"zz\r\n", 400),
    "a URL above its limit": (b"GET /" + b"a" * URL_LIMIT + b" HTTP/1.1\r\n\r\n", 400),
    "a URL that does not end": (b"GET /" + b"a" * 3 * URL_LIMIT, 400),
    "fields above their limit": (
        _GET + b"".join(b"x-%d: %s\r\n" % (n, b"v" * 1000) for n in range(17)) + b"\r\n",
        431,
    ),
    "a field above the limit": (_GET + b"x: " + b"v" * FIELDS_LIMIT + b"\r\n\r\n", 431),
    "a field that does not end": (_GET + b"x: " + b"v" * 40 * FIELDS_LIMIT, 431),
    "fields after a body": (_CHUNKED + b"0\r\n" + b"x: y\r\n" * 4_000, 431),
}
