"""The server side of the API, from an HTTP request to the database and back.

``router`` checks each request and passes it to the function for its operation in ``handlers``.
``app`` assembles the parts: ``quoting``, ``orders``, ``multi``, ``bundling``, ``dex``, ``venues``,
``events`` and ``store``.
"""
