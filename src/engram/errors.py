"""The errors that Engram raises on purpose."""


class EngramError(Exception):
    """Any error that Engram raises on purpose."""


class InvalidInputError(EngramError, ValueError):
    """An argument, observation or reward that cannot be used."""


class FaultyEnvironmentError(InvalidInputError):
    """An environment that raised an error, or that answered in a form or with numbers that cannot be used."""


class ModelFileError(EngramError):
    """A file that is missing, damaged, too new, or not a model of ours."""


class NewerFormatError(ModelFileError):
    """A file in a format that only a newer Engram reads."""


class TooLargeError(ModelFileError, MemoryError):
    """A file whose content does not fit into the memory that there is now."""


class DivergedError(EngramError):
    """A network that learns what is no number any more; nothing was learned from it, and the agent is as it was."""


class NotReproducibleError(EngramError):
    """An environment that did not come back to the same observation when its game was replayed."""


class RunFolderError(EngramError):
    """A folder that cannot take the run's files."""


class FolderInUseError(RunFolderError):
    """A folder in which another process is at work."""


class UnusableRunError(RunFolderError):
    """A run whose files cannot be gone on with; starting it over is for the user to decide."""


class MissingExtraError(EngramError, ImportError):
    """An optional dependency that is needed for this and not installed."""


class StorageError(EngramError):
    """A file that could not be read or written; what was saved before is still there."""


class Stopped(BaseException):
    """Raised by a signal wherever the program is, so that it is not taken for an error of what it goes through."""

    def __init__(self, words: str, number: int) -> None:
        super().__init__(words)
        self.words, self.signal = words, number


class Interrupted(EngramError):  # noqa: N818 (not an error of anyone's making)
    """What was asked to stop by a signal, and did; its text says what was saved and how to go on."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal
