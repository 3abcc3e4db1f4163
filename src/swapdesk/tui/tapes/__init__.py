"""Tapes: text files that press keys in the desk, with pauses and waits for texts on the screen.

``grammar`` reads one, ``player`` plays it, ``recorder`` keeps what it showed: an asciicast and, of
each marked moment, a picture and its text. One tape is a demo, a picture of the documents and a
test. The shipped ``tour.tape`` waits for the keys of its reader.

A tape may come from anybody. It presses keys, and keys move money, so:

- It plays in the sandbox alone. No key of a tape reaches a live profile, and none chooses another
  profile. Without a terminal it plays in a new home that is thrown away.
- Keys take the way of a person's keys (``keys_in_turn``): a money key counts on a still screen
  only, and a typed confirmation has to be typed.
- While it plays, the desk reads and writes no file that is named on the screen, and the clipboard
  stays as it is (``Session.played``). In the home of a user a tape may do what a hand could do to
  the sandbox's orders, wallet and address book, and choose a theme.
- It names no other tape, runs nothing and reads nothing. ``ctrl+z`` is no key of a tape, and
  ``ctrl+c`` of the user stops it. Other keys of the user wait until it is over.
- The file is bounded in bytes, lines and texts, in waits and pauses. Its texts are data: typed
  into fields, looked for, or shown as one line without markup.

What is recorded holds what was on the screen and nothing of what was typed: a pass phrase is in
it as the dots of its field. A cast has text, colours and places of the cursor; whatever else the
desk tells its terminal (clipboard, titles, links, mouse) is left out.
"""
