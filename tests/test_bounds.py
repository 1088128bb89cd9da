"""The percentages of the pages that nobody has measured: bounds, against counting through all sequences."""

import itertools

import numpy as np
import pytest
from experiments import task_3, transformer


def test_no_model_that_sees_a_bag_gets_more_than_the_bound():
    """The formula has multinomial probabilities, and there are 177,147 sequences."""
    letters = np.array(list(itertools.product(range(3), repeat=11)))
    answers = (letters[:, 1:] == letters[:, :1]).sum(axis=1)
    bags = (letters[..., None] == np.arange(3)).sum(axis=1) @ (144, 12, 1)
    table = np.array([np.bincount(answers[bags == bag], minlength=11) for bag in np.unique(bags)])
    shares = table / table.sum(axis=1, keepdims=True)
    loss = -(table * np.log(shares, where=table > 0, out=np.zeros(table.shape))).sum() / len(letters)
    most = table.max(axis=1).sum() / len(letters)
    assert task_3.bound() == pytest.approx((loss, most), abs=1e-9)
    assert f"{most:.2%} {loss:.4f}" == "59.01% 0.8038"


def test_other_percentages_by_counting():
    """The most frequent difference; three letters, 21 of 27; the guesser."""
    four = np.array(list(itertools.product(range(4), repeat=10)), dtype=np.int8)
    counts = [(four == letter).sum(axis=1) for letter in (1, 2)]
    assert f"{np.bincount(abs(counts[0] - counts[1])).max() / len(four):.1%}" == "32.0%"
    assert f"{task_3.bound(2)[1]:.0%}" == f"{21 / 27:.0%}" == "78%"
    tables = itertools.product(range(8), repeat=4)  # Of which pet each of four names has.
    by_counting = np.mean([max(map(table.count, table)) / 4 for table in tables])
    assert transformer.guesser(4) == pytest.approx(by_counting, abs=1e-9)
    assert f"{transformer.guesser(4):.2%} {transformer.guesser(8):.2%}" == "41.21% 25.79%"
