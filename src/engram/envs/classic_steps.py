"""The arithmetic of Gymnasium's CartPole and Acrobot, compiled, in the order of their operations.

Bits are theirs as long as sin, cos and pow are those of the same library, which NumPy does not promise on every
machine: who uses it tries that first. A power of a NumPy number is `pow`, which is not always the product; `two` is an
argument so that the compiler does not make it one.
"""

import math

import numpy as np

from engram.compiling import compiled
from engram.typing import Array, Doubles, Longs

PI = math.pi
GRAVITY = 9.8

# CartPole
FORCE, SECONDS, HALF_LENGTH, POLE_MASS = 10.0, 0.02, 0.5, 0.1
TOTAL_MASS = POLE_MASS + 1.0
POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH
FARTHEST, STEEPEST = 2.4, 12 * 2 * PI / 360

# Acrobot
STRIDE = 0.2 - 0  # of the integration, as a difference of two times
FASTEST_1, FASTEST_2 = 4 * PI, 9 * PI


@compiled
def step_cartpole(state: Doubles, action: int, observation: Array) -> bool:
    """Move the state, [4], on by one step, write the observation, [4], and tell whether the pole has fallen."""
    x, x_speed, angle, angle_speed = state[0], state[1], state[2], state[3]
    force = FORCE if action == 1 else -FORCE
    cosine, sine = math.cos(angle), math.sin(angle)
    push = (force + POLE_MASS_LENGTH * (angle_speed * angle_speed) * sine) / TOTAL_MASS
    turn = (GRAVITY * sine - cosine * push) / (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS))
    pull = push - POLE_MASS_LENGTH * turn * cosine / TOTAL_MASS
    state[0] = x + SECONDS * x_speed
    state[1] = x_speed + SECONDS * pull
    state[2] = angle + SECONDS * angle_speed
    state[3] = angle_speed + SECONDS * turn
    for i in range(4):
        observation[i] = np.float32(state[i])
    return bool(abs(state[0]) > FARTHEST or abs(state[2]) > STEEPEST)


@compiled
def accelerations(
    angle1: float, angle2: float, speed1: float, speed2: float, torque: float, two: float
) -> tuple[float, float]:
    """Of both joints of the acrobot, whose links have length and mass 1, a middle at 0.5 and an inertia of 1."""
    cosine, sine = math.cos(angle2), math.sin(angle2)
    d1 = 0.25 + (1.25 + cosine) + 1.0 + 1.0
    d2 = (0.25 + 0.5 * cosine) + 1.0
    phi2 = 0.5 * GRAVITY * math.cos(angle1 + angle2 - PI / 2.0)
    phi1 = (
        -0.5 * math.pow(speed2, two) * sine - speed2 * speed1 * sine + 1.5 * GRAVITY * math.cos(angle1 - PI / 2) + phi2
    )
    second = (torque + d2 / d1 * phi1 - 0.5 * math.pow(speed1, two) * sine - phi2) / (1.25 - math.pow(d2, two) / d1)
    return -(d2 * second + phi1) / d1, second


@compiled
def step_acrobot(state: Doubles, action: int, observation: Array, two: float) -> bool:
    """Move the state, [4], on by one step, write the observation, [6], and tell whether the goal was reached."""
    torque = action - 1.0
    angle1, angle2, speed1, speed2 = state[0], state[1], state[2], state[3]
    half = STRIDE / 2.0
    s1, s2 = speed1, speed2
    a1, a2 = accelerations(angle1, angle2, s1, s2, torque, two)
    t1, t2 = speed1 + half * a1, speed2 + half * a2
    b1, b2 = accelerations(angle1 + half * s1, angle2 + half * s2, t1, t2, torque, two)
    u1, u2 = speed1 + half * b1, speed2 + half * b2
    c1, c2 = accelerations(angle1 + half * t1, angle2 + half * t2, u1, u2, torque, two)
    v1, v2 = speed1 + STRIDE * c1, speed2 + STRIDE * c2
    d1, d2 = accelerations(angle1 + STRIDE * u1, angle2 + STRIDE * u2, v1, v2, torque, two)
    sixth = STRIDE / 6.0
    state[0] = wrapped(angle1 + sixth * (s1 + 2 * t1 + 2 * u1 + v1))
    state[1] = wrapped(angle2 + sixth * (s2 + 2 * t2 + 2 * u2 + v2))
    state[2] = min(max(speed1 + sixth * (a1 + 2 * b1 + 2 * c1 + d1), -FASTEST_1), FASTEST_1)
    state[3] = min(max(speed2 + sixth * (a2 + 2 * b2 + 2 * c2 + d2), -FASTEST_2), FASTEST_2)
    observation[0], observation[1] = np.float32(math.cos(state[0])), np.float32(math.sin(state[0]))
    observation[2], observation[3] = np.float32(math.cos(state[1])), np.float32(math.sin(state[1]))
    observation[4], observation[5] = np.float32(state[2]), np.float32(state[3])
    return bool(-math.cos(state[0]) - math.cos(state[1] + state[0]) > 1.0)


@compiled
def wrapped(angle: float) -> float:
    """The angle between −π and π."""
    whole = PI - -PI
    while angle > PI:
        angle = angle - whole
    while angle < -PI:
        angle = angle + whole
    return angle


@compiled
def step_cartpoles(states: Doubles, games: Longs, actions: Longs, observations: Array, rewards: Doubles) -> Array:
    """Move the states of these games on, [E, 4]; write observations, [E, 4], and rewards; tell which have ended."""
    ended = np.empty(len(games), np.bool_)
    for i in range(len(games)):
        ended[i] = step_cartpole(states[games[i]], actions[i], observations[games[i]])
        rewards[i] = 1.0
    return ended


@compiled
def step_acrobots(
    states: Doubles, games: Longs, actions: Longs, observations: Array, rewards: Doubles, two: float
) -> Array:
    """The same for Acrobot, whose observations are [E, 6]."""
    ended = np.empty(len(games), np.bool_)
    for i in range(len(games)):
        ended[i] = step_acrobot(states[games[i]], actions[i], observations[games[i]], two)
        rewards[i] = 0.0 if ended[i] else -1.0
    return ended
