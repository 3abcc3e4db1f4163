"""The server side of the API, from an HTTP request to the database. ``router`` checks a request and
passes it to its function in ``handlers``; ``app`` assembles all parts."""
