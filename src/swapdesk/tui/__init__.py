"""The desk in the terminal, on Textual.

How a screen is put together:

1. Subclass ``base_screen.DeskScreen``; construct it with a ``FrameState`` and a ``Clock``.
2. List the screen's verbs in ``VERBS`` (one ``commands.command.Command`` class each) and write
   ``do_<verb>`` for every one; ``verb_standing`` says what a verb costs or why it is locked.
   Verbs of everywhere without a ``do_`` reach the application as ``Go`` (``verb_screen``).
3. Yield widgets in ``compose_body`` (and a side panel in ``compose_side``). They take plain data
   objects, keep the margin of two cells themselves, and are changed by ``show(...)``.
4. Say where the money is with ``set_money(where, next_)``; ``set_frame`` for badge and budget.
5. Call ``step_changed(name)`` whenever the thing a money key acts on changes, ``refresh_keys()``
   when a standing changes, ``show_notice(text)`` for one sentence, ``app.copy_value`` to copy.
6. Text is built of ``spans.Span(text, role)``; roles are those of ``themes/README.md``. No colour,
   no markup. ``LineTable.Chosen`` and ``TextField.Submitted`` are ``enter`` in a widget.

Everything a widget draws comes from a pure function (``frame_lines``, ``deposit_lines``, ...), so
a golden needs no terminal. The application is a ``terminal.SafeApp``.
"""
