"""A picture of what memories hold, drawn beforehand and kept beside a study's results."""

from pathlib import Path

from engram.errors import RunFolderError
from engram.files.disk import is_file, read_file, read_json, write_atomically
from engram.lab.pages.page import Block, Commands, Drawing

FILES = ("held.json", "held.svg", "held.png")  # caption and command, and the picture


def held_blocks(folder: Path | None, out: Path) -> list[Block]:
    """The picture and the command that draws it again, if a folder has one; its files are copied to `out`."""
    if folder is None or not all(is_file(folder / name) for name in FILES):
        return []
    try:
        about = read_json(folder / FILES[0])
        caption, command, drawn = str(about["caption"]), str(about["command"]), read_file(folder / FILES[1]).decode()
    except (ValueError, KeyError, TypeError) as error:
        raise RunFolderError(
            f"cannot read {folder / FILES[0]}, the picture of what memories hold: {error!r:.200}; draw it again, or "
            f"move {', '.join(FILES)} elsewhere"
        ) from error
    if folder.resolve() != out.resolve():
        for name in FILES:
            write_atomically(out / name, read_file(folder / name))
    return [Drawing([drawn], caption, FILES[2]), Commands({"Drawn by": command})]
