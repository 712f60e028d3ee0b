"""Videos of an agent playing: the environment's pictures and, if asked, the Q-values behind each action."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engram.agents import Agent
from engram.envs.faults import close
from engram.envs.make import Env, make_by_id
from engram.envs.wrapper_state import frozen
from engram.errors import InvalidInputError, MissingExtraError
from engram.files.disk import replacing
from engram.pictures.colours import ACTIONS, LIT
from engram.randomness import reset_seed
from engram.training.environment import CheckedEnv, render
from engram.typing import Array

try:
    from PIL import Image, ImageDraw, ImageFont
except ModuleNotFoundError as error:
    raise MissingExtraError('videos need Pillow and imageio-ffmpeg: pip install "engram-rl[video]"') from error

HEIGHT = 400  # pixels, at least, to which small pictures are enlarged
PANEL = 320  # pixels that the explanation is wide
MARGIN, ROW = 16, 44  # pixels around and between the explanation's rows
INK, SOFT, PAPER = (31, 35, 40), (150, 158, 166), (255, 255, 255)
CHOSEN = LIT
LONGEST_STEPS = 3_000  # of a film


def film(agent: Agent, env_id: str, *, seed: int, explain: bool = False) -> Iterator[Array]:
    """The pictures of one evaluation episode, [height, width, 3], one per step."""
    env = make_by_id(env_id, render_mode="rgb_array")
    try:
        with frozen([env], agent.wrapper_states()):
            yield from _pictures(agent, env, seed, explain)
    finally:
        close(env)


def _pictures(agent: Agent, env: Env, seed: int, explain: bool) -> Iterator[Array]:
    checked, scale = CheckedEnv(env), Scale()
    observation = checked.reset(reset_seed(seed, "evaluation", 0))
    total = 0.0
    for step in range(LONGEST_STEPS):
        mask = None if checked.allowed is None else np.isin(np.arange(agent.spaces.actions), checked.allowed)
        action = int(agent.predict(observation, action_masks=mask)[0])
        picture = enlarge(render(env))
        if explain:
            picture = np.concatenate([picture, panel(agent, observation, action, total, len(picture), scale)], 1)
        yield picture
        observation, reward, terminated, truncated, _ = checked.step(action, step + 1)
        total += reward
        if terminated or truncated:
            break


def write_video(path: Path, pictures: Iterator[Array], *, fps: int = 30) -> int:
    """Write pictures as a .gif or .mp4; return their number."""
    check_name(path)
    with replacing(path) as beside:
        return _write_gif(beside, pictures, fps) if path.suffix == ".gif" else _write_mp4(beside, pictures, fps)


def check_name(path: Path) -> None:
    """Raise an error unless the file's name ends in .gif or .mp4."""
    if path.suffix not in (".gif", ".mp4"):
        raise InvalidInputError(f"a video must be a .gif or an .mp4, got {path.name!r}")


def _write_gif(path: Path, pictures: Iterator[Array], fps: int) -> int:
    images = [Image.fromarray(picture).convert("P", palette=Image.Palette.ADAPTIVE) for picture in pictures]
    first, *others = images
    first.save(path, save_all=True, append_images=others, duration=max(20, round(1000 / fps)), loop=0)
    return len(images)


def _write_mp4(path: Path, pictures: Iterator[Array], fps: int) -> int:
    try:
        from imageio_ffmpeg import write_frames  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            'an .mp4 needs imageio-ffmpeg: pip install "engram-rl[video]"; or write a .gif'
        ) from error
    count, writer = 0, None
    try:
        for picture in pictures:
            even = np.ascontiguousarray(picture[: len(picture) // 2 * 2, : picture.shape[1] // 2 * 2])  # as codecs want
            if writer is None:
                writer = write_frames(
                    str(path), even.shape[1::-1], fps=fps, macro_block_size=2, ffmpeg_log_level="error"
                )
                writer.send(None)
            writer.send(even)
            count += 1
    finally:
        if writer is not None:
            writer.close()
    return count


def enlarge(picture: Array) -> Array:
    """A small picture enlarged by a whole number, with sharp edges."""
    times = max(1, HEIGHT // len(picture))
    return picture.repeat(times, axis=0).repeat(times, axis=1)


class Scale:
    """Maps values to pixels; the range grows with the values met, so that pictures stay comparable."""

    def __init__(self) -> None:
        self.low, self.high = 0.0, 1e-6

    def __call__(self, value: float) -> float:
        """The horizontal position of a value, in pixels."""
        return MARGIN + (value - self.low) / (self.high - self.low) * (PANEL - 2 * MARGIN)

    def widen(self, values: Array) -> None:
        """Extend the range to these values."""
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))


def panel(agent: Agent, observation: Array, action: int, total: float, height: int, scale: Scale) -> Array:
    """A picture of Q of every action, with the values of the nearest entries as dots, nearer ones larger."""
    q = agent.q_values(np.asarray(observation)[None])[0]
    near = neighbours(agent, observation)
    scale.widen(q)
    for values, _ in near:
        if len(values):
            scale.widen(values)
    needed = 2 * MARGIN + 20 + ROW * len(q)
    image = Image.new("RGB", (PANEL, max(height, needed)), PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    draw.text((MARGIN, MARGIN), f"return so far {total:g}", fill=INK, font=font)
    for number, value in enumerate(q):
        y = MARGIN + 24 + ROW * number
        colour = CHOSEN if number == action else INK
        draw.text((MARGIN, y), f"action {number}   Q = {value:.4g}", fill=colour, font=font)
        axis = y + 25
        draw.line([(MARGIN, axis), (PANEL - MARGIN, axis)], fill=SOFT)
        for each, weight in zip(*near[number], strict=True) if near else ():
            x, r = scale(float(each)), 1.5 + 4 * float(weight)
            draw.ellipse([x - r, axis - r, x + r, axis + r], fill=ACTIONS[0])
        x = scale(float(value))
        draw.rectangle([x - 1.5, axis - 8, x + 1.5, axis + 8], fill=colour)
    return np.asarray(image.resize((PANEL, height)) if image.height != height else image)


def neighbours(agent: Agent, observation: Array) -> list[tuple[Array, Array]]:
    """For each action the values of the nearest entries and their weights; nothing for an agent without a memory."""
    if not agent.has_memory:
        return []
    memory: Any = agent.memory  # type: ignore[attr-defined]
    key = agent.encoder(np.asarray(observation)[None])  # type: ignore[attr-defined]
    found = []
    for action in range(memory.actions):
        slots, distances = memory.find_neighbours(action, key)
        values = memory.entries(action)["values"][slots[0]]
        weights = 1 / (distances[0] + memory.delta)
        found.append((values, weights / weights.sum() if len(weights) else weights))
    return found
