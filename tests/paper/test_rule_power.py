"""The simulated power of the rules: it belongs to these rules, meets its bounds, and comes out again."""

import numpy as np
import pytest
from tools.rule_power import WORLDS, chance, designs
from tools.worlds import draw_evidence

from engram.lab.verdicts import ENOUGH, FEW, Claim
from engram.paper import rule_power
from engram.paper.claims import CLAIMS

SEEDS = {"mfec": 20, "nec": 10, "stream": 11}  # that the studies run off Atari
ATARI_SEEDS = {"mfec": 3, "nec": 3, "d3qn": 3}
BEYOND_ATARI_SEEDS = {11, 12}  # that need more than three seeds
BY_NUMBER = {claim.number: claim for claim in CLAIMS.claims}
EVERY = pytest.mark.parametrize("claim", CLAIMS.claims, ids=lambda claim: str(claim.number))


def test_the_simulation_is_that_of_these_rules() -> None:
    """After a change of a rule: `python -m tools.rule_power`."""
    assert rule_power.read_digest() == rule_power.rules_digest()


def test_the_digest_is_that_of_the_code_and_not_of_its_words() -> None:
    source = (
        '"""Of rules."""\nimport a\nLIMIT = 3\ndef rule():\n    """It is."""\n    return 1 < LIMIT\nCLAIMS = ("one",)\n'
    )
    same = '"""About rules."""\nimport b\nLIMIT = 3\ndef rule():\n    return 1 < LIMIT  # so\nCLAIMS = ("two",)\n'
    assert rule_power.code_of(source) == rule_power.code_of(same)
    for change in (("LIMIT = 3", "LIMIT = 4"), ("1 < LIMIT", "1 <= LIMIT")):
        assert rule_power.code_of(source) != rule_power.code_of(source.replace(*change))


@EVERY
def test_a_true_claim_is_found_with_the_seeds_that_are_run(claim: Claim) -> None:
    run = ATARI_SEEDS if claim.studies == ("atari",) else SEEDS
    assert claim.too_few(run) == (claim.number in BEYOND_ATARI_SEEDS)
    assert claim.enough_seeds


@EVERY
def test_chance_neither_proves_nor_refutes_a_claim(claim: Claim) -> None:
    worlds = {(one.world, tuple(one.seeds.items())) for one in claim.power}
    assert len(worlds) == 3 * len(designs(claim))
    for one in claim.power:
        assert one.draws >= 200
        assert min(one.seeds.values()) >= claim.least_seeds
        if one.world == "paper":
            assert one.fails <= 0.05 * one.draws
        else:
            assert one.holds <= 0.05 * one.draws


@pytest.mark.parametrize("number", [1, 2, 5, 9, 12, 14, 17])
def test_the_simulation_comes_out_again(number: int) -> None:
    claim = BY_NUMBER[number]
    seeds = claim.enough_seeds
    known = {one.world: one for one in claim.power if one.seeds == seeds}
    for world, one in known.items():
        again = chance(claim, world, seeds, 20)
        assert again.share == pytest.approx(one.share, abs=0.25)
    assert known["paper"].share >= ENOUGH


@EVERY
@pytest.mark.parametrize("world", WORLDS)
def test_every_rule_finds_its_runs_in_every_world(claim: Claim, world: str) -> None:
    seeds = designs(claim)[0]
    verdict = claim.decide(draw_evidence(claim.number, world, seeds, np.random.default_rng(0)))
    assert verdict.word != FEW
    assert verdict.seeds == seeds
