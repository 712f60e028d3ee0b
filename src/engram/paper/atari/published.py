"""The scores on five Atari games that the paper prints (Table 3)."""

from engram.lab.cell import Cell
from engram.lab.reference import Score
from engram.paper.printed import ATARI_SEEDS, paper, score

STEPS, LARGE_NEC_STEPS = 5_000_000, 3_500_000  # the latter: NEC at 10⁵
ROWS = {  # MFEC and NEC at 10⁴, MFEC and NEC at 10⁵, each LRU and DkM; D3QN
    "engram/Bowling-v0": "51.1±2.8 53.8±2.8 23.9±6 48±5 62.8±1.8 61±2.9 21.6±6.4 43.8±13.5 30.5±13.6",
    "engram/MsPacman-v0": "2660±252 4143±1153 3556±783 4264±1558 5245±456 2862±1388 5225±856 4092±856 2090±275",
    "engram/Pong-v0": "-5.3±1.9 0.63±5.3 -2.9±6.3 -0.35±4.3 18.6±1.4 15.3±2.8 11.1±3 15.9±1.6 6.1±9.6",
    "engram/SpaceInvaders-v0": "472±28 408±60 694±105 549±42 806±88 430±61 854±67 526±88 767±72",
    "engram/Qbert-v0": "1724±846 1728±942 2168±685 1556±342 4930±787 1140±241 5093±1480 3389±745 4463±460",
}


def _scores(game: str, row: str) -> dict[Cell, Score]:
    """A row of the table."""
    cells = [
        Cell(game, agent, strategy, size)
        for size in (10_000, 100_000)
        for agent in ("mfec", "nec")
        for strategy in ("lru", "dkm")
    ]
    cells.append(Cell(game, "d3qn", None, None))
    return {
        cell: score(text, ATARI_SEEDS, LARGE_NEC_STEPS if (cell.agent, cell.capacity) == ("nec", 100_000) else STEPS)
        for cell, text in zip(cells, row.split(), strict=True)
    }


PAPER = paper({cell: found for game, row in ROWS.items() for cell, found in _scores(game, row).items()})
REFERENCES = (PAPER,)
