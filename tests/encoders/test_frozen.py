"""A PyTorch module as a fixed encoder."""

from pathlib import Path

import numpy as np
import pytest

from engram import MFEC, NEC, load
from engram.devices import torch
from engram.encoders.frozen import Frozen
from engram.errors import InvalidInputError


def pretrained(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def test_keys_are_the_modules_outputs_and_the_same_alone_and_in_a_batch() -> None:
    module = pretrained()
    agent = MFEC("CartPole-v1", encoder=Frozen(module), capacity=20).learn(300)
    observations = np.random.default_rng(0).standard_normal((33, 4)).astype(np.float32)
    keys = agent.encoder(observations)
    assert keys.shape == (33, 3)
    np.testing.assert_allclose(keys, module(torch.from_numpy(observations)).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(keys, np.concatenate([agent.encoder(row[None]) for row in observations]))


def test_the_same_module_must_be_given_again(tmp_path: Path) -> None:
    agent = MFEC("CartPole-v1", encoder=Frozen(pretrained()), capacity=20).learn(200)
    agent.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors", encoder=Frozen(pretrained()))
    observations = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(again.q_values(observations), agent.q_values(observations))
    with pytest.raises(InvalidInputError, match="'frozen' is not part of Engram"):
        load(tmp_path / "model.safetensors")
    with pytest.raises(InvalidInputError, match="its source or its options differ"):
        load(tmp_path / "model.safetensors", encoder=Frozen(pretrained(1)))


def test_it_stands_in_front_of_a_network_too() -> None:
    agent = NEC("CartPole-v1", encoder=Frozen(pretrained()), capacity=20, learning_start_steps=50).learn(200)
    assert agent.network.dense.widths[0] == 3


def test_what_is_no_module_or_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"module must be a torch\.nn\.Module"):
        Frozen(3)
    with pytest.raises(InvalidInputError, match="cannot make a module from 'nowhere:make'"):
        Frozen("nowhere:make")
    with pytest.raises(InvalidInputError, match="cannot take observations of shape"):
        MFEC("Acrobot-v1", encoder=Frozen(pretrained()))


def test_the_users_module_is_left_as_it_was() -> None:
    module = pretrained().train()
    MFEC("CartPole-v1", encoder=Frozen(module), capacity=5).learn(20)
    assert module.training
    assert all(parameter.requires_grad for parameter in module.parameters())
