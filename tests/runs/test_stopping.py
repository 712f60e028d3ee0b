"""Requests to stop: raised where it is safe, once at a time, and cleaned up after whatever happens."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from engram.errors import Stopped
from engram.runs.stopping import SIGNALS, TICK, StopRequest, uninterrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
Handlers = dict[int, object]


def handlers() -> Handlers:
    return {number: signal.getsignal(number) for number in (*SIGNALS, TICK)}


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> object:
    before = handlers()
    yield None
    assert handlers() == before
    until = time.monotonic() + 2
    while any(thread.name == "engram-stopping" for thread in threading.enumerate()):
        assert time.monotonic() < until, "a thread lives on"
        time.sleep(0.01)


def send(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def wait(seconds: float) -> None:
    """Take so long, whatever else goes on."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.01)


def test_what_is_being_left_is_not_interrupted_at_once() -> None:
    left = []
    with pytest.raises(Stopped, match="words"), StopRequest(lambda late: "words"):  # noqa: PT012
        try:
            send()
            wait(5)
        finally:
            wait(0.7)
            left.append("whole")
    assert left == ["whole"]


def test_what_was_swallowed_is_raised_again() -> None:
    caught = []
    with pytest.raises(Stopped), StopRequest(lambda late: "words"):  # noqa: PT012
        try:
            send()
            wait(5)
        except Stopped as stopped:
            caught.append(stopped.signal)
        wait(5)
    assert caught == [signal.SIGTERM]


def test_nothing_is_raised_where_it_would_leave_a_mess() -> None:
    done = []

    @uninterrupted
    def clean_up() -> None:
        send()
        wait(0.6)
        done.append("all")

    with pytest.raises(Stopped), StopRequest(lambda late: "words"):  # noqa: PT012
        clean_up()
        wait(5)
    assert done == ["all"]


def test_nothing_is_asked_while_a_kernel_is_compiled_until_patience_is_over() -> None:
    asked = []

    def end(late: bool) -> str:
        asked.append(late)
        return "words"

    compiler = {"__name__": "numba.core.compiler", "send": send, "wait": wait, "asked": asked}
    with pytest.raises(Stopped), StopRequest(end):  # noqa: PT012
        exec("send(); wait(0.6); asked.append('compiled')", compiler)
        wait(5)
    assert asked == ["compiled", False]


def test_a_signal_while_a_checkpoint_was_written_leaves_no_more_time_than_before() -> None:
    saving = []

    class Watched:
        """A deadline to which a signal comes as soon as the checkpoint is written."""

        def __setattr__(self, name: str, value: bool) -> None:
            if not value:
                send()
            saving.append(value)

        def say(self, words: str) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            pass

    with pytest.raises(Stopped), StopRequest(lambda late: "words") as stop:  # noqa: PT012
        stop._deadline = Watched()
        with stop.saving():
            pass
        wait(5)
    assert saving == [True, False]


def test_a_signal_while_a_request_is_left_is_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    real = StopRequest._let_go

    def slow(self: StopRequest) -> None:
        send()
        wait(0.1)
        real(self)

    with pytest.raises(Stopped, match="outer"), StopRequest(lambda late: "outer"):  # noqa: PT012
        with StopRequest(lambda late: "inner"):
            monkeypatch.setattr(StopRequest, "_let_go", slow)
        monkeypatch.undo()
        wait(5)


def test_a_signal_that_came_before_is_the_inner_ones_too() -> None:
    with pytest.raises(Stopped, match="inner"), StopRequest(lambda late: None):  # noqa: PT012
        send()
        with StopRequest(lambda late: "inner") as inner:
            assert inner.signal == signal.SIGTERM
            wait(5)


def test_a_second_signal_is_not_taken_for_one_of_the_thread() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), StopRequest(lambda late: None):  # noqa: PT012
            send(signal.SIGINT)
            wait(1.0)  # the thread asks again, and again
            send(signal.SIGINT)
            wait(5)
    finally:
        signal.signal(signal.SIGTERM, before)


ELSEWHERE = {
    "a child that lives on": """
        if os.fork() == 0:
            os.close(1)
            os.close(2)
            time.sleep(20)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    """,
    "closed files": """
        os.closerange(3, 100)
        raise Stopped("words", 15)
    """,
}
PROGRAM = """
import os, signal, time
from engram.errors import Stopped
from engram.runs.stopping import StopRequest
try:
    with StopRequest(lambda late: "words") as stop:
        stop.guard("given up")
        {}
except Stopped as stopped:
    print(stopped)
"""


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_request_ends_in_time(case: str) -> None:
    began = time.monotonic()
    program = PROGRAM.format(ELSEWHERE[case].strip())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "words\n", "")
    assert time.monotonic() - began < 15
