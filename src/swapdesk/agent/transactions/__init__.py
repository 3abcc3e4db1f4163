"""Signed transactions: recorded before they leave the agent, and followed to their end.

``file`` is the database (``transactions.db``); ``records`` defines its content and how it is read
and written. A transaction is recorded with its bytes, hash and nonce before any byte is sent.
``records`` also decides when a second transaction may be signed for the same intent or nonce.
``delivery`` sends the recorded bytes and finds out the outcome; each answer of a node is compared
with its other answers.
"""
