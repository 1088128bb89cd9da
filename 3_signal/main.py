"""Task 3, Signal: positional encodings.

Each element of the input is a letter, drawn uniformly and independently. The first one is the signal: it
names the letter to count in the rest. The output has one step: how often that letter occurs after the signal.

    input     'B' 'B' 'A' 'B' 'C'      one-hot vectors: 'A' is index 0, 'B' is 1, 'C' is 2
    output    2                        the signal is 'B', and two 'B' follow

The signal's vector looks like any other letter's, and attention does not see in which order letters come.
With --pos_enc, each position adds a vector of its own to its letter.
"""

# /// script
# requires-python = ">=3.9"
# dependencies = ["matplotlib>=3.8,<4", "numpy>=1.26,<3", "tensorflow>=2.16.1,<3"]
# ///

import argparse
import atexit
import contextlib
import errno
import gc
import hashlib
import json
import math
import os
import pathlib
import secrets
import sys

# --- The flags ------------------------------------------------------------------------

TASK = "Signal"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The settings of a model to train. --test takes those of the saved one.
DEFAULTS = {"max_len": 10, "vocab_size": 3, "hidden": 64, "pos_enc": False, "enc_layers": 1}
HERE = pathlib.Path(__file__).parent
ABOUT = f"{TASK}. Begin with --train --test --plot. Defaults are in brackets."
parser = argparse.ArgumentParser("main.py", usage=argparse.SUPPRESS, description=ABOUT, allow_abbrev=False)
parser.formatter_class = argparse.MetavarTypeHelpFormatter
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model predicts, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=int, default=2000, help="training steps (%(default)s)")
flag("--batchsize", type=int, default=100, help="sequences per training step (%(default)s)")
flag("--lr", type=float, default=1e-3, help="Adam's learning rate (%(default)s)")
# The settings of a model have no default here, so that --test can tell "not given", None, from "given".
flag("--hidden", type=int, help=f"encoding dimensions ({DEFAULTS['hidden']})")
flag("--savepath", type=pathlib.Path, default=HERE / "models", help="for the model (models/ beside main.py)")
flag("--plotpath", type=pathlib.Path, default=HERE / "plots", help="for the images (plots/ beside main.py)")
flag("--max_len", type=int, help=f"letters after the signal ({DEFAULTS['max_len']})")
flag("--vocab_size", type=int, choices=range(1, 27), metavar="N", help=f"letters ({DEFAULTS['vocab_size']})")
flag("--print_every", type=int, default=50, help="steps per loss line; fewer show sooner (%(default)s)")
flag("--save_every", type=int, default=500, help="training steps per checkpoint (%(default)s)")
flag("--seed", type=int, help="makes a run repeatable (none)")
flag("--pos_enc", action="store_true", help="add positional encodings to the letters (off)")
flag("--enc_layers", type=int, help=f"encoder layers ({DEFAULTS['enc_layers']})")
either = parser.add_mutually_exclusive_group()
either.add_argument("--signal", type=str.upper, metavar="A", help="the signal (random)")
either.add_argument("--input", type=str.upper, metavar="TEXT", help="the sequence, such as BBABC (random)")

# --- The data -------------------------------------------------------------------------
# np is NumPy. It is imported below, with TensorFlow, so that wrong flags do not wait for them.


class Task:
    """Random sequences of letters, and how often the first letter occurs in the rest.

    Args:
        max_len: int, the number of letters after the signal; next_batch's length counts the signal, too.
        vocab_size: int, the number of different letters.
        generator: numpy.random.Generator that draws the letters.
    """

    def __init__(self, max_len, vocab_size, generator):
        self.generator = generator
        self.letters = LETTERS[:vocab_size]
        self.one_hot = np.eye(len(self.letters), dtype=np.float32)  # A row for each letter.
        self.max_len = max_len

    def next_batch(self, *shape, length=None):
        """Return random inputs, one-hot float32 (*shape, length, vocab_size), and the answers to them.

        The shape is the number of sequences or, with two numbers, of batches and of sequences in each.
        """
        size = (*shape, length or self.max_len + 1)
        indices = self.generator.integers(len(self.letters), size=size, dtype=np.int32)
        inputs = self.one_hot[indices]
        return inputs, self.answers(inputs)

    def answers(self, inputs):
        """Return how often the first letter comes again, int32 (..., 1), in (..., length, vocab_size)."""
        signal, rest = inputs[..., :1, :], inputs[..., 1:, :]
        alike = np.sum(signal * rest, axis=-1)  # 1 where a letter is that of the signal, else 0.
        return np.sum(alike, axis=-1, keepdims=True).astype(np.int32)

    def prettify(self, inputs):
        """Return the letters in a column, str (..., length, 1), of inputs (..., length, vocab_size)."""
        return np.array(list(self.letters))[np.argmax(inputs, axis=-1, keepdims=True)]


# --- Reading the flags, then importing the packages ----------------------------------


def parse_arguments(argv=None):
    """Return the flags and, as .settings, a dict, what they make of DEFAULTS; refuse what no model can do."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        words = arguments.input and not unknown[0].startswith("-")
        hint = "write a text in one word, as in --input BBABC" if words else "see --help"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}; {hint}")
    if not (arguments.train or arguments.test or arguments.plot):
        parser.exit(2, parser.format_help())
    arguments.test = arguments.test or not arguments.train  # --plot alone means --test --plot.
    for name, value in vars(arguments).items():
        least = 0 if name in ("seed", "enc_layers") else 1
        if type(value) is int and not least <= value < 2**32:
            parser.error(f"argument --{name}: must be at least {least} and below 2**32, not {value}")
        if type(value) is float and not 0 < value < 2**32:
            parser.error(f"argument --{name}: must be above 0 and below 2**32, not {value}")
    for name in ("savepath", "plotpath"):  # Most shells leave --savepath=~/models as it is.
        setattr(arguments, name, pathlib.Path(os.path.expanduser(vars(arguments)[name])))
    if arguments.input == "":
        parser.error("argument --input: the text is empty; write one like --input BBABC")
    if arguments.signal is not None and len(arguments.signal) != 1:
        parser.error(f"argument --signal: takes one letter, not {arguments.signal!r}")
    given = {name: vars(arguments)[name] for name in DEFAULTS if vars(arguments)[name] is not None}
    arguments.settings = DEFAULTS | given
    largest = {"vocab_size": 26, "max_len": 2**32}  # The saved sizes are known only when the model is loaded.
    check(arguments, arguments.settings if arguments.train else largest | given)
    return arguments


def check(arguments, settings):
    """Refuse flags that contradict the settings of a model, a dict, and letters that it does not know."""
    for name, value in settings.items():
        if vars(arguments)[name] not in (None, value):
            parser.error(f"--{name} is {value} in {arguments.savepath}; leave it out, or change --savepath")
    letters = LETTERS[: settings["vocab_size"]]
    longest = settings["max_len"] + 1
    for name in ("signal", "input"):
        for letter in vars(arguments)[name] or "":
            if letter not in letters:
                parser.error(f"argument --{name}: {letter!r} (U+{ord(letter):04X}) is not one of {letters!r}")
    if len(arguments.input or "") > longest:
        parser.error(f"argument --input: takes at most {longest} letters, the signal included")


if __name__ == "__main__":
    parse_arguments()  # Wrong flags do not wait for the imports. main() parses again.
os.environ["KERAS_BACKEND"] = "tensorflow"  # What you see below is TensorFlow and Keras 3, nothing else.
os.environ["TF_USE_LEGACY_KERAS"] = "0"
# What you have set yourself wins.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Fewer messages.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # The same rounding on more kinds of processors,
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "2")  # and with any number of cores.
drawing = os.environ.get("MPLBACKEND", "")
if ("inline" in drawing or "ipympl" in drawing) and "IPython" not in sys.modules:
    os.environ["MPLBACKEND"] = "agg"  # A notebook's !python starts a process that cannot draw into it.
gc.disable()  # Garbage collection would make the imports slower.
try:
    import matplotlib.pyplot as pyplot
    import numpy as np
    import tensorflow as tf
except ModuleNotFoundError as error:
    if error.name not in ("matplotlib", "numpy", "tensorflow"):
        raise  # The package is there, but it is broken. Its own error says how.
    sys.exit(f"main.py: error: {error} (in Python {sys.version.split()[0]}); activate .venv, see README.md")
except KeyboardInterrupt:
    sys.exit(130)
finally:
    gc.freeze()  # Later collections skip what was imported.
    gc.enable()

# --- The attention and the model ------------------------------------------------------


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


class EncoderLayer(tf.keras.layers.Layer):
    """Self-attention, then two dense layers; after each part, a residual connection and layer normalization.

    Sections 3.1 and 3.3 of Vaswani et al. (2017), with one head and without projections.
    Call with float32 (batch, length, hidden).

    Returns:
        encoding: float32 (batch, length, hidden).
        weights: float32 (batch, length, length), how much each input step attends to each input step.
    """

    def __init__(self, hidden, name):
        super().__init__(name=name)
        self.attention = Attention()
        self.expand = tf.keras.layers.Dense(2 * hidden, activation="relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, encoding):
        encoding, weights = self.attention(query=encoding, key=encoding, value=encoding)
        expanded = self.expand(encoding)  # (batch, length, 2 · hidden)
        contracted = self.contract(expanded)  # (batch, length, hidden)
        return self.layer_norm(contracted + encoding), weights


class AttentionModel(tf.keras.Model):
    """An encoder, with positional encodings or without; then one query attends to the encoder's output.

    Call with one-hot float32 inputs (batch, length, vocab_size), length at most max_len + 1.

    Returns:
        logits: float32 (batch, 1, max_len + 1), a score for each count from 0 to max_len.
        weights: float32 (batch, 1, length), how much the output step attends to each input step.
        encoder_weights: list of float32 (batch, length, length), the self-attention of each encoder layer.
    """

    def __init__(self, max_len, vocab_size, hidden, pos_enc, enc_layers):
        super().__init__(name="model")
        self.embedding = tf.keras.layers.Dense(hidden, name="embedding")
        self.positional_encoding = None
        if pos_enc:  # A learnt vector for each position, the same for every input.
            self.positional_encoding = self.add_weight(
                name="positional_encoding", shape=(1, max_len + 1, hidden), initializer="zeros"
            )
        self.encoder = [EncoderLayer(hidden, f"encoder_layer_{layer + 1}") for layer in range(enc_layers)]
        # A learnt query, zeros at first: so no letter gets more weight than any other.
        self.query = self.add_weight(name="query", shape=(1, 1, hidden), initializer="zeros")
        self.attention = Attention()
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len + 1, vocab_size)))  # A first call creates the weights of the layers.

    def call(self, inputs):
        encoding = self.embedding(inputs)  # (batch, length, hidden)
        if self.positional_encoding is not None:
            encoding += self.positional_encoding[:, : inputs.shape[1]]
        encoder_weights = []
        for encoder_layer in self.encoder:
            encoding, layer_weights = encoder_layer(encoding)  # (batch, length, hidden)
            encoder_weights.append(layer_weights)
        # One query, the same for every input, so the decoding is (batch, 1, hidden).
        decoding, weights = self.attention(query=self.query, key=encoding, value=encoding)
        return self.logits_layer(decoding), weights, encoder_weights


# --- Training, testing, plotting ------------------------------------------------------


def train(arguments):
    """Train and save a model; print the loss of single batches, with --plot draw it.

    A loss that is not finite ends the program. Ctrl-C ends it, too, and saves the model. But an earlier model
    stays if this training has not yet saved its own first checkpoint.

    Returns:
        model: AttentionModel.
        settings: dict, what it was built from.
    """
    settings = arguments.settings
    arguments.savepath.mkdir(parents=True, exist_ok=True)  # Better to fail now than after the training.
    if arguments.plot:
        arguments.plotpath.mkdir(parents=True, exist_ok=True)
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    task = Task(settings["max_len"], settings["vocab_size"], np.random.default_rng(arguments.seed))
    model = AttentionModel(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr)
    optimizer.build(model.trainable_variables)  # Else the first call does, and is traced twice.
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def run_steps(inputs, answers):  # One batch for each training step.
        loss = 0.0  # Else TensorFlow traces the loop once more, to find out the type.
        for index in tf.range(len(inputs)):
            with tf.GradientTape() as tape:
                logits, *_ = model(inputs[index])
                loss = loss_function(answers[index], logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
        return loss

    # A call costs more than a small step, so it makes several: at most 50, and a divisor of both intervals.
    per_call = math.gcd(50, arguments.print_every, arguments.save_every)
    losses, step = [], 0
    path = None  # Of the last checkpoint of this training.
    try:
        while step < arguments.steps:
            inputs, answers = task.next_batch(min(per_call, arguments.steps - step), arguments.batchsize)
            loss = float(run_steps(inputs, answers))
            step += len(inputs)
            if not np.isfinite(loss):
                sys.exit(f"main.py: error: the loss at step {step} is not finite; lower --lr")
            if step % arguments.print_every == 0 or step == arguments.steps:
                losses.append((step, loss))
                print(f"Iteration {step} - Loss {loss}", flush=True)
            if step % arguments.save_every == 0 or step == arguments.steps:
                path = save_model(model, settings, step, arguments.savepath)
    except KeyboardInterrupt:
        step = int(optimizer.iterations.numpy())  # Ctrl-C waits for the end of a call; `step` lags behind.
        earlier = arguments.savepath / file_name("checkpoint.npz", settings)
        if path is None and earlier.exists():
            print(f"main.py: stopped at step {step}; {earlier} is still the earlier model", file=sys.stderr)
        elif step > 0 and all(np.isfinite(weight).all() for weight in model.weights):
            path = save_model(model, settings, step, arguments.savepath)
            print(f"main.py: stopped; step {step} is saved in {path}", file=sys.stderr)
        sys.exit(130)
    print(f"Training complete!\nModel saved to {path}.", flush=True)
    if arguments.plot:
        draw_losses(losses, arguments.plotpath / file_name("loss.png", settings))
    return model, settings


def test(arguments, model, settings):
    """Print a model's answer to a sequence, its attention and accuracy; with --plot, draw the attention."""
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Not the data of the training.
    task = Task(settings["max_len"], settings["vocab_size"], generator)
    inputs, _ = task.next_batch(1)
    if arguments.signal:
        inputs[0, 0] = task.one_hot[LETTERS.index(arguments.signal)]
    if arguments.input:  # In place of the drawn one, so that the samples below stay the same.
        inputs = task.one_hot[None, [LETTERS.index(letter) for letter in arguments.input]]
    logits, weights, encoder_weights = model(inputs)
    weights = weights.numpy()[0].astype(np.float64)  # As float32, 0.1 is printed as 0.10000000149.
    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):  # Long sequences in full.
        print(f"\nInput: \n{task.prettify(inputs)}")
        print(f"\nPrediction: \n{np.argmax(logits, axis=-1)}")
        print(f"\nTruth: \n{task.answers(inputs)}")
        print("\nEncoder-Decoder Attention: ")
        for step, row in enumerate(weights.round(3)):
            print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
            print(row.tolist())
        if settings["pos_enc"]:
            norms = np.linalg.norm(model.positional_encoding[0], axis=-1).astype(np.float64)
            print(f"\nL2-Norm of Positional Encoding:\n{norms.round(3).tolist()}")
    print_accuracy(model, task, length=inputs.shape[1])
    if arguments.plot:
        rows = ("Output step", ["count"])  # Label and names.
        letters = task.prettify(inputs)[0, :, 0]
        columns = ("Input step", [f"{letter}\n{step}" for step, letter in enumerate(letters)])
        path = arguments.plotpath / file_name("encoder_decoder_attention.png", settings)
        draw_heatmap("Encoder-decoder attention", weights, rows, columns, path)
        for layer, layer_weights in enumerate(encoder_weights, start=1):
            path = arguments.plotpath / file_name(f"encoder_self_attention_{layer}.png", settings)
            draw_heatmap(f"Encoder layer {layer}", layer_weights[0].numpy(), columns, columns, path)
        if settings["pos_enc"]:
            draw_norms(norms, arguments.plotpath / file_name("positional_encoding.png", settings))


def print_accuracy(model, task, length):
    """Print how often a model is right on new samples of this length: whole sequences, and output steps."""
    right = []
    for _ in range(10):  # Ten batches, smaller ones if the sequences are long.
        inputs, answers = task.next_batch(max(1, min(1000, 10**5 // length)), length=length)
        right.extend(np.argmax(model(inputs)[0], axis=-1) == answers)
    print(f"\nAccuracy on {len(right)} new samples of length {length}: ", end="")
    print(f"{np.all(right, 1).mean():.2%} of sequences, {np.mean(right):.2%} of output steps", flush=True)


@pyplot.style.context("default")  # As on our pages, whatever a matplotlibrc says.
def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.semilogy(*np.transpose(losses), marker=".")
    axes.set(title=f"{TASK}: loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(which="both", alpha=0.3)
    save_figure(figure, path)


@pyplot.style.context("default")
def draw_heatmap(title, weights, rows, columns, path):
    """Draw attention weights, float (queries, keys), into a PNG file; rows and columns are (label, names)."""
    cells = np.minimum(0.6, 14 / np.array(weights.shape[::-1]))  # Width and height of a cell, in inches.
    size = np.maximum(cells * weights.shape[::-1] + (3, 1.5), (5, 2.5))  # With margins.
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    brightest = min(1, max(2 / weights.shape[1], weights.max()))  # Equal weights get the middle colour.
    image = axes.imshow(weights, vmin=0, vmax=brightest, aspect="auto", interpolation="nearest")
    figure.colorbar(image, label="Attention weight")
    axes.set(title=title, xlabel=columns[0], ylabel=rows[0])
    for axis, (_, names), cell in zip((axes.xaxis, axes.yaxis), (columns, rows), cells):
        every = math.ceil(0.3 / cell)  # Leave out names that would overlap.
        axis.set_ticks(range(0, len(names), every), names[::every])
    if cells.min() >= 0.35:  # Room for a number in each cell.
        for (row, column), weight in np.ndenumerate(weights):
            colour = "black" if weight > 0.4 * brightest else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour)
    save_figure(figure, path)


@pyplot.style.context("default")
def draw_norms(norms, path):
    """Draw the L2 norms of the positional encodings, float (max_len + 1,), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.bar(np.arange(len(norms)), norms)
    axes.set(title="Positional encodings", xlabel="Input step", ylabel="L2 norm")
    axes.xaxis.get_major_locator().set_params(integer=True)
    save_figure(figure, path)


def save_figure(figure, path):
    """Write a figure as a PNG file; close it unless a window or a notebook will show it."""
    path = write_file(path, lambda file: figure.savefig(file, dpi=150, format="png"))
    print(f"Plot saved to {path}.", flush=True)
    if pyplot.get_backend().lower() in ("agg", "cairo", "pdf", "pgf", "ps", "svg"):
        pyplot.close(figure)


# --- Saving and loading ---------------------------------------------------------------

SOURCE = pathlib.Path(__file__).read_text(encoding="utf-8")  # Reading as text makes all line ends the same.
FILE_HASH = hashlib.sha256(SOURCE.encode()).hexdigest()


def file_name(name, settings):
    """Return a file's name for the variant with these settings, a dict: checkpoint_pos_enc_6_layers.npz."""
    stem, ending = name.split(".")
    words = ["pos_enc"] if settings["pos_enc"] else []
    if settings["enc_layers"] != DEFAULTS["enc_layers"]:
        words.append(f"{settings['enc_layers']}_layers")
    return "_".join([stem, *words]) + "." + ending


def save_model(model, settings, step, savepath):
    """Save a model, and what it takes to build it, as a checkpoint. Return the path to print."""
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    assert len(arrays) == len(model.weights), "two layers have the same name"
    arrays["description"] = json.dumps(dict(task=TASK, step=step, settings=settings, program=FILE_HASH))
    path = savepath / file_name("checkpoint.npz", settings)
    return write_file(path, lambda file: np.savez(file, **arrays))


def write_file(path, write):
    """Write path by write(file), whole or not at all. Return it, relative if it is in the current folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")  # Another run may write here, too.
    try:
        with part.open("xb") as file:
            write(file)
            file.flush()
            try:
                os.fsync(file.fileno())
            except OSError as error:  # Some file systems cannot; the file is as good as they make it.
                if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
                    raise
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path.relative_to(pathlib.Path.cwd()) if path.is_relative_to(pathlib.Path.cwd()) else path


def load_model(arguments):
    """Return the model in --savepath and its settings, a dict; end the program where none fits."""
    path = arguments.savepath / file_name("checkpoint.npz", arguments.settings)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        description = json.loads(arrays.pop("description").item())
        task, settings, program = description["task"], description["settings"], description["program"]
    except FileNotFoundError:
        sys.exit(f"main.py: error: {path}: there is no model yet; {remedy(arguments)}")
    except Exception as error:  # A damaged or foreign file raises all kinds.
        sys.exit(f"main.py: error: {path} cannot be read ({type(error).__name__}); name another --savepath")
    if task != TASK:
        sys.exit(f"main.py: error: {path}: this is a model of {task}; name another --savepath")
    unfit = f"main.py: error: {path} does not fit this main.py; undo an edit, or change --savepath"
    if not isinstance(settings, dict) or kinds(settings) != kinds(DEFAULTS):
        sys.exit(unfit)
    check(arguments, settings)
    model = AttentionModel(**settings)
    try:
        for weight in model.weights:
            weight.assign(arrays.pop(weight.path.removeprefix("model/")))
    except (KeyError, TypeError, ValueError):
        sys.exit(unfit)
    if arrays:  # Of layers that this program does not have.
        sys.exit(unfit)
    if program != FILE_HASH:
        print(f"main.py: main.py has changed since {path} was trained", file=sys.stderr)
    return model, settings


def kinds(settings):
    """Return the type of each setting, a dict from names to types."""
    return {name: type(value) for name, value in settings.items()}


def remedy(arguments):
    """Return what to do where there is no model: train it, or use one that is there, with other flags."""
    settings, words = arguments.settings, ["train one with --train"]
    for name, value in settings.items():
        if value != DEFAULTS[name]:
            words.append(f"--{name}" if value is True else f"--{name} {value}")
    if arguments.savepath != parser.get_default("savepath"):
        words.append(f"--savepath {arguments.savepath}")
    sentence = " ".join(words)
    for name, value in settings.items():
        if type(value) is bool:
            variant = file_name("checkpoint.npz", settings | {name: not value})
            if (arguments.savepath / variant).exists():
                sentence += f", or leave out --{name}" if value else f", or add --{name}"
    return sentence


# --- The program ----------------------------------------------------------------------


@contextlib.contextmanager
def keras_in_float32():
    """Let Keras compute in float32, and afterwards again in what a notebook or a keras.json has chosen."""
    floatx, policy = tf.keras.config.floatx(), tf.keras.config.dtype_policy()
    tf.keras.config.set_floatx("float32")
    tf.keras.config.set_dtype_policy("float32")
    try:
        yield
    finally:
        tf.keras.config.set_floatx(floatx)
        tf.keras.config.set_dtype_policy(policy)


@keras_in_float32()
def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; exit with one line where that cannot be done."""
    arguments = parse_arguments(argv)
    backend = tf.keras.backend.backend()
    if backend != "tensorflow":
        sys.exit(f"main.py: error: Keras runs on {backend} here; restart Python, or the notebook's kernel")
    try:
        if arguments.train:
            model, settings = train(arguments)
        else:
            model, settings = load_model(arguments)
        if arguments.test:
            test(arguments, model, settings)
        if pyplot.get_fignums():
            pyplot.show()
    except KeyboardInterrupt:
        sys.exit(130)
    except (MemoryError, tf.errors.ResourceExhaustedError):
        tf.keras.utils.clear_session()  # So that a notebook can go on with smaller sizes.
        atexit.register(os._exit, 1)  # Else TensorFlow may crash when Python ends.
        sys.exit("main.py: error: out of memory; one of the sizes is too large for this machine")
    except BrokenPipeError:  # The reader, such as `head`, has gone; a normal exit would write to it again.
        os._exit(1)
    except OSError as error:
        file = pathlib.Path(error.filename or arguments.savepath)  # Of a full disk, no file is named.
        folders = arguments.savepath, arguments.plotpath
        if not any(folder in (file, *file.parents) or file in folder.parents for folder in folders):
            raise  # An edit has its own files, and its own traceback.
        sys.exit(f"main.py: error: {error}; --savepath and --plotpath can name other folders")


if __name__ == "__main__":
    main()
