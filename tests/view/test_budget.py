"""How many points a browser is given: simulated browsers, whose frames take a while, and longer with more points."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from sampled_transformer.view.budget import FEWEST, FEWEST_AT_REST, FIRST, FIRST_AT_REST, FLUID, Budget

SCENE = 1_000_000


@dataclass
class Browser:
    """It draws a frame, moves the camera and says so, as viser's page does."""

    empty: float  # seconds of a frame without points
    each: float  # seconds per point
    budget: Budget = field(default_factory=Budget)
    now: float = 1000.0

    def frame(self, points: int) -> float:
        return self.empty + self.each * min(points, SCENE)

    def turn(self, seconds: float) -> None:
        """Turn the camera for a while, after a rest."""
        self.now += 20
        self.budget.move(self.now, SCENE)
        points, end = self.budget.resting, self.now + seconds
        while self.now < end:
            self.now += self.frame(points)
            self.budget.move(self.now, SCENE)
            points = self.budget.moving


@pytest.mark.parametrize("each", [1e-7, 1e-6, 4e-6], ids=["fast", "slow", "slower"])
def test_frames_become_fluid(each: float) -> None:
    browser = Browser(0.01, each)
    for _ in range(4):
        browser.turn(8)
    assert browser.frame(browser.budget.moving) <= FLUID
    assert browser.frame(4 * browser.budget.moving) > 0.6 * FLUID or browser.budget.moving >= SCENE  # and no fewer


def test_a_fast_browser_draws_all_points_in_movement_and_at_rest() -> None:
    browser = Browser(0.016, 1e-9)
    for _ in range(3):
        browser.turn(3)
    assert min(browser.budget.moving, browser.budget.resting) >= SCENE
    assert browser.budget.moving < 2 * SCENE  # what was never drawn is not known


def test_a_slow_browser_draws_few_points_and_does_not_wait_long_for_its_first_frame() -> None:
    browser = Browser(0.03, 5e-6)
    assert browser.frame(browser.budget.resting) > 1.5
    for _ in range(4):
        browser.turn(5)
    assert browser.frame(browser.budget.resting) <= 0.6
    assert FEWEST_AT_REST <= browser.budget.resting < FIRST_AT_REST


def test_where_even_an_empty_scene_is_slow_some_points_remain() -> None:
    browser = Browser(0.2, 1e-6)
    for _ in range(3):
        browser.turn(10)
    assert browser.budget.moving == FEWEST


def test_a_browser_that_was_busy_for_a_while_recovers() -> None:
    browser = Browser(0.3, 1e-8)
    browser.turn(10)
    assert browser.budget.moving == FEWEST
    browser.empty = 0.01
    browser.turn(20)
    assert browser.budget.moving >= SCENE


def test_the_number_does_not_swing_within_a_movement() -> None:
    browser = Browser(0.01, 8e-7)
    seen = []
    for _ in range(200):
        browser.turn(0.5)
        seen.append(browser.budget.moving)
        browser.now -= 19.5  # movements soon after each other
    assert len(set(seen[-20:])) == 1


def test_pauses_of_the_hand_are_no_frames() -> None:
    budget, now = Budget(), 1000.0
    for _ in range(20):
        now += 1.5
        for _ in range(15):
            now += 0.03  # fluid, but with nothing to spare
            budget.move(now, SCENE)
    assert budget.moving == FIRST
    assert budget.resting >= SCENE


def test_a_slow_browser_is_given_longer_until_it_rests() -> None:
    budget = Budget()
    assert budget.patience() == 0.35
    for moment in (1000.0, 1000.2, 1000.4):
        budget.move(moment, SCENE)
    assert budget.patience() == pytest.approx(0.6)  # three times the pause
    budget.move(1001.4, SCENE)
    assert budget.patience() == 3.0  # and at most this
    for step in range(20):
        budget.move(1001.42 + step / 50, SCENE)
    assert budget.patience() == 0.35  # it has become fast again
