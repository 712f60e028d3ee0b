"""Has an environment been stepped or reset by someone else? Its attributes tell, if all of them are plain data."""

import pickle
from hashlib import sha256
from typing import Any

import gymnasium

UNRELATED = ("spec", "_np_random_seed", "metadata")


def fingerprint(env: gymnasium.Env[Any, Any]) -> str | None:
    """A digest of everything that an environment and its wrappers hold; None where some of it cannot be looked into."""
    digest, each = sha256(), env
    while True:
        wrapper = isinstance(each, gymnasium.Wrapper)
        if any(vars(kind).get("__slots__") or "__getstate__" in vars(kind) for kind in type(each).__mro__[:-1]):
            return None  # it keeps state where `vars` does not show it
        state = {name: value for name, value in vars(each).items() if name not in UNRELATED}
        if wrapper:
            del state["env"]  # which is looked at in its turn
        try:
            digest.update(pickle.dumps(state))
        except Exception:  # whatever an object says that cannot be pickled
            return None
        if not isinstance(each, gymnasium.Wrapper):
            return digest.hexdigest()
        each = each.env
