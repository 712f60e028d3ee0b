"""What agents share: the base class, configs, episodes, networks in use, files."""
