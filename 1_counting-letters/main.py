"""Task 1, Counting Letters: queries, keys and values.

Each element of the input is a letter or a blank, ' ', drawn uniformly and independently. The output
has one step for each letter of the vocabulary: how often that letter occurs.

    input     'A' 'B' ' ' 'B' 'C'      one-hot vectors: ' ' is index 0, 'A' is 1, 'B' is 2, 'C' is 3
    output    1 2 1                    one 'A', two 'B', one 'C'
"""

# /// script
# requires-python = ">=3.10"
# dependencies = ["matplotlib>=3.9,<4", "numpy>=2.0,<3", "tensorflow>=2.20,<2.23"]
# ///

import argparse
import contextlib
import gc
import hashlib
import io
import json
import math
import os
import pathlib
import secrets
import signal
import sys

# --- The flags ------------------------------------------------------------------------------------------

TASK = "Counting Letters"
LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def between(least, most):
    """Return an argparse type for the numbers from least to most, whole ones if these two are whole."""

    def convert(text):
        with contextlib.suppress(ValueError):
            if least <= type(least)(text) <= most:
                return type(least)(text)
        raise argparse.ArgumentTypeError(f"{text!r} is no {type(least).__name__} from {least} to {most}")

    return convert


HERE = pathlib.Path(__file__).parent
# A model's settings: defaults and types. Their flags are None if not given: --test asks the checkpoint.
DEFAULTS = {"max_len": 10, "vocab_size": 3, "hidden": 64}
SETTINGS = {"max_len": between(1, 10**4), "vocab_size": between(1, 26), "hidden": between(1, 10**4)}

parser = argparse.ArgumentParser("main.py", usage=argparse.SUPPRESS, description=TASK, allow_abbrev=False)
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model predicts, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=between(1, 10**9), default=2000, help="training steps (%(default)s)")
flag("--batchsize", type=between(1, 10**5), default=100, help="sequences per training step (%(default)s)")
flag("--lr", type=between(1e-38, 1e38), default=1e-2, help="Adam's learning rate (%(default)s)")
flag("--hidden", type=SETTINGS["hidden"], help="encoding dimensions (64)")
flag("--savepath", type=os.path.expanduser, default=HERE / "models", help="for the checkpoint (models/)")
flag("--plotpath", type=os.path.expanduser, default=HERE / "plots", help="for the images (plots/)")
flag("--max_len", type=SETTINGS["max_len"], help="length of a sequence (10)")
flag("--vocab_size", type=SETTINGS["vocab_size"], help="letters from A on (3)")
flag("--print_every", type=between(1, 10**9), default=50, help="training steps per loss line (%(default)s)")
flag("--save_every", type=between(1, 10**9), default=500, help="training steps per checkpoint (%(default)s)")
flag("--seed", type=between(0, 2**32 - 1), help="makes a run repeatable (none)")
either = parser.add_mutually_exclusive_group()
either.add_argument("--sample_len", type=between(1, 10**4), help="length of the tested sequence (max_len)")
either.add_argument("--input", type=str.upper, help='the tested sequence, such as "AB BC" (random)')


def parse_arguments(argv=None):
    """Return the flags, with those that are settings of a model as `given`, a dict; refuse wrong ones."""
    arguments = parser.parse_args(argv)
    if not (arguments.train or arguments.test or arguments.plot):
        parser.print_help()
        parser.exit(2)
    arguments.test = arguments.test or not arguments.train  # --plot alone means --test --plot.
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    arguments.given = {name: value for name, value in settings.items() if value is not None}
    known = DEFAULTS if arguments.train else {"vocab_size": 26}  # Else see test().
    check_input(arguments, {**known, **arguments.given})  # Python 3.8 has no | for these.
    return arguments


def check_input(arguments, settings):
    """Refuse a sequence to test that a model with these settings cannot read."""
    letters = LETTERS[: settings["vocab_size"] + 1]
    if arguments.input == "" or set(arguments.input or "") - set(letters):
        parser.error(f"argument --input: {arguments.input!r} is no sequence of {letters!r}")


if __name__ == "__main__":
    parse_arguments()  # --help and wrong flags do not wait for the packages, which take seconds.
# Keras 3, matplotlib's own choice of a backend, fewer messages, sums split alike on every machine.
os.environ.update(TF_USE_LEGACY_KERAS="0", MPLBACKEND="", TF_CPP_MIN_LOG_LEVEL="3")
os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_NUM_INTRAOP_THREADS="2")
gc.disable()  # To search the packages' objects for garbage would take half a second.
try:
    on_interrupt = signal.getsignal(signal.SIGINT)
    if __name__ == "__main__" and on_interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Not ignored: Ctrl-C ends the imports in silence.
    import matplotlib.pyplot as pyplot
    import numpy as np
    import tensorflow as tf

    tf.keras.layers  # noqa: B018  Keras is imported when it is first used.
    if __name__ == "__main__":
        signal.signal(signal.SIGINT, on_interrupt)
except Exception as error:  # What is missing, or does not fit, raises all kinds.
    problem = f"{' '.join(str(error).split())} (in Python {sys.version.split()[0]})"
    advice = "activate .venv of README.md, Python 3.10 to 3.14; name no file beside main.py like a package"
    sys.exit(f"main.py: error: {problem}; {advice}")
gc.freeze()
gc.enable()

# --- The data -------------------------------------------------------------------------------------------


class Task:
    """Random sequences of letters, and how often each letter occurs in them.

    Args:
        max_len: int, the length of a sequence and the highest count.
        vocab_size: int, the number of letters, the blank not counted.
        generator: numpy.random.Generator that draws the letters.
    """

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.generator = generator or np.random.default_rng()
        self.letters = LETTERS[: vocab_size + 1]
        self.max_len = max_len

    def next_batch(self, *shape, length=None):
        """Return random inputs and how often each letter occurs in them; the length is max_len by default.

        One-hot float32 (*shape, length, vocab_size + 1) and int32 (*shape, vocab_size).
        """
        size = (*shape, length or self.max_len)
        letters = self.generator.integers(len(self.letters), size=size, dtype=np.int32)
        counts = [np.count_nonzero(letters == letter, axis=-1) for letter in range(1, len(self.letters))]
        inputs = np.eye(len(self.letters), dtype=np.float32)[letters]
        return inputs, np.stack(counts, axis=-1).astype(np.int32)

    def prettify(self, inputs):
        """Return the letters, str (..., length, 1), of inputs (..., length, vocab_size + 1)."""
        return np.array(list(self.letters))[np.argmax(inputs, axis=-1)][..., None]


# --- The attention and the model ------------------------------------------------------------------------


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
        weights: float32 (batch, queries, keys); each row is positive and sums to 1.
    """

    def __init__(self, name="attention"):
        super().__init__(name=name)
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, query, key, value):
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5
        weights = tf.nn.softmax(logits, axis=-1)
        return self.layer_norm(tf.matmul(weights, value) + query), weights


class AttentionModel(tf.keras.Model):
    """One attention layer between the letters and the counts.

    Call with one-hot float32 inputs (batch, length, vocab_size + 1).

    Returns:
        logits: float32 (batch, vocab_size, max_len + 1), a score for each count that a letter may have.
        weights: float32 (batch, vocab_size, length), how much each output step attends to each letter.
    """

    def __init__(self, max_len=10, vocab_size=3, hidden=64):
        super().__init__(name="model")
        # One query for each output step, learnt, the same for every input. From zeros, all are alike to it.
        self.query = self.add_weight(name="query", shape=(1, vocab_size, hidden), initializer="zeros")
        self.key_layer = tf.keras.layers.Dense(hidden, name="key_layer")
        self.attention = Attention()
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len, vocab_size + 1)))  # A first call creates the weights of the layers.

    def call(self, inputs):
        key = value = self.key_layer(inputs)
        decoding, weights = self.attention(query=self.query, key=key, value=value)
        return self.logits_layer(decoding), weights


# --- Training, testing, plotting ------------------------------------------------------------------------


def train(arguments):
    """Train a model, print its loss, save it and draw the loss.

    If Ctrl-C (KeyboardInterrupt) or an output that fails (OSError) stops it, it saves what it has reached.
    """
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    settings = DEFAULTS | arguments.given
    task = Task(settings["max_len"], settings["vocab_size"], np.random.default_rng(arguments.seed))
    model = AttentionModel(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr)
    optimizer.build(model.trainable_variables)  # The compiled function below cannot.
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def run_steps(inputs, answers):
        loss = 0.0
        for batch in tf.range(len(inputs)):
            with tf.GradientTape() as tape:
                logits, *_ = model(inputs[batch])
                loss = loss_function(answers[batch], logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
        return loss

    size = (arguments.batchsize, task.max_len, len(task.letters))  # of a batch
    model(tf.zeros(size))  # If that does not fit into memory, it is better to fail now than compiled.
    # A call costs more than such a small step. So each runs many, and ends where a line or a save is due.
    many = math.gcd(50, arguments.print_every, arguments.save_every)
    if 4 * many * math.prod(size) > 10**8:
        many = 1  # At 4 bytes a number, the inputs of so many would take more than 100 MB.
    losses, step = [], 0
    try:
        while step < arguments.steps:
            inputs, answers = task.next_batch(min(many, arguments.steps - step), arguments.batchsize)
            loss = float(run_steps(inputs, answers))
            step += len(inputs)
            if not np.isfinite(loss):
                raise FloatingPointError(f"the loss is not a number any more after step {step}")
            if step % arguments.print_every == 0 or step == arguments.steps:
                losses.append((step, loss))
                print(f"Iteration {step} - Loss {loss}", flush=True)
            if step % arguments.save_every == 0 and step < arguments.steps:
                save_model(model, settings, step, arguments.savepath)
    except (KeyboardInterrupt, OSError) as error:
        if step > 0 and not getattr(error, "filename", None):  # A file that failed would fail again.
            path = save_model(model, settings, step, arguments.savepath)
            print(f"main.py: stopped; step {step} is saved in {path}", file=sys.stderr)
        raise
    path = save_model(model, settings, step, arguments.savepath)
    print(f"Training complete!\nModel saved to {path}.", flush=True)
    if arguments.plot:
        draw_losses(losses, pathlib.Path(arguments.plotpath, "loss.png"))


def test(arguments):
    """Print the saved model's answer to a sequence, its attention and its accuracy; draw the attention."""
    model, settings = load_model(arguments)
    check_input(arguments, settings)
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Not the data of the training.
    task = Task(settings["max_len"], settings["vocab_size"], generator)
    inputs, _ = task.next_batch(1, length=arguments.sample_len)
    if arguments.input:
        inputs = tf.one_hot([[LETTERS.index(letter) for letter in arguments.input]], len(task.letters))
    logits, weights = model(inputs)
    weights = weights.numpy()[0].astype(np.float64)  # Rounded, these print short: 0.1.

    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):  # Also long sequences in full.
        print(f"Input: \n{task.prettify(inputs)}")
        print(f"\nPrediction: \n{np.argmax(logits, axis=-1)}")
        print("\nEncoder-Decoder Attention: ")
        for step, row in enumerate(weights.round(3)):
            print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
            print(row.tolist())
    print_accuracy(model, task, length=inputs.shape[1])
    if arguments.plot:
        letters = task.prettify(inputs)[0, :, 0]
        path = pathlib.Path(arguments.plotpath, "encoder_decoder_attention.png")
        draw_heatmap("Encoder-decoder attention", weights, task.letters[1:], letters, path)


def print_accuracy(model, task, length):
    """Print the accuracy on 10000 new sequences of this length, or on fewer with a million letters."""
    samples = min(10000, 10**6 // length)
    right = []
    while len(right) < samples:
        inputs, answers = task.next_batch(min(1000, samples - len(right)), length=length)
        right.extend(np.argmax(model(inputs)[0], axis=-1) == answers)
    sequences, outputs = np.all(right, axis=-1).mean(), np.mean(right)
    print(f"\nAccuracy on {samples} new samples of length {length}: ", end="")
    print(f"{sequences:.2%} of sequences, {outputs:.2%} of output steps", flush=True)


def draw_losses(losses, path):
    """Draw the loss over the training steps, from a list of (step, loss in nats), into a PNG file."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(*np.transpose(losses), marker=".")
    axes.set(title=f"{TASK}: loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.set_yscale("log" if all(loss > 0 for _, loss in losses) else "linear")
    axes.grid(which="both", alpha=0.3)
    save_figure(figure, path)


def draw_heatmap(title, weights, rows, columns, path):
    """Draw attention weights, float (queries, keys), whose rows and columns have names, into a PNG file."""
    cells = np.array([min(0.6, 14 / len(names)) for names in (columns, rows)])  # Width, height in inches.
    size = np.maximum(cells * (len(columns), len(rows)) + (2.5, 1.5), (5, 2.5))
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    figure.colorbar(axes.imshow(weights, cmap="viridis", vmin=0, aspect="auto"), label="Attention weight")
    axes.set(title=title, xlabel="Input step", ylabel="Output step")
    for axis, names, cell in (axes.xaxis, columns, cells[0]), (axes.yaxis, rows, cells[1]):
        steps = range(0, len(names), int(np.ceil(0.3 / cell)))  # As many labels as there is room for.
        axis.set_ticks(steps, [f"{names[step].replace(' ', '␣')}\n{step}" for step in steps])
    if cells.min() >= 0.35:  # Room for a number in each cell.
        for (row, column), weight in np.ndenumerate(weights):
            colour = "black" if weight > weights.max() / 2 else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour)
    save_figure(figure, path)


def save_figure(figure, path):
    """Write a figure as a PNG file; close it unless there is a display to show it on."""
    image = io.BytesIO()
    figure.savefig(image, dpi=150, format="png")
    print(f"Plot saved to {write_file(path, image.getvalue())}.", flush=True)
    if not figure.canvas.required_interactive_framework:
        pyplot.close(figure)


# --- Saving and loading ---------------------------------------------------------------------------------

PROGRAM = hashlib.sha256(pathlib.Path(__file__).read_text(encoding="utf-8").encode()).hexdigest()


def save_model(model, settings, step, savepath):
    """Save a model, and what it takes to build it, as checkpoint.npz. Return the path as a str to show.

    Raises FloatingPointError for a weight that is no number. Then, and on an OSError, the old file stays.
    """
    arrays = {weight.path.removeprefix("model/"): weight.numpy() for weight in model.weights}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise FloatingPointError(f"a weight is not a number any more after step {step}")
    description = {"task": TASK, "step": step, "settings": settings, "program": PROGRAM}
    archive = io.BytesIO()
    np.savez(archive, description=json.dumps(description), **arrays)
    return write_file(pathlib.Path(savepath, "checkpoint.npz"), archive.getvalue())


def write_file(path, content):
    """Write bytes beside path and move them into place, so that at every instant there is a complete file.

    Return the path as a str to show. Raises OSError whose filename is the folder, to show as well.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")  # Others may write here, too.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, shown(path.parent)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return shown(path)


def shown(path):
    """Return a path as a str to print: relative to the current folder if it lies below that."""
    with contextlib.suppress(ValueError, OSError):  # It lies elsewhere, or the current folder is gone.
        path = path.relative_to(pathlib.Path.cwd())
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return str(path).encode(encoding, "backslashreplace").decode(encoding)


def load_model(arguments):
    """Return the model in --savepath and its settings, a dict; end the program where there is none."""
    path = pathlib.Path(arguments.savepath, "checkpoint.npz")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        sys.exit(f"main.py: error: {shown(path)}: there is no model yet; train one with --train")
    try:
        archive = np.load(io.BytesIO(content), allow_pickle=False)
        description = json.loads(archive["description"].item())
        if description["task"] != TASK:
            raise ValueError(f"it is of the task {description['task']}")
        settings = {name: check(description["settings"][name]) for name, check in SETTINGS.items()}
        model = AttentionModel(**settings)
        for weight in model.weights:
            weight.assign(archive[weight.path.removeprefix("model/")])
    except Exception as error:  # A damaged or foreign file raises all kinds.
        reason = f"{type(error).__name__}: {' '.join(str(error).split()).partition('. ')[0]}"
        advice = "undo an edit of main.py, or name another folder with --savepath"
        sys.exit(f"main.py: error: {shown(path)}: no model that this main.py can read ({reason}); {advice}")
    for name, value in arguments.given.items():
        if value != settings[name]:
            message = f"argument --{name}: {shown(path)} was trained with {settings[name]}, not {value}"
            parser.error(f"{message}; name another folder with --savepath")
    if description.get("program", PROGRAM) != PROGRAM:
        print(f"main.py: main.py has changed since {shown(path)} was trained", file=sys.stderr)
    return model, settings


# --- The program ----------------------------------------------------------------------------------------


def main(argv=None):
    """Train, test and plot as argv, a list of flags, says; exit with one line where that cannot be done."""
    arguments = parse_arguments(argv)
    try:
        for used, folder in (arguments.train, arguments.savepath), (arguments.plot, arguments.plotpath):
            if used:
                probe = pathlib.Path(folder, ".main.py.probe")
                write_file(probe, bytes(4096))  # A full disk shall fail now, not after the training.
                probe.unlink(missing_ok=True)
        if arguments.train:
            train(arguments)
        if arguments.test:
            test(arguments)
        if pyplot.get_fignums():
            pyplot.show()
    except KeyboardInterrupt:
        sys.exit(130)
    except FloatingPointError as error:
        sys.exit(f"main.py: error: {error}; lower --lr")
    except (MemoryError, tf.errors.ResourceExhaustedError):
        sys.exit("main.py: error: this does not fit into memory; lower --batchsize, --max_len or --hidden")
    except OSError as error:
        if error.filename:
            sys.exit(f"main.py: error: {error.filename}: {error.strerror}")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # It takes no more; left open, it would fail once more at the end.
        silent = arguments.train or isinstance(error, BrokenPipeError)  # Training has said that it stopped.
        sys.exit(1 if silent else f"main.py: error: standard output: {error.strerror}")


if __name__ == "__main__":
    main()
