"""Quotes: a request becomes a question (``asking``), which is priced over all routes (``pricing``)
and answered in rows (``rows``).

``engine`` connects these steps and stores the quotes before they are sent. A standard route has one
leg, a private one two legs on different venues; the leg whose amount is known is priced first.
``gather`` limits the wait for the venues. Markup is taken once, from the leg that pays the
receiver.

``bounds`` finds the amounts sent that private routes take, and the amounts received that can be
asked for. ``GET /minMax`` states both kinds of bounds, and quotes obey them. ``PayoutRotation``
chooses the payout wallet of a private route from wallets that did not pay the partner's recent
orders. An error that refuses an amount names an amount that was tried on whole routes.
"""
