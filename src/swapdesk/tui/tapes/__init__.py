"""Tapes: text files that press keys in the desk, pause, and wait for texts on the screen.

``grammar`` reads a tape, ``player`` plays it, ``recorder`` records what it showed: an asciicast
and, for each marked moment, a picture and the text of the screen. The same tape serves as a demo,
as a source of pictures for the documentation and as a test. The shipped ``tour.tape`` waits for
the keys of its reader.

A tape may come from anybody. It presses keys, and keys move money, so:

- A tape plays only in the sandbox. No key of a tape reaches a live profile, and none chooses
  another profile. Without a terminal a tape plays in a new home that is deleted afterwards.
- Keys of a tape are handled like a person's keys (``keys_in_turn``): a money key works only on a
  still screen, and a confirmation has to be typed.
- While a tape plays, the desk reads and writes no file that is named on the screen and leaves the
  clipboard unchanged (``Session.played``). In the home of a user a tape may change the sandbox's
  orders, wallet and address book as the user could, and choose a theme.
- A tape cannot name another tape, run a program or read a file. It cannot press ``ctrl+z``. The
  user stops it with ``ctrl+c``; the user's other keys do not reach the desk until the tape ended,
  unless it is played for a reader.
- The number of bytes and lines, the length of texts, and the time of waits and pauses are limited.
  Texts are data: they are typed into fields, searched on the screen, or shown as one line without
  markup.

A recording has what was on the screen, not what was typed: a pass phrase is recorded as the dots
of its field. A cast has text, colours and cursor positions. Everything else that the desk sends to
its terminal (clipboard, titles, links, mouse) is left out.
"""
