"""The numbers that Agostinelli et al. 2019 print (Tables 1–3), and those of a rerun of the code they published.

Mean and standard deviation over seeds; the paper has 5 (Atari: 3), the rerun 3. The paper prints no tables for the
rooms.
"""

from typing import NamedTuple

from engram.lab.evidence import Cell

FIVE = ("LRU", "REW", "SUR", "kM", "DkM")


class Score(NamedTuple):
    """As printed; the paper gives no deviation where every seed scored the same."""

    mean: float
    std: float
    seeds: int
    steps: int  # of training in each run


CARTPOLE_STEPS = {"mfec": 15_000, "nec": 20_000, "d3qn": 20_000}  # of the captions, which do not name D3QN
ACROBOT_STEPS = 20_000
ATARI_STEPS, LARGE_NEC_STEPS = 5_000_000, 3_500_000  # the latter: NEC at 10⁵
CARTPOLE_ROWS = {  # Table 1: per size, MFEC's five strategies, then NEC's
    50: "96±21 180±47 51±24 133±66 123±13 161±15 107±29 195±88 136±72 326±31",
    100: "110±9 134±25 57±15 108±37 153±25 235±53 132±42 215±97 216±159 339±32",
    150: "117±13 125±30 83±15 74±21 142±26 246±22 167±51 215±36 151±56 290±24",
    500: "142±19 61±7 102±12 244±131 174±34 247±43 117±33 218±48 211±79 271±37",
    1000: "197±37 49±13 151±36 196±26 181±18 220±46 131±39 145±44 237±65 257±46",
    3000: "276±31 45±8 183±18 359±81 209±13 254±42 110±44 220±15 300±61 255±50",
    5000: "259±43 54±13 210±23 352±86 213±34 282±38 114±14 219±32 343±97 302±53",
    10_000: "325±55 65±11 266±28 344±30 228±15 309±23 124±42 250±27 330±27 265±25",
}
ACROBOT_ROWS = {  # Table 2
    50: "-500 -500 -304±28 -500 -298±108 -500 -500 -500 -500 -453±79",
    150: "-499±2 -500 -431±136 -500 -165±45 -492±17 -500 -500 -500 -300±91",
    500: "-486±19 -500 -493±9 -425±149 -164±41 -397±121 -495±7 -489±19 -354±179 -220±108",
    1000: "-387±87 -500 -479±42 -430±141 -345±190 -317±132 -498±2 -482±17 -256±164 -179±92",
    5000: "-368±167 -500 -499±1 -478±44 -397±155 -116.4±14 -500 -489±16 -225±138 -115.8±34",
    10_000: "-284±173 -500 -497±5 -497±4 -395±132 -123±20 -500 -483±22 -260±134 -120±30",
}
ATARI_ROWS = {  # Table 3: MFEC and NEC at 10⁴, MFEC and NEC at 10⁵, each LRU and DkM; D3QN
    "engram/Bowling-v0": "51.1±2.8 53.8±2.8 23.9±6 48±5 62.8±1.8 61±2.9 21.6±6.4 43.8±13.5 30.5±13.6",
    "engram/MsPacman-v0": "2660±252 4143±1153 3556±783 4264±1558 5245±456 2862±1388 5225±856 4092±856 2090±275",
    "engram/Pong-v0": "-5.3±1.9 0.63±5.3 -2.9±6.3 -0.35±4.3 18.6±1.4 15.3±2.8 11.1±3 15.9±1.6 6.1±9.6",
    "engram/SpaceInvaders-v0": "472±28 408±60 694±105 549±42 806±88 430±61 854±67 526±88 767±72",
    "engram/Qbert-v0": "1724±846 1728±942 2168±685 1556±342 4930±787 1140±241 5093±1480 3389±745 4463±460",
}
RERUN_ROWS = {  # the authors' code with the paper's settings, 3 seeds
    ("CartPole-v1", "mfec", 50): "87±20 60±8 50±6 260±61 84±14",
    ("CartPole-v1", "mfec", 500): "169±31 33±9 112±10 316±55 191±18",
    ("CartPole-v1", "nec", 50): "83±18 64±8 91±22 191±119 123±35",
    ("CartPole-v1", "nec", 500): "129±33 43±3 118±14 377±145 213±62",
}
RERUN_ACROBOT = {"mfec": "-489±16 -475±15 -487±11", "nec": "-485±17 -484±8 -481±26"}  # at 150: LRU, SUR, DkM


def _score(text: str, seeds: int, steps: int) -> Score:
    mean, _, std = text.partition("±")
    return Score(float(mean), float(std or 0), seeds, steps)


def _classic_steps(env: str, agent: str) -> int:
    return CARTPOLE_STEPS[agent] if env == "CartPole-v1" else ACROBOT_STEPS


def _paper() -> dict[Cell, Score]:
    found: dict[Cell, Score] = {}
    for env, rows in (("CartPole-v1", CARTPOLE_ROWS), ("Acrobot-v1", ACROBOT_ROWS)):
        for size, row in rows.items():
            places = [(agent, name) for agent in ("mfec", "nec") for name in FIVE]
            for (agent, name), text in zip(places, row.split(), strict=True):
                found[Cell(env, agent, name, size)] = _score(text, 5, _classic_steps(env, agent))
    for env, text in (("CartPole-v1", "249±143"), ("Acrobot-v1", "-336±149")):
        found[Cell(env, "d3qn", None, None)] = _score(text, 5, _classic_steps(env, "d3qn"))
    for game, row in ATARI_ROWS.items():
        *episodic, parametric = row.split()
        order = [
            (agent, name, size) for size in (10_000, 100_000) for agent in ("mfec", "nec") for name in ("LRU", "DkM")
        ]
        for (agent, name, size), text in zip(order, episodic, strict=True):
            steps = LARGE_NEC_STEPS if (agent, size) == ("nec", 100_000) else ATARI_STEPS
            found[Cell(game, agent, name, size)] = _score(text, 3, steps)
        found[Cell(game, "d3qn", None, None)] = _score(parametric, 3, ATARI_STEPS)
    return found


def _rerun() -> dict[Cell, Score]:
    found: dict[Cell, Score] = {}
    for (env, agent, size), row in RERUN_ROWS.items():
        for name, text in zip(FIVE, row.split(), strict=True):
            found[Cell(env, agent, name, size)] = _score(text, 3, _classic_steps(env, agent))
    for agent, row in RERUN_ACROBOT.items():
        for name, text in zip(("LRU", "SUR", "DkM"), row.split(), strict=True):
            found[Cell("Acrobot-v1", agent, name, 150)] = _score(text, 3, ACROBOT_STEPS)
    return found


PAPER = _paper()
RERUN = _rerun()
