"""The claims of the lessons, on freshly trained models, and the experiments that they rest on.

The margins are the range over ten trainings or more, widened by about its width; `-m slow` trains ten others.
"""

import itertools

import lessons
import numpy as np
import program
import pytest

OTHER_SEEDS = range(11, 21)
PLAIN, SELF, BLIND, POSITIONS = "2", "2 --self_att", "3", "3 --pos_enc"


@pytest.fixture
def model(trained):
    """Return a function from a variant's name to the model that all tests share."""

    def load(variant):
        task, _ = program.VARIANTS[variant]
        module = program.load(task)
        arguments = module.parse_arguments(["--test", "--savepath", str(trained(variant).savepath)])
        return module.load_model(arguments)[0]

    return load


# --- The edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", lessons.EDITS)
def test_an_edit_applies_once_and_the_edited_program_trains(edit, tmp_path, monkeypatch):
    """It trains, saves and tests; only the compilation, which takes most of the time, is left out."""
    task, diff = lessons.EDITS[edit]
    source = program.script(task).read_text(encoding="utf-8")
    changed = lessons.apply(source, diff)
    assert changed != source
    with pytest.raises(ValueError, match="times"):
        lessons.apply(source + source, diff)
    module = lessons.load(lessons.edited(task, edit))
    monkeypatch.setattr(module.tf, "function", lambda function, **_: function)
    flags = {2: ["--self_att"], 3: ["--pos_enc"]}.get(task, [])
    module.main(["--train", "--steps", "1", *flags, "--savepath", str(tmp_path)])
    trained, _ = module.load_model(module.parse_arguments(["--test", "--savepath", str(tmp_path)]))
    assert np.isfinite(trained(lessons.fresh(task, 5).inputs)[0]).all()


def arrays():
    """Return a random query, key and value of depth 64."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=(3, length, 64)).astype(np.float32) for length in (4, 5, 5)]


def variant(edit):
    """Return the attention layer of an edited program."""
    task, _ = lessons.EDITS[edit]
    return lessons.load(lessons.edited(task, edit)).Attention()


def test_without_the_square_root_the_score_is_the_dot_product_of_keras():
    query, key, value = arrays()
    keras = program.load(1).tf.keras.layers.Attention()
    _, expected = keras([query, value, key], return_attention_scores=True)
    _, weights = variant("1 no square root")(query=query, key=key, value=value)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_the_additive_score_is_that_of_keras():
    query, key, value = arrays()
    keras = program.load(1).tf.keras.layers.AdditiveAttention()
    keras.build([query.shape, value.shape, key.shape])
    scale = np.random.default_rng(1).normal(size=64).astype(np.float32)
    keras.scale.assign(scale)
    _, expected = keras([query, value, key], return_attention_scores=True)
    attention = variant("1 additive score")
    attention(query=query, key=key, value=value)  # Creates the weights of the layers.
    attention.of_query.kernel.assign(np.eye(64))
    attention.of_key.kernel.assign(np.eye(64))
    attention.score.kernel.assign(scale[:, None])
    _, weights = attention(query=query, key=key, value=value)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_a_sigmoid_makes_a_sum():
    query, key, value = arrays()
    output, weights = variant("1 sigmoid")(query=query, key=key, value=value)
    expected = 1 / (1 + np.exp(-(query @ key.transpose(0, 2, 1)) / 8))
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(output, expected @ value + query, atol=1e-4)


def test_a_causal_mask_hides_what_comes_later():
    _, key, value = arrays()
    attention = variant("3 causal mask")
    _, weights = attention(query=key, key=key, value=value)
    assert (np.triu(weights.numpy(), 1) == 0).all()
    np.testing.assert_allclose(weights.numpy().sum(axis=-1), 1, atol=1e-5)
    _, weights = attention(query=key[:, :1], key=key, value=value)
    assert (weights.numpy() > 0).all()


def test_sinusoids_are_those_of_the_formula():
    module = lessons.load(lessons.edited(3, "3 sinusoids"))
    encoding = module.AttentionModel(pos_enc=True).positional_encoding.numpy()[0]
    for position, dimension in itertools.product(range(11), range(64)):
        angle = position / 10000 ** (dimension // 2 * 2 / 64)
        expected = (np.cos if dimension % 2 else np.sin)(angle)
        assert encoding[position, dimension] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("ratio", lessons.FIXED_RATIOS)
def test_fixed_weights_prefer_the_own_letter_by_their_ratio(ratio):
    module = lessons.load(lessons.edited(1, f"1 fixed weights, {ratio}"))
    assert lessons.ratios(module.AttentionModel()) == pytest.approx((ratio, ratio), rel=1e-4)


# --- The claims -----------------------------------------------------------------------------------------


def claim_the_largest_weights_are_on_the_letter(model):
    assert lessons.exact_positions(model) > 0.99


def claim_the_weight_counts(model):
    """The total weight on a letter follows from how much it is preferred to a blank and to other letters."""
    blank, letter = lessons.ratios(model)
    assert 2.2 < blank < 2.5 and 3.5 < letter < 4.05
    formula = lessons.mass_formula(np.arange(9), blank, letter)
    np.testing.assert_allclose(lessons.mass_by_count(model), formula, atol=0.03)


def claim_an_average_sees_shares_and_not_counts(model):
    assert lessons.accuracy_at(model, 10) > 0.92
    assert lessons.accuracy_at(model, 9) > 0.5 and lessons.accuracy_at(model, 11) > 0.2
    assert lessons.accuracy_at(model, 5) < 0.01 and lessons.accuracy_at(model, 20) < 0.01
    two_of_four = model(lessons.spell(1, "AABB").inputs)[0].numpy()[0].argmax(axis=-1)
    assert abs(two_of_four - [5, 5, 0]).max() <= 1  # The half that they are, of ten.
    assert lessons.shares(1, [model], "AAAA") == lessons.shares(1, [model], "AAAAAAAAAA")


def claim_the_larger_count_wins_in_every_case(model):
    larger, smaller, itself, wins = lessons.attended(model)
    assert 0.65 < larger < 0.79 and smaller < 0.05 and 0.16 < itself < 0.29
    assert wins == 1
    assert min(lessons.every_case(model).values()) > 0.58


def claim_step_3_uses_the_larger_count_and_itself(model):
    changed = lessons.interventions_on_weights(model)
    assert changed["none"][0] > 0.92
    assert changed["the weights on steps 0 and 1 exchanged"][0] < 0.16
    assert changed["none on the smaller count"][0] > 0.95
    assert changed["none on the larger count"][0] < 0.06
    assert changed["none on itself"][0] < 0.92


def claim_twice_the_larger_minus_the_sum_does_not_come_out(model):
    for anew in (False, True):
        answers, given, before, after = lessons.patch(model, "larger", anew)
        formulas = lessons.formulas_of_larger(answers, given)
        shares = lessons.formula_shares(formulas, before, after)
        assert shares["2 · max′ − (A + B)"][1] < 0.02
        assert max(share for _, share in shares.values()) < 0.5


def claim_who_is_larger_matters_more_than_how_many(model):
    no_what, _, small_error, no_who, _, large_error = lessons.who_or_what(model)
    assert no_what > 0.55 and no_who < 0.5
    assert small_error < large_error


def claim_step_3_holds_the_signed_difference(model):
    found = lessons.readouts(model)
    assert min(found[3, name] for name in ("A", "B", "A − B")) > 0.95


def all_sequences():
    """Return all 3 to the 11 sequences of Task 3, int (177147, 11), and their answers."""
    letters = np.array(list(itertools.product(range(3), repeat=11)), dtype=np.int32)
    return letters, program.load(3).Task().solve(letters)


def claim_no_model_that_does_not_see_the_order_passes_the_bound(model):
    """The exact expected loss and accuracy, over all sequences."""
    letters, answers = all_sequences()
    right, loss = lessons.score(lessons.outputs(model, np.eye(3, dtype=np.float32)[letters]), answers)
    least, most = lessons.bound()
    assert least - 1e-4 < loss < 1.25
    assert 0.42 < right < most + 1e-4


def claim_without_positions_weights_only_change_places(model):
    encoder, decoder, logits = lessons.order_changes(model)
    assert max(encoder, decoder) < 1e-6 and logits < 1e-4


def claim_the_signal_is_looked_at_whatever_letter_it_is(model):
    *signal, other = lessons.weight_on_signal(model)
    assert min(signal) > other and max(signal) < 0.65 and 0.03 < other < 0.09
    assert lessons.order_changes(model)[1] > 0.2
    lengths = lessons.norms(model)
    assert 0.7 < lengths[0] < 1.1 and 0.08 < lengths[1:].min() and lengths[1:].max() < 0.26
    cosines = lessons.cosines(model)
    assert cosines[0, 1:].max() < 0 and cosines[1:, 1:].min() > 0.9


def claim_the_trained_decoder_relies_on_its_weights(model):
    changed = lessons.interventions_on_signal(model)
    assert changed["none"] == (1, 0)
    assert max(changed["equal weights"][0], changed["none on the signal"][0]) < 0.7


def claim_the_answer_is_read_off_the_signal(model):
    own, given, _ = lessons.patch_signal(model, alike=True, others=False, anew=True)
    assert given > own
    own, given, _ = lessons.patch_signal(model, alike=True, others=True, anew=True)
    assert own > given


def claim_the_first_letter_is_the_question(model):
    for text, answer in (("BBABCCABCAB", 4), ("BABBCCABCAB", 4), ("ABBBCCABCAB", 2)):
        assert lessons.shares(3, [model], text) == f"`[{answer}]` 1 of 1"


CLAIMS = [
    ("1", claim_the_largest_weights_are_on_the_letter),
    ("1", claim_the_weight_counts),
    ("1", claim_an_average_sees_shares_and_not_counts),
    (SELF, claim_the_larger_count_wins_in_every_case),
    (SELF, claim_step_3_uses_the_larger_count_and_itself),
    (SELF, claim_twice_the_larger_minus_the_sum_does_not_come_out),
    (SELF, claim_who_is_larger_matters_more_than_how_many),
    (SELF, claim_step_3_holds_the_signed_difference),
    (BLIND, claim_no_model_that_does_not_see_the_order_passes_the_bound),
    (BLIND, claim_without_positions_weights_only_change_places),
    (POSITIONS, claim_the_signal_is_looked_at_whatever_letter_it_is),
    (POSITIONS, claim_the_trained_decoder_relies_on_its_weights),
    (POSITIONS, claim_the_answer_is_read_off_the_signal),
    (POSITIONS, claim_the_first_letter_is_the_question),
]


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_claim(name, claim, model):
    claim(model(name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", OTHER_SEEDS)
@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_claim_for_other_seeds(name, claim, seed):
    task, flags = program.VARIANTS[name]
    claim(lessons.trained(task, None, " ".join(flags), seed)[0])


def mean_score(task, edit=None, flags=""):
    """Return the mean fraction right and the mean loss of ten other trainings."""
    data = lessons.fresh(task)
    group = lessons.models(task, edit, flags, OTHER_SEEDS)
    return np.mean([lessons.score(lessons.outputs(one, data.inputs), data.answers) for one in group], axis=0)


@pytest.mark.slow
def test_controls_of_counting():
    """Weights that are all equal count, stronger preferences count worse, and a sum counts at any length."""
    assert mean_score(1, "1 equal weights")[0] > 0.91
    by_ratio = [mean_score(1, f"1 fixed weights, {ratio}")[1] for ratio in lessons.FIXED_RATIOS]
    assert by_ratio[-1] > 2 * min(by_ratio)
    sums = lessons.models(1, "1 sigmoid", "", OTHER_SEEDS)
    assert np.mean([lessons.accuracy_at(one, 5) for one in sums]) > 0.99


@pytest.mark.slow
def test_controls_of_the_difference():
    """Steps on their own do as well as self-attention, unless step 3 has read nothing."""
    flags = "--self_att"
    plain, attention, alone = (
        mean_score(2, *run)[1] for run in ((None, ""), (None, flags), ("2 itself", flags))
    )
    assert alone < attention < plain
    blind = [
        np.mean([lessons.two_parts(one)[3] for one in lessons.models(2, edit, flags, OTHER_SEEDS)])
        for edit in ("2 blind itself", "2 blind equal weights", "2 blind")
    ]
    assert blind[0] < 0.4 and blind == sorted(blind)


@pytest.mark.slow
def test_controls_of_the_signal():
    """Averages answer nearly everything, and a causal mask passes the bound without any encoding."""
    assert mean_score(3, "3 both equal weights", "--pos_enc")[0] > 0.97
    right, loss = mean_score(3, "3 causal mask", "--enc_layers 2")
    least, most = lessons.bound()
    assert right > most + 0.05 and loss < least


def test_the_bound_is_that_of_all_sequences():
    """The formula with multinomial probabilities, against counting through all 177,147 sequences."""
    letters, answers = all_sequences()
    multisets, group = np.unique(np.sort(letters, axis=1), axis=0, return_inverse=True)
    table = np.zeros((len(multisets), 11))
    np.add.at(table, (group.ravel(), answers[:, 0]), 1)
    shares = table / table.sum(axis=1, keepdims=True)
    entropies = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    sizes = table.sum(axis=1) / len(letters)
    least, most = lessons.bound()
    assert least == pytest.approx((sizes * entropies).sum(), abs=1e-9)
    assert most == pytest.approx(table.max(axis=1).sum() / len(letters), abs=1e-9)
    assert (round(least, 4), round(most, 4)) == (0.8038, 0.5901)


def test_scaling_keeps_the_gradient_by_the_logits_and_not_that_by_the_query():
    sizes = (16, 64, 256, 1024)
    scaled = np.array([lessons.saturation(size, scaled=True) for size in sizes])
    plain = np.array([lessons.saturation(size, scaled=False) for size in sizes])
    np.testing.assert_allclose(scaled, np.broadcast_to(scaled[0], scaled.shape), rtol=0.03)
    assert (np.diff(plain[:, :2], axis=0) < 0).all()  # Entropy, and the gradient by the logits.
    assert (np.diff(plain[:, 2]) > 0).all()


def test_without_the_residual_ten_equal_letters_get_one_answer_for_all_steps():
    module = lessons.load(lessons.edited(1, "1 no residual"))
    model = module.AttentionModel()
    model.query.assign(np.random.default_rng(0).normal(size=(1, 3, 64)))
    logits = model(lessons.spell(1, "AAAAAAAAAA").inputs)[0].numpy()[0]
    np.testing.assert_allclose(logits, logits[[0, 0, 0]], atol=1e-5)
    whole = program.load(1).AttentionModel()
    whole.query.assign(model.query)
    logits = whole(lessons.spell(1, "AAAAAAAAAA").inputs)[0].numpy()[0]
    assert np.abs(logits - logits[[0, 0, 0]]).max() > 0.1
