"""What this program knows about chains: addresses, contracts, calls, and clients of their nodes.
The desk uses ``addresses`` and ``typed_data``, which do no I/O, and ``node_http`` for look-ups."""
