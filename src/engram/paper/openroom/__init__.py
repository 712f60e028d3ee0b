"""OpenRoom, a room without walls inside."""
