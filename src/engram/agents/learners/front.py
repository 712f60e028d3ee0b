"""What stands before a network: an encoder of the user's choice, or nothing."""

from typing import Any

from engram.agents.common.config import EncoderConfig
from engram.encoders import ENCODERS, Encoder
from engram.encoders.base import build_encoder, checked
from engram.parts import Spaces
from engram.typing import Array


class Front:
    """Observations on their way into a network: encoded if an encoder was chosen, otherwise as they are."""

    def __init__(self, config: EncoderConfig, spaces: Spaces, generator: Any) -> None:
        self.encoder: Encoder | None = None
        self.shape = spaces.observation_shape
        if config.encoder is not None:
            self.encoder = build_encoder(ENCODERS.find(config.encoder), spaces, generator)
            self.shape, self._encode = self.encoder.shape, checked(self.encoder)

    @property
    def settled(self) -> bool:
        """Whether the same observation will always be encoded in the same way."""
        return self.encoder is None or self.encoder.settled

    def update(self, observation: Array) -> None:
        """Show the encoder the observation of a training step."""
        if self.encoder is not None:
            self.encoder.update(observation)

    def __call__(self, observations: Array) -> Array:
        """[B, …] → [B, *shape]."""
        return observations if self.encoder is None else self._encode(observations)
