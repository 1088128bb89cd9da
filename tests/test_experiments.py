"""The edits of the three experiments.md, the training runs of the package, its results and the pages."""

import collections
import contextlib
import importlib
import io
import re
import shutil
import sys
import time
import types
from unittest import mock

import figures
import numpy as np
import program
import pytest
from experiments import benchmark, edits, exercises, measuring, play, programs, results, trainings

experiments = importlib.import_module("experiments.__main__")
LESSONS = {task: importlib.import_module(f"experiments.lesson_{task}") for task in program.FOLDERS}
SETUPS = [setup for lesson in experiments.LESSONS.values() for setup, _ in lesson.SETUPS]
EDITED = {(setup.task, setup.edit): setup for setup in SETUPS if setup.edit and setup.task in LESSONS}
BRIEF = trainings.Setup(1, "A", "--steps 2 --print_every 1")


@pytest.fixture(scope="module")
def one_edit(tmp_path_factory):
    """Train edit A briefly: .folder of its model, what is .printed, .written results."""
    folder, before = tmp_path_factory.mktemp("cache"), program.files(results.FOLDER)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(experiments, "MODELS", folder)
        experiments.main(["--lesson", "1", "--only", "A", "--seeds", "1-1", f"--flags={BRIEF.flags}"])
    written = [name for name in program.files(results.FOLDER) if name not in before]
    return types.SimpleNamespace(folder=folder, printed=printed.getvalue(), written=written)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Return a trainings.ModelCache without models."""
    return trainings.ModelCache(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def edited(cache):
    """Return a function from a task and an edit to the edited main.py as a module."""
    return cache.module


def settings(setup):
    """Return the arguments of the AttentionModel that a setup trains."""
    words, own = setup.flags.split(), {}
    if setup.task == 2:
        own = {"self_att": "--self_att" in words}
    elif setup.task == 3:
        own = {"pos_enc": "--pos_enc" in words, "enc_layers": 0 if "--enc_layers" in words else 1}
    return {"max_len": 10, "vocab_size": 3, "hidden": 64} | own


# --- The edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", LESSONS)
def test_each_edit_on_the_page_is_measured(task):
    parts = [part.split(" ")[0] for number, edit in EDITED if number == task for part in edit.split("+")]
    assert set(edits.read(task)) == set(parts), f"Each edit needs a row in experiments/lesson_{task}*.py."


@pytest.mark.parametrize(("task", "edit"), EDITED)
def test_an_edit_applies_and_the_edited_model_answers(task, edit, edited, tmp_path):
    """It is built with the flags of its trainings, called, saved and loaded; the experiments train it."""
    module, arguments = edited(task, edit), settings(EDITED[task, edit])
    model, data = module.AttentionModel(**arguments), measuring.new_data(task, 2)
    for weight in model.weights:
        weight.assign(weight + 1)  # Not what a new model has.
    logits = model(data.inputs)[0].numpy()
    saved = types.SimpleNamespace(settings=arguments, checkpoint=tmp_path / "model.npz")
    module.save_model(saved, model, 1)
    if model.non_trainable_weights:  # The page's models have none.
        loaded = programs.load_model(module, saved.checkpoint)
        np.testing.assert_allclose(loaded(data.inputs)[0], logits, rtol=1e-5)
    answers = module.Task(10, 3, None).answers(data.inputs)
    assert logits.shape == (*answers.shape, 11) and np.isfinite(logits).all()


def test_a_place_that_is_not_there_exactly_once_is_refused():
    diff = "@@ here\n a\n-b\n@@ there\n-c\n+d\n"
    assert edits.apply("\na\nb\n\nc\n", diff) == "\na\n\nd\n"
    for source in ("\na\nb\n", "\na\nb\nc\na\nb\n", "\na\nx\nb\nc\n"):
        with pytest.raises(ValueError, match="times"):
            edits.apply(source, diff)
    with pytest.raises(edits.EditError):
        edits.apply("\na\nc\n", " a\nb\n-c\n")


def test_an_edit_stands_on_its_page_once_and_has_one_diff(tmp_path, monkeypatch):
    page = tmp_path / program.FOLDERS[1] / "experiments.md"
    page.parent.mkdir()
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    diff = "```diff\n-old\n+new\n```\n"
    edit = "<details><summary>A: a name</summary>\n\n{}\n</details>\n"
    once = edit.format(diff)
    for text in (once, 2 * once, edit.format(""), edit.format(2 * diff)):
        page.write_text(f"# A page\n\n## The edits\n\n{text}\n## More\n", encoding="utf-8")
        with contextlib.nullcontext() if text == once else pytest.raises(edits.EditError, match="A"):
            assert edits.read(1) == {"A": "-old\n+new\n"}


def test_a_number_goes_where_there_is_a_place_for_it():
    for edit in ("H 2", "G"):
        with pytest.raises(ValueError, match="number"):
            edits.program("transformer", edit)


# --- Edits against what they claim to be ----------------------------------------------------------------


@pytest.fixture
def arrays():
    """Return a random query, key and value of depth 64."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=(3, length, 64)).astype(np.float32) for length in (4, 5, 5)]


def test_without_the_square_root_the_score_is_the_dot_product_of_keras(arrays, edited):
    query, key, value = arrays
    module = edited(1, "H")
    _, expected = module.tf.keras.layers.Attention()([query, value, key], return_attention_scores=True)
    _, weights = module.Attention()(query=query, key=key, value=value)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


def test_the_additive_score_is_that_of_keras(arrays, edited):
    query, key, value = arrays
    module = edited(1, "J")
    keras, ours = module.tf.keras.layers.AdditiveAttention(), module.Attention()
    keras.build([query.shape, value.shape, key.shape])
    keras.scale.assign(np.random.default_rng(1).normal(size=64))
    _, expected = keras([query, value, key], return_attention_scores=True)
    ours(query=query, key=key, value=value)  # Creates the weights of the layers.
    for layer, kernel in ((ours.of_query, np.eye(64)), (ours.of_key, np.eye(64))):
        layer.kernel.assign(kernel)
    ours.score.kernel.assign(keras.scale[:, None])
    np.testing.assert_allclose(ours(query=query, key=key, value=value)[1], expected, atol=1e-5)


def test_a_sigmoid_makes_a_sum(arrays, edited):
    query, key, value = arrays
    output, weights = edited(1, "C").Attention()(query=query, key=key, value=value)
    expected = 1 / (1 + np.exp(-(query @ key.transpose(0, 2, 1)) / 8))
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(output, expected @ value + query, atol=1e-4)


def test_fixed_weights_prefer_the_own_letter_by_their_ratio(edited):
    module = edited(1, "B")
    weights = module.AttentionModel(10, 3, 64)(measuring.spell(1, " ABC").inputs)[1][0]
    np.testing.assert_allclose(weights, (1 + 99 * np.eye(4)[1:]) / 103, atol=1e-6)


def test_the_expected_model_attends_to_both_counts_and_the_other_one_not_to_itself(edited):
    inputs = measuring.spell(2, "AABC").inputs
    expected, learnt = (edited(2, edit).AttentionModel(10, 3, 64, True)(inputs)[2][0] for edit in "DE")
    np.testing.assert_allclose(expected, [*np.eye(4)[:3], (0.5, 0.5, 0, 0)])
    np.testing.assert_allclose(learnt[3, 3], 0, atol=1e-6)
    np.testing.assert_allclose(np.sum(learnt, axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize("task", LESSONS)
def test_each_command_of_an_exercise_asks_models_that_are_trained(task):
    """They are in the order of the page."""
    commands = exercises.commands(task)
    setups = [exercises.asked(task, command)[0] for command in commands]
    assert setups and set(setups) <= set(SETUPS)
    assert sorted(commands, key=" ".join(figures.text(task).split()).index) == commands


def test_the_results_of_the_exercises_are_those_of_all_models_that_are_asked():
    for lesson in LESSONS:
        text = results.path(f"lesson_{lesson}").read_text(encoding="utf-8").partition("### The exercises")[2]
        for _, _, cell in results.tables(text):
            of = np.array(re.findall(r"(\d+) of (\d+)", cell), int)
            assert of[:, 0].sum() == of[0, 1] == len(exercises.SEEDS)


# --- The trainings --------------------------------------------------------------------------------------


PROGRAM = '''
"""It trains."""
flag("--lr", default=0.01, help="learning rate (0.01)")
flag("--savepath", default="models", help="folder (models)")
LETTERS = " ABC"

def train(args):
    """Train a model."""
    optimizer = Adam(args.lr)  # As in the paper.
    with tf.GradientTape() as tape:
        loss = loss_of(tf.nn.softmax(numbers(LETTERS, size=64)))
    optimizer.apply(tape.gradient(loss))
    print(f"Loss: {loss}")
    save(args)

def numbers(letters, size):
    return letters.sum(axis=-2) * size

def save(args):
    np.savez(args.savepath)
'''
TRAINS_THE_SAME = {  # What stands in the program, and what comes there.
    "It trains.": "It learns.",
    "Train a model": "Train it",
    "As in the paper": "As usual",
    'flag("--savepath"': 'flag("--dpi")\nflag("--savepath"',
    "Loss: ": "The loss is ",
    "np.savez(": "np.savez_compressed(",
    '"models"': '"trained"',
}
TRAINS_OTHERWISE = {
    "softmax(": "sigmoid(",
    "default=0.01": "default=0.02",
    "=64": "=32",
    " ABC": " ACB",
    "axis=-2": "axis=-1",
    "apply(": "apply(2 * ",
    "Adam(": "SGD(",
}


def test_what_trains_decides_whether_a_model_is_trained_anew():
    usual = trainings.identity(PROGRAM)
    for old, new in (TRAINS_THE_SAME | TRAINS_OTHERWISE).items():
        assert PROGRAM.count(old) == 1
        assert (trainings.identity(PROGRAM.replace(old, new)) == usual) == (old in TRAINS_THE_SAME), old


def test_no_two_edits_train_the_same(cache):
    texts = {(setup.task, setup.edit) for setup in SETUPS}
    assert len({cache.program_folder(*edited) for edited in texts}) == len(texts)


def test_only_trains_and_prints_one_edit(one_edit, monkeypatch):
    """With these flags and seeds; nothing is written, and what does not exist is one line."""
    assert experiments.seeds("21-23") == [21, 22, 23]
    assert re.search(rf"^\| A {BRIEF.flags} \| {results.NUMBER} \(", one_edit.printed, re.MULTILINE)
    assert len(list(one_edit.folder.glob("1-*/--*"))) == 1 and one_edit.written == []
    with pytest.raises(SystemExit, match="^.*there is no edit Z.*$"):
        experiments.main(["--lesson", "1", "--only", "Z"])


@pytest.mark.parametrize(
    ("words", "setup", "seeds"),
    [
        ("1 --only A+F", trainings.Setup(1, "A+F", ""), range(1, 11)),
        ("1 --only A+F --flags=--steps=9", trainings.Setup(1, "A+F", "--steps=9"), range(1, 11)),
        ("2 --only F+B", trainings.Setup(2, "F+B", "--self_att"), range(1, 11)),
        ("2_expected --only D", trainings.Setup(2, "D", "--self_att"), range(1, 11)),
        ("2 --only C", trainings.Setup(2, "C", ""), range(1, 11)),
        ("3 --only B --flags=", trainings.Setup(3, "B", ""), range(1, 11)),
        ("3 --only A+B+D", trainings.Setup(3, "A+B+D", "--pos_enc"), range(1, 21)),
        ("3 --only D --seeds 21-22", trainings.Setup(3, "D", "--pos_enc"), range(1, 11)),  # It has no row.
        ("3_layers --only A", trainings.Setup(3, "A", "--pos_enc"), range(1, 11)),
        ("3_transformer --only G_2", trainings.Setup("transformer", "G 2", ""), range(1, 6)),
    ],
)
def test_only_trains_what_its_row_trains_unless_it_has_flags(words, setup, seeds, monkeypatch):
    cache, compare = mock.Mock(), mock.Mock()
    lesson, *flags = (word.replace("_2", " 2") if word[0] == "G" else word for word in words.split())
    monkeypatch.setattr(trainings, "ModelCache", mock.Mock(return_value=cache))
    monkeypatch.setattr(experiments.LESSONS[lesson], "compare_scores", compare)
    experiments.main(["--lesson", lesson, *flags])
    trainings.ModelCache.assert_called_once_with(experiments.MODELS, [21, 22] if "21-22" in words else None)
    assert cache.train.call_args.args == ([(setup, seeds)],) and cache.models.call_args.args == (setup, seeds)
    label = f"{setup.edit} {setup.flags}".strip()
    assert compare.call_args.args[1] == {label: cache.models()} and compare.call_args.kwargs == {"each": True}


def test_each_setup_and_seed_has_a_model_and_losses_of_its_own(tmp_path):
    """Seeds that replace those of a setup replace them where all are asked for, and not where one is."""
    cache, runs = trainings.ModelCache(tmp_path, [21, 22]), {}
    arrays = dict(np.load(play.FOLDER / "checkpoints" / "counting.npz"))
    for setup in (trainings.Setup(1, None, ""), trainings.Setup(1, None, "--steps 8000")):
        for seed in (21, 22):
            arrays["query"] = np.full_like(arrays["query"], len(runs))
            folder = cache.savepath(setup, seed)
            folder.mkdir()
            np.savez(folder / "model.npz", **arrays)
            (folder / "output.txt").write_text(f"Iteration 1 - Loss {len(runs)}.5\n", encoding="utf-8")
            runs[setup, seed] = len(runs)
    for setup, seed in runs:
        queries = [model.query.numpy().mean() for model in cache.models(setup, [1, 2, 3])]
        assert queries == [runs[setup, 21], runs[setup, 22]]
        assert cache.losses(setup, seed) == [(1, runs[setup, seed] + 0.5)]


def test_what_is_trained_is_kept_and_a_failure_is_one_line(one_edit, monkeypatch):
    cache = trainings.ModelCache(one_edit.folder)
    with pytest.raises(trainings.TrainingError, match="^Task 1, edit A, .*--seed.*-1.*$"):
        cache.train([(BRIEF, [-1])])  # The program has the seed, and refuses it.
    monkeypatch.setattr(trainings, "subprocess", None)  # None is needed.
    cache.train([(BRIEF, [1])])
    assert [step for step, _ in cache.losses(BRIEF, 1)] == [1, 2]
    output = cache.savepath(BRIEF, 1) / "output.txt"
    output.rename(output.with_name("cut_off.txt"))
    with pytest.raises(AttributeError):
        trainings.ModelCache(one_edit.folder).train([(BRIEF, [1])])
    output.with_name("cut_off.txt").rename(output)


def test_each_run_is_trained_once_and_none_long_after_a_failure(tmp_path):
    tried = []

    class Cache(trainings.ModelCache):
        def train_one(self, setup, seed):
            tried.append(seed)
            time.sleep(0.02)
            if seed == 3:
                raise trainings.TrainingError

    cache = Cache(tmp_path)
    cache.train([(BRIEF, [1]), (BRIEF, [1, 2])])
    assert sorted(tried) == [1, 2]
    with pytest.raises(trainings.TrainingError):
        cache.train([(BRIEF, range(3, 200))])
    assert 3 in tried and len(tried) < 100


def test_todays_text_loads_what_an_earlier_one_has_trained(one_edit, tmp_path, monkeypatch):
    changed = tmp_path / "1_counting-letters" / "main.py"
    changed.parent.mkdir()
    changed.write_text(program.source(1) + "TODAY = True\n", encoding="utf-8")
    shutil.copy(program.script(1).with_name("experiments.md"), changed.parent)
    monkeypatch.setattr(programs, "ROOT", tmp_path)
    monkeypatch.setattr(programs, "load", programs.load.__wrapped__)  # As in a process of its own.
    cache = trainings.ModelCache(one_edit.folder, [1])
    monkeypatch.setattr(trainings, "subprocess", None)
    weights = cache.models(BRIEF, [1])[0](np.eye(4, dtype=np.float32)[None])[1]
    np.testing.assert_allclose(weights, 1 / 4, atol=1e-6)
    assert cache.module(BRIEF.task, BRIEF.edit).TODAY


# --- The results ----------------------------------------------------------------------------------------

MEASURED = """
| right | one | two |
| --- | --- | --- |
| `A` | 1.0% (0.5 to 2.0) | 3 (2 to 4) |
| B | 5.0% (4.0 to 6.0) | 7 (6 to 8) |
| C 1: equal | 2.0% (1.0 to 3.0) | 4 (3 to 5) |

It ends at 9.0 (8.0 to 9.5).
"""


@pytest.mark.parametrize(
    ("page", "number"),
    [
        (MEASURED, 0),
        ("| | two |\n| --- | --- |\n| B | 7 (6 to 8) |\n", 0),  # A page may show less.
        ("| | two |\n| --- | --- |\n| [`A`](#a) | 3 (2 to 4) |\n", 0),
        ("| | two |\n| --- | --- |\n| equal | 4 (3 to 5) |\n", 0),
        ("| | two |\n| --- | --- |\n| equal | 7 (6 to 8) |\n", 1),
        ("It is 9.0 (8.0\nto 9.5), or 5.0% (4.0 to 6.0).", 0),
        ("| | two |\n| --- | --- |\n| B | 7 (6 to 9) |\n", 1),  # A digit.
        ("| | two |\n| --- | --- |\n| B | 3 (2 to 4) |\n", 1),  # Another row's.
        ("| | one |\n| --- | --- |\n| B | 7 (6 to 8) |\n", 1),  # Another column's.
        ("| | three |\n| --- | --- |\n| B | 5.0% (4.0 to 6.0) |\n", 0),
        ("| | three |\n| --- | --- |\n| C | 7 (6 to 8) |\n", 1),  # No such row.
        ("| | two, the original |\n| --- | --- |\n| B | 0 (0 to 0) |\n", 0),
        ("It is 9.1 (8.0 to 9.5).", 1),
    ],
)
def test_a_page_is_compared_with_the_results(page, number):
    assert len(results.differences(page, MEASURED)) == number


def measured_for(page):
    """Return the results that a page shows figures of: of its lesson, or of all lessons and the speed."""
    own = page.parent.name[0] in "123" and page.name != "did_it_need_attention.md"
    pattern = f"lesson_{page.parent.name[0]}*.md" if own else "*.md"
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(results.FOLDER.glob(pattern)))


PAGES = [*program.ROOT.glob("*.md"), *program.ROOT.glob("[123]_*/*.md"), program.ROOT / "tests" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_range_of_a_page_was_measured(page):
    """In the row of the same label, and, where the heads are the same, in the same column."""
    text = page.read_text(encoding="utf-8")
    assert results.differences(text, measured_for(page)) == []


def test_a_full_run_writes_each_lesson_and_one_lesson_only_itself(tmp_path, monkeypatch, capsys):
    """The speed has its own command. Other seeds are printed and write nothing. Pictures come last."""
    lessons = {name: mock.Mock(SETUPS=[name], report=lambda cache: print("figures")) for name in "12"}
    monkeypatch.setattr(experiments, "LESSONS", lessons)
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(trainings, "ModelCache", cache := mock.Mock())
    drawn = mock.Mock()
    monkeypatch.setattr(exercises, "report", lambda task, cache: print("exercises of", task))
    monkeypatch.setattr(play, "embed", drawn.models)
    monkeypatch.setattr(experiments.pictures, "draw", drawn.pictures)
    monkeypatch.setattr(experiments.film, "draw", drawn.film)
    for name in ("lesson_1", "speed"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nAnother machine\n", encoding="utf-8")
    for wrong in ("--only A", "--pictures --seeds 1-2", "--lesson 1 --only A --pictures", "--lesson 4"):
        with pytest.raises(SystemExit, match="2"):
            experiments.main(wrong.split())
    experiments.main(["--seeds", "1-3"])
    cache.assert_called_once_with(experiments.MODELS, [1, 2, 3])
    cache().train.assert_called_once_with(["1", "2"])
    assert "figures\nexercises of 2" in capsys.readouterr().out
    assert program.files(tmp_path) == ["lesson_1.md", "speed.md"] and not drawn.mock_calls
    experiments.main(["--lesson", "2"])
    assert re.match(r"\w[^,\[]*, \d+ cores; Python [\d.]+, tensorflow [\d.]+", results.machine())
    assert results.machine() in (tmp_path / "lesson_2.md").read_text(encoding="utf-8")
    assert (
        "Another machine" in (tmp_path / "lesson_1.md").read_text(encoding="utf-8") and not drawn.mock_calls
    )
    for failed in (KeyboardInterrupt, trainings.TrainingError("no line\n"), edits.EditError("no line")):
        cache().train.side_effect = failed
        with pytest.raises(SystemExit, match="130|no line"):
            experiments.main(["--lesson", "1"])
    cache().train.side_effect = None
    experiments.main(["--pictures"])
    for name, text in (("lesson_1", "figures"), ("lesson_2", "figures"), ("speed", "Another machine")):
        assert text in (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert [call.args for call in drawn.mock_calls] == [(cache(),), (["1", "2"], cache()), ()]
    monkeypatch.setattr(results, "pathlib", types.SimpleNamespace(Path=lambda _: tmp_path / "none"))
    assert " cores; Python " in results.machine()  # Where there is no /proc, as on macOS.


def test_the_page_gets_the_models_that_its_names_promise(tmp_path, monkeypatch):
    """Of seed 1, before it is built; the checkpoints that are there have the flags of these."""
    cache = trainings.ModelCache(tmp_path / "models")
    monkeypatch.setattr(trainings, "subprocess", None)  # None is trained.
    for setup in play.MODELS.values():
        folder = cache.savepath(setup, 1)
        folder.mkdir()
        (folder / "output.txt").touch()
        (folder / "model.npz").write_text(str(setup), encoding="utf-8")
    build = mock.Mock()
    monkeypatch.setattr(play.runpy, "run_path", build)
    real = play.FOLDER / "checkpoints"
    monkeypatch.setattr(play, "FOLDER", tmp_path)
    (tmp_path / "checkpoints").mkdir()
    play.embed(cache)
    build.assert_called_once_with(str(tmp_path / "build.py"), run_name="__main__")
    for name, setup in play.MODELS.items():
        assert (tmp_path / "checkpoints" / f"{name}.npz").read_text(encoding="utf-8") == str(setup)
        if setup.task in LESSONS:
            assert programs.read(real / f"{name}.npz")[1]["settings"] == settings(setup)
    assert {path.stem for path in real.iterdir()} == {*play.MODELS}


def test_the_benchmark_says_what_part_of_the_other_program_s_time_this_one_takes(tmp_path, monkeypatch):
    """And it runs each variant with its flags, as often."""
    with pytest.raises(SystemExit):
        benchmark.seconds([sys.executable, "-c", "raise SystemExit(1)"])
    assert 0.1 < benchmark.seconds([sys.executable, "-c", "import time; time.sleep(0.1)"])
    ran = collections.defaultdict(list)  # Where models were saved.
    times = {"their python": (9, 4, 4, 4, 9), "old": (2, 2, 2, 2, 2), sys.executable: (3, 1, 3, 3, 8)}

    def seconds(words):
        python, script, savepath, *flags = map(str, words)
        ran[python, script, " ".join(flags)].append(savepath)
        return times[python][len(ran[python, script, " ".join(flags)]) - 1]

    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(benchmark, "seconds", seconds)
    (tmp_path / program.FOLDERS[1]).mkdir()
    (tmp_path / programs.SCRIPTS[1]).touch()  # The old one has no other task.
    others = ("--other", "theirs", "their python", programs.ROOT, "--other", "old one", "old", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, others)])
    benchmark.main()
    rows = [*results.tables((tmp_path / "speed.md").read_text("utf-8"))]
    cells = {(row, head): cell for row, head, cell in rows}
    assert len(cells) == len(rows) > 30  # Each once.
    trainings_of = []
    for variant in program.VARIANTS:
        row = f"Task {variant}: `--train`"
        old = ["2.00", "1.50"] if variant == "1" else ["", ""]
        heads = "theirs", "of theirs", "old one", "of old one"
        assert [cells[row, head] for head in heads] == ["4.00", "0.75", *old]
        assert cells[row, benchmark.NOW] == "3.00 (1.00 to 8.00)"
        task, *flags = variant.split()
        script, train = str(programs.script(int(task))), f"--train --steps={benchmark.STEPS[int(task)]}"
        keys = [("their python", train), (sys.executable, train), (sys.executable, "--test")]
        theirs, trained, tested = (ran[python, script, " ".join([*flags, what])] for python, what in keys)
        assert len(set(theirs)) == 1 and trained == tested == 5 * tested[:1] and theirs[0] not in trained
        trainings_of.append(trained[0])
    assert len(set(trainings_of)) == len(program.VARIANTS)
