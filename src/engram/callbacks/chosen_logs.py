"""The logs that a command can be asked for by name, in a run's folder."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

from engram.callbacks.csv_log import CsvLog
from engram.callbacks.tensorboard_log import TensorBoardLog
from engram.callbacks.wandb_log import WandbLog
from engram.files.disk import is_file, whole_path
from engram.runs.run_files import LOGS
from engram.training.callback import Callback

LogName = Literal["csv", "tensorboard", "wandb"]
CSV, TENSORBOARD, WANDB = "progress.csv", "tensorboard", "wandb"  # names of files and folders in that of the logs


def make_logs(names: Iterable[LogName], folder: Path, run_id: str) -> list[Callback]:
    """The logs of these names for a run, each once, in a folder inside the run's."""
    logs = folder / LOGS
    where = sha256(str(whole_path(folder)).encode()).hexdigest()[:8]  # a run may be carried out in several places
    makers: dict[LogName, Callable[[], Callback]] = {
        "csv": lambda: CsvLog(logs / CSV),
        "tensorboard": lambda: TensorBoardLog(logs / TENSORBOARD),
        "wandb": lambda: WandbLog(name=run_id, run_id=f"{run_id}-{where}", folder=logs),
    }
    return [makers[name]() for name in dict.fromkeys(names)]


def logs_there(folder: Path) -> Iterator[LogName]:
    """The logs that a run's folder has from an earlier start."""
    logs = folder / LOGS
    if is_file(logs / CSV):
        yield "csv"
    if (logs / TENSORBOARD).is_dir():
        yield "tensorboard"
    if (logs / WANDB).is_dir():
        yield "wandb"
