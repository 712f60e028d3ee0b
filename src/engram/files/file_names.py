"""Names that become names of files: they never lead out of their folder, on any system."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import count

from engram.errors import InvalidInputError

TRACEBACK = "traceback.txt"  # of an error that ended a run, in its folder
MOST_BYTES = 200  # of a name, so that endings still fit into the 255 that file systems allow
FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')  # what some system treats as more than a letter of a name
DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # what Windows treats as a device


def check_file_name(what: str, name: object) -> str:
    """The name, if it is that of a file in its folder on every system; raise InvalidInputError otherwise."""
    problem = None
    if not isinstance(name, str) or not name:
        problem = "must be text"
    elif FORBIDDEN.search(name):
        problem = f"must not contain {FORBIDDEN.search(name)[0]!r}"  # type: ignore[index]
    elif name.startswith(".") or name.endswith((".", " ")):
        problem = "must not begin with a dot, nor end with a dot or a space"
    elif DEVICES.fullmatch(name):
        problem = "is the name of a device on Windows"
    elif len(name.encode(errors="surrogatepass")) > MOST_BYTES:
        problem = f"must have at most {MOST_BYTES} bytes"
    elif unicodedata.normalize("NFC", name) != name or not name.isprintable():
        problem = "must be printable text in its normal form (NFC)"
    if problem is not None:
        raise InvalidInputError(f"{what} {problem}, as it becomes the name of a file or a folder, got {name!r:.120}")
    return str(name)


def as_file_name(text: str, most: int) -> str:
    """Any text as a part of a file's name: of at most so many bytes, with underscores for what cannot be in one."""
    plain = FORBIDDEN.sub("_", unicodedata.normalize("NFC", text))
    plain = "".join(letter if letter.isprintable() else "_" for letter in plain).lstrip(".")
    return plain.encode()[:most].decode(errors="ignore") or "_"


def as_link_names(texts: Iterable[str], most: int) -> dict[str, str]:
    """Of each text a part of a file's name that a link can lead to as it is; no two are alike, whatever their case."""
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        plain = as_file_name(re.sub(r"[^\w.+-]+", "-", text.lower()).strip("-"), most)
        numbered = (plain if number == 1 else f"{plain}-{number}" for number in count(1))
        found[text] = next(each for each in numbered if each not in found.values())
    return found
