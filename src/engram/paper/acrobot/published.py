"""The scores on Acrobot that the paper prints (Table 2), and those of a rerun of its authors' code."""

from engram.paper.printed import classic_control, rerun

ENV = "Acrobot-v1"
STEPS = {"mfec": 20_000, "nec": 20_000, "d3qn": 20_000}
ROWS = {  # per size, MFEC's five strategies, then NEC's
    50: "-500 -500 -304±28 -500 -298±108 -500 -500 -500 -500 -453±79",
    150: "-499±2 -500 -431±136 -500 -165±45 -492±17 -500 -500 -500 -300±91",
    500: "-486±19 -500 -493±9 -425±149 -164±41 -397±121 -495±7 -489±19 -354±179 -220±108",
    1000: "-387±87 -500 -479±42 -430±141 -345±190 -317±132 -498±2 -482±17 -256±164 -179±92",
    5000: "-368±167 -500 -499±1 -478±44 -397±155 -116.4±14 -500 -489±16 -225±138 -115.8±34",
    10_000: "-284±173 -500 -497±5 -497±4 -395±132 -123±20 -500 -483±22 -260±134 -120±30",
}
D3QN = "-336±149"
RERUN_STRATEGIES = ("lru", "sur", "dkm")
RERUN_ROWS = {("mfec", 150): "-489±16 -475±15 -487±11", ("nec", 150): "-485±17 -484±8 -481±26"}

PAPER = classic_control(ENV, ROWS, D3QN, STEPS)
RERUN = rerun(ENV, RERUN_ROWS, STEPS, RERUN_STRATEGIES)
REFERENCES = (PAPER, RERUN)
