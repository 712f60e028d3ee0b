"""How a study was made: commands, machine, versions, and the runs behind every cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from engram.agents import label_of
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.results import Results


def how_it_was_made(results: Results, evaluation: str, env_names: Mapping[str, str]) -> page.Section:
    """The section of a study's page on how it was made; `evaluation` says how the runs were evaluated."""
    facts = _facts(results.calls)
    steps = {f"{label_of(place['agent'])} {place['steps']:,} steps" for place in results.declared.values()}
    facts["Training"] = [", ".join(sorted(steps))]
    facts["Evaluation"] = [evaluation]
    rows: list[list[str | page.Entry]] = []
    columns = ["env", "agent", "strategy", "capacity", "variant"]
    for (env, agent, strategy, capacity, variant), runs in results.runs.group_by(columns, maintain_order=True):
        memory = [] if capacity is None else [strategy_label(str(strategy)), f"{capacity:,}"]
        place = [env_names[str(env)], label_of(str(agent)), *memory, *([str(variant)] if variant else [])]
        rows.append([", ".join(place), page.Entry("", runs.sort("seed")["run"].to_list())])
    listed = page.Table(["cell", "runs"], rows, prose=True)
    commands = list(dict.fromkeys(call["command"] for call in results.calls))
    return page.Section(
        "How it was made",
        [page.Facts(facts, commands), page.Folded(f"The runs behind every cell ({len(rows)} cells)", [listed])],
    )


def _facts(calls: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Wall-clock, machine and versions."""
    if not calls:
        return {}
    times = [
        f"{call['seconds'] / 60:.1f} min for {_runs(call['runs']['done'])} on {call['where']} "
        f"({call['started'][:10]}; {call['runs']['reused']} reused, {call['runs']['failed']} failed)"
        for call in calls
        if call["runs"]["done"]
    ]
    return {
        "Wall-clock": times or ["not known: all runs were taken from other studies"],
        "Machine": sorted({f"{call['platform']}, {call['cores']} cores" for call in calls}),
        "Versions": sorted(
            {
                ", ".join([f"Python {call['python']}", *(f"{name} {text}" for name, text in call["versions"].items())])
                for call in calls
            }
        ),
    }


def _runs(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"
