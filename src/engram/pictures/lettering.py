"""Text in figures that has to fit into little room."""

import textwrap

BOUND = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"  # between a sign and its number, which stay together


def wrapped(text: str, letters: int, lines: int = 3) -> str:
    """The text in lines of at most so many letters; of one that is longer than all of them, the middle is left out."""
    found, kept = [text] if len(text) <= letters else _lines(text, letters), len(text) // 2
    while len(found) > lines:
        kept -= 1
        found = _lines(f"{text[:kept]}…{text[-kept:]}", letters)
    return "\n".join(found)


def _lines(text: str, letters: int) -> list[str]:
    return [line.replace(BOUND, " = ") for line in textwrap.wrap(text.replace(" = ", BOUND), letters)]
