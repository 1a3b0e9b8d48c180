"""What is here: generated input in every form; a right answer or one clear sentence, each time."""

import collections

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reliability.cases import cases
from tests.reliability.judge import ESTIMATORS, SLOW, judge

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@given(name=st.sampled_from(list(ESTIMATORS)), case=cases())
@settings(max_examples=200, deadline=None, suppress_health_check=CALM)
def test_two_hundred_cases(name, case):
    judge(name, case)


@pytest.mark.nightly
@pytest.mark.parametrize("half", ["one", "two"])  # `-k one` and `-k two` on two cores
@given(name=st.sampled_from([*ESTIMATORS, *SLOW]), case=cases())
@settings(max_examples=2500, deadline=None, derandomize=False, suppress_health_check=CALM)
def test_five_thousand_cases(half, name, case):
    judge(name, case)


def test_the_cases_reach_every_end():
    ends = collections.Counter()

    @given(case=cases())
    @settings(max_examples=60, deadline=None, suppress_health_check=CALM)
    def count(case):
        ends[judge("PrBR", case)] += 1

    count()
    assert ends["right"] >= 20 and ends["refused"] >= 5
