"""The games of Atari-100k, and the two ways in which each is played, as environments."""

from typing import Literal, NamedTuple

from engram.envs.names import compose, parse_id

Protocol = Literal["plain", "sticky"]
PROTOCOLS: dict[Protocol, str] = {"plain": "no sticky actions", "sticky": "sticky actions"}  # in figures
WAYS: dict[Protocol, str] = {"plain": "without sticky actions", "sticky": "with sticky actions"}  # in sentences
STICKY = 0.25  # how often the emulator repeats the last action instead (Machado et al. 2018)

BENCHMARK = (  # the 26 games over which everyone takes means and medians (Kaiser et al. 2020)
    *("alien", "amidar", "assault", "asterix", "bank_heist", "battle_zone", "boxing", "breakout", "chopper_command"),
    *("crazy_climber", "demon_attack", "freeway", "frostbite", "gopher", "hero", "jamesbond", "kangaroo", "krull"),
    *("kung_fu_master", "ms_pacman", "pong", "private_eye", "qbert", "road_runner", "seaquest", "up_n_down"),
)
BESIDE = ("bowling", "space_invaders")  # the paper's games that are not among them; they are in no mean
DEVELOPMENT = ("ms_pacman", "frostbite", "alien", "boxing", "breakout", "road_runner")  # on which choices are made

# A game is cut off after 20,000 frames, 5,000 steps, in training and in evaluation: a greedy memory may walk in circles
# for ever, and so a single game takes at most a twentieth of the training, and 20 games of an evaluation as many steps
# as all of it. Training is cut off by others too: IRIS after 20,000 frames, EfficientZero after 12,000. They evaluate
# up to 108,000, so what we score in long games is a lower bound.
MAX_FRAMES = 20_000
FRAME_SKIP = 4
NOOPS = 30
TITLES = {
    "hero": "H.E.R.O.",
    "jamesbond": "James Bond",
    "kung_fu_master": "Kung-Fu Master",
    "ms_pacman": "Ms. Pac-Man",
    "qbert": "Q*bert",
    "up_n_down": "Up'n Down",
}


class Played(NamedTuple):
    """A game, and how it is played."""

    game: str  # the name of its ROM
    protocol: Protocol

    @property
    def env(self) -> str:
        """The environment's name; what it does not say is as in the paper: 4 frames a step, up to 30 no-ops."""
        sticky = {"repeat_action_probability": STICKY} if self.protocol == "sticky" else {}
        return compose([(self.game, {"max_frames": MAX_FRAMES, **sticky})])

    @classmethod
    def of(cls, env: str) -> "Played":
        """The game and the protocol of an environment."""
        game, options = parse_id(env)
        return cls(game, "sticky" if options.get("repeat_action_probability") else "plain")


def headed(kind: str, protocol: Protocol) -> str:
    """The head of a column of a table."""
    return f"{kind}, sticky" if protocol == "sticky" else kind


def title_of(game: str) -> str:
    """A game's name as people write it."""
    return TITLES.get(game, game.replace("_", " ").title())


def was_cut_off(length: int) -> bool:
    """Whether a game that took so many steps was cut off, and did not end; idle frames at its start count too."""
    return length * FRAME_SKIP >= MAX_FRAMES - NOOPS * FRAME_SKIP
