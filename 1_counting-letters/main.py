"""Task 1, Counting Letters: queries, keys and values.

Each element of the input is a letter or a blank, ' ', drawn uniformly and independently. The output
has one step for each letter of the vocabulary: how often that letter occurs.

    input     'A' 'B' ' ' 'B' 'C'      one-hot vectors: ' ' is index 0, 'A' is 1, 'B' is 2, 'C' is 3
    output    1 2 1                    one 'A', two 'B', one 'C'

The lesson begins at `class Task`. What stands before it reads the flags and imports the packages.
"""

# /// script
# requires-python = ">=3.9,<3.15"
# dependencies = ["matplotlib>=3.8,<4", "numpy>=1.26,<3", "tensorflow>=2.16.1,<3"]
# ///

import argparse
import contextlib
import gc
import hashlib
import json
import math
import os
import pathlib
import secrets
import sys
import tempfile

# --- The flags --------------------------------------------------------------------------

TASK = "Counting Letters"
LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def whole(least, most=2**32 - 1):
    """Return a type for argparse: a whole number from least to most."""

    def integer(text):
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a number from {least} to {most}, not {text}")
        return int(text)

    return integer


def folder(text):
    """Return a pathlib.Path; most shells leave the ~ of --savepath=~/models as it is."""
    return pathlib.Path(os.path.expanduser(text))


HERE = pathlib.Path(__file__).absolute().parent
ABOUT = f"{TASK}. Begin with --train --test --plot. Defaults are in brackets."
# Without a usage, an error is one line.
parser = argparse.ArgumentParser("main.py", usage=argparse.SUPPRESS, description=ABOUT, allow_abbrev=False)
parser.formatter_class = argparse.MetavarTypeHelpFormatter
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model predicts, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=whole(1), default=2000, help="training steps (%(default)s)")
flag("--batchsize", type=whole(1), default=100, help="sequences per training step (%(default)s)")
flag("--lr", type=float, default=1e-2, help="Adam's learning rate (%(default)s)")
flag("--savepath", type=folder, default=HERE / "models", help="for the model (models/ beside main.py)")
flag("--plotpath", type=folder, default=HERE / "plots", help="for the images (plots/ beside main.py)")
flag("--print_every", type=whole(1), default=50, help="training steps per loss line (%(default)s)")
flag("--save_every", type=whole(1), default=500, help="training steps per checkpoint (%(default)s)")
flag("--seed", type=whole(0), help="makes a run repeatable (none)")
# These describe the model: they are saved with it, and --test reads them from there.
MODEL_FLAGS = (
    flag("--max_len", type=whole(1), default=10, help="length of a sequence (%(default)s)"),
    flag("--vocab_size", type=whole(1, 26), default=3, help="letters (%(default)s)"),
    flag("--hidden", type=whole(1), default=64, help="encoding dimensions (%(default)s)"),
)
sample = parser.add_mutually_exclusive_group()
sample.add_argument("--sample_len", type=whole(1), help="length of the tested sequence (max_len)")
sample.add_argument("--input", type=str.upper, metavar="TEXT", help='test this, such as "AB BC" (random)')


def fail(message):
    """End the program with one line on standard error."""
    parser.exit(1, f"{parser.prog}: error: {message}\n")


def shown(path):
    """Return a path as it is printed: relative if it is in the current folder."""
    here = pathlib.Path.cwd()
    return path.relative_to(here) if here in path.parents else path


def parse_arguments(argv=None, saved=None):
    """Return the flags; the settings of a saved model, a dict, take the place of their defaults.

    Ends the program with one line where no model can do what they say, or not this one.
    """
    args = parser.parse_args(argv, argparse.Namespace(**(saved or {})))
    if not 0 < args.lr < math.inf:
        parser.error(f"argument --lr: must be a number above 0, not {args.lr}")
    args.settings = {each.dest: vars(args)[each.dest] for each in MODEL_FLAGS}
    args.checkpoint = args.savepath / "checkpoint.npz"
    for name, value in (saved or {}).items():
        if args.settings[name] != value:
            parser.error(f"argument --{name}: it is {value} in {shown(args.checkpoint)}; leave it out")
    if args.input == "":
        parser.error("argument --input: the text is empty; write one such as ABBC")
    if args.input or args.sample_len or (args.plot and not args.train):
        args.test = True
    if not (args.train or args.test):
        parser.exit(2, parser.format_help())
    sizes_known = args.train or saved  # Else they are still to be read from the checkpoint.
    known = LETTERS[: args.vocab_size + 1] if sizes_known else LETTERS
    args.input = (args.input or "").replace("␣", " ")  # Our pages show a blank like this.
    for letter in args.input:
        if letter not in known:
            parser.error(f"argument --input: {letter!r} is not one of {known!r}")
    if not sizes_known and not os.path.exists(args.checkpoint):
        words = ["--train"]
        for name, value in args.settings.items():
            if value != parser.get_default(name):
                words.append(f"--{name}" if value is True else f"--{name} {value}")
        if args.savepath != parser.get_default("savepath"):
            words.append(f'--savepath "{args.savepath}"')  # It may have blanks.
        fail(f"there is no {shown(args.checkpoint)} yet; train it with {' '.join(words)}")
    return args


if __name__ == "__main__":
    parse_arguments()  # A wrong flag does not wait for the imports. main() parses again.

# --- The packages -----------------------------------------------------------------------

os.environ["KERAS_BACKEND"] = "tensorflow"
# These three only if you have not set them yourself.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Fewer messages.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # The same rounding on more processors,
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "2")  # and with any number of cores.
notebook = "IPython" in sys.modules
# With a backend that it does not know, matplotlib cannot be imported; see choose_backend().
backend = None if notebook else os.environ.pop("MPLBACKEND", None)
gc.disable()  # With garbage collection, the imports take a third more processor time.
try:
    if sys.version_info < (3, 9):  # noqa: UP036
        raise ImportError(f"Python {sys.version.split()[0]} is older than 3.9", name="python")
    import matplotlib
    import matplotlib.pyplot as pyplot
    import numpy as np
    import tensorflow as tf

    for package, oldest in ((matplotlib, (3, 8)), (np, (1, 26)), (tf, (2, 16))):
        if tuple(map(int, package.__version__.split(".")[:2])) < oldest:
            raise ImportError(f"{package.__name__} {package.__version__} is too old", name=package.__name__)
except ImportError as error:
    if error.name not in ("python", "matplotlib", "numpy", "tensorflow"):
        raise  # The package is there, but it is broken. Its own error says how.
    remedy = "activate .venv, see README.md"
    if sys.prefix != sys.base_prefix:  # In a virtual environment.
        remedy = "python -m pip install -r requirements.txt"
    fail(f"{error} (in {sys.executable}); {remedy}")
if backend is not None:
    os.environ["MPLBACKEND"] = backend
if __name__ == "__main__" and not notebook:  # In a process of its own.
    gc.freeze()  # Later collections skip what was imported.
gc.enable()

# --- The data ---------------------------------------------------------------------------


class Task:
    """Random sequences of letters, and how often each letter occurs in them.

    Args:
        max_len: int, the length of a sequence, unless next_batch is given another.
        vocab_size: int, the number of letters, the blank not counted.
        generator: numpy.random.Generator that draws the letters, or None for a new one.
    """

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.generator = generator or np.random.default_rng()
        self.letters = LETTERS[: vocab_size + 1]  # The blank comes first.
        self.one_hot = np.eye(len(self.letters), dtype=np.float32)  # A row for each letter.
        self.max_len = max_len

    def next_batch(self, *shape, length=None):
        """Return random inputs, one-hot float32 (*shape, length, vocab_size + 1), and the answers to them.

        The shape is the number of sequences or, with two numbers, of batches and of sequences in each.
        """
        size = (*shape, length or self.max_len)
        indices = self.generator.integers(len(self.letters), size=size, dtype=np.int32)
        inputs = self.one_hot[indices]
        return inputs, self.answers(inputs)

    def answers(self, inputs):
        """Return how often each letter occurs, int32 (..., vocab_size), in (..., length, vocab_size + 1)."""
        return np.sum(inputs, axis=-2)[..., 1:].astype(np.int32)  # Index 0 is the blank.

    def prettify(self, inputs):
        """Return the letters in a column, str (..., length, 1), of inputs (..., length, vocab_size + 1)."""
        return np.array(list(self.letters))[np.argmax(inputs, axis=-1, keepdims=True)]


# --- The attention and the model --------------------------------------------------------


class Attention(tf.keras.layers.Layer):
    """Scaled dot-product attention, then a residual connection and layer normalization.

    weights = softmax(query keyᵀ / √depth) and output = LayerNorm(weights value + query): equation 1 and
    section 3.1 of Vaswani et al. (2017), "Attention is all you need", https://arxiv.org/abs/1706.03762.

    Call with:
        query: float32 (batch or 1, queries, depth), what each query looks for.
        key: float32 (batch, keys, depth), by what each element is found.
        value: float32 (batch, keys, depth), what each element gives.

    Returns:
        output: float32 (batch, queries, depth).
        weights: float32 (batch, queries, keys); each row sums to 1.
    """

    def __init__(self, name="attention"):
        super().__init__(name=name)
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, query, key, value):
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5  # (batch, queries, keys)
        weights = tf.nn.softmax(logits, axis=-1)  # (batch, queries, keys)
        output = self.layer_norm(tf.matmul(weights, value) + query)  # (batch, queries, depth)
        return output, weights


class AttentionModel(tf.keras.Model):
    """One attention layer from letters to counts. It averages, so it sees which share is 'A', not how many.

    Call with one-hot float32 inputs (batch, length, vocab_size + 1).

    There are vocab_size output steps, one for each letter.

    Returns:
        logits: float32 (batch, steps, max_len + 1), a score for each count from 0 to max_len.
        weights: float32 (batch, steps, length), how much each output step attends to each input step.
    """

    def __init__(self, max_len, vocab_size, hidden):
        super().__init__(name="model")
        # A learnt query for each step, zeros at first: so no letter gets more weight than any other.
        self.query = self.add_weight(name="query", shape=(1, vocab_size, hidden), initializer="zeros")
        self.key_layer = tf.keras.layers.Dense(hidden, name="key_layer")
        self.attention = Attention()
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len, vocab_size + 1)))  # A first call creates the weights of the layers.

    def call(self, inputs):
        key = value = self.key_layer(inputs)  # (batch, length, hidden)
        decoding, weights = self.attention(query=self.query, key=key, value=value)  # (batch, steps, hidden)
        return self.logits_layer(decoding), weights


# --- Training ---------------------------------------------------------------------------


def train(args):
    """Train a model and save it; print the loss of single batches.

    A loss that is not finite ends the program. Ctrl-C ends it, too, and saves the model. But an
    earlier model stays if this training has not yet saved a checkpoint of its own.

    Returns:
        model: AttentionModel.
        losses: list of (training step, loss in nats).
    """
    check_folder(args.savepath)  # Better to fail now than after the training.
    if args.plot:
        check_folder(args.plotpath)
    if args.seed is not None:
        tf.keras.utils.set_random_seed(args.seed)
    task = Task(args.max_len, args.vocab_size, np.random.default_rng(args.seed))
    model = AttentionModel(**args.settings)
    optimizer = tf.keras.optimizers.Adam(args.lr)
    optimizer.build(model.trainable_variables)  # Else the first call does, and is traced twice.
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)  # The loop becomes one piece of machine code.
    def run_steps(inputs, answers):  # One batch for each training step.
        loss = 0.0  # Else TensorFlow traces the loop once more, to find out the type.
        for index in tf.range(len(inputs)):
            with tf.GradientTape() as tape:
                logits = model(inputs[index])[0]
                loss = loss_function(answers[index], logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
        return loss

    # Calling run_steps costs more than a small training step. So each call makes several: at most 50, and
    # a number that divides both intervals.
    per_call = math.gcd(50, args.print_every, args.save_every)
    losses, step, saved = [], 0, False
    try:
        while step < args.steps:
            inputs, answers = task.next_batch(min(per_call, args.steps - step), args.batchsize)
            loss = float(run_steps(inputs, answers))
            step += len(inputs)
            if not math.isfinite(loss):
                fail(f"the loss at step {step} is not finite; lower --lr")
            if step % args.print_every == 0 or step == args.steps:
                losses.append((step, loss))
                print(f"Iteration {step} - Loss {loss}", flush=True)
            if step % args.save_every == 0 or step == args.steps:
                save_model(args, model, step)
                saved = True
    except KeyboardInterrupt:
        step = int(optimizer.iterations.numpy())  # Ctrl-C waits for a call to end; `step` lags.
        path = shown(args.checkpoint)
        if step > 0 and (saved or not args.checkpoint.exists()):
            save_model(args, model, step)
            print(f"main.py: stopped; step {step} is saved in {path}", file=sys.stderr)
        else:
            print(f"main.py: stopped; step {step} is not saved, {path} is as it was", file=sys.stderr)
        sys.exit(130)
    print(f"Training complete!\nModel saved to {shown(args.checkpoint)}.", flush=True)
    return model, losses


# --- Testing ----------------------------------------------------------------------------


def test(args, model):
    """Print the answer to a sequence, its attention, and the accuracy; with --plot, draw that attention."""
    generator = np.random.default_rng(args.seed).spawn(1)[0]  # Not the data of the training.
    task = Task(args.max_len, args.vocab_size, generator)
    inputs, _ = task.next_batch(1, length=args.sample_len)
    if args.input:  # In place of the drawn one, so that the samples below stay the same.
        inputs = task.one_hot[None, [LETTERS.index(letter) for letter in args.input]]
    logits, weights = model(inputs)
    prediction, truth = np.argmax(logits, axis=-1), task.answers(inputs)
    weights = weights.numpy()[0].astype(np.float64)  # As float32, 0.1 is printed as 0.10000000149.
    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):  # Long sequences in full.
        print(f"\nInput: \n{task.prettify(inputs)}")
        print(f"\nPrediction: \n{prediction}")
        print(f"\nTruth: \n{truth}")
        print("\nEncoder-Decoder Attention: ")
        for step, row in enumerate(weights.round(3)):
            print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
            print(row.tolist())
    print_accuracy(model, task, length=inputs.shape[1])
    if args.plot:
        title = f"Encoder-decoder attention\nPrediction: {prediction[0]}\nTruth: {truth[0]}"
        rows = [f"{step}: count of {letter}" for step, letter in enumerate(task.letters[1:])]
        letters = task.prettify(inputs)[0, :, 0]
        columns = [f"{'␣' if letter == ' ' else letter}\n{step}" for step, letter in enumerate(letters)]
        path = args.plotpath / "encoder_decoder_attention.png"
        draw_heatmap(title, weights, ("Output step", rows), ("Input step", columns), path)


def print_accuracy(model, task, length):
    """Print how often a model is right on new samples: whole sequences, and single output steps."""
    right = []
    for _ in range(10):  # Ten batches, smaller ones if the sequences are long.
        inputs, answers = task.next_batch(max(1, min(1000, 10**5 // length)), length=length)
        right.extend(np.argmax(model(inputs)[0], axis=-1) == answers)
    print(f"\nAccuracy on {len(right)} new samples of length {length}: ", end="")
    print(f"{np.all(right, 1).mean():.2%} of sequences, {np.mean(right):.2%} of output steps", flush=True)


# --- Drawing ----------------------------------------------------------------------------


def choose_backend():
    """Let matplotlib draw as the user wants or, where that cannot be loaded, into files only."""
    try:
        pyplot.switch_backend(backend or pyplot.get_backend())
    except Exception:  # A module that is no backend raises all kinds.
        pyplot.switch_backend("agg")


def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.semilogy(*np.transpose(losses), marker=".")
    axes.set(title=f"{TASK}: loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(which="both", alpha=0.3)
    save_figure(figure, path)


def draw_heatmap(title, weights, rows, columns, path):
    """Draw attention weights, float (queries, keys), into a PNG file; rows and columns are (label, names)."""
    cells = np.minimum(0.6, 14 / np.array(weights.shape[::-1]))  # Width and height of a cell, in inches.
    longest = max(map(len, title.splitlines()))
    size = np.maximum(cells * weights.shape[::-1] + (3, 1.7), (max(5, longest / 8), 2.3))  # With margins.
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    brightest = min(1, max(2 / weights.shape[1], weights.max()))  # Equal weights get the middle colour.
    aspect = "equal" if cells[0] == cells[1] else "auto"
    image = axes.imshow(weights, vmin=0, vmax=brightest, aspect=aspect, interpolation="nearest")
    colour_bar = axes.inset_axes((1.03, 0, 0.2 / (cells[0] * weights.shape[1]), 1))  # As high as the cells.
    figure.colorbar(image, cax=colour_bar, label="Attention weight")
    axes.set(title=title, xlabel=columns[0], ylabel=rows[0])
    for axis, (_, names), cell in zip((axes.xaxis, axes.yaxis), (columns, rows), cells):
        every = math.ceil(0.3 / cell)  # Leave out names that would overlap.
        axis.set_ticks(range(0, len(names), every), names[::every])
    if cells.min() >= 0.35:  # Room for a number in each cell.
        for (row, column), weight in np.ndenumerate(weights):
            colour = "black" if weight > 0.4 * brightest else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour)
    save_figure(figure, path)


def save_figure(figure, path):
    """Write a figure as a PNG file, which a notebook shows; leave it open only for a window."""
    write_file(path, lambda file: figure.savefig(file, dpi=150, format="png"))
    print(f"Plot saved to {shown(path)}.", flush=True)
    inline = "inline" in pyplot.get_backend()
    if inline and notebook:  # Its own way would show nothing in the first cell that draws.
        display = sys.modules["IPython.display"]
        display.display(display.Image(path))
    if inline or pyplot.get_backend().lower() == "agg":
        pyplot.close(figure)


# --- Saving and loading -----------------------------------------------------------------

PROGRAM = pathlib.Path(__file__).read_text(encoding="utf-8")  # As text, all line ends are the same.
FILE_HASH = hashlib.sha256(PROGRAM.encode()).hexdigest()


@contextlib.contextmanager
def writing(path):
    """End the program with one line where a path cannot be written."""
    try:
        yield
    except OSError as error:
        reason = f"{shown(path)} cannot be written ({error.strerror or error})"
        fail(f"{reason}; --savepath and --plotpath can name other folders")


def check_folder(folder):
    """Make a folder, and try whether a file can be made in it."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_file(path, write):
    """Write path by write(file), whole or not at all."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")  # Another run may write here, too.
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("xb") as file:
                write(file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def save_model(args, model, step):
    """Save a model after this training step, and what it takes to build it, as a NumPy archive."""
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights), "two layers have the same name"
    if not all(np.isfinite(array).all() for array in arrays.values()):  # The last step can do that.
        fail(f"not all weights at step {step} are finite; lower --lr")
    description = dict(task=TASK, step=step, settings=args.settings, program=FILE_HASH)
    arrays["description"] = json.dumps(description)
    write_file(args.checkpoint, lambda file: np.savez(file, **arrays))


def load_model(path):
    """Return the model in a checkpoint and its settings, a dict; end the program where it does not fit."""
    path = pathlib.Path(path)
    unfit = f"{shown(path)} is missing, damaged, or not of this file; undo an edit, or change --savepath"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive}
        description = json.loads(arrays.pop("description").item())
        saved, program = description["settings"], description["program"]
        # Each value must be one that its flag would take.
        settings = {each.dest: (each.type or bool)(saved[each.dest]) for each in MODEL_FLAGS}
        if settings != saved or description["task"] != TASK:
            fail(unfit)
    except Exception:  # A damaged or foreign file raises all kinds.
        fail(unfit)
    model = AttentionModel(**settings)
    weights = {weight.path.removeprefix("model/"): weight for weight in model.weights}
    needed = {name: (*weight.shape, weight.dtype) for name, weight in weights.items()}
    if needed != {name: (*array.shape, array.dtype.name) for name, array in arrays.items()}:
        fail(unfit)
    for name, weight in weights.items():
        weight.assign(arrays[name])
    if program != FILE_HASH:
        name = pathlib.Path(__file__).name
        print(f"warning: {name} is not the program that trained {shown(path)}", file=sys.stderr)
    return model, settings


# --- The program ------------------------------------------------------------------------


@pyplot.style.context("default")  # As on our pages, whatever a notebook has chosen.
def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; where it cannot, exit with one line."""
    args = parse_arguments(argv)
    if args.plot:
        choose_backend()
    if args.train:
        model, losses = train(args)
    else:
        model, settings = load_model(args.checkpoint)
        args = parse_arguments(argv, settings)
    if args.test:
        test(args, model)
    if args.train and args.plot:
        draw_losses(losses, args.plotpath / "loss.png")
    if pyplot.get_fignums():
        pyplot.show()


if __name__ == "__main__":
    main()
