"""Task 2, Difference: self-attention.

The input is a sequence whose elements are letters or the null letter ' ', each drawn uniformly and
independently. The output has one step for each letter of the vocabulary, how often that letter occurs, and
one more: the absolute difference of the first two counts.

    input     'A' 'B' ' ' 'B' 'C'      one-hot vectors: ' ' is index 0, 'A' is 1, 'B' is 2, 'C' is 3
    output    1 2 1 1                  one 'A', two 'B', one 'C'; 'A' and 'B' differ by one

The last output step depends on two others. Without --self_att it has to find its answer in the input, as
they do; with it, every output step attends to all output steps and so can use what they have found.

    python3 main.py --train --self_att     train a model and save it; also try it without --self_att
    python3 main.py --test --plot          look inside: a prediction, its attention weights, their heatmaps
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import signal
import sys
import tempfile

# --- The flags ------------------------------------------------------------------------------------------

TASK = "Difference"
LETTERS = " ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SETTINGS = ("max_len", "vocab_size", "hidden", "self_att")  # What a model is built from.
ADAM = {}  # What Adam is told besides its learning rate: in this task, nothing.
LARGEST = 10**7  # Numbers in an array whose size is ours to choose: this bounds the memory.
HERE = pathlib.Path(__file__).resolve().parent


def checked(convert, is_valid, wanted):
    """Return an argparse type: convert the text, and refuse with a message whatever is not valid."""

    def check(text):
        try:
            if is_valid(convert(text)):
                return convert(text)
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")

    return check


def number(lowest, highest):
    """Return an argparse type for the whole numbers from lowest to highest."""
    return checked(int, lambda value: lowest <= value <= highest, f"a whole number, {lowest} to {highest}")


rate = checked(float, lambda value: 1e-38 <= value <= 1e38, "a number, 1e-38 to 1e38")
folder = checked(lambda text: text.strip() and pathlib.Path(text), bool, "the path of a folder")
sequence = checked(str.upper, lambda text: text and set(text) <= set(LETTERS), f"a sequence of {LETTERS!r}")

parser = argparse.ArgumentParser(prog="main.py", description=__doc__.split("\n")[0], allow_abbrev=False)
flag = parser.add_argument
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model predicts, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=number(1, 10**9), default=1000, help="training steps (%(default)s)")
flag("--batchsize", type=number(1, 10**5), default=100, help="sequences per step (%(default)s)")
flag("--lr", type=rate, default=1e-2, help="Adam's learning rate (%(default)s)")
flag("--hidden", type=number(1, 10**4), default=64, help="encoding dimensions (%(default)s)")
flag("--savepath", type=folder, default=HERE / "models", help="checkpoints (models/ beside main.py)")
flag("--plotpath", type=folder, default=HERE / "plots", help="images of --plot (plots/ beside main.py)")
flag("--max_len", type=number(1, 10**4), default=10, help="length of a sequence (%(default)s)")
flag("--vocab_size", type=number(2, 26), default=3, help="letters from 'A' on (%(default)s)")
flag("--print_every", type=number(1, 10**9), default=50, help="steps per loss line (%(default)s)")
flag("--save_every", type=number(1, 10**9), default=500, help="steps per checkpoint (%(default)s)")
flag("--seed", type=number(0, 2**32 - 1), help="makes a run repeatable (none)")
flag("--sample_len", type=number(1, 10**4), help="length of the tested sequence (max_len)")
flag("--self_att", action="store_true", help="let the output steps attend to each other (off)")
flag("--input", type=sequence, help='the tested sequence, such as "AB BC" (random)')


def parse_arguments(argv=None):
    """Return the flags; `given` and `settings` are dicts of those of SETTINGS, without and with defaults.

    Raises:
        SystemExit: after --help (status 0), without a mode or with a flag that is wrong (status 2).
    """
    arguments = parser.parse_args(argv, argparse.Namespace(**dict.fromkeys(SETTINGS)))  # None: not given
    given = {name: getattr(arguments, name) for name in SETTINGS}
    arguments.given = {name: value for name, value in given.items() if value is not None}
    arguments.settings = {name: parser.get_default(name) for name in SETTINGS} | arguments.given
    if not (arguments.train or arguments.test or arguments.plot):
        parser.print_help()
        parser.exit(2)
    arguments.test = arguments.test or not arguments.train
    if arguments.train:
        check_sample(arguments, arguments.settings)
        with one_line(f"--savepath {shown(arguments.savepath)}"):
            check_folder(arguments.savepath)
    if arguments.plot:
        with one_line(f"--plotpath {shown(arguments.plotpath)}", status=2):
            check_folder(arguments.plotpath)
    return arguments


def check_sample(arguments, settings):
    """Refuse a sequence to test that a model with these settings cannot read."""
    letters = LETTERS[: settings["vocab_size"] + 1]
    if arguments.input and not set(arguments.input) <= set(letters):
        parser.error(f"argument --input: {arguments.input!r} has letters that are not among {letters!r}")
    if arguments.input and arguments.sample_len not in (None, len(arguments.input)):
        parser.error(f"argument --sample_len: {arguments.sample_len} is not the length of --input")


# --- What can go wrong ----------------------------------------------------------------------------------

# On a first reading, go on to "The data": this section is for the command line and not part of the lesson.


def fail(message, status=1):
    """End the program with one line on standard error."""
    parser.exit(status, f"main.py: error: {message}\n")


def shown(path):
    """Return the path as the user would write it: relative, if it lies below the current folder."""
    path, here = pathlib.Path(path), pathlib.Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@contextlib.contextmanager
def one_line(what, *errors, advice="", status=1):
    """Turn OSError and these errors into one line: what they are about, their cause, and what to do."""
    try:
        yield
    except (OSError, *errors) as error:
        cause = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
        fail(f"{what}: {cause.splitlines()[0]}{advice}", status)


def check_folder(path):
    """Create the folder if it is missing; raise OSError if a file in it cannot be written."""
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path) as file:
        file.write(bytes(4096))


def stop(number, frame):
    """Handle a signal as Python handles Ctrl-C, so that the training can save what it has."""
    signal.signal(number, signal.SIG_DFL)  # The second one ends the program at once.
    raise KeyboardInterrupt(number)


def report(kind, error, trace):
    """Report what ends the program: a signal in one line and with the exit status that a shell gives it."""
    if kind is not KeyboardInterrupt:
        return sys.__excepthook__(kind, error, trace)
    os.write(2, f"main.py: stopped by {signal.Signals(error.args[0]).name}\n".encode())
    os._exit(128 + error.args[0])


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.excepthook = report
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # End quietly when piped into head.
    parse_arguments()  # Answers --help and wrong flags at once: importing TensorFlow takes seconds.

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # One message less, and XLA does without it.
os.environ["KERAS_BACKEND"] = "tensorflow"

try:
    import matplotlib.pyplot as pyplot
    import numpy as np
    import tensorflow as tf
except ModuleNotFoundError as error:
    fail(f"{error}; activate the virtual environment, or pip install -r requirements.txt")

tf.get_logger().setLevel("FATAL")  # What TensorFlow logs about a broken checkpoint, we say in one line.

# --- The data -------------------------------------------------------------------------------------------


def one_hot(indices, depth):
    """Return float32 (..., depth) with a 1 at each of the int indices (...)."""
    return (indices[..., None] == np.arange(depth)).astype(np.float32)


class Task:
    """Random sequences of letters, how often each letter occurs, and how far the first two counts differ.

    Args:
        max_len: int, the length of a sequence and the highest count.
        vocab_size: int, the number of letters, the null letter not counted.
        generator: numpy.random.Generator that draws the letters.
    """

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.generator = generator or np.random.default_rng()
        self.letters = LETTERS[: vocab_size + 1]
        self.length = max_len  # of an input sequence
        self.max_count = max_len
        self.outputs = [*self.letters[1:], "|A−B|"]  # what each output step stands for

    def sample(self, *shape, length=None):
        """Return random letters, int32 (*shape, length): 0 is the null letter."""
        shape = (*shape, length or self.length)
        return self.generator.integers(len(self.letters), size=shape, dtype=np.int32)

    def solve(self, letters):
        """Return the answers, int32 (..., vocab_size + 1), to letters, int (..., length)."""
        counts = [np.count_nonzero(letters == letter, axis=-1) for letter in range(1, len(self.letters))]
        return np.stack([*counts, abs(counts[0] - counts[1])], axis=-1).astype(np.int32)

    def next_batch(self, batchsize=100):
        """Return inputs and labels, both one-hot float32.

        Their shapes are (batchsize, max_len, vocab_size + 1) and (batchsize, vocab_size + 1, max_len + 1).
        """
        letters = self.sample(batchsize)
        return one_hot(letters, len(self.letters)), one_hot(self.solve(letters), self.max_count + 1)

    def prettify(self, samples):
        """Return the letters, str (batch, length, 1), of one-hot samples (batch, length, vocab_size + 1)."""
        return np.array(list(self.letters))[np.argmax(samples, axis=-1)][..., None]


# --- The model ------------------------------------------------------------------------------------------


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

    def __init__(self):
        super().__init__()
        self.layer_norm = tf.keras.layers.LayerNormalization()

    def call(self, query, key, value):
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5
        weights = tf.nn.softmax(logits, axis=-1)
        return self.layer_norm(tf.matmul(weights, value) + query), weights


class AttentionModel(tf.keras.Model):
    """Attention of the output steps to the letters and, with self_att, to each other.

    Call with one-hot float32 inputs (batch, length, vocab_size + 1).

    Returns:
        logits: float32 (batch, vocab_size + 1, max_len + 1), a score for each number that a step may have.
        weights: float32 (batch, vocab_size + 1, length), how much each output step attends to each letter.
        self_attention_weights: float32 (batch, vocab_size + 1, vocab_size + 1), how much each output step
            attends to each output step; None without self_att.
    """

    def __init__(self, max_len=10, vocab_size=3, hidden=64, self_att=False):
        super().__init__()
        # One query for each output step, learnt, and the same for every input.
        self.query = self.add_weight(name="query", shape=(1, vocab_size + 1, hidden), initializer="zeros")
        self.key_layer = tf.keras.layers.Dense(hidden)
        self.attention = Attention()
        self.self_attention = Attention() if self_att else None
        self.logits_layer = tf.keras.layers.Dense(max_len + 1)
        self(tf.zeros((1, max_len, vocab_size + 1)))  # A first call creates the weights of the layers.

    def call(self, inputs):
        key = value = self.key_layer(inputs)
        decoding, weights = self.attention(query=self.query, key=key, value=value)
        if self.self_attention is None:
            return self.logits_layer(decoding), weights, None
        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
        return self.logits_layer(decoding), weights, self_attention_weights


# --- Saving and loading ---------------------------------------------------------------------------------


def load_model(arguments):
    """Return the newest model in --savepath and its settings, a dict.

    Raises:
        SystemExit: where there is none or it is broken (status 1), where the flags contradict it (status 2).
    """
    record = arguments.savepath / "checkpoint"  # In it TensorFlow notes which checkpoint is the newest.
    readable = functools.partial(one_line, advice="; train again with: python3 main.py --train")
    with readable(shown(record), ValueError):
        if not arguments.savepath.exists() or record.name not in os.listdir(arguments.savepath):
            fail(f"{shown(record)}: there is no model yet; train one with: python3 main.py --train")
        path = tf.train.latest_checkpoint(arguments.savepath)
        if path is None:
            raise ValueError("names no checkpoint that is there")
    with readable(shown(path), tf.errors.OpError, IndexError, ValueError):
        reader = tf.train.load_checkpoint(path)
        settings = json.loads(reader.get_tensor("description/.ATTRIBUTES/VARIABLE_VALUE"))
        if [settings.pop("task", None), *settings] != [TASK, *SETTINGS]:
            raise ValueError(f"holds no model of this task, {TASK}")
    for name, value in arguments.given.items():
        if value != settings[name]:
            wanted = f"--{name}" if value is True else f"--{name} {value}"
            parser.error(
                f"argument --{name}: {value} does not fit {shown(path)}, trained with {settings[name]}; "
                f"train a model that it fits with: python3 main.py --train {wanted}"
            )
    model = AttentionModel(**settings)
    with readable(shown(path), tf.errors.OpError, AssertionError, IndexError, ValueError):
        checkpoint = tf.train.Checkpoint(weights=[weight.value for weight in model.weights])
        checkpoint.restore(path).assert_existing_objects_matched().expect_partial()
    return model, settings


def make_manager(model, settings, savepath):
    """Return a tf.train.CheckpointManager for the weights and for what it takes to build their model."""
    weights = [weight.value for weight in model.weights]
    description = tf.Variable(json.dumps({"task": TASK} | settings))
    checkpoint = tf.train.Checkpoint(weights=weights, description=description)
    with one_line(shown(savepath / "checkpoint"), ValueError, advice="; delete this file"):
        return tf.train.CheckpointManager(checkpoint, savepath, max_to_keep=1)


def save_model(manager, step):
    """Save a checkpoint, then delete the one before. Return the path."""
    with one_line(f"--savepath {shown(manager.directory)}", tf.errors.OpError):
        if str(manager.latest_checkpoint).endswith(f"ckpt-{step}"):
            manager.save(checkpoint_number=0)  # The only complete checkpoint is never overwritten.
        return shown(manager.save(checkpoint_number=step))


# --- Training -------------------------------------------------------------------------------------------


def compile_training(model, optimizer, task, arguments):
    """Return a function that runs many training steps in one call, and the buffer for its letters.

    For a model this small, to call a step costs more than the step. The function takes letters, int32 (steps,
    batch, length) like the buffer, their answers, and how many of the steps to run; it returns the last loss.
    """
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_steps(letters, answers, steps):
        def train_step(step, _):
            with tf.GradientTape() as tape:
                logits, *_ = model(tf.one_hot(letters[step], len(task.letters)))
                loss = loss_function(answers[step], logits)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply(gradients, model.trainable_variables)
            return step + 1, loss

        return tf.while_loop(lambda step, _: step < steps, train_step, (0, 0.0))[1]

    # Every new shape would be compiled anew, so each call gets a buffer of the same shape, full or not.
    # It holds four steps if LARGEST allows: a call allocates its memory anew, as costly as a large step.
    letters = arguments.batchsize * task.length
    longest = min(max(4, LARGEST // (letters * arguments.settings["hidden"])), max(1, LARGEST // letters))
    longest = min(longest, arguments.steps, arguments.print_every, arguments.save_every)
    buffer = np.zeros((longest, arguments.batchsize, task.length), np.int32)
    compiled = tf.function(train_steps, jit_compile=True, autograph=False)
    try:
        compiled(buffer, task.solve(buffer), tf.constant(0))
    except (tf.errors.InternalError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        compiled = tf.function(train_steps, autograph=False)  # This TensorFlow has no XLA compiler.
    return compiled, buffer


def train(arguments):
    """Train a model, print its loss and save it in --savepath. A signal saves what it has reached.

    Returns:
        dict: file name to a function that draws that figure.
    """
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    settings = arguments.settings
    task = Task(settings["max_len"], settings["vocab_size"], np.random.default_rng(arguments.seed))
    model = AttentionModel(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr, **ADAM)
    optimizer.build(model.trainable_variables)
    manager = make_manager(model, settings, arguments.savepath)
    run_steps, buffer = compile_training(model, optimizer, task, arguments)
    losses, step = [], 0
    try:
        while step < arguments.steps:
            due = [every - step % every for every in (arguments.print_every, arguments.save_every)]
            count = min(len(buffer), arguments.steps - step, *due)
            buffer[:count] = task.sample(count, arguments.batchsize)
            loss = float(run_steps(buffer, task.solve(buffer), tf.constant(count)))
            step = int(optimizer.iterations)
            save = step % arguments.save_every == 0 or step == arguments.steps
            logits = model(one_hot(buffer[0, :1], len(task.letters)))[0] if save else 0.0
            if not (np.isfinite(loss) and np.isfinite(logits).all()):
                fail(f"the loss is not a number any more after step {step}; try --lr {arguments.lr / 10:g}")
            if step % arguments.print_every == 0 or step == arguments.steps:
                print(f"Iteration {step} - Loss {loss}")
                losses.append((step, loss))
            if save:
                path = save_model(manager, step)
    except KeyboardInterrupt:
        if optimizer.iterations > 0:
            print(f"Model saved to {save_model(manager, int(optimizer.iterations))}.")
        raise
    print(f"Training complete!\nModel saved to {path}.")
    return {"loss": functools.partial(draw_losses, losses)}


# --- Testing --------------------------------------------------------------------------------------------


def accuracy(model, task, length, samples=10000):
    """Return the fraction of new sequences, and of their output steps, that the model gets right."""
    batchsize = max(1, LARGEST // (10 * length * max(length, model.query.shape[-1])))  # Ten exist at once.
    right = []
    for start in range(0, samples, batchsize):
        letters = task.sample(min(batchsize, samples - start), length=length)
        logits, *_ = model(one_hot(letters, len(task.letters)))
        right.append(np.argmax(logits, axis=-1) == task.solve(letters))
    right = np.concatenate(right)
    return right.all(axis=-1).mean(), right.mean()


def test(arguments):
    """Print what the saved model makes of one sequence, how it attends, and how often it is right.

    Returns:
        dict: file name to a function that draws that figure.
    """
    model, settings = load_model(arguments)
    check_sample(arguments, settings)
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Not the data of the training.
    task = Task(settings["max_len"], settings["vocab_size"], generator)
    letters = task.sample(1, length=arguments.sample_len)
    if arguments.input:
        letters = np.array([[LETTERS.index(letter) for letter in arguments.input]])
    inputs = one_hot(letters, len(task.letters))
    logits, weights, self_attention_weights = model(inputs)
    weights = weights.numpy()[0].astype(np.float64)

    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):  # Also long sequences in full.
        print(f"Input: \n{task.prettify(inputs)}")
        print(f"\nPrediction: \n{np.argmax(logits, axis=-1)}")
        print("\nEncoder-Decoder Attention: ")
        for step, row in enumerate(weights.round(3)):
            print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
            print(row.tolist())
    if settings["self_att"]:
        self_attention_weights = self_attention_weights.numpy()[0].astype(np.float64)
        print("\nSelf-Attention: ")
        for step, row in enumerate(self_attention_weights.round(3)):
            print(f"Attention of Output step {step}:\n{row.tolist()}")
    sequences, steps = accuracy(model, task, letters.shape[1])
    print(f"\nAccuracy on 10000 new samples: {sequences:.2%} of sequences, {steps:.2%} of output steps")
    names = [task.letters[letter] for letter in letters[0]]
    heatmap = functools.partial(draw_heatmap, "Encoder-decoder attention", weights, task.outputs, names)
    drawings = {"encoder_decoder_attention": heatmap}
    if settings["self_att"]:
        names = (task.outputs, task.outputs)
        heatmap = functools.partial(draw_heatmap, "Self-attention", self_attention_weights, *names)
        drawings["self_attention"] = functools.partial(heatmap, across="Output")
    return drawings


# --- Plotting -------------------------------------------------------------------------------------------


def draw_losses(losses):
    """Return a figure of the loss over the training steps, from a list of (step, loss in nats)."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.semilogy(*np.transpose(losses), marker=".")
    axes.set(title=f"{TASK}: loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.grid(which="both", alpha=0.3)
    return figure


def draw_heatmap(title, weights, rows, columns, down="Output", across="Input"):
    """Return a figure of attention weights.

    Args:
        title: str.
        weights: float (queries, keys).
        rows, columns: lists of str, what each query and each key stands for.
        down, across: str, "Input" or "Output", whose steps the queries and the keys are.
    """
    cells = np.array([min(0.6, 14 / len(names)) for names in (columns, rows)])  # Width, height in inches.
    size = np.maximum(cells * (len(columns), len(rows)) + (2.5, 1.5), (5, 2.5))
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    figure.colorbar(axes.imshow(weights, cmap="viridis", vmin=0, aspect="auto"), label="Attention weight")
    axes.set(title=title, xlabel=f"{across} step", ylabel=f"{down} step")
    for axis, names, cell in zip((axes.xaxis, axes.yaxis), (columns, rows), cells, strict=True):
        steps = range(0, len(names), int(np.ceil(0.3 / cell)))  # As many labels as there is room for.
        axis.set_ticks(steps, [f"{names[step].replace(' ', '␣')}\n{step}" for step in steps])
    if cells.min() >= 0.35:  # Room for a number in each cell.
        for (row, column), weight in np.ndenumerate(weights):
            colour = "black" if weight > weights.max() / 2 else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour)
    return figure


def plot(drawings, plotpath):
    """Draw the figures, write each as PNG and, where there is a display, open a window for it.

    Args:
        drawings: dict of file name to a function that draws that figure.
        plotpath: pathlib.Path of the folder to write to.
    """
    figures = [draw() for draw in drawings.values()]
    for name, figure in zip(drawings, figures, strict=True):
        path = plotpath / f"{name}.png"
        with one_line(shown(path)):
            figure.savefig(path.with_suffix(".part"), dpi=150, format="png")
            path.with_suffix(".part").replace(path)  # An image that was there stays if this one fails.
        print(f"Plot saved to {shown(path)}.")
    if figures[0].canvas.required_interactive_framework:
        pyplot.show()
    for figure in figures:
        pyplot.close(figure)


# --- The program ----------------------------------------------------------------------------------------


def main(argv=None):
    """Run the program with these flags, a list of str, or with those of the command line."""
    arguments = parse_arguments(argv)
    drawings = {}
    try:
        if arguments.train:
            drawings |= train(arguments)
        if arguments.test:
            drawings |= test(arguments)
        if arguments.plot:
            plot(drawings, arguments.plotpath)
    except (MemoryError, tf.errors.ResourceExhaustedError):
        fail("this does not fit into memory; lower --batchsize, --max_len or --hidden")


if __name__ == "__main__":
    try:
        with one_line("standard output"):
            main()
        os._exit(0)  # Ends at once: to take TensorFlow down would need another half second.
    except SystemExit as end:
        os._exit(end.code)
