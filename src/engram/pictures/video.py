"""Videos of an agent playing: the environment's pictures and, if asked, the Q-values behind each action."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

from engram.agents import Agent
from engram.envs.faults import close
from engram.envs.make import Env, make_by_id
from engram.envs.wrapper_state import frozen
from engram.errors import InvalidInputError, MissingExtraError
from engram.files.disk import read_file, replacing
from engram.files.targets import check_replaceable
from engram.pictures.explain import Explanation
from engram.randomness import reset_seed
from engram.training.environment import CheckedEnv, render
from engram.typing import Array

try:
    from PIL import Image
except ModuleNotFoundError as error:
    raise MissingExtraError('videos need Pillow and imageio-ffmpeg: pip install "engram-rl[video]"') from error

HEIGHT, WIDEST = 400, 800  # pixels to which small pictures are enlarged: about so high, and at most so wide
LONGEST_STEPS = 3_000  # of a film
CAPTION = "\ncaption: "  # before that of a film, in its comment
PALETTE_FRAMES = 8  # of which the colours of a .gif are chosen


def film(
    agent: Agent, env_id: str, *, seed: int, explain: bool = False, max_steps: int | None = None
) -> Iterator[Array]:
    """The pictures of one evaluation episode, [height, width, 3], one per step."""
    env = make_by_id(env_id, render_mode="rgb_array")
    try:
        with frozen([env], agent.wrapper_states()):
            yield from _pictures(agent, env, seed, explain, max_steps)
    finally:
        close(env)


def _pictures(agent: Agent, env: Env, seed: int, explain: bool, max_steps: int | None) -> Iterator[Array]:
    checked, explanation = CheckedEnv(env), None
    observation = checked.reset(reset_seed(seed, "evaluation", 0))
    total = 0.0
    for step in range(min(max_steps or LONGEST_STEPS, LONGEST_STEPS)):
        mask = None if checked.allowed is None else np.isin(np.arange(agent.spaces.actions), checked.allowed)
        action = int(agent.predict(observation, action_masks=mask)[0])
        picture = enlarge(render(env))
        if explain and explanation is None:
            explanation = Explanation(agent, *picture.shape[:2])
        yield picture if explanation is None else explanation.frame(picture, observation, action, total, step)
        observation, reward, terminated, truncated, _ = checked.step(action, step + 1)
        total += reward
        if terminated or truncated:
            break


def write_video(path: Path, pictures: Iterator[Array], *, fps: int = 30, about: str = "", caption: str = "") -> int:
    """Write pictures as a .gif or .mp4; return their number. By what the film is `about` it is known again.

    The film carries its caption, which `caption_of` reads from a .gif.
    """
    check_name(path)
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    with replacing(path) as beside:
        return write(beside, pictures, fps, f"{mark_of(about)}{CAPTION}{caption}" if caption else mark_of(about))


def caption_of(film: Image.Image) -> str:
    """The caption that a .gif carries; empty for one without."""
    comment = film.info.get("comment", b"")
    return comment.decode("utf-8", "replace").partition(CAPTION)[2] if isinstance(comment, bytes) else ""


def check_film(path: Path, about: str) -> None:
    """Raise an error unless a film can be called so, and replaces nothing but an earlier one about the same."""
    check_name(path)
    check_replaceable(path, lambda: mark_of(about).encode() in read_file(path), "no film of the same")


def mark_of(about: str) -> str:
    """A comment that a film carries; it does not tell those who are shown the film where files lie."""
    return f"engram film {sha256(about.encode()).hexdigest()[:16]}"


def check_name(path: Path) -> None:
    """Raise an error unless the file's name ends in .gif or .mp4."""
    if path.suffix not in (".gif", ".mp4"):
        raise InvalidInputError(f"a video must be a .gif or an .mp4, got {path.name!r}")


def _write_gif(path: Path, pictures: Iterator[Array], fps: int, mark: str) -> int:
    """One palette for all frames and no dithering, so that only what changes takes room."""
    images = [Image.fromarray(picture) for picture in pictures]
    samples = [np.asarray(images[number]) for number in np.linspace(0, len(images) - 1, PALETTE_FRAMES).astype(int)]
    palette = Image.fromarray(np.concatenate(samples)).quantize(256, Image.Quantize.MAXCOVERAGE)
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    duration = max(20, round(1000 / fps))
    first.save(path, save_all=True, append_images=others, duration=duration, loop=0, comment=mark.encode())
    return len(images)


def _write_mp4(path: Path, pictures: Iterator[Array], fps: int, mark: str) -> int:
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
                    str(path),
                    even.shape[1::-1],
                    fps=fps,
                    macro_block_size=2,
                    ffmpeg_log_level="error",
                    output_params=["-metadata", f"comment={mark}"],
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
    height, width = picture.shape[:2]
    times = max(1, min(round(HEIGHT / height), WIDEST // width))
    return picture.repeat(times, axis=0).repeat(times, axis=1)
