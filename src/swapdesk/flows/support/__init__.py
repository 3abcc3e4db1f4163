"""Finds the order that a pasted text is about, and writes its diagnosis and a reply.
``pasted_secret`` refuses keys and seed phrases, ``pasted_text`` reads any other text,
``order_search`` searches, and ``support_case`` writes. All modules but ``order_search`` are
pure."""
