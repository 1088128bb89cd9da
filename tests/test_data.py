"""The generators, against counts made in plain Python."""

import hypothesis
import numpy as np
import program
import pytest
from hypothesis import strategies

ranges = {"max_len": (1, 12), "vocab_size": (2, 26), "batchsize": (1, 20), "seed": (0, 99)}
sizes = strategies.tuples(*(strategies.integers(*limits) for limits in ranges.values()))


@pytest.mark.parametrize("number", program.FOLDERS)
@hypothesis.given(sizes, strategies.none() | strategies.integers(1, 30))
@hypothesis.settings(deadline=None, max_examples=25)
def test_answers_are_counts_of_the_letters(number, size, length):
    max_len, vocab_size, batchsize, seed = size
    task = program.load(number).Task(max_len, vocab_size, np.random.default_rng(seed))
    inputs, answers = task.next_batch(2, batchsize, length=length)
    length = length or max_len + (number == 3)
    assert inputs.shape == (2, batchsize, length, vocab_size + (number != 3))
    assert answers.shape == (2, batchsize, {1: vocab_size, 2: vocab_size + 1, 3: 1}[number])
    assert inputs.dtype == np.float32 and answers.dtype == np.int32
    assert set(np.unique(inputs)) <= {0, 1} and (inputs.sum(axis=-1) == 1).all()
    letters = task.prettify(inputs)
    assert letters.shape == (2, batchsize, length, 1)
    for sequence, answer in zip(letters[0, ..., 0], answers[0], strict=True):
        assert answer.tolist() == program.solve(number, "".join(sequence), vocab_size)


@pytest.mark.parametrize("number", program.FOLDERS)
def test_without_sizes_a_task_is_that_of_the_flags_and_letters_are_uniform_and_independent(number):
    """A chi-square statistic of pairs of neighbours stays below its 1 - 1e-6 quantile."""
    task, other = (program.load(number).Task() for _ in range(2))
    inputs, _ = task.next_batch(20000)
    symbols = 3 if number == 3 else 4
    assert inputs.shape == (20000, 11 if number == 3 else 10, symbols)
    assert "".join(task.prettify(np.eye(symbols))[:, 0]) == program.alphabet(number)
    assert (inputs != other.next_batch(20000)[0]).any()
    letters = inputs.argmax(axis=-1)
    pairs = np.bincount(letters[:, 0] * symbols + letters[:, 1], minlength=symbols**2)
    expected = len(letters) / symbols**2
    assert ((pairs - expected) ** 2 / expected).sum() < {3: 42.7, 4: 56.5}[symbols]
