"""Task 3, Signal: positional encodings.

Each element of the input is a letter, drawn uniformly and independently. The first one is the signal: it
names the letter to count in the rest. The output has one step, how often that letter occurs after the signal.

    input     'B' 'B' 'A' 'B' 'C'      one-hot vectors: 'A' is index 0, 'B' is 1, 'C' is 2
    output    2                        the signal is 'B', and two 'B' follow

The signal is the same vector as any other letter of its kind, and attention does not see in which order
letters come. With --pos_enc, each position adds a vector of its own to its letter.
"""

# /// script
# requires-python = ">=3.10"
# dependencies = ["matplotlib>=3.9,<4", "numpy>=2.0,<3", "tensorflow>=2.20,<2.23"]
# ///

import argparse
import contextlib
import io
import json
import os
import pathlib
import signal
import sys
import tokenize
import zipfile

# --- The flags ------------------------------------------------------------------------------------------

TASK = "Signal"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SETTINGS = {"max_len": (1, 10**4), "vocab_size": (1, 26), "hidden": (1, 10**4)}  # Of a model: least, most.
SETTINGS.update(pos_enc=(False, True), enc_layers=(0, 100))


def between(least, most):
    """Return an argparse type for the numbers from least to most, whole ones if these two are whole."""

    def convert(text):
        with contextlib.suppress(ValueError):
            if text.isascii() and "_" not in text and least <= type(least)(text) <= most:
                return type(least)(text)
        raise argparse.ArgumentTypeError(f"{text!r} is no {type(least).__name__} from {least} to {most}")

    return convert


parser = argparse.ArgumentParser("main.py", description=TASK, allow_abbrev=False, add_help=False)
parser.error = lambda message: fail(f"{message}; see --help", status=2)
flag = parser.add_argument
flag("-h", "--help", action="store_true", help="show this text")
flag("--train", action="store_true", help="train a model and save it")
flag("--test", action="store_true", help="show what the saved model predicts, how, and how well")
flag("--plot", action="store_true", help="draw what --train and --test did; alone: --test --plot")
flag("--steps", type=between(1, 10**9), default=2000, help="training steps (%(default)s)")
flag("--batchsize", type=between(1, 10**5), default=100, help="sequences per step (%(default)s)")
flag("--lr", type=between(1e-38, 1e38), default=1e-3, help="Adam's learning rate (%(default)s)")
flag("--hidden", type=between(*SETTINGS["hidden"]), default=64, help="encoding dimensions (%(default)s)")
flag("--savepath", default=pathlib.Path(__file__).with_name("models"), help="for the checkpoint (models/)")
flag("--plotpath", default=pathlib.Path(__file__).with_name("plots"), help="for the images (plots/)")
flag("--max_len", type=between(*SETTINGS["max_len"]), default=10, help="letters after signal (%(default)s)")
flag("--vocab_size", type=between(*SETTINGS["vocab_size"]), default=3, help="letters from A on (%(default)s)")
flag("--print_every", type=between(1, 10**9), default=50, help="steps per loss line (%(default)s)")
flag("--save_every", type=between(1, 10**9), default=500, help="steps per checkpoint (%(default)s)")
flag("--seed", type=between(0, 2**32 - 1), help="makes a run repeatable (none)")
flag("--pos_enc", action="store_true", help="add positional encodings to the letters (off)")
flag("--enc_layers", type=between(*SETTINGS["enc_layers"]), default=1, help="encoder layers (%(default)s)")
flag("--signal", help="the first letter of the tested sequence (random)")
flag("--input", help="the tested sequence, signal first, such as BBABC (random)")


def parse_arguments(argv=None):
    """Return the flags, with the names of those that were `given`; end the program if one is wrong."""
    argv = sys.argv[1:] if argv is None else argv  # A value "--" would be dropped: treat it as empty.
    arguments = parser.parse_args([word[:-2] if word.partition("=")[2] == "--" else word for word in argv])
    arguments.given = [word[2:].partition("=")[0] for word in argv if word.startswith("--")]
    if arguments.help or not (arguments.train or arguments.test or arguments.plot):
        with contextlib.suppress(OSError):
            os.write(1, parser.format_help().encode())  # Unlike print, it fails here or not at all.
            parser.exit(0 if arguments.help else 2)
        fail("standard output cannot be written")
    for name in ("savepath", "plotpath"):
        path = str(getattr(arguments, name))
        if not path.strip() or "\0" in path:
            parser.error(f"argument --{name}: {path!r} is not the path of a folder")
        setattr(arguments, name, pathlib.Path(os.path.expanduser(path)))
    arguments.test = arguments.test or not arguments.train  # --plot alone means --test --plot.
    check_sample(arguments, *((arguments.max_len, arguments.vocab_size) if arguments.train else (10**4, 26)))
    return arguments


def check_sample(arguments, max_len, vocab_size):
    """Refuse a sequence to test that a model with these settings cannot read."""
    letters = LETTERS[:vocab_size]
    if arguments.input == "" or not set(arguments.input or "") <= set(letters + letters.lower()):
        parser.error(f"argument --input: {arguments.input!r} is not a sequence of {letters!r}")
    if len(arguments.input or "") > max_len + 1:
        parser.error(f"argument --input: {arguments.input!r} has more than {max_len + 1} letters")
    if arguments.signal is not None and arguments.signal not in [*letters, *letters.lower()]:
        parser.error(f"argument --signal: {arguments.signal!r} is not one letter of {letters!r}")
    if arguments.input and arguments.signal and arguments.input[0].upper() != arguments.signal.upper():
        parser.error(f"argument --signal: {arguments.signal!r} is not the first letter of --input")


def printable(text):
    """Return the text in one line, with whatever cannot be printed escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def fail(message, status=1):
    """End the program with one line on standard error."""
    parser.exit(status, f"main.py: error: {printable(message)}\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the program without a traceback.
    command_line = parse_arguments()  # Before TensorFlow, which takes seconds to import.
# The same for everybody: no settings of the user's for Keras, no notebook's backend for matplotlib.
os.environ.update(KERAS_BACKEND="tensorflow", KERAS_HOME=os.devnull, TF_USE_LEGACY_KERAS="0", MPLBACKEND="")
for pair in dict(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", TF_NUM_INTRAOP_THREADS="2").items():
    os.environ.setdefault(*pair)  # Fewer messages, and sums that are split alike on every machine.

try:
    import matplotlib.pyplot as pyplot
    import numpy as np
    import tensorflow as tf
except Exception as error:  # Also what packages that do not fit each other raise.
    fail(f"{error}; activate .venv of README.md, Python 3.10 to 3.14 (this is {sys.version.split()[0]})")

# --- The data -------------------------------------------------------------------------------------------


class Task:
    """Random sequences of letters, and how often the first letter occurs in the rest.

    Args:
        max_len: int, the number of letters after the signal and the highest count.
        vocab_size: int, the number of different letters.
        generator: numpy.random.Generator that draws the letters.
    """

    def __init__(self, max_len=10, vocab_size=3, generator=None):
        self.generator = generator or np.random.default_rng()
        self.letters = LETTERS[:vocab_size]
        self.length = max_len + 1  # of an input sequence
        self.max_count = max_len
        self.outputs = ["count"]  # what each output step stands for

    def sample(self, *shape, length=None):
        """Return random letters, int32 (*shape, length): 0 is 'A'."""
        shape = (*shape, length or self.length)
        return self.generator.integers(len(self.letters), size=shape, dtype=np.int32)

    def solve(self, letters):
        """Return the count of the signal's letter, int32 (..., 1), in letters, int (..., length)."""
        counts = np.count_nonzero(letters[..., 1:] == letters[..., :1], axis=-1)
        return counts[..., None].astype(np.int32)

    def next_batch(self, batchsize=100):
        """Return inputs and labels, both one-hot float32, as Keras `fit` takes them; `train` makes its own.

        Their shapes are (batchsize, max_len + 1, vocab_size) and (batchsize, 1, max_len + 1).
        """
        letters = self.sample(batchsize)
        inputs = np.eye(len(self.letters), dtype=np.float32)[letters]
        return inputs, np.eye(self.max_count + 1, dtype=np.float32)[self.solve(letters)]

    def prettify(self, samples):
        """Return the letters, str (batch, length, 1), of one-hot samples (batch, length, vocab_size)."""
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

    def __init__(self, name="attention"):
        super().__init__(name=name)
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, query, key, value):
        depth = key.shape[-1]
        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5
        weights = tf.nn.softmax(logits, axis=-1)
        return self.layer_norm(tf.matmul(weights, value) + query), weights


class EncoderLayer(tf.keras.layers.Layer):
    """Self-attention, then a feed-forward pair with a residual connection and layer normalization.

    Sections 3.1 and 3.3 of Vaswani et al. (2017). Call with an encoding, float32 (batch, length, hidden).

    Returns:
        encoding: float32 (batch, length, hidden).
        weights: float32 (batch, length, length), how much each input step attends to each input step.
    """

    def __init__(self, hidden, name="encoder_layer"):
        super().__init__(name=name)
        self.attention = Attention()
        self.expand = tf.keras.layers.Dense(2 * hidden, "relu", name="expand")
        self.contract = tf.keras.layers.Dense(hidden, name="contract")
        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")

    def call(self, encoding):
        encoding, weights = self.attention(query=encoding, key=encoding, value=encoding)
        return self.layer_norm(self.contract(self.expand(encoding)) + encoding), weights


class AttentionModel(tf.keras.Model):
    """An encoder, with positional encodings or without, then attention of one query to its output.

    Call with one-hot float32 inputs (batch, length, vocab_size), length at most max_len + 1.

    Returns:
        logits: float32 (batch, 1, max_len + 1), a score for each count that the signal's letter may have.
        weights: float32 (batch, 1, length), how much the output step attends to each letter.
        encoder_weights: list of float32 (batch, length, length), the self-attention of each encoder layer.
    """

    def __init__(self, max_len=10, vocab_size=3, hidden=64, pos_enc=False, enc_layers=1):
        super().__init__(name="model")
        self.embedding = tf.keras.layers.Dense(hidden, name="embedding")
        self.positional_encoding = None
        if pos_enc:  # One vector for each position, learnt, and the same for every input.
            form = {"shape": (1, max_len + 1, hidden), "initializer": "zeros"}
            self.positional_encoding = self.add_weight(name="positional_encoding", **form)
        self.encoder = [EncoderLayer(hidden, f"encoder_layer_{layer + 1}") for layer in range(enc_layers)]
        # The query of the only output step, learnt, and the same for every input.
        self.query = self.add_weight(name="query", shape=(1, 1, hidden), initializer="zeros")
        self.attention = Attention()
        self.logits_layer = tf.keras.layers.Dense(max_len + 1, name="logits_layer")
        self(tf.zeros((1, max_len + 1, vocab_size)))  # A first call creates the weights of the layers.

    def call(self, inputs):
        encoding = self.embedding(inputs)
        if self.positional_encoding is not None:
            encoding += self.positional_encoding[:, : inputs.shape[1]]
        encoder_weights = []
        for encoder_layer in self.encoder:
            encoding, weights = encoder_layer(encoding)
            encoder_weights.append(weights)
        decoding, weights = self.attention(query=self.query, key=encoding, value=encoding)
        return self.logits_layer(decoding), weights, encoder_weights


# --- Training -------------------------------------------------------------------------------------------


def train(arguments):
    """Train a model, print its loss, save it. Return what to draw: {file name: (function, *arguments)}."""
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    task = Task(arguments.max_len, arguments.vocab_size, np.random.default_rng(arguments.seed))
    model = AttentionModel(**settings)
    optimizer = tf.keras.optimizers.Adam(arguments.lr)
    optimizer.build(model.trainable_variables)  # A compiled function cannot create its variables.
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_step(letters, answers):
        with tf.GradientTape() as tape:
            logits, *_ = model(tf.one_hot(letters, len(task.letters)))
            loss = loss_function(answers, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    run_steps, most = compile_steps(train_step, task, arguments)
    losses, step = [], 0
    with noted_signals() as noted:
        with contextlib.suppress(BrokenPipeError):  # Nobody reads on, as after `| head`: save, and end.
            while step < arguments.steps and not noted:
                due = [every - step % every for every in (arguments.print_every, arguments.save_every)]
                count = min(most, arguments.steps - step, *due)  # Up to the next line or checkpoint.
                letters = task.sample(count, arguments.batchsize)
                loss = run_steps(letters, task.solve(letters))
                step += len(letters)
                if not np.isfinite(loss):
                    raise FloatingPointError(f"the loss is not a number any more after step {step}")
                if step % arguments.print_every == 0 or step == arguments.steps:
                    losses.append((step, loss))
                    print(f"Iteration {step} - Loss {loss}")
                if step % arguments.save_every == 0 and step < arguments.steps:
                    save_model(model, settings, step, arguments.savepath)
        path = save_model(model, settings, step, arguments.savepath) if step > 0 else None
        if noted and path:
            with contextlib.suppress(OSError):
                print(f"main.py: stopped; step {step} is saved in {path}", file=sys.stderr)
    print(f"Training complete!\nModel saved to {path}.")
    return {"loss": (draw_losses, losses)}


def compile_steps(train_step, task, arguments):
    """Return a function that runs many training steps in one call, and the most that it can run.

    For a model this small, to call a step costs more than the step. The function takes letters, int32 (steps,
    batch, length), and their answers, int32 (steps, batch, outputs), and returns the last loss, a float.
    """
    most = max(1, 10**7 // (arguments.batchsize * task.length * arguments.hidden))  # Bounds memory and time.
    most = min(most, arguments.steps, arguments.print_every, arguments.save_every)

    def loop(letters, answers, steps):
        def body(step, loss):
            return step + 1, train_step(letters[step], answers[step])

        return tf.while_loop(lambda step, loss: step < steps, body, (0, 0.0))[1]

    compiled = tf.function(loop, jit_compile=True, autograph=False)

    def run_steps(letters, answers):
        # Every new shape would be compiled anew, so all calls get the same, filled up with repetitions.
        full = [np.resize(array, (most, *array.shape[1:])) for array in (letters, answers)]
        return float(compiled(*full, tf.constant(len(letters))))

    nothing = np.zeros((0, arguments.batchsize, task.length), np.int32)
    try:
        run_steps(nothing, task.solve(nothing))
    except tf.errors.OpError:
        compiled = tf.function(loop, autograph=False)  # This TensorFlow has no XLA compiler.
    return run_steps, most


# --- Testing --------------------------------------------------------------------------------------------


def test(arguments):
    """Print what the saved model makes of a sequence, and how. Return what to draw, as `train` does."""
    model, settings = load_model(arguments)
    check_sample(arguments, settings["max_len"], settings["vocab_size"])
    generator = np.random.default_rng(arguments.seed).spawn(1)[0]  # Not the data of the training.
    task = Task(settings["max_len"], settings["vocab_size"], generator)
    letters = task.sample(1)
    if arguments.signal:
        letters[0, 0] = LETTERS.index(arguments.signal.upper())
    if arguments.input:
        letters = np.array([[LETTERS.index(letter) for letter in arguments.input.upper()]])
    inputs = tf.one_hot(letters, len(task.letters))
    logits, weights, encoder_weights = model(inputs)
    weights = weights.numpy()[0].astype(np.float64)  # Rounded, these print short: 0.1.

    with np.printoptions(threshold=sys.maxsize, linewidth=sys.maxsize):  # Also long sequences in full.
        print(f"Input: \n{task.prettify(inputs)}")
        print(f"\nPrediction: \n{np.argmax(logits, axis=-1)}")
        print("\nEncoder-Decoder Attention: ")
        for step, row in enumerate(weights.round(3)):
            print(f"Output step {step} attended mainly to Input steps: {np.flatnonzero(row == row.max())}")
            print(row.tolist())
    if settings["pos_enc"]:
        norms = np.linalg.norm(model.positional_encoding[0], axis=-1).astype(np.float64)
        print(f"\nL2-Norm of Positional Encoding:\n{norms.round(3).tolist()}")
    sequences, outputs = accuracy(model, task, letters.shape[1])
    print(f"\nAccuracy on 10000 new samples: {sequences:.2%} of sequences, {outputs:.2%} of output steps")
    names = [task.letters[letter] for letter in letters[0]]
    title = "Encoder-decoder attention"
    drawings = {"encoder_decoder_attention": (draw_heatmap, title, weights, task.outputs, names)}
    for layer, layer_weights in enumerate(encoder_weights, start=1):
        what = (f"Self-attention of encoder layer {layer}", layer_weights[0].numpy(), names, names, "Input")
        drawings[f"encoder_self_attention_{layer}"] = (draw_heatmap, *what)
    if settings["pos_enc"]:
        drawings["positional_encoding"] = (draw_norms, norms)
    return drawings


def accuracy(model, task, length, samples=10000):
    """Return the fraction of new sequences, and of their output steps, that the model gets right."""
    batchsize = max(1, 10**6 // (length * max(length, model.query.shape[-1])))  # Bounds the memory.
    right = []
    for start in range(0, samples, batchsize):
        letters = task.sample(min(batchsize, samples - start), length=length)
        logits, *_ = model(tf.one_hot(letters, len(task.letters)))
        right.append(np.argmax(logits, axis=-1) == task.solve(letters))
    right = np.concatenate(right)
    return right.all(axis=-1).mean(), right.mean()


# --- Plotting -------------------------------------------------------------------------------------------

IMAGES = ["encoder_decoder_attention", "positional_encoding"]  # `plot` removes those that it has not drawn.
IMAGES += [f"encoder_self_attention_{layer}" for layer in range(1, SETTINGS["enc_layers"][1] + 1)]


def draw_losses(losses):
    """Return a figure of the loss over the training steps, from a list of (step, loss in nats)."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(*np.transpose(losses), marker=".")
    axes.set(title=f"{TASK}: loss", xlabel="Training step", ylabel="Cross-entropy (nats per output step)")
    axes.set_yscale("log" if all(loss > 0 for _, loss in losses) else "linear")
    axes.grid(which="both", alpha=0.3)
    return figure


def draw_norms(norms):
    """Return a figure of the L2 norms of the positional encodings, float (max_len + 1,)."""
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    axes.bar(np.arange(len(norms)), norms)
    axes.set(title="Positional encodings", xlabel="Input step", ylabel="L2 norm")
    axes.xaxis.get_major_locator().set_params(integer=True)
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
    """Draw {file name: (function, *its arguments)} into PNG files; open windows if there is a display.

    Those of IMAGES that are not drawn show an earlier model and go. On an OSError, the old image stays.
    """
    with pyplot.rc_context({"figure.max_open_warning": 0}):
        pyplot.rcdefaults()  # The same pictures for everybody, and without LaTeX.
        figures = {name: draw(*what) for name, (draw, *what) in drawings.items()}
        for name, figure in figures.items():
            image = io.BytesIO()
            figure.savefig(image, dpi=150, format="png")
            print(f"Plot saved to {write_file(plotpath / f'{name}.png', image.getvalue())}.")
        for name in set(IMAGES) - set(drawings):
            (plotpath / f"{name}.png").unlink(missing_ok=True)
        if figure.canvas.required_interactive_framework:  # There is a display.
            pyplot.show()
        for figure in figures.values():
            pyplot.close(figure)


# --- Saving and loading ---------------------------------------------------------------------------------

DAMAGED = (EOFError, tokenize.TokenError, zipfile.BadZipFile)  # What reading an archive raises besides.


def named_weights(model):
    """Return a dict from the names of a model's weights, such as key_layer/kernel, to these."""
    return {weight.path.removeprefix("model/"): weight for weight in model.weights}


def save_model(model, settings, step, savepath):
    """Save a model, and what it takes to build it, as checkpoint.npz. Return the path as a str to show.

    Raises FloatingPointError for a weight that is no number. Then, and on an OSError, the old file stays.
    """
    arrays = {name: weight.numpy() for name, weight in named_weights(model).items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise FloatingPointError(f"a weight is not a number any more after step {step}")
    archive = io.BytesIO()
    np.savez(archive, description=json.dumps({"task": TASK, "step": step, "settings": settings}), **arrays)
    return write_file(savepath / "checkpoint.npz", archive.getvalue())


def write_file(path, content=None):
    """Write bytes beside path and move them into place, so that at every instant there is a complete file.

    Without content, only see whether that can be done, and remove what killed programs have left. Return the
    path as a str to show. Raises OSError, with such a str for its filename.
    """
    part = path.with_name(f"main.py.{os.getpid()}.part")  # Two programs may write into one folder.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(content or bytes(4096))
            file.flush()
            os.fsync(file.fileno())
        if content:
            part.replace(path)
        else:
            for leftover in path.parent.glob("main.py.*.part"):  # Ours is one of them.
                leftover.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename2:  # From part.replace.
            return write_file(path, content)  # Another program took ours for such a leftover.
        with contextlib.suppress(OSError):
            part.unlink()
        raise OSError(error.errno, error.strerror, shown(path)) from error
    return shown(path)


def load_model(arguments):
    """Return the model in --savepath and its settings, a dict.

    Raises:
        SystemExit: where there is none or it is broken (status 1), where the flags contradict it (status 2).
    """
    path = arguments.savepath / "checkpoint.npz"
    given = {name: getattr(arguments, name) for name in (*SETTINGS, "savepath") if name in arguments.given}
    words = [f" --{name}" if value is True else f" --{name} {value}" for name, value in given.items()]
    command = f"python3 main.py --train{''.join(words)}"
    try:
        path.stat()  # Raises what tells a file that is missing from one that cannot be read.
        if not path.is_file():
            raise ValueError("it is not a file")
        with np.load(path, allow_pickle=False) as archive:
            members = archive.zip.infolist()
            if any(member.compress_type for member in members) or len(members) > len(set(archive.files)):
                raise ValueError("it unpacks to more than was saved")
            arrays = dict(archive)
        description = json.loads(arrays.pop("description").item())
        settings = description["settings"]
        if description["task"] != TASK or set(settings) != set(SETTINGS):
            raise ValueError("it is of another task")
        for name, (least, most) in SETTINGS.items():
            if type(settings[name]) is not type(least) or not least <= settings[name] <= most:
                raise ValueError(f"its {name} is {settings[name]}")
            if given.get(name, settings[name]) != settings[name]:
                message = f"argument --{name}: {given[name]} does not fit {shown(path)}, trained with"
                parser.error(f"{message} {settings[name]}; train a model that it fits with: {command}")
        hidden, layers = settings["hidden"], settings.get("enc_layers", 0)
        if sum(array.size for array in arrays.values()) < hidden * max(settings["max_len"], layers * hidden):
            raise ValueError("its weights are fewer than its settings ask for")  # It might not fit.
        model = AttentionModel(**settings)
        weights = named_weights(model)
        found = {name: (array.shape, array.dtype, np.isfinite(array).all()) for name, array in arrays.items()}
        if found != {name: (weight.shape, np.float32, True) for name, weight in weights.items()}:
            raise ValueError("its weights are not those of its settings")
        for name, weight in weights.items():
            weight.assign(arrays[name])
    except FileNotFoundError:
        fail(f"{shown(path)}: there is no model yet; train one with: {command}")
    except OSError as error:
        fail(f"{shown(path)}: {error.strerror or error}")
    except (AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError, *DAMAGED) as error:
        fail(f"{shown(path)}: no complete model of the task {TASK} ({error}); train again with: {command}")
    return model, settings


# --- What can go wrong ----------------------------------------------------------------------------------


def shown(path):
    """Return a path as a str to show: relative if it lies below the current folder, and printable."""
    with contextlib.suppress(OSError, ValueError):  # The current folder may be gone, or elsewhere.
        path = path.relative_to(pathlib.Path.cwd())
    return printable(str(path))


@contextlib.contextmanager
def noted_signals():
    """Yield a list in which SIGINT and SIGTERM are noted; afterwards, let the first take its usual course."""
    noted, before = [], {}

    def note(number, frame):
        noted.append(number)
        for again in before:
            signal.signal(again, signal.SIG_DFL)  # The second one ends the program at once.

    with contextlib.suppress(ValueError):  # In another thread than the main one, signals are not ours.
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if noted:
        signal.raise_signal(noted[0])
        sys.exit(128 + noted[0])  # Where a handler has returned: what a shell shows.


# --- The program ----------------------------------------------------------------------------------------

NEEDS = {"train": "steps batchsize lr print_every save_every", "test": "signal input", "plot": "plotpath"}


def main(argv=None):
    """Run the program with these flags, a list of str, or with those of the command line."""
    run(parse_arguments(argv))


def run(arguments):
    """Train, test and plot as the flags say; end the program with one line where that cannot be done."""
    drawings = {}
    if sys.hexversion < 0x030A0000:
        fail("Python 3.10 to 3.14 is needed, and this one is older")
    for mode, names in NEEDS.items():
        for name in names.split():
            if name in arguments.given and not getattr(arguments, mode):
                print(f"main.py: --{name} has no meaning without --{mode} and is ignored", file=sys.stderr)
    try:
        if arguments.train:
            write_file(arguments.savepath / "checkpoint.npz")  # Better now than after the training.
        if arguments.plot:
            write_file(arguments.plotpath / "loss.png")
        if arguments.train:
            drawings |= train(arguments)
        if arguments.test:
            drawings |= test(arguments)
        if arguments.plot:
            plot(drawings, arguments.plotpath)
    except FloatingPointError as error:
        fail(f"{error}; try --lr {min(arguments.lr / 10, parser.get_default('lr')):g}")
    except (MemoryError, tf.errors.ResourceExhaustedError):
        fail("this does not fit into memory; lower --batchsize, --max_len or --hidden")
    except BrokenPipeError:
        sys.exit(141)  # In silence, with what a shell shows for a program whose output nobody reads.
    except ImportError as error:
        fail(f"matplotlib cannot draw: {error}")  # Its settings may name a backend that is not there.
    except OSError as error:
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}")


if __name__ == "__main__":
    if sys.stdout:
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # print(file=None) would mean standard output.
    try:
        run(command_line)
        os._exit(0)  # Ends at once: to take TensorFlow down would need another half second.
    except SystemExit as end:
        os._exit(end.code)
