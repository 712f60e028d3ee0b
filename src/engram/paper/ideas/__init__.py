"""What lets a memory learn more from 100,000 steps of Atari: a study of ours."""
