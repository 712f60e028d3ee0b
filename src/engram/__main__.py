"""`python -m engram` is the command line."""

import sys

from engram.cli import entry

sys.exit(entry())
