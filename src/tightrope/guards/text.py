"""Texts of the user's and of files, made fit for a terminal: what they hold is shown, and does nothing."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """Every sign that cannot be seen, such as one that moves the cursor, spelt out; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(sign if _is_seen(sign) or sign == "\n" else _spelt(sign) for sign in text)


def one_line(text: str) -> str:
    """The same, and line ends spelt out: a name must not look like a line of tightrope's own."""
    return visible(text).replace("\n", "\\n")


def _is_seen(sign: str) -> bool:
    """Whether it is a sign like any other, or a space of whatever width."""
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


def _spelt(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
