"""From whatever a customer pastes to an order, its diagnosis and a reply.

``pasted_secret`` refuses keys and seed phrases, ``pasted_text`` reads what is left,
``order_search`` searches the journal, the request log, the service and the chains, and
``support_case`` writes to the customer and to the service. All but the search are pure.
"""
