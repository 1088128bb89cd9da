"""The claims of the READMEs, on freshly trained models.

The margins are the spread over ten seeds, widened by half; `-m slow` checks five more models of each variant.
"""

import itertools

import lessons
import numpy as np
import program
import pytest


@pytest.fixture
def model(trained):
    """Return a function from a variant's name to the model that all tests share."""

    def load(variant):
        task, _ = program.VARIANTS[variant]
        module = program.load(task)
        arguments = module.parse_arguments(["--test", "--savepath", str(trained(variant).savepath)])
        return module.load_model(arguments)[0]

    return load


def claim_exact_positions(model):
    assert lessons.exact_positions(model) > 0.99


def claim_the_weight_counts(model):
    """Task 1: the total weight on a letter is n r / (n r + 10 - n)."""
    masses = np.array(lessons.mass_by_count(model)[:8])
    counts, ratio = np.arange(8), lessons.preference(model)
    assert 2.9 < ratio < 3.5
    np.testing.assert_allclose(masses, counts * ratio / (counts * ratio + 10 - counts), atol=0.03)


def claim_shares_are_seen_and_not_counts(model):
    """Task 1: lengths 9 to 11 work, 5 and 20 do not, and AABB is answered as AAAAABBBBB."""
    accuracies = {length: lessons.accuracy_at(model, length) for length in (5, 9, 10, 11, 20)}
    assert accuracies[10] > 0.93
    assert accuracies[9] > 0.55 and accuracies[11] > 0.25
    assert accuracies[5] < 0.01 and accuracies[20] < 0.01
    assert lessons.predict(1, model, "AABB") == [5, 5, 0]
    assert lessons.predict(1, model, "AAAA") == lessons.predict(1, model, "AAAAAAAAAA")


def claim_the_difference_reads_the_letters(model):
    """Task 2 without self-attention: 'A' and 'B' get the most, 'C' the least."""
    blank, first, second, third = lessons.weights_by_letter(model)
    assert min(first, second) > 0.105 and max(first, second) < 0.15
    assert 0.075 < blank < 0.105 and 0.04 < third < 0.085


def claim_the_larger_count_wins(model):
    """Task 2 with self-attention: step 3 attends to the larger count and to itself."""
    larger, smaller, itself, wins = lessons.larger_smaller_itself(model)
    assert 0.68 < larger < 0.78 and smaller < 0.05 and 0.17 < itself < 0.27
    assert wins > 0.9995
    assert max(lessons.weights_by_letter(model)) < 0.125 and min(lessons.weights_by_letter(model)) > 0.08


def claim_the_difference_is_twice_the_larger_minus_the_sum(model):
    """Task 2 with self-attention: step 3 holds the sum, and interventions do what that implies."""
    assert lessons.sum_in_step_3(model)[0] > 0.95
    _, inputs, answers = lessons.batch(2)
    far = answers[:, 3] >= 2
    swapped = lessons.intervene(model, inputs, lessons.swapped)[far]
    assert (swapped == answers[far, 3]).mean() < 0.01
    assert swapped.mean() < 0.6
    without_smaller = lessons.intervene(model, inputs, lessons.without_smaller)[far]
    assert (without_smaller == answers[far, 3]).mean() > 0.95
    itself = lessons.intervene(model, inputs, lessons.without_itself)
    assert (itself == answers[:, 3]).mean() < 0.85
    untouched = lessons.intervene(model, inputs, lambda weights: weights)
    assert (untouched == np.argmax(model(inputs)[0], axis=-1)[:, 3]).all()


def all_sequences():
    """Return all 3 to the 11 sequences of Task 3, int (177147, 11), and their answers."""
    letters = np.array(list(itertools.product(range(3), repeat=11)), dtype=np.int32)
    return letters, program.load(3).Task().solve(letters)[:, 0]


def claim_no_model_without_positions_passes_the_bound(model):
    """Task 3 without positions: the exact expected loss and accuracy, over all sequences, obey the bound."""
    letters, answers = all_sequences()
    inputs = program.load(3).one_hot(letters, 3)
    parts = [model(part)[0].numpy()[:, 0] for part in np.array_split(inputs, 20)]
    logits = np.concatenate(parts).astype(float)
    logits -= logits.max(axis=-1, keepdims=True)
    losses = np.log(np.exp(logits).sum(axis=-1)) - logits[np.arange(len(logits)), answers]
    least, most = lessons.bound()
    assert least - 1e-4 < losses.mean() < 1.15
    assert 0.45 < (logits.argmax(axis=-1) == answers).mean() < most + 1e-4
    signal, other = lessons.weight_on_signal(model)
    assert abs(signal - other) < 0.003


def claim_the_signal_is_found(model):
    """Task 3 with positions: the signal gets the weight, its encoding is the long one."""
    signal, other = lessons.weight_on_signal(model)
    assert 0.2 < signal < 0.67 and 0.03 < other < 0.08
    norms = np.linalg.norm(model.positional_encoding[0], axis=-1)
    assert 0.8 < norms[0] < 1.3 and norms[1:].max() < 0.42 and norms[1:].min() > 0.15
    itself, same, different = lessons.encoder_from_signal(model)
    assert min(itself, same) > different + 0.01


def claim_the_first_letter_is_the_question(model):
    for text, answer in (("BBABCCABCAB", 4), ("ABABCCABCAB", 3), ("CBABCCABCAB", 3)):
        assert lessons.predict(3, model, text) == [answer]


CLAIMS = [
    ("1", claim_exact_positions),
    ("1", claim_the_weight_counts),
    ("1", claim_shares_are_seen_and_not_counts),
    ("2", claim_the_difference_reads_the_letters),
    ("2 --self_att", claim_the_larger_count_wins),
    ("2 --self_att", claim_the_difference_is_twice_the_larger_minus_the_sum),
    ("3", claim_no_model_without_positions_passes_the_bound),
    ("3 --pos_enc", claim_the_signal_is_found),
    ("3 --pos_enc", claim_the_first_letter_is_the_question),
]


@pytest.mark.parametrize(("variant", "claim"), CLAIMS)
def test_claim(variant, claim, model):
    claim(model(variant))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11, 16))
@pytest.mark.parametrize(("variant", "claim"), CLAIMS)
def test_claim_for_other_seeds(variant, claim, seed):
    claim(lessons.trained(variant, seed)[0])


def test_the_bound_is_that_of_all_sequences():
    """The formula with multinomial probabilities, against counting through all 177,147 sequences."""
    letters, answers = all_sequences()
    multisets, group = np.unique(np.sort(letters, axis=1), axis=0, return_inverse=True)
    table = np.zeros((len(multisets), 11))
    np.add.at(table, (group.ravel(), answers), 1)
    shares = table / table.sum(axis=1, keepdims=True)
    entropies = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    sizes = table.sum(axis=1) / len(letters)
    least, most = lessons.bound()
    assert least == pytest.approx((sizes * entropies).sum(), abs=1e-9)
    assert most == pytest.approx(table.max(axis=1).sum() / len(letters), abs=1e-9)
    assert (round(least, 4), round(most, 4)) == (0.8038, 0.5901)


def test_scaling_keeps_entropy_and_gradient():
    sizes = (16, 64, 256, 1024)
    scaled = [lessons.saturation(size, scaled=True) for size in sizes]
    plain = [lessons.saturation(size, scaled=False) for size in sizes]
    np.testing.assert_allclose(scaled, [scaled[0]] * 4, rtol=0.03)
    assert (np.diff(plain, axis=0) < 0).all()
    assert plain[-1][0] < 0.05 * np.log(10) and plain[-1][1] < 0.2 * plain[0][1]


def test_the_sum_of_a_mixture_forgets_who_asked_and_the_residual_remembers():
    """The example in numbers of Task 1."""
    module = program.load(1)
    key = np.array([[[2, 0], [0, 2]]], np.float32)
    value = np.ones((1, 2, 2), np.float32)
    query = np.array([[[1, 0], [0, 1]]], np.float32)
    output, weights = module.Attention()(query=query, key=key, value=value)
    np.testing.assert_allclose(weights[0], [[0.80, 0.20], [0.20, 0.80]], atol=0.005)
    mixture = weights.numpy() @ value
    np.testing.assert_allclose(mixture[0, 0], mixture[0, 1], atol=1e-6)
    assert output[0, 0, 0] > output[0, 0, 1] and output[0, 1, 0] < output[0, 1, 1]
