"""FourRoom, four rooms with doors."""
