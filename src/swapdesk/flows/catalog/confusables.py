"""Detects symbols that imitate another symbol by look-alike letters or hidden characters, because
people identify a token by its symbol.

Two texts look alike if their :func:`skeleton` sets have a member in common. :func:`suspicion`
detects texts that mix scripts or contain hidden characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

PLAIN_SYMBOL = re.compile(r"[A-Za-z0-9.$+_-]{1,20}", re.ASCII)
"""Matches symbols of ordinary characters, which are shown without a warning sign."""

_SPELLED = re.compile(r"<U\+[0-9A-F]{4,6}>")
_SEPARATORS = re.compile(r"[\s\-_.$+·•'’`´|/\\]+")


Suspicion = Literal[
    "has hidden characters",
    "mixes letters of several scripts",
    "is written in look-alike letters",
    "has unusual characters",
]
"""Why a text may be mistaken for another text, in the words shown to the user."""


# For each Latin letter or digit the characters of other scripts that draw like it. Full-width,
# mathematical and circled forms are not listed: compatibility decomposition removes them.
_DRAWN_LIKE: dict[str, str] = {
    "A": "ΑАᎪᗅꓮ𐊠ꭺ",
    "B": "ΒВᏴᗷꓐꞴ𐊂Ᏼʙв",
    "C": "ϹСᏟꓚⲤ𐊢Ⅽⅽᑕ",
    "D": "ᎠᗞꓓᗪⅮꭰ",
    "E": "ΕЕᎬꓰⴹ𐊆ꭼ⋿",
    "F": "Ϝ𐊇ꓝᖴꞘ",
    "G": "ԌᏀᏳꓖɢ",
    "H": "ΗНᎻᕼꓧⲎнʜ",
    "I": "ΙІӀⅠⵏꓲⲒ",
    "J": "ЈᎫᒍꓙͿᴊ",
    "K": "ΚКᏦⲔꓗᛕκкᴋ",
    "L": "ᏞᒪꓡⅬⳐʟ",
    "M": "ΜМᎷᗰⲘꓟⅯϺмᴍ",
    "N": "ΝⲚꓠɴ",
    "O": "ΟОՕⲞꓳ〇ⵔ𐊒Ⴍօоοσօ",
    "P": "ΡРᏢⲢꓑᑭрρ",
    "Q": "ⵕԚ",
    "R": "ᎡᏒᖇꓣƦʀᴦгꭱ",
    "S": "ЅՏᏕꓢᏚѕꜱ",
    "T": "ΤТᎢⲦꓔтτᴛ⊤",
    "U": "ՍꓴᑌሀᴜυՍս",
    "V": "ѴᏙⅤꓦᐯνѵᴠ",
    "W": "ᎳᏔꓪԜшѡᴡԝ",
    "X": "ΧХⅩⲬꓫ᙭хχ",
    "Y": "ΥҮⲨꓬᎩуүγʏ",
    "Z": "ΖᏃꓜᴢ",
    "a": "аɑαⲁ",
    "b": "ƄЬᏏᖯ",
    "c": "сϲⲥᴄⅽ",
    "d": "ԁᏧᑯⅾ",
    "e": "еҽℯєе℮",
    "f": "ꞙẝϝ",
    "g": "ɡցᶃ",
    "h": "һհᏂ",
    "i": "іıɩιⅰꙇӏ",
    "j": "јϳ",
    "k": "ⲕ",
    "l": "ⅼǀⵏ",
    "m": "ⅿ",
    "n": "ոռηп",
    "o": "ᴏօ",
    "p": "ⲣ⍴р",
    "q": "ԛգզ",
    "r": "ꭇꭈг",
    "s": "ƽꮪ",
    "t": "ⲧ",
    "u": "ꞟսυ",
    "v": "ⅴꮩ",
    "w": "ɯաꮃ",
    "x": "ⅹ᙮×",
    "y": "ỿყу",
    "z": "ꮓ",
    "0": "𐓂০੦૦୦౦൦๐໐၀",
    "1": "١۱",
    "2": "ƧϨᒿꙄ",
    "3": "ЗӠƷȜꝪⳌ",
    "4": "Ꮞ",
    "5": "Ƽ",
    "6": "бᏮⳒ",
    "8": "Ȣ৪੪",
    "9": "৭੧୨",
    "$": "＄﹩",
}
_LATIN_OF = {ord(other): latin for latin, others in _DRAWN_LIKE.items() for other in others}
# In Latin itself: TR39 takes 0 for O, and 1 and | for l and I.
_ONE_FORM = str.maketrans({"0": "o", "1": "l", "|": "l", "I": "l"})
_SCRIPTS = (
    "LATIN",
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "CHEROKEE",
    "COPTIC",
    "LISU",
    "GEORGIAN",
    "HEBREW",
    "ARABIC",
    "CANADIAN",
    "CARIAN",
    "TIFINAGH",
)


def bare(text: str) -> str:
    """Returns the text without hidden characters, accents, blanks and punctuation."""
    visible = _SPELLED.sub("", text) if "<U+" in text else text
    if visible.isalnum() and visible.isascii():
        return visible
    if not visible.isascii():
        visible = unicodedata.normalize("NFKD", visible)
        visible = "".join(c for c in visible if unicodedata.category(c)[0] not in "MC")
    return _SEPARATORS.sub("", visible)


@lru_cache(maxsize=65_536)
def skeleton(text: str) -> frozenset[str]:
    """Returns the texts that ``text`` may be read as. Two texts look alike if their results have a
    text in common."""
    forms = {_latin(text), _latin(text.replace("|", "l"))}
    joined = {latin.translate(_ONE_FORM).replace("O", "o") for latin in forms}
    return frozenset((_latin(text).casefold(), *joined))


def _latin(text: str) -> str:
    return bare(text).translate(_LATIN_OF)


def draws_like(text: str, other: str) -> bool:
    """Returns True if the texts are equal or look alike, and contain a letter or digit."""
    if not bare(text) or not bare(other):
        return False
    return not skeleton(text).isdisjoint(skeleton(other))


def suspicion(text: str) -> Suspicion | None:
    """Returns why the text may imitate another; None for a plain symbol or an ordinary foreign
    name."""
    if _SPELLED.search(text) or any(unicodedata.category(c) in ("Cf", "Cc") for c in text):
        return "has hidden characters"
    if text.isascii():
        return None
    letters = [c for c in unicodedata.normalize("NFC", text) if c.isalpha()]
    scripts = {_script(c) for c in letters} - {""}
    if "LATIN" in scripts and scripts & (set(_SCRIPTS) - {"LATIN"}):
        return "mixes letters of several scripts"
    foreign = [c for c in letters if not c.isascii()]
    if any(unicodedata.normalize("NFKC", c).isascii() for c in foreign):
        return "has unusual characters"
    if letters and all(c.isascii() or _LATIN_OF.get(ord(c), "0").isalpha() for c in letters):
        return "is written in look-alike letters"
    return None


def is_plain(symbol: str) -> bool:
    return PLAIN_SYMBOL.fullmatch(symbol) is not None


def code_points(text: str) -> str:
    """Returns the characters of a suspicious symbol as code points: ``U+0405 U+0053``."""
    return " ".join(f"U+{ord(c):04X}" for c in text)


def _script(character: str) -> str:
    name = unicodedata.name(character, "")
    return next((script for script in _SCRIPTS if name.startswith(script)), "")
