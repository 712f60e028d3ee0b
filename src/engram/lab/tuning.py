"""Tuning: an optimiser proposes settings, runs of a few seeds score them, and it proposes better ones.

Trials are proposed a fixed number at a time, from a seed, so what is tried depends neither on the number of workers nor
on interruptions: when the same search is started again, it proposes the same, and runs that are finished are not run
again. Importing this module needs the `tune` extra.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from engram.errors import MissingExtraError
from engram.lab.outcome import Executor, News, StudyError, take_finished
from engram.lab.runner import run_all
from engram.lab.search_file import Trial, check_is_of, write_search
from engram.lab.search_space import SearchSpace, Span
from engram.runs.run import Run

try:
    import optuna
except ModuleNotFoundError as missing:
    raise MissingExtraError('tuning needs Optuna: pip install "engram-rl[tune]"') from missing

TOGETHER = 4  # trials that are proposed before the first of them is scored


def tune(
    space: SearchSpace,
    out: Path,
    *,
    executor: Executor,
    tell: Callable[[Trial], object] = lambda trial: None,
    news: Callable[[News], object] | None = None,
) -> list[Trial]:
    """Carry out the search, with runs in `out/<run id>` and what came of them in `out/tune.json`; return all trials."""
    check_is_of(space, out)
    study, trials = _new_study(space.seed), list[Trial]()
    while len(trials) < space.trials:
        asked = [study.ask() for _ in range(min(TOGETHER, space.trials - len(trials)))]
        chosen = [{name: _suggest(each, name, space.choices[name]) for name in space.choices} for each in asked]
        wanted = [space.runs(settings) for settings in chosen]
        _carry_out([run for runs in wanted for run in runs], out, executor, news)
        for each, settings, runs in zip(asked, chosen, wanted, strict=True):
            trial = _outcome(len(trials), settings, runs, out)
            failed = optuna.trial.TrialState.FAIL if trial.score is None else None
            study.tell(each, trial.score, state=failed)
            trials.append(trial)
            tell(trial)
        write_search(space, trials, out)
    return trials


def _new_study(seed: int) -> Any:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    return optuna.create_study(direction="maximize", sampler=sampler)


def _suggest(trial: Any, name: str, choice: Any) -> Any:
    """A value of a setting that the optimiser proposes."""
    if not isinstance(choice, Span):
        return trial.suggest_categorical(name, choice.samples)
    if choice.whole:
        return trial.suggest_int(name, choice.low, choice.high, log=choice.log)
    return float(f"{trial.suggest_float(name, choice.low, choice.high, log=choice.log):.6g}")  # which can be typed


def _carry_out(runs: Sequence[Run], out: Path, executor: Executor, news: Callable[[News], object] | None) -> None:
    """Carry out the runs that are not finished; those that fail are told of in `failures/`, and the search goes on."""
    with suppress(StudyError):
        run_all(runs, out, executor=executor, callback=news)


def _outcome(number: int, settings: dict[str, Any], runs: Sequence[Run], out: Path) -> Trial:
    ended = [take_finished(run, out) for run in runs]
    results = [outcome.result for outcome in ended if outcome is not None and outcome.result is not None]
    return Trial(number, settings, [result["score"] for result in results], len(runs) - len(results))
