"""The other side of the API: what answers it, from a request to the store and back.

``surface`` is between the server and a handler, ``handlers`` has one for each operation,
``assembly`` wires the rooms: ``quoting``, ``orders``, ``multi``, ``dex``, ``venues``, ``events``
and ``store``.
"""
