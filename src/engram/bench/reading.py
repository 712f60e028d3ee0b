"""Reading all tables for one query, beside the exact searches that people use: FAISS flat and Panorama, and USearch."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from engram.bench.contest import Row, Work, compare, count_for, mean_of_rows, race
from engram.bench.real_keys import greedy_play, random_play, tables_of
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.typing import Floats

GROUP = "reading"
DELTA = 1e-3
LEVELS = ((4, 128), (8, 128), (8, 1024), (16, 128))  # of Panorama, with the size of its batches: the best is the peer


class Setting(NamedTuple):
    """Of a contest among normally distributed keys."""

    actions: int
    entries: int
    dims: int
    neighbours: int
    asked: float | None


NORMAL = (
    Setting(2, 500, 4, 11, 4.5),
    Setting(3, 5_000, 6, 11, 5.0),
    Setting(6, 10_000, 128, 11, None),
    Setting(6, 100_000, 128, 50, None),
)
REAL = ((10_000, 11, 1.5), (100_000, 11, 1.8), (100_000, 50, 1.6))  # entries, neighbours, asked against Panorama
GAMES = ("pong", "ms_pacman")


def memory_of(tables: Floats, neighbours: int, rng: np.random.Generator) -> EpisodicMemory:
    """A memory with these keys, [actions, entries, dims]."""
    actions, entries, dims = tables.shape
    memory = EpisodicMemory(actions=actions, key_size=dims, capacity=entries, neighbours=neighbours, delta=DELTA)
    for action, keys in enumerate(tables):
        memory.write(action, keys, rng.standard_normal(entries), states=np.arange(entries))
    return memory


def each(queries: Floats, search: Callable[[Floats], object]) -> Work:
    """Work that searches for one query after the other."""
    rows = [query[None].copy() for query in queries]

    def work(count: int) -> None:
        for i in range(count):
            search(rows[i % len(rows)])

    return work


def flat(tables: Floats, neighbours: int) -> Callable[[Floats], list[Any]]:
    """One flat search of FAISS for each table."""
    import faiss  # noqa: PLC0415 (an extra)

    indexes = []
    for keys in tables:
        indexes.append(faiss.IndexFlatL2(tables.shape[2]))
        indexes[-1].add(keys)
    return lambda query: [index.search(query, neighbours) for index in indexes]


def panorama(tables: Floats, neighbours: int, queries: Floats) -> tuple[Callable[[Floats], list[Any]], Floats]:
    """One search of FAISS's Panorama index for each table, and the queries: all rotated to principal axes beforehand.

    The rotation of queries is not counted, and of several numbers of levels the fastest is taken.
    """
    import faiss  # noqa: PLC0415 (an extra)

    flattened = tables.reshape(-1, tables.shape[2])
    sample = flattened[:: max(1, len(flattened) // 20_000)].astype(np.float64)
    mean = sample.mean(axis=0)
    axes = np.linalg.eigh(np.cov(sample.T))[1][:, ::-1]
    rotated = [((keys - mean) @ axes).astype(np.float32) for keys in tables]
    turned = ((queries - mean) @ axes).astype(np.float32)
    best: tuple[float, Any] = (np.inf, None)
    for levels, batch in LEVELS:
        indexes = []
        for keys in rotated:
            indexes.append(faiss.IndexFlatL2Panorama(tables.shape[2], levels, batch))
            indexes[-1].add(keys)

        def search(query: Floats, indexes: list[Any] = indexes) -> list[Any]:
            return [index.search(query, neighbours) for index in indexes]

        work = each(turned, search)
        took = min(race({"it": work}, {"it": min(20, len(queries))}, 3)["it"])
        if took < best[0]:
            best = took, search
    return best[1], turned


def usearch(tables: Floats, neighbours: int) -> Callable[[Floats], list[Any]]:
    """One exact search of USearch for each table."""
    from usearch.compiled import MetricKind  # noqa: PLC0415 (an extra)
    from usearch.index import search  # noqa: PLC0415 (an extra)

    return lambda query: [search(keys, query[0], neighbours, MetricKind.L2sq, exact=True, threads=1) for keys in tables]


def check(memory: EpisodicMemory, tables: Floats, search: Callable[[Floats], list[Any]], queries: Floats) -> None:
    """Raise InvalidInputError unless FAISS finds neighbours at the same distances."""
    for query in queries[:8]:
        for action, (distances, _) in enumerate(search(query[None])):
            ours = memory.find_neighbours(action, query[None])[1][0]
            if not np.allclose(np.sqrt(ours), np.sqrt(np.maximum(distances[0], 0)), rtol=1e-3, atol=1e-2):
                raise InvalidInputError("FAISS and the memory found neighbours at other distances; please report this")


def contest(
    tables: Floats, queries: Floats, neighbours: int, name: str, *, rounds: int, seconds: float, asked: dict[str, float]
) -> list[Row]:
    """A memory with these tables beside each peer that is installed."""
    memory = memory_of(tables, neighbours, np.random.default_rng(0))
    theirs = flat(tables, neighbours)
    check(memory, tables, theirs, queries)
    works = {"Engram": each(queries, memory.read), "FAISS flat": each(queries, theirs)}
    if tables.shape[2] >= 96 and asked:
        search, turned = panorama(tables, neighbours, queries)
        works["FAISS Panorama"] = each(turned, search)
        with suppress(ModuleNotFoundError):
            works["USearch exact"] = each(queries, usearch(tables, neighbours))
    counts = {peer: count_for(work, seconds) for peer, work in works.items()}
    times = race(works, counts, rounds)
    return [
        compare(times, "Engram", peer, group=GROUP, name=name, peer=peer, asked=asked.get(peer))
        for peer in works
        if peer != "Engram"
    ]


def rows(*, quick: bool, seed: int, rounds: int) -> Iterator[Row]:
    """Every contest of reading; with `quick` the small ones."""
    import faiss  # noqa: PLC0415 (an extra)

    faiss.omp_set_num_threads(1)
    seconds = 0.05 if quick else 0.4
    rng = np.random.default_rng(seed)
    for actions, entries, dims, neighbours, asked in NORMAL[: 3 if quick else None]:
        tables = rng.standard_normal((actions, entries, dims), np.float32)
        queries = rng.standard_normal((64, dims), np.float32)
        name = f"{actions} × {entries:,} × {dims}, k = {neighbours}, normal keys"
        wanted = {} if asked is None else {"FAISS flat": asked}
        yield from contest(tables, queries, neighbours, name, rounds=rounds, seconds=seconds, asked=wanted)[:1]
    yield from real_rows(quick=quick, seed=seed, rounds=rounds, seconds=seconds)


def real_rows(*, quick: bool, seed: int, rounds: int, seconds: float) -> Iterator[Row]:
    """Contests on keys of real play: tables from some games, queries from others, of random and of greedy play."""
    frames = 8_000 if quick else 60_000
    keys = {game: random_play(game, frames, seed) for game in GAMES}
    queries = {(game, "random play"): random_play(game, 2_000, seed + 1000)[::20] for game in GAMES}
    queries |= {
        (game, "greedy play"): greedy_play(game, keys[game][:8_000], 2_000, seed + 2000)[::20] for game in GAMES
    }
    for entries, neighbours, asked in REAL[: 1 if quick else None]:
        found: dict[tuple[str, str], list[Row]] = {}
        for game in GAMES:
            tables = tables_of(keys[game], entries)
            for kind in ("random play", "greedy play"):
                name = f"6 × {entries:,} × 128, k = {neighbours}, {game}, {kind}"
                for row in contest(
                    tables,
                    queries[game, kind],
                    neighbours,
                    name,
                    rounds=rounds,
                    seconds=seconds,
                    asked={"FAISS Panorama": asked},
                ):
                    found.setdefault((row.peer, kind), []).append(row)
        for (peer, kind), some in found.items():
            name = f"6 × {entries:,} × 128, k = {neighbours}, {kind} of both games"
            yield mean_of_rows(some, name=name, asked=asked if peer == "FAISS Panorama" else None)
