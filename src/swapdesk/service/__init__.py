"""The other side of the API: what answers it, from a request to the store and back.

``router`` is between the server and a handler, ``handlers`` has one for each operation, ``app``
wires the rooms: ``quoting``, ``orders``, ``multi``, ``bundling``, ``dex``, ``venues``, ``events``
and ``store``.
"""
