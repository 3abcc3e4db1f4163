"""The desk in the terminal, on Textual: ``app`` is the application, a ``Page`` each of its screens.

How a page is made (in ``screens/raw_order``, ``RawPayloadScreen`` is the smallest one and
``RawOrderScreen`` reads the desk; ``screens/order_history`` follows an order):

1. Its verbs are rows ``Verb(...)`` in ``commands/NAME``: key, words, the help sentence, and
   ``money=True`` where the key moves money. Binding, footer, help and palette come from them.
2. Subclass ``page.Page`` with ``NAME``, ``SPENDS`` (the budget in the frame) and ``VERBS``; hand
   the ``Session`` on to it. Write ``do_<verb>`` for every verb. ``standings`` says what each
   costs, why it is locked, or hides it. A verb with ``current=True`` acts on the page's
   ``current``, the row under the cursor or what the page is about: it is absent without one, its
   method is called with it, and ``standings_of`` says how it stands.
3. Yield widgets in ``compose_body`` (a side panel in ``compose_side``). They take plain data by
   ``show(...)`` and keep the margin of two cells themselves. Text is built of ``spans.Span(text,
   role)``; roles are those of ``themes/README.md``. No colour, no markup.
4. Say where the money is with ``set_money(where, next_)``. Call ``step_is(name)`` whenever what a
   money key would do may have changed, ``refresh_keys()`` when a standing changed,
   ``show_notice(text)`` for one sentence, ``controls.copy_value`` to copy.
5. Read ``self.desk`` once ``session.opened``; ``self.link`` is None while nothing is connected. The
   application calls ``session_changed`` when that changes and when the page opens or comes back:
   unless it is overridden it calls ``show``, which draws what is known. ``orders_changed`` and
   ``swaps_changed`` are called when those did, ``on_tick`` once a second, all on the page in view
   only; and ``balances_changed``.
6. Who waits for an answer calls ``fetch(group, question, answered, failed)``: the question runs in
   a worker and touches no widget, what it gives is handed to a method of the page, and ``fetching``
   names the groups that are waited for. ``work_failed(group)`` is called on the page in view when a
   worker stopped by a defect. The limits of ``screens/tokens`` are the model. Work that must
   outlive the page belongs to a controller, which the page reaches through ``self.controls``
   (``controllers``).
7. Another page opens it: ``self.app.push_screen(NewScreen(self.session, ...))``, with the
   import inside the method. A key of every page is a ``Verb`` with a ``place``, in the module of
   its page in ``commands``; ``opens`` names the page. Nothing else lists it: a verb that the page
   has no ``do_`` for reaches the application as ``Go``, and ``navigation`` opens the page.

A page is one file: its class, and below it the pure functions that make its rows. What
a widget draws comes from a pure function (``frame_lines``, ``deposit_lines``, ...), so a golden
needs no terminal. ``base_screen.DeskScreen`` under ``Page`` holds the places of a screen and its
notices; it knows no desk. ``terminal.SafeApp`` filters what reaches the terminal, ``keys_in_turn``
gives keys out one after the other, ``session`` imports models, journal and client after the first
frame.
"""
