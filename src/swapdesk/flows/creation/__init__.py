"""Turns a confirmed intent into an order: one POST, and the search for its outcome if the answer
was lost.

``confirm_intent`` makes the intent. ``exchange`` journals the intent, posts it once and commits the
outcome. ``order_verification`` journals the order with its address hidden, has the service repeat
the order and compares both. It also finds the order of a create whose answer was lost: a
contradicting field rules an order out, an absent field does not, and only a complete search proves
that nothing was created.

At the next start ``resume`` searches for the orders of all unfinished creates at once. If the
search does not identify the order, the user chooses. An intent of unknown outcome blocks a second
payment of the same pair, amount and recipient. An order that was not confirmed at this desk is
listed and followed, and its address stays hidden.
"""
