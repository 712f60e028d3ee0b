"""How errors are told on the command line: in a sentence, with the traceback in a file."""

import os
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engram.errors import EngramError, FaultyEnvironmentError, InvalidInputError, MissingExtraError
from engram.files.file_names import TRACEBACK
from engram.files.lock import FolderLock
from engram.version import __version__

PACKAGE = Path(__file__).parents[1]
REPORTS = "https://github.com/engram-rl/engram/issues"
EXTRAS = {  # module → the extra that has it
    "torch": "torch",
    "ale_py": "atari",
    "ray": "ray",
    "optuna": "tune",
    "matplotlib": "report",
    "polars": "report",
    "scipy": "report",
    "sklearn": "report",
    "PIL": "video",
    "imageio_ffmpeg": "video",
    "faiss": "bench",
}


class CrashError(EngramError):
    """An error that Engram did not foresee; its traceback is in a file."""


@contextmanager
def told_errors(folder: Path | None = None) -> Iterator[None]:
    """Tell every error as an `EngramError` in a sentence. Tracebacks go to the folder if it is there by then."""
    try:
        yield
    except FaultyEnvironmentError as error:
        if error.__cause__ is None:
            raise
        raise _with_traceback(error, f"{error}", folder) from error
    except EngramError:
        raise
    except SystemExit as error:
        if is_of_engram(error):  # after help, or words that cannot be parsed
            raise
        place = own_frame(error)
        raise InvalidInputError(
            f"{place.filename}, line {place.lineno}, ends the program (SystemExit), so it cannot be used; put what is "
            'to happen only when it is run under: if __name__ == "__main__"'
        ) from error
    except Exception as error:
        raise _told(error, folder) from error


def _told(error: Exception, folder: Path | None) -> EngramError:
    """What to tell of an error that is not Engram's."""
    if isinstance(error, MemoryError):
        said = str(error).rstrip(".") or "the computer has no more"
        return EngramError(f"not enough memory: {said}; choose a smaller capacity, replay_size or observation")
    if isinstance(error, OSError | ImportError) and (broken := broken_extra(error)) is not None:
        package = f"engram-rl[{EXTRAS[broken]}]"
        return MissingExtraError(
            f"{broken} is installed, but cannot be imported ({error}); install it again: "
            f'pip install --force-reinstall {broken}, or pip install "{package}" into a new environment'
        )
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return EngramError(f"{where}{error.strerror or error}; what was saved before is untouched")
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        extra = EXTRAS.get(error.name.partition(".")[0])
        package = "engram-rl" if extra is None else f"engram-rl[{extra}]"
        if extra is not None or is_of_engram(error):
            return MissingExtraError(f'{error.name} is needed for this and not installed: pip install "{package}"')
    said = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0]
    if not is_of_engram(error):
        place = own_frame(error)
        return _with_traceback(error, f"{said}, in {place.filename}, line {place.lineno}", folder)
    return _with_traceback(error, f"Engram met an error that it did not foresee, {said}", folder, crash=True)


def _with_traceback(error: Exception, said: str, folder: Path | None, *, crash: bool = False) -> EngramError:
    """The error with the place to which its traceback was written and, for one of Engram's, where to report it."""
    path = write_traceback(error, folder)
    where = "its traceback could not be written" if path is None else f"its traceback is in {path}"
    if crash:
        return CrashError(f"{said}; {where}; please report it with that file: {REPORTS}")
    return EngramError(f"{said}; {where}")


def write_traceback(error: Exception, folder: Path | None) -> Path | None:
    """Write the traceback into the folder or, if that is not possible, to a temporary file; return its path."""
    text = f"Engram {__version__}, {time.strftime('%Y-%m-%d %H:%M:%S')}\n\n{''.join(traceback.format_exception(error))}"
    content = text.encode(errors="replace")
    if folder is not None and folder.is_dir():
        with suppress(OSError, EngramError), FolderLock(folder):  # it may be another process that works there
            path = folder / TRACEBACK
            path.unlink(missing_ok=True)  # it may be a link to another file
            path.write_bytes(content)
            return path
    try:
        number, name = tempfile.mkstemp(prefix="engram-", suffix=".txt")
        with os.fdopen(number, "wb") as file:
            file.write(content)
        return Path(name)
    except OSError:
        return None


def broken_extra(error: Exception) -> str | None:
    """The extra's module in whose import an error came up, other than that a module is not there."""
    if isinstance(error, ModuleNotFoundError):
        return None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module: str = frame.f_globals.get("__name__", "").partition(".")[0]
        if module in EXTRAS and frame.f_code.co_name == "<module>":
            return module
    return None


def own_frame(error: BaseException) -> traceback.FrameSummary:
    """The innermost frame that is in no installed library, which is Engram's or the user's."""
    libraries = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if _is_in_engram(frame) or not frame.filename.startswith((*libraries, "<")):
            return frame
    return frames[0]


def is_of_engram(error: BaseException) -> bool:
    """Whether an error came up in Engram rather than in a file of the user's own."""
    return _is_in_engram(own_frame(error))


def _is_in_engram(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(str(PACKAGE) + os.sep)
