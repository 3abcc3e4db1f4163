"""The server side of the API: from a request to the store and back.

``router`` stands between the server and the handlers, ``handlers`` has one for each operation, and
``app`` wires the rooms: ``quoting``, ``orders``, ``multi``, ``bundling``, ``dex``, ``venues``,
``events`` and ``store``.
"""
