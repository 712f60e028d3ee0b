"""polars, if it is there: tables of results are its data frames."""

from engram.errors import MissingExtraError

try:
    import polars as pl
except ModuleNotFoundError as error:
    raise MissingExtraError('tables of results need polars: pip install "engram-rl[report]"') from error

__all__ = ["pl"]
