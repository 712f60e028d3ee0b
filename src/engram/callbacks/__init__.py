"""Ready-made callbacks for `learn(n, callback)` and for runs, and the class to derive one's own from."""

from engram.callbacks.csv_log import CsvLog as CsvLog
from engram.callbacks.evaluations import Evaluate as Evaluate
from engram.callbacks.films import Video as Video
from engram.callbacks.saves import Checkpoint as Checkpoint
from engram.callbacks.saves import SaveBest as SaveBest
from engram.callbacks.stops import StopAfter as StopAfter
from engram.callbacks.stops import StopAtScore as StopAtScore
from engram.callbacks.tensorboard_log import TensorBoardLog as TensorBoardLog
from engram.callbacks.wandb_log import WandbLog as WandbLog
from engram.training.callback import Callback as Callback
