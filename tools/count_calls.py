"""How many functions of Engram one greedy step of MFEC on CartPole goes through: `python -m tools.count_calls`.

Counted with `sys.setprofile`; each function counts once, and compiled kernels do not count.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import engram

SOURCE = str(Path(engram.__file__).parent)


class Calls:
    """The functions of Engram that are called while this is entered."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        modules = [module for name, module in sys.modules.items() if name.startswith("engram.")]
        kernels = [each.py_func for module in modules for each in vars(module).values() if hasattr(each, "py_func")]
        self._kernels = {(kernel.__code__.co_filename, kernel.__name__) for kernel in kernels}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take in an event of the profiler."""
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(SOURCE)
            and (code.co_filename, code.co_name) not in self._kernels
        ):
            self.functions.add((code.co_filename.removeprefix(SOURCE).lstrip("/"), code.co_qualname))

    def __enter__(self) -> "Calls":
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def __str__(self) -> str:
        files = sorted({file for file, _ in self.functions})
        listed = "\n".join(
            f"  {file}: {', '.join(sorted(name for where, name in self.functions if where == file))}" for file in files
        )
        return f"{len(self.functions)} functions in {len(files)} files\n{listed}"


def main() -> None:
    """Count a greedy step, and a greedy step that ends its episode."""
    settings: dict[str, Any] = {"epsilon_initial": 0.0, "epsilon_final": 0.0, "capacity": 20, "strategy": "dkm"}
    agent = engram.MFEC("CartPole-v1", **settings).learn(500)
    events = agent.events(10_000)
    next(events)
    step, ending = Calls(), Calls()
    while agent.loop.length < 2:
        next(events)
    with step:
        next(events)
    while True:
        with Calls() as calls:
            event = next(events)
        if type(event).__name__ == "EpisodeEnd":
            ending.functions = calls.functions
            break
    print(f"a greedy step: {step}\na step that ends its episode, with what is written: {ending}")


if __name__ == "__main__":
    main()
