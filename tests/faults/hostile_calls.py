"""Many hostile calls in a row, with numba's bounds checks, which notice access beyond an array."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from engram.errors import EngramError
from tests.faults.hostile import Hostile
from tests.faults.tally import Tally


class Checked(Protocol):
    """What is called."""

    def check_valid(self) -> None: ...


S = TypeVar("S", bound=Checked)
Call = Callable[[S, Hostile], Any]


def outcomes_of(
    count: int, seed: int, new_subjects: Callable[[], list[S]], calls: Sequence[tuple[int, Call[S]]]
) -> Tally:
    """Make `count` calls. Anything but an answer or an EngramError, and a subject that is then invalid, is a loss."""
    make, subjects = Hostile(seed), new_subjects()
    weights, choices = [weight for weight, _ in calls], [call for _, call in calls]
    tally = Tally()
    for number in range(count):
        subject, call = make.random.choice(subjects), make.random.choices(choices, weights)[0]
        tally.count("calls")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = call(subject, make)
            tally.count("accepted")
            if found is not None and bool(np.isnan(np.asarray(found)).any()):
                raise AssertionError("NaN was answered")
        except EngramError:
            tally.count("refused")
        except Exception as error:
            tally.losses.append(f"{number}: {call.__name__} of {subject!r}: {error!r:.300}")
        try:
            subject.check_valid()
        except Exception as error:
            tally.losses.append(f"{number}: after {call.__name__} of {subject!r}: {error!r:.300}")
            subjects = new_subjects()
    return tally


def print_outcomes(tally: Tally) -> None:
    """Tell the process that `watched` a campaign what it found."""
    print(json.dumps({"counts": tally.counts, "losses": tally.losses}))


def watched(module: str, count: int, seed: int) -> Tally:
    """The calls of a module in a process of its own; if that crashes, it is a loss."""
    command = [sys.executable, "-X", "faulthandler", "-m", f"tests.faults.{module}", str(count), str(seed)]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return Tally(losses=[f"{module} ended with {done.returncode}: {done.stderr[-2000:]}"])
    return Tally(**json.loads(done.stdout))
