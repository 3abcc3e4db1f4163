"""What was signed: written down before anybody else sees it, and followed to its end.

``file`` is the database (``transactions.db``), ``records`` what stands in it and how it is read
and written. A transaction stands there with its bytes, hash and nonce before a byte leaves.
``records`` also says when another one may be signed for the same intent or nonce. ``delivery``
sends the same bytes and finds out what became of them; what a node tells is held against what else
it tells.
"""
