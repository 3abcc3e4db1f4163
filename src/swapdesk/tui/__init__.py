"""The desk in the terminal, on Textual. ``app`` is the application, its screens are ``Page``s.

How to make a page. ``RawPayloadScreen`` in ``screens/raw_order`` is the smallest example,
``RawOrderScreen`` there reads the desk, and ``screens/order_history`` follows an order:

1. Write its verbs as ``Verb(...)`` in ``commands/NAME``: key, words, the help sentence, and
   ``money=True`` if the key moves money. Binding, footer, help and palette are made from them.
2. Subclass ``page.Page`` with ``NAME``, ``SPENDS`` (the budget in the frame) and ``VERBS``. Pass
   the ``Session`` on to it. Write a method ``do_<verb>`` for every verb. ``standings`` returns what
   each verb costs, why it is locked, or that it is hidden. A verb with ``current=True`` acts on the
   page's ``current``: the row under the cursor, or what the page is about. Its method gets
   ``current``, ``standings_of`` returns its state, and it is hidden if ``current`` is None.
3. Yield widgets in ``compose_body`` (a side panel in ``compose_side``). They take plain data by
   ``show(...)`` and keep the margin of two cells themselves. Text is made of ``spans.Span(text,
   role)``; the roles are those of ``themes/README.md``. Use no colour and no markup.
4. Say where the money is with ``set_money(where, next_)``. Call ``step_is(name)`` whenever a money
   key may do something else than before, ``refresh_keys()`` when the state of a verb changed,
   ``show_notice(text)`` to show a sentence, and ``controls.copy_value`` to copy.
5. Read ``self.desk`` only if ``session.opened``; ``self.link`` is None while nothing is connected.
   The application calls ``session_changed`` when the connection changes and when the page comes
   into view; by default this calls ``show``, which draws what is known. It calls
   ``orders_changed``, ``swaps_changed`` and ``balances_changed`` after such changes, and
   ``on_tick`` once a second. Only the page in view is called; another page gets
   ``balances_changed`` when it comes back.
6. To wait for an answer, call ``fetch(group, question, answered, failed)``. The question runs in a
   worker and must not touch a widget; its answer is passed to a method of the page. ``fetching``
   has the groups without an answer so far. ``work_failed(group)`` is called on the page in view if
   a defect stopped a worker. See the limits of ``screens/tokens`` for an example. Work that must
   outlive the page belongs in a controller (``controllers``), reached through ``self.controls``.
7. Open the page from another one with ``self.app.push_screen(NewScreen(self.session, ...))``, and
   import it inside the method. A key that opens it from every page is a ``Verb`` with a ``place``
   in the page's module in ``commands``; ``opens`` names the page. Nothing else needs to list it: a
   verb for which a page has no ``do_`` method reaches the application as ``Go``, and
   ``navigation`` opens the page.

The file of a page has its class and, below it, the pure functions that make its rows. What a widget
draws comes from a pure function (``frame_lines``, ``deposit_lines``, ...), so golden files are
tested without a terminal.

``base_screen.DeskScreen``, the base of ``Page``, has the places of a screen and its notices, and
does not use a desk. ``terminal.SafeApp`` filters what is written to the terminal. ``keys_in_turn``
gives out keys one after the other. ``session`` imports models, journal and client after the first
frame.
"""
