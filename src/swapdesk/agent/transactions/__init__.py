"""What was signed: written down before anybody else sees it, and followed to its end.

``file`` is the database (``transactions.db``), ``entries`` what stands in it, ``records`` how it
is read and written. A transaction stands there with its bytes, hash and nonce before a byte
leaves. ``admission`` says when another one may be signed for the same intent or nonce.
``network`` is what is asked of a chain. ``delivery`` and ``solana_delivery`` send the same bytes
and find out what became of them; what a node tells is held against what else it tells.
"""
