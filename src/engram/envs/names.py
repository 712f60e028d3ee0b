"""Short names of environments, for run ids, tables and figures."""


def short_name(env: str) -> str:
    """An environment's id without its namespace, version and options: `Pong` for `ALE/Pong-v5?frameskip=4`."""
    return env.partition("?")[0].rsplit("/", maxsplit=1)[-1].rsplit("-v", maxsplit=1)[0]
