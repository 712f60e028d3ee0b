"""The logs that a command can be asked for by name, in a run's folder."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal

from engram.callbacks.csv_log import CsvLog
from engram.callbacks.tensorboard_log import TensorBoardLog
from engram.callbacks.wandb_log import WandbLog
from engram.files.disk import whole_path
from engram.runs.run_files import LOGS
from engram.training.callback import Callback

LogName = Literal["csv", "tensorboard", "wandb"]


def make_logs(names: Iterable[LogName], folder: Path, run_id: str) -> list[Callback]:
    """The logs of these names for a run, each once, in a folder inside the run's."""
    logs = folder / LOGS
    where = sha256(str(whole_path(folder)).encode()).hexdigest()[:8]  # a run may be carried out in several places
    makers: dict[LogName, Callable[[], Callback]] = {
        "csv": lambda: CsvLog(logs / "progress.csv"),
        "tensorboard": lambda: TensorBoardLog(logs / "tensorboard"),
        "wandb": lambda: WandbLog(name=run_id, run_id=f"{run_id}-{where}", folder=logs),
    }
    return [makers[name]() for name in dict.fromkeys(names)]
