"""Finds the order that a pasted text is about, and writes its diagnosis and a reply.

``pasted_secret`` refuses keys and seed phrases, and ``pasted_text`` reads any other text.
``order_search`` searches the journal, the request log, the service and the chains. ``support_case``
writes to the customer and to the service. All modules but ``order_search`` are pure.
"""
