"""Measure everything that the READMEs claim: train the models, print the tables, draw the figures.

    python tests/lessons.py                 everything, in less than half an hour on two cores
    python tests/lessons.py --lesson 2      only what the README of Task 2 shows
    python tests/lessons.py --cache FOLDER  keep the trained models there, and take what is there

An experiment is an edit of main.py that a reader can make as well: `EDITS` holds them as the READMEs show
them.
Each number is a mean over models that were trained with different seeds; in brackets the least and the most.
The figures go to the images/ folders beside the READMEs.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import hashlib
import importlib.util
import io
import itertools
import math
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import types

import matplotlib.animation
import matplotlib.pyplot as pyplot
import matplotlib.ticker
import numpy as np
import program

SEEDS = range(1, 11)
MORE_SEEDS = range(1, 21)  # For what varies so much that ten trainings can mislead.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Of Okabe and Ito (2008).

# --- The edits ------------------------------------------------------------------------------------------

# A name, the task, and the change of its main.py: lines with "-" go, lines with "+" come, the others stay.
# A line with "@@" starts another place in the file and says where that is.
EDITS = {
    "1 equal weights": (
        1,
        """\
-        decoding, weights = self.attention(query=self.query, key=key, value=value)
+        decoding, weights = self.attention(query=self.query, key=0 * key, value=value)
""",
    ),
    "1 no square root": (
        1,
        """\
-        depth = key.shape[-1]
-        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5
+        logits = tf.matmul(query, key, transpose_b=True)
""",
    ),
    "1 no residual": (
        1,
        """\
-        return self.layer_norm(tf.matmul(weights, value) + query), weights
+        return self.layer_norm(tf.matmul(weights, value)), weights
""",
    ),
    "1 no layer norm": (
        1,
        """\
@@ Attention.__init__
-        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")
@@ Attention.call
-        return self.layer_norm(tf.matmul(weights, value) + query), weights
+        return tf.matmul(weights, value) + query, weights
""",
    ),
    "1 keys and values": (
        1,
        """\
@@ AttentionModel.__init__
         self.key_layer = tf.keras.layers.Dense(hidden, name="key_layer")
+        self.value_layer = tf.keras.layers.Dense(hidden, name="value_layer")
@@ AttentionModel.call
-        key = value = self.key_layer(inputs)
+        key, value = self.key_layer(inputs), self.value_layer(inputs)
""",
    ),
    "1 additive score": (
        1,
        """\
@@ Attention.__init__
         self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")
+        self.of_query = tf.keras.layers.Dense(64, use_bias=False, name="of_query")
+        self.of_key = tf.keras.layers.Dense(64, use_bias=False, name="of_key")
+        self.score = tf.keras.layers.Dense(1, use_bias=False, name="score")
@@ Attention.call
-        depth = key.shape[-1]
-        logits = tf.matmul(query, key, transpose_b=True) / depth**0.5
+        alike = tf.tanh(self.of_query(query)[:, :, None] + self.of_key(key)[:, None])
+        logits = self.score(alike)[..., 0]
""",
    ),
    "1 sigmoid": (
        1,
        """\
@@ Attention.__init__
-        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")
@@ Attention.call
-        weights = tf.nn.softmax(logits, axis=-1)
-        return self.layer_norm(tf.matmul(weights, value) + query), weights
+        weights = tf.nn.sigmoid(logits)
+        return tf.matmul(weights, value) + query, weights
""",
    ),
    "1 sigmoid with layer norm": (
        1,
        """\
-        weights = tf.nn.softmax(logits, axis=-1)
+        weights = tf.nn.sigmoid(logits)
""",
    ),
    "2 itself": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        alone = tf.reshape(decoding, (-1, 1, decoding.shape[-1]))  # Each step in a batch of its own.
+        alone, _ = self.self_attention(query=alone, key=alone, value=alone)
+        self_attention_weights = tf.eye(decoding.shape[1])[None]
+        decoding = tf.reshape(alone, (-1, *decoding.shape[1:]))
""",
    ),
    "2 equal weights": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding, self_attention_weights = self.self_attention(decoding, key=0 * decoding, value=decoding)
""",
    ),
    "2 no residual": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        _, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding = self.self_attention.layer_norm(tf.matmul(self_attention_weights, decoding))
""",
    ),
    "2 no residual, random queries": (
        2,
        """\
@@ AttentionModel.__init__
-        self.query = self.add_weight(name="query", shape=(1, vocab_size + 1, hidden), initializer="zeros")
+        self.query = self.add_weight(name="query", shape=(1, vocab_size + 1, hidden))
@@ AttentionModel.call
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        _, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding = self.self_attention.layer_norm(tf.matmul(self_attention_weights, decoding))
""",
    ),
    "2 norm only": (
        2,
        """\
@@ AttentionModel.__init__
-        self.self_attention = Attention(name="self_attention") if self_att else None
+        self.self_attention = tf.keras.layers.LayerNormalization(name="layer_norm")
@@ AttentionModel.call
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding, self_attention_weights = self.self_attention(decoding), tf.eye(decoding.shape[1])[None]
""",
    ),
    "2 scale only": (
        2,
        """\
@@ AttentionModel.__init__
-        self.self_attention = Attention(name="self_attention") if self_att else None
+        self.self_attention = self.add_weight(name="scale", shape=(hidden,), initializer="ones")
@@ AttentionModel.call
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding, self_attention_weights = decoding * self.self_attention, tf.eye(decoding.shape[1])[None]
""",
    ),
    "2 dense": (
        2,
        """\
@@ AttentionModel.__init__
-        self.self_attention = Attention(name="self_attention") if self_att else None
+        self.self_attention = tf.keras.layers.Dense(hidden, "relu", name="dense")
@@ AttentionModel.call
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding, self_attention_weights = self.self_attention(decoding), tf.eye(decoding.shape[1])[None]
""",
    ),
    "2 blind": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding = tf.concat([decoding[:, :-1], 0 * decoding[:, -1:] + self.query[:, -1:]], axis=1)
+        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
""",
    ),
    "2 blind itself": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding = tf.concat([decoding[:, :-1], 0 * decoding[:, -1:] + self.query[:, -1:]], axis=1)
+        alone = tf.reshape(decoding, (-1, 1, decoding.shape[-1]))  # Each step in a batch of its own.
+        alone, _ = self.self_attention(query=alone, key=alone, value=alone)
+        self_attention_weights = tf.eye(decoding.shape[1])[None]
+        decoding = tf.reshape(alone, (-1, *decoding.shape[1:]))
""",
    ),
    "2 blind equal weights": (
        2,
        """\
-        decoding, self_attention_weights = self.self_attention(query=decoding, key=decoding, value=decoding)
+        decoding = tf.concat([decoding[:, :-1], 0 * decoding[:, -1:] + self.query[:, -1:]], axis=1)
+        decoding, self_attention_weights = self.self_attention(decoding, key=0 * decoding, value=decoding)
""",
    ),
    "3 encoder equal weights": (
        3,
        """\
-        encoding, weights = self.attention(query=encoding, key=encoding, value=encoding)
+        encoding, weights = self.attention(query=encoding, key=0 * encoding, value=encoding)
""",
    ),
    "3 decoder equal weights": (
        3,
        """\
-        decoding, weights = self.attention(query=self.query, key=encoding, value=encoding)
+        decoding, weights = self.attention(query=self.query, key=0 * encoding, value=encoding)
""",
    ),
    "3 both equal weights": (
        3,
        """\
@@ EncoderLayer.call
-        encoding, weights = self.attention(query=encoding, key=encoding, value=encoding)
+        encoding, weights = self.attention(query=encoding, key=0 * encoding, value=encoding)
@@ AttentionModel.call
-        decoding, weights = self.attention(query=self.query, key=encoding, value=encoding)
+        decoding, weights = self.attention(query=self.query, key=0 * encoding, value=encoding)
""",
    ),
    "3 sinusoids": (
        3,
        """\
-            form = {"shape": (1, max_len + 1, hidden), "initializer": "zeros"}
-            self.positional_encoding = self.add_weight(name="positional_encoding", **form)
+            angles = np.arange(max_len + 1)[:, None] / 10000 ** (np.arange(0, hidden, 2) / hidden)
+            waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(1, max_len + 1, -1)
+            self.positional_encoding = tf.constant(waves[..., :hidden], tf.float32)
""",
    ),
    "3 first only": (
        3,
        """\
-            encoding += self.positional_encoding[:, : inputs.shape[1]]
+            encoding += self.positional_encoding[:, :1] * tf.eye(inputs.shape[1])[:, :1]
""",
    ),
    "3 causal mask": (
        3,
        """\
-        weights = tf.nn.softmax(logits, axis=-1)
+        queries, keys = logits.shape[-2:]  # Query i sees the keys up to its own place, the only query all.
+        seen = tf.linalg.band_part(tf.ones((queries, keys)), -1, keys - queries)
+        weights = tf.nn.softmax(tf.where(seen > 0, logits, -1e9), axis=-1)
""",
    ),
}
FIXED = """\
@@ AttentionModel.__init__
-        self.attention = Attention()
+        self.layer_norm = tf.keras.layers.LayerNormalization(name="layer_norm")
@@ AttentionModel.call
-        decoding, weights = self.attention(query=self.query, key=key, value=value)
+        own = tf.transpose(inputs[..., 1:], (0, 2, 1))  # 1 where a letter is the one that a step counts.
+        weights = tf.nn.softmax(tf.math.log({}.0) * own, axis=-1)
+        decoding = self.layer_norm(tf.matmul(weights, value) + self.query)
"""
FIXED_RATIOS = (2, 4, 16, 100)  # How many times as much weight the own letter gets as any other, for ever.
EDITS |= {f"1 fixed weights, {ratio}": (1, FIXED.format(ratio)) for ratio in FIXED_RATIOS}


def apply(source, diff):
    """Return source with the changes of a diff, both str.

    Raises ValueError unless the old lines of each place occur exactly once.
    """
    for place in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = place.splitlines(keepends=True)
        if not all(line.startswith((" ", "-", "+")) for line in lines):
            raise ValueError(f"a line is neither kept, removed nor added:\n{place}")
        old = "\n" + "".join(line[1:] for line in lines if line[0] in " -")
        new = "\n" + "".join(line[1:] for line in lines if line[0] in " +")
        if not lines:
            continue  # Before the first @@.
        if source.count(old) != 1:
            raise ValueError(f"found {source.count(old)} times:{old}")
        source = source.replace(old, new)
    return source


# --- Training -------------------------------------------------------------------------------------------

CACHE = [None]  # The folder of the trained models; a temporary one without --cache.


@functools.cache
def cache():
    """Return the folder for edited programs and trained models."""
    if CACHE[0] is None:
        CACHE.append(tempfile.TemporaryDirectory(prefix="lessons-"))  # Kept in use, hence not removed.
    return pathlib.Path(CACHE[0] or CACHE[1].name)


@functools.cache
def edited(task, edit=None):
    """Return the path of a task's main.py, or of a copy of it with one of the edits."""
    source = program.script(task).read_text(encoding="utf-8")
    if edit is not None:
        expected, diff = EDITS[edit]
        assert task == expected
        source = apply(source, diff)
    path = cache() / f"{task}-{hashlib.sha256(source.encode()).hexdigest()[:16]}" / "main.py"
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_text(source, encoding="utf-8")
    return path


@functools.cache
def load(path):
    """Return the program at this path as a module."""
    specification = importlib.util.spec_from_file_location(f"main_{path.parent.name}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def train(path, words):
    """Train the program at this path, as its command line does; keep what it prints."""
    folder = pathlib.Path(words[words.index("--savepath") + 1])
    compiled = path.parent.parent / "compiled"
    compiled.mkdir(exist_ok=True)
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"  # Two trainings share two cores.
    os.environ["TF_XLA_FLAGS"] = f"--tf_xla_persistent_cache_directory={compiled}"
    with contextlib.redirect_stdout(io.StringIO()) as output:
        load(path).main(words)
    (folder / "output.txt").write_text(output.getvalue(), encoding="utf-8")  # The last file: all is there.


def train_apart(path, words):
    """Train in a process of its own: its memory is free afterwards, and what one compiles serves the others.

    TensorFlow finds a compiled training again by the names that its functions have in a new process.
    """
    process = processes().Process(target=train, args=(path, words))
    process.start()
    process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"a training ended with status {process.exitcode}: {path} {' '.join(words)}")


@functools.cache
def processes():
    """Return what starts processes: from one that has imported TensorFlow, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}  # As main.py has them.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tensorflow", "keras"])
    return context


@functools.cache
def workers():
    """Return two threads that wait for trainings."""
    return concurrent.futures.ThreadPoolExecutor(2)


@functools.cache
def start(task, edit, flags, seed):
    """Let a worker train a model, unless the cache has it. Return its folder and the work to wait for."""
    path = edited(task, edit)
    folder = path.parent / f"{flags.replace(' ', '')}--seed{seed}"
    words = ["--train", "--seed", str(seed), "--savepath", str(folder), *flags.split()]
    done = (folder / "output.txt").exists()
    return folder, None if done else workers().submit(train_apart, path, words)


@functools.cache
def trained(task, edit=None, flags="", seed=1):
    """Train main.py, edited or not, as the command line does.

    Args:
        task: int, 1 to 3.
        edit: str, a name in EDITS, or None.
        flags: str, such as "--self_att --steps 2000".
        seed: int.

    Returns:
        model: the trained AttentionModel.
        losses: list of the printed (step, loss).
    """
    folder, work = start(task, edit, flags, seed)
    if work is not None:
        work.result()
    module = load(edited(task, edit))
    model, _ = module.load_model(module.parse_arguments(["--test", "--savepath", str(folder)]))
    lines = re.findall(r"Iteration (\d+) - Loss (\S+)", (folder / "output.txt").read_text(encoding="utf-8"))
    return model, [(int(step), float(loss)) for step, loss in lines]


def models(task, edit=None, flags="", seeds=SEEDS):
    """Return the models of these seeds."""
    return [trained(task, edit, flags, seed)[0] for seed in seeds]


SELF = "--self_att"
VARIED = {  # The edit and the flags of those.
    *((None, flags) for flags in ("", SELF)),
    *((f"1 {name}", "") for name in ("no square root", "keys and values", "additive score")),
    *(
        (f"2 {name}", SELF)
        for name in ("itself", "equal weights", "norm only", "blind", "blind equal weights")
    ),
}


def seeds_of(run):
    """Return the seeds of a row in the table of Lesson 1 or 2, given its edit and flags."""
    return MORE_SEEDS if run in VARIED else SEEDS


# --- Data, figures and tables -----------------------------------------------------------------------------


@functools.cache
def fresh(task, samples=10000, seed=1000, **sizes):
    """Return sequences that no training has seen, for models with these sizes (max_len, vocab_size).

    Returns:
        .letters: int (samples, length).
        .inputs: the same, one-hot float32 (samples, length, letters).
        .answers: int (samples, outputs).
    """
    source = load(edited(task)).Task(generator=np.random.default_rng(seed), **sizes)
    return solved(task, source.sample(samples), **sizes)


def solved(task, letters, **sizes):
    """Return given letters, int (samples, length), as `fresh` does."""
    source = load(edited(task)).Task(**sizes)
    inputs = np.eye(len(source.letters), dtype=np.float32)[letters]
    return types.SimpleNamespace(letters=letters, inputs=inputs, answers=source.solve(letters))


def spell(task, text):
    """Return a str as `fresh` does, for a model with three letters."""
    letters = load(edited(task)).Task().letters
    return solved(task, np.array([[letters.index(letter) for letter in text]]))


def outputs(model, inputs):
    """Return the logits of a model, float (samples, outputs, counts), for inputs in parts that fit memory."""
    parts = np.array_split(inputs, max(1, inputs.shape[1] * len(inputs) // 200000))
    return np.concatenate([model(part)[0].numpy() for part in parts])


def score(logits, answers):
    """Return the fraction of sequences right and the cross-entropy in nats per output step.

    Args:
        logits: float (samples, outputs, counts).
        answers: int (samples, outputs).
    """
    right = (logits.argmax(axis=-1) == answers).all(axis=-1).mean()
    logits = logits.astype(float)
    highest = logits.max(axis=-1, keepdims=True)
    logarithms = logits - highest - np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))
    return right, -np.take_along_axis(logarithms, answers[..., None], axis=-1).mean()


def spread(values, form="{:.2f}"):
    """Return the mean of the values and, in brackets, the least and the most."""
    values = list(values)
    texts = [form.format(value) for value in (np.mean(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def thirds(values, form="{:.2f}"):
    """Return the least, the median and the most of the values."""
    values = list(values)
    return ", ".join(form.format(value) for value in (min(values), np.median(values), max(values)))


def percent(values):
    """Return the mean, the least and the most of fractions as percentages."""
    return spread([100 * value for value in values], "{:.1f}").replace(" (", "% (")


def columns(rows, *forms):
    """Return a cell for each column of numbers, (seeds, columns), in these forms; "%" stands for percent."""
    pairs = zip(np.array(rows, dtype=float).T, forms, strict=True)
    return [percent(column) if form == "%" else spread(column, form) for column, form in pairs]


def table(title, head, rows):
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def shares(task, group, text):
    """Return what models answer to a str, as a str of answers and how many give them."""
    inputs = spell(task, text).inputs
    found = [str(model(inputs)[0].numpy().argmax(axis=-1)[0].tolist()) for model in group]
    counted = sorted(((found.count(one), one) for one in set(found)), reverse=True)
    return ", ".join(f"`{one}` {number} of {len(group)}" for number, one in counted)


def save(figure, task, name):
    """Write a figure to the images of a task."""
    path = program.script(task).parent / "images" / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    print(f"\nFigure: {path.relative_to(program.ROOT)}")


def new_axes(title, across, down, size=(7, 4)):
    """Return a new figure and its axes."""
    figure, plane = pyplot.subplots(figsize=size, layout="constrained")
    plane.set(title=title, xlabel=across, ylabel=down)
    plane.xaxis.get_major_locator().set_params(integer=True)
    plane.grid(alpha=0.3)
    return figure, plane


def draw_range(plane, across, curves, label, colour, **options):
    """Draw the mean of curves, float (seeds, points), and a shaded band from the least to the most."""
    plane.plot(across, np.mean(curves, axis=0), color=colour, label=label, **options)
    plane.fill_between(across, np.min(curves, axis=0), np.max(curves, axis=0), color=colour, alpha=0.2, lw=0)


def draw_losses(task, name, title, groups, bound=None):
    """Draw the loss curves of groups, a dict from a label to (edit, flags)."""
    figure, plane = new_axes(title, "Training step", "Loss (nats per output step)")
    for (label, (edit, flags)), colour in zip(groups.items(), COLOURS, strict=False):
        curves = np.array([trained(task, edit, flags, seed)[1] for seed in SEEDS])
        draw_range(plane, curves[0, :, 0], curves[..., 1], label.replace("`", ""), colour)
    if bound is not None:
        plane.axhline(bound, color="black", linestyle="--", label=f"the bound without order: {bound:.4f}")
    plane.set_yscale("log")
    plane.legend(title="Mean of ten seeds; band: least to most", title_fontsize="small")
    save(figure, task, name)


def linear_fit(features, target):
    """Return R² of the best linear prediction, fitted on one half of the data and tested on the other."""
    features = np.column_stack([features, np.ones(len(features))]).astype(float)
    half = len(target) // 2
    weights = np.linalg.lstsq(features[:half], target[:half], rcond=1e-5)[0]
    error = target[half:] - features[half:] @ weights
    return 1 - (error**2).mean() / target[half:].var()


# --- Lesson 2 -----------------------------------------------------------------------------------------------


def multisets(length=10, symbols=4):
    """Return all sequences that differ in more than their order, int (multisets, length), and their shares.

    The shares, float (multisets,), are the probabilities to draw such a sequence.
    """
    letters = np.array(list(itertools.combinations_with_replacement(range(symbols), length)))
    counts = (letters[..., None] == np.arange(symbols)).sum(axis=1)
    ways = [math.factorial(length) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    return letters, np.array(ways) / symbols**length


def first_decoding(model, inputs):
    """Return what the output steps of Task 2 hold before self-attention, float32 (batch, 4, hidden)."""
    key = model.key_layer(inputs)
    return model.attention(query=model.query, key=key, value=key)[0].numpy()


def self_weights(model, decoding):
    """Return how step 3 attends to the output steps, float32 (batch, 4), given their decodings."""
    return model.self_attention(query=decoding, key=decoding, value=decoding)[1].numpy()[:, 3]


def step_3(model, decoding, weights=None, value=None):
    """Return the answer of step 3, int (batch,), with its weights, or what it finds, replaced.

    Args:
        model: an AttentionModel of Task 2 with self_att.
        decoding: float32 (batch, 4, hidden), before self-attention.
        weights: float32 (batch, 4), or None for those that the decoding gives.
        value: float32 (batch, 4, hidden), what the weights mix, or None for the decoding.
    """
    weights = self_weights(model, decoding) if weights is None else weights
    value = decoding if value is None else value
    mixture = np.einsum("bk,bkd->bd", weights, value) + decoding[:, 3]
    logits = model.logits_layer(model.self_attention.layer_norm(mixture[:, None]))
    return logits.numpy()[:, 0].argmax(axis=-1)


def exchanged(weights):
    """Exchange the weights, (batch, 4), on steps 0 and 1."""
    return weights[:, [1, 0, 2, 3]]


def without(weights, step):
    """Take away the weights, (batch, 4), on a step, int (batch,) or int; share it among the others."""
    rest = weights.copy()
    rest[np.arange(len(rest)), step] = 0
    return rest / rest.sum(axis=-1, keepdims=True)


def larger_count(answers):
    """Return which of the steps 0 and 1 holds the larger count, int (batch,)."""
    return np.where(answers[:, 0] < answers[:, 1], 1, 0)


def attended(model):
    """Return to what step 3 attends, in the mean over new sequences with A ≠ B, and how often to the larger.

    The four numbers: the weight on the larger count, on the smaller, on itself; the share of sequences in
    which the larger gets more than the smaller.
    """
    data = fresh(2)
    weights = model(data.inputs)[2].numpy()
    weights = np.broadcast_to(weights, (len(data.answers), 4, 4))[:, 3]
    larger = np.take_along_axis(weights, larger_count(data.answers)[:, None], axis=1)[:, 0]
    smaller = np.take_along_axis(weights, 1 - larger_count(data.answers)[:, None], axis=1)[:, 0]
    differ = data.answers[:, 3] > 0
    wins = (larger > smaller)[differ].mean()
    return larger[differ].mean(), smaller[differ].mean(), weights[differ, 3].mean(), wins


def every_case(model):
    """Return the smallest share of the two weights that the larger count gets, for every multiset with A ≠ B.

    A dict from (A, B) to the least of larger / (larger + smaller), over the possible numbers of 'C'.
    """
    data = solved(2, multisets()[0])
    weights = self_weights(model, first_decoding(model, data.inputs))
    larger = np.take_along_axis(weights, larger_count(data.answers)[:, None], axis=1)[:, 0]
    part = larger / weights[:, :2].sum(axis=1)
    cases = {}
    for (first, second, _, difference), one in zip(data.answers.tolist(), part, strict=True):
        if difference:
            cases[first, second] = min(one, cases.get((first, second), 1))
    return cases


def two_parts(model):
    """Return the fraction of sequences right, the loss, and the fractions of counts and differences right."""
    data = fresh(2)
    logits = outputs(model, data.inputs)
    right = logits.argmax(axis=-1) == data.answers
    return *score(logits, data.answers), right[:, :3].mean(), right[:, 3].mean()


def parts_of_loss(model):
    """Return the cross-entropy of the counts and of the difference (Task 2)."""
    data = fresh(2)
    logits = outputs(model, data.inputs)
    return score(logits[:, :3], data.answers[:, :3])[1], score(logits[:, 3:], data.answers[:, 3:])[1]


def interventions_on_weights(model):
    """Return what changed weights do, where A ≠ B: differences right, the mean answer, the share of 0."""
    data = fresh(2)
    differ = data.answers[:, 3] > 0
    decoding = first_decoding(model, data.inputs[differ])
    answers = data.answers[differ]
    weights, larger = self_weights(model, decoding), larger_count(answers)
    equal = np.full_like(weights, 0.25)
    only = np.eye(4, dtype=np.float32)
    changes = {
        "none": weights,
        "the weights on steps 0 and 1 exchanged": exchanged(weights),
        "none on the smaller count": without(weights, 1 - larger),
        "none on the larger count": without(weights, larger),
        "none on 'C'": without(weights, 2),
        "none on itself": without(weights, 3),
        "all on the larger count": only[larger],
        "all on the smaller count": only[1 - larger],
        "all on itself": only[np.full(len(larger), 3)],
        "a quarter on each": equal,
    }
    found = {name: step_3(model, decoding, changed) for name, changed in changes.items()}
    return {
        name: ((one == answers[:, 3]).mean(), one.mean(), (one == 0).mean()) for name, one in found.items()
    }


def donors(answers, generator, allowed):
    """Return for each input another that is allowed, int (batch,), -1 where there is none.

    Args:
        answers: int (batch, 4).
        generator: numpy.random.Generator.
        allowed: a function of answers (batch, 4) and of as many of possible donors to bool (batch,).
    """
    chosen = np.full(len(answers), -1)
    for _ in range(100):
        if (chosen >= 0).all():
            break
        candidates = generator.permutation(len(answers))
        fits = (chosen < 0) & allowed(answers, answers[candidates])
        chosen[fits] = candidates[fits]
    return chosen


def patch(model, target, anew=False, allowed=None, samples=10000):
    """Replace one decoding by that of the same step in another input; see what step 3 answers.

    Args:
        model: an AttentionModel of Task 2 with self_att.
        target: "larger" for the larger count's decoding, "itself" for that of step 3.
        anew: whether the attention weights are computed from the changed decodings, or kept.
        allowed: as in `donors`, which inputs may give their decoding.

    Returns:
        answers: int (cases, 4), what is right for each input.
        given: int (cases, 4), what is right for the input that gave its decoding.
        before: int (cases,), what step 3 answered before.
        after: int (cases,), and what it answers with the patch.
    """
    data = fresh(2, samples)
    differ = data.answers[:, 3] > 0
    answers, decoding = data.answers[differ], first_decoding(model, data.inputs[differ])
    rows, step = np.arange(len(answers)), larger_count(answers)
    if allowed is None:

        def allowed(own, other):
            if target == "itself":
                return other[:, 3] != own[:, 3]
            return other[rows, step] != own[rows, step]

    chosen = donors(answers, np.random.default_rng(0), allowed)
    patched = decoding.copy()
    place = step if target == "larger" else np.full(len(step), 3)
    patched[rows, place] = decoding[chosen, place]
    weights = self_weights(model, decoding)
    before, after = step_3(model, decoding), step_3(model, patched, None if anew else weights)
    found = (chosen >= 0) & (before == answers[:, 3])  # Only where there is something to explain.
    return answers[found], answers[chosen[found]], before[found], after[found]


def formulas_of_larger(answers, given):
    """Return what each formula says after the larger count's decoding was patched, a dict of int (cases,)."""
    rows, step = np.arange(len(answers)), larger_count(answers)
    count, smaller = given[rows, step], answers[rows, 1 - step]
    return {
        "2 · max′ − (A + B)": 2 * count - answers[:, 0] - answers[:, 1],
        "max′ − min": count - smaller,
        "\\|max′ − min\\|": abs(count - smaller),
        "as before, \\|A − B\\|": answers[:, 3],
        "the donor's \\|A − B\\|": given[:, 3],
    }


def formulas_of_itself(answers, given):
    """Return what each formula says after step 3's own decoding was patched, a dict of int (cases,)."""
    rows, step = np.arange(len(answers)), larger_count(answers)
    larger, sign = answers[:, :2].max(axis=1), np.where(step == 0, 1, -1)
    difference = sign * (given[:, 0] - given[:, 1])
    return {
        "2 · max − (A′ + B′)": 2 * larger - given[:, 0] - given[:, 1],
        "max − min′": larger - given[rows, 1 - step],
        "as before, \\|A − B\\|": answers[:, 3],
        "the donor's \\|A′ − B′\\|": given[:, 3],
        "A′ − B′ with the sign of A − B, or 0": np.maximum(difference, 0),
    }


def formula_shares(formulas, before, after):
    """Return for each formula: the share of cases where it tells a possible answer, and where that comes out.

    The latter of the cases where the formula differs from the answer before, unless that is what it says.
    """
    found = {}
    for name, told in formulas.items():
        possible = (told >= 0) & (told <= 10)
        if not (told == before).all():
            possible &= told != before
        found[name] = (possible.mean(), (after == told)[possible].mean())
    return found


def moved(change, before, after):
    """Return the slope of the answer over a change, int (cases,), and the share in which nothing moved."""
    return np.polyfit(change, after - before, 1)[0], (after == before).mean()


def who_or_what(model):
    """Return the fraction of differences right, A ≠ B, when the larger count's decoding loses one thing.

    The weights are kept. "what": the mean decoding of that step where it is the larger one, so that it tells
    which step was found but no count. "who": the decoding of the other of the two steps from an input where
    that step has the same count, so that the count stays and the step is another.
    """
    data = fresh(2, 20000)
    differ = data.answers[:, 3] > 0
    answers, decoding = data.answers[differ], first_decoding(model, data.inputs[differ])
    rows, step = np.arange(len(answers)), larger_count(answers)
    weights, before = self_weights(model, decoding), step_3(model, decoding)
    means = np.stack([decoding[step == one, one].mean(axis=0) for one in (0, 1)])
    no_what, no_who = decoding.copy(), decoding.copy()
    no_what[rows, step] = means[step]
    count = answers[rows, step]

    def allowed(own, other):
        return (other[rows, 1 - step] == count) & (larger_count(other) == 1 - step)

    chosen = donors(answers, np.random.default_rng(0), allowed)
    no_who[rows, step] = decoding[chosen, 1 - step]
    found = []
    for changed, cases in (
        (no_what, before == answers[:, 3]),
        (no_who, (chosen >= 0) & (before == answers[:, 3])),
    ):
        after = step_3(model, changed, weights)[cases]
        right = (after == answers[cases, 3]).mean()
        found += [right, (after == 0).mean(), abs(after - answers[cases, 3]).mean()]
    return found


def readouts(model, after=False):
    """Return R² of linear fits before self-attention, or after: a dict from (step, what) to it (Task 2)."""
    data = fresh(2)
    decoding = first_decoding(model, data.inputs)
    if after:
        decoding = model.self_attention(query=decoding, key=decoding, value=decoding)[0].numpy()
    first, second = data.answers[:, 0], data.answers[:, 1]
    targets = {
        "A": first,
        "B": second,
        "A + B": first + second,
        "A − B": first - second,
        "\\|A − B\\|": abs(first - second),
        "max": np.maximum(first, second),
        "min": np.minimum(first, second),
    }
    return {
        (step, name): linear_fit(decoding[:, step], target)
        for step in (0, 1, 2, 3)
        for name, target in targets.items()
    }


def readouts_of(model):
    """Return R² of linear fits to step 3's decoding before self-attention: A, B, A + B, A − B, |A − B|, C."""
    data = fresh(2)
    first, second, third, difference = data.answers.T
    targets = (first, second, first + second, first - second, difference, third)
    decoding = first_decoding(model, data.inputs)[:, 3]
    return [linear_fit(decoding, target) for target in targets]


def without_quantity(decoding, quantity):
    """Return decodings from which no linear fit reads a quantity any more, changed as little as that takes.

    Args:
        decoding: float32 (batch, hidden).
        quantity: float (batch,).
    """
    centred = decoding - decoding.mean(axis=0)
    covariance = centred.T @ (quantity - quantity.mean()) / len(centred)
    reader = np.linalg.pinv(centred.T @ centred / len(centred), rcond=1e-5) @ covariance
    return (decoding - np.outer(centred @ reader, covariance / (covariance @ reader))).astype(np.float32)


def erased(model):
    """Erase a quantity from step 3's own decoding, where A ≠ B (Task 2).

    Returns:
        A dict from the quantity to three shares: the larger count gets more weight than the smaller; the
        difference is right with the weights computed anew; and with the weights kept.
    """
    data = fresh(2)
    differ = data.answers[:, 3] > 0
    answers, decoding = data.answers[differ], first_decoding(model, data.inputs[differ])
    rows, larger, kept = np.arange(len(answers)), larger_count(answers), self_weights(model, decoding)
    first, second, third, _ = answers.T.astype(float)
    found = {}
    for name, quantity in (("A − B", first - second), ("A + B", first + second), ("C", third)):
        changed = decoding.copy()
        changed[:, 3] = without_quantity(decoding[:, 3], quantity)
        weights = self_weights(model, changed)
        right = [(step_3(model, changed, one) == answers[:, 3]).mean() for one in (weights, kept)]
        found[name] = ((weights[rows, larger] > weights[rows, 1 - larger]).mean(), *right)
    return found


def cut_off(model):
    """Cut a trained model's step 3 off from what it looks at (Task 2): the differences and the counts right.

    As it is; with even weights of step 3 on the letters; with self_att also with every step on itself alone.
    """
    data = fresh(2)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()
    even = np.broadcast_to(weights, (len(value), *weights.shape[1:])).copy()
    even[:, 3] = 0.1
    decodings = [model.attention.layer_norm(one @ value + model.query.numpy()) for one in (weights, even)]
    if model.self_attention is not None:
        norm = model.self_attention.layer_norm
        alone = norm(2 * decodings[0])  # A mixture of itself alone, and the residual.
        decodings = [model.self_attention(query=one, key=one, value=one)[0] for one in decodings] + [alone]
    told = [model.logits_layer(one).numpy().argmax(axis=-1) == data.answers for one in decodings]
    return [share for right in told for share in (right[:, 3].mean(), right[:, :3].mean())]


VARIANTS_2 = {  # A label to the edit and the flags.
    "without `--self_att`": (None, ""),
    "`--self_att`": (None, SELF),
    "each step sees only itself": ("2 itself", SELF),
    "all weights equal": ("2 equal weights", SELF),
    "no residual": ("2 no residual", SELF),
    "no residual, random queries": ("2 no residual, random queries", SELF),
    "a second layer norm, no residual": ("2 norm only", SELF),
    "a factor for each dimension": ("2 scale only", SELF),
    "a dense layer with ReLU": ("2 dense", SELF),
    "without, `--steps 2000`": (None, "--steps 2000"),
    "step 3 is blind, `--self_att`": ("2 blind", SELF),
    "step 3 is blind, all weights equal": ("2 blind equal weights", SELF),
    "step 3 is blind, only itself": ("2 blind itself", SELF),
}


def needs_2():
    """Return what Lesson 2 trains: (task, edit, flags, seed)."""
    return [(2, *run, seed) for run in VARIANTS_2.values() for seed in seeds_of(run)]


def lesson_2():
    """Difference: what self-attention adds, what step 3 attends to, and what it takes from there."""
    groups = {label: models(2, *run, seeds_of(run)) for label, run in VARIANTS_2.items()}
    rows = []
    for label, group in groups.items():
        cells = columns([two_parts(model) for model in group], "%", "{:.3f}", "%", "%")
        losses = columns([parts_of_loss(model) for model in group], "{:.3f}", "{:.3f}")
        rows.append([label, len(group), *cells, *losses])
    head = [
        "",
        "trainings",
        "sequences right",
        "loss",
        "counts right",
        "difference right",
        "loss of counts",
        "of difference",
    ]
    table("Take it apart", head, rows)

    rows = []
    for label in VARIANTS_2:
        edit, flags = VARIANTS_2[label]
        if SELF in flags:
            found = [attended(model) for model in groups[label]]
            rows.append([label, *columns(found, "{:.3f}", "{:.3f}", "{:.3f}", "%")])
    table("Step 3 where A ≠ B", ["", "on the larger", "on the smaller", "on itself", "larger wins"], rows)

    rows = []
    labels = [*list(VARIANTS_2)[:4], "a second layer norm, no residual"]
    for step in (200, 400, 600, 800, 1000):
        curves = [[dict(trained(2, *VARIANTS_2[one], s)[1])[step] for s in SEEDS] for one in labels]
        rows.append([step, *map(lambda curve: spread(curve, "{:.3f}"), curves)])
    table("Loss of one training batch, by step", ["step", *labels], rows)
    found = {
        "without": VARIANTS_2[labels[0]],
        SELF: VARIANTS_2[labels[1]],
        "only itself": VARIANTS_2[labels[2]],
    }
    draw_losses(2, "losses", "With self-attention, and with a layer that looks at nobody", found)

    groups = {label: group if "blind" in label else group[: len(SEEDS)] for label, group in groups.items()}
    group = groups["`--self_att`"]
    lesson_2_attention(group, groups["without `--self_att`"])
    blind = [groups[f"step 3 is blind, {name}"] for name in ("`--self_att`", "all weights equal")]
    better = [two_parts(one)[3] > two_parts(other)[3] for one, other in zip(*blind, strict=True)]
    print(f"\nStep 3 is blind: learnt weights beat equal ones in {sum(better)} of {len(better)} pairs.")
    lesson_2_uses(group, groups["without `--self_att`"])
    lesson_2_interventions(group)
    rows = []
    for label in ("without `--self_att`", "`--self_att`", "each step sees only itself"):
        found = [readouts(model) for model in groups[label]]
        for step in (0, 1, 2, 3):
            cells = [spread((one[step, name] for one in found), "{:.2f}") for name in names_of(found, step)]
            rows.append([label, f"{step}, before", *cells])
    found = [readouts(model, after=True) for model in group]
    for step in (0, 1, 2, 3):
        cells = [spread((one[step, name] for one in found), "{:.2f}") for name in names_of(found, step)]
        rows.append(["`--self_att`", f"{step}, after", *cells])
    table("R² of a linear fit", ["", "step", *names_of(found, 3)], rows)
    for text in ("AABBCC    ", "AAAAAAAACC", "ABB CBACBC"):
        for label in ("without `--self_att`", "`--self_att`", "each step sees only itself"):
            print(f"\n`--input {text!r}`, {label}: {shares(2, groups[label], text)}")
        row = [self_weights(model, first_decoding(model, spell(2, text).inputs))[0] for model in group]
        print("\nweights of step 3:", *columns(row, *["{:.2f}"] * 4), sep="  ")


def names_of(found, step):
    """Return what was read from a step."""
    return [name for one, name in found[0] if one == step]


def lesson_2_attention(group, plain):
    """Print and draw to what the difference step attends."""
    rows = []
    data = fresh(2)
    for label, some in (("without", plain), (SELF, group)):
        weights = [model(data.inputs)[1].numpy()[:, 3] for model in some]
        by_letter = [[one[data.letters == letter].mean() for letter in (1, 2, 3, 0)] for one in weights]
        rows.append([label, *columns(by_letter, *["{:.3f}"] * 4)])
    head = ["", "on an 'A'", "on a 'B'", "on a 'C'", "on a blank"]
    table("Encoder-decoder attention of step 3", head, rows)

    cases = [every_case(model) for model in group]
    probability = dict.fromkeys(cases[0], 0.0)
    letters, chances = multisets()
    for (first, second, *_), chance in zip(solved(2, letters).answers.tolist(), chances, strict=True):
        if first != second:
            probability[first, second] += chance
    lost = {pair: sum(one[pair] <= 0.5 for one in cases) for pair in probability}
    print(f"\nPairs (A, B) with A ≠ B: {len(lost)}; in {sum(map(bool, lost.values()))} of them, with some")
    print("number of 'C', the larger does not win in some model. These are, with their probability and")
    print("the number of models:")
    for pair, number in sorted(lost.items(), key=lambda item: -probability[item[0]]):
        if number:
            print(f"    {pair}: {probability[pair]:.2e}, {number} of {len(group)}")
    rows = []
    for difference in range(1, 11):
        pairs = [pair for pair in probability if abs(pair[0] - pair[1]) == difference]
        chance = sum(probability[pair] for pair in pairs)
        rows.append(
            [difference, f"{100 * chance:.2f}%", spread(min(one[pair] for pair in pairs) for one in cases)]
        )
    table(
        "The larger count's share of the two weights: the least over all cases",
        ["|A − B|", "", "least"],
        rows,
    )
    tie = data.answers[:, 3] == 0
    found = [self_weights(model, first_decoding(model, data.inputs[tie])).mean(axis=0) for model in group]
    table("Step 3 where A = B", ["on A", "on B", "on C", "on itself"], [columns(found, *["{:.3f}"] * 4)])

    figure, plane = new_axes(
        "What the difference step attends to", "A − B", "Self-attention weight of step 3"
    )
    difference = data.answers[:, 0] - data.answers[:, 1]
    points = np.arange(-6, 7)
    weights = [self_weights(model, first_decoding(model, data.inputs)) for model in group]
    labels = ("step 0, count of A", "step 1, count of B", "step 2, count of C", "step 3, itself")
    for step, colour in enumerate(COLOURS[:4]):
        lines = [[one[difference == point, step].mean() for point in points] for one in weights]
        draw_range(plane, points, lines, labels[step], colour, marker="o")
    plane.legend(title="Mean of ten seeds; band: least to most", title_fontsize="small", fontsize="small")
    save(figure, 2, "step_3")


def lesson_2_uses(group, plain):
    """Print what trained models use: what step 3 looks at, and what can be read from it and erased."""
    rows = []
    for label, models_of in (("without `--self_att`", plain), ("`--self_att`", group)):
        cells = columns(
            [cut_off(model) for model in models_of], *["%"] * (6 if label == "`--self_att`" else 4)
        )
        rows.append([label, *cells])
    head = ["", "difference", "counts", "even weights on letters: difference", "counts"]
    table("Cut off after training", [*head, "every step on itself: difference", "counts"], rows)
    program_of = load(edited(2))
    untrained = []
    for seed in SEEDS:
        program_of.tf.keras.utils.set_random_seed(seed)
        untrained.append(program_of.AttentionModel(self_att=True))
    rows = [
        [label, *columns([readouts_of(model) for model in models_of], *["{:.2f}"] * 6)]
        for label, models_of in (("trained", group), ("untrained", untrained))
    ]
    table("R² from step 3, before", ["", "A", "B", "A + B", "A − B", "\\|A − B\\|", "C"], rows)
    found = [erased(model) for model in group]
    rows = [[name, *columns([one[name] for one in found], "%", "%", "%")] for name in found[0]]
    head = ["erased from step 3", "the larger wins", "right, weights anew", "right, weights kept"]
    table("What step 3 uses of its own decoding, A ≠ B", head, rows)
    same = [
        np.abs(np.diff(model.query.numpy()[0], axis=0)).max() for model in models(2, "2 no residual", SELF)
    ]
    print(f"\nNo residual: the largest difference between queries, over the ten models: {max(same)}")


def lesson_2_interventions(group):
    """Print what happens to the answer of step 3 when its weights or what it finds are changed."""
    found = [interventions_on_weights(model) for model in group]
    rows = [[name, *columns([one[name] for one in found], "%", "{:.2f}", "%")] for name in found[0]]
    data = fresh(2)
    mean = data.answers[data.answers[:, 3] > 0, 3].mean()
    head = ["change", "difference right", "mean answer", "answer 0"]
    table(f"Changed weights; A ≠ B, the mean of the difference is {mean:.2f}", head, rows)

    for target, formulas in (("larger", formulas_of_larger), ("itself", formulas_of_itself)):
        for anew in (False, True):
            rows, slopes = {}, []
            for model in group:
                answers, given, before, after = patch(model, target, anew)
                for name, cells in formula_shares(formulas(answers, given), before, after).items():
                    rows.setdefault(name, []).append(cells)
                step = larger_count(answers)
                change = given[np.arange(len(step)), step] - answers.max(
                    axis=1, where=[True, True, False, False], initial=0
                )
                if target == "itself":
                    change = given[:, 3] - answers[:, 3]
                slopes.append([*moved(change, before, after), len(answers)])
            kept = "weights computed anew" if anew else "weights kept"
            rows = [[name, *columns(cells, "%", "%")] for name, cells in rows.items()]
            table(
                f"Patched: {target}, {kept}", ["formula", "cases where it can be seen", "it comes out"], rows
            )
            unit = "the count" if target == "larger" else "the donor's |A − B|"
            print(f"\nThe answer moves by {spread(row[0] for row in slopes)} for each unit of {unit},")
            print(f"not at all in {percent(row[1] for row in slopes)} (cases: {slopes[0][2]}).")

    def same_difference(own, other):
        rows, step = np.arange(len(own)), larger_count(own)
        alike = (own[:, 0] - own[:, 1]) == (other[:, 0] - other[:, 1])
        return alike & (own[rows, step] != other[rows, step])

    rows = []
    for target in ("larger", "itself"):
        for anew in (False, True):
            cells = []
            for model in group:
                answers, given, before, after = patch(model, target, anew, same_difference)
                step = larger_count(answers)
                change = (given - answers)[np.arange(len(step)), step]
                cells.append(moved(change, before, after))
            rows.append([target, "anew" if anew else "kept", *columns(cells, "{:.2f}", "%")])
    head = ["patched", "weights", "the answer moves by, for each unit of the larger count", "not at all"]
    table("Patched by an input with the same A − B and other counts", head, rows)

    cells = columns([who_or_what(model) for model in group], *["%", "%", "{:.2f}"] * 2)
    head = ["the larger count's decoding", "difference right", "answer 0", "mean error"]
    table(
        "Who or what; weights kept",
        head,
        [
            ["the mean of that step: who, not what", *cells[:3]],
            ["the other step with the same count: what, not who", *cells[3:]],
        ],
    )


# --- Lesson 3 -----------------------------------------------------------------------------------------------


def bound(max_len=10, vocab_size=3):
    """Return the least expected loss in nats, and the most sequences right, of a model that sees no order.

    Such a model is a function of the multiset of the letters. Given the counts, the signal is each of the
    max_len + 1 letters with the same probability, so the answer is count - 1 with probability
    count / (max_len + 1) for each letter that occurs; equal answers are added up.
    """
    length = max_len + 1
    loss = accuracy = 0.0
    for counts in itertools.product(range(length + 1), repeat=vocab_size):
        if sum(counts) == length:
            ways = math.factorial(length) // math.prod(math.factorial(count) for count in counts)
            answers = {}
            for count in filter(None, counts):
                answers[count - 1] = answers.get(count - 1, 0) + count / length
            probability = ways / vocab_size**length
            loss -= probability * sum(share * math.log(share) for share in answers.values())
            accuracy += probability * max(answers.values())
    return loss, accuracy


def weight_on_signal(model):
    """Return the mean weight of the output step on the signal A, B and C, and on any other step (Task 3)."""
    data = fresh(3)
    weights = model(data.inputs)[1].numpy()[:, 0]
    by_letter = [weights[data.letters[:, 0] == letter, 0].mean() for letter in range(3)]
    return *by_letter, weights[:, 1:].mean()


def right_by_signal(model):
    """Return the fraction of sequences right where A, B and C is the signal (Task 3)."""
    data = fresh(3)
    right = outputs(model, data.inputs).argmax(axis=-1) == data.answers
    return [right[data.letters[:, 0] == letter].mean() for letter in range(3)]


def encoder_from_signal(model):
    """Return the mean weight that the signal's row of the first encoder layer gives (Task 3).

    To itself, to another letter like it, and to a letter that differs.
    """
    data = fresh(3)
    weights = np.broadcast_to(model(data.inputs)[2][0].numpy(), (len(data.letters), 11, 11))[:, 0]
    same = data.letters == data.letters[:, :1]
    same[:, 0] = False
    different = data.letters != data.letters[:, :1]
    return weights[:, 0].mean(), weights[same].mean(), weights[different].mean()


def norms(model):
    """Return the norms of the positional vectors, float (11,)."""
    return np.linalg.norm(model.positional_encoding.numpy()[0], axis=-1)


def cosines(model):
    """Return the cosines between the positional vectors, float (11, 11)."""
    vectors = model.positional_encoding.numpy()[0]
    vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors @ vectors.T


def encode(model, inputs):
    """Return what the encoder makes of the letters, float32 (batch, length, hidden)."""
    encoding = model.embedding(inputs)
    if model.positional_encoding is not None:
        encoding += model.positional_encoding[:, : inputs.shape[1]]
    for encoder_layer in model.encoder:
        encoding, _ = encoder_layer(encoding)
    return encoding.numpy()


def decoder_weights(model, encoding):
    """Return the weights of the output step, float32 (batch, length)."""
    return model.attention(query=model.query, key=encoding, value=encoding)[1].numpy()[:, 0]


def decode(model, encoding, weights=None):
    """Return the answers, int (batch,), to encodings, with the weights (batch, length) or those they give."""
    weights = decoder_weights(model, encoding) if weights is None else weights
    mixture = np.einsum("bk,bkd->bd", weights, encoding)[:, None] + model.query
    return model.logits_layer(model.attention.layer_norm(mixture)).numpy()[:, 0].argmax(axis=-1)


def used_by_the_encoder(model):
    """Change what makes the signal in a trained model (Task 3, with --pos_enc).

    Returns:
        Of the answers that were right, the shares that stay right with equal weights in the encoder: in all
        rows, in the signal's row, and in all other rows. Then, with the positional vectors 0 and 5 exchanged,
        of the inputs where it matters: the shares of answers to letter 5 and to the first letter.
    """
    data = fresh(3)
    (layer,) = model.encoder
    embedding = (model.embedding(data.inputs) + model.positional_encoding).numpy()
    weights = layer.attention(query=embedding, key=embedding, value=embedding)[1].numpy()

    def answer(changed):
        """Return the answers when the encoder has these weights, float32 (batch, 11, 11)."""
        encoding = layer.attention.layer_norm(changed @ embedding + embedding)
        return decode(model, layer.layer_norm(layer.contract(layer.expand(encoding)) + encoding))

    right = answer(weights) == data.answers[:, 0]
    first, rest, even = weights.copy(), weights.copy(), np.full_like(weights, 1 / 11)
    first[:, 0], rest[:, 1:] = even[:, 0], even[:, 1:]
    found = [(answer(changed) == data.answers[:, 0])[right].mean() for changed in (even, first, rest)]
    order = [5, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10]
    embedding = (model.embedding(data.inputs) + model.positional_encoding.numpy()[:, order]).numpy()
    moved_weights = layer.attention(query=embedding, key=embedding, value=embedding)[1].numpy()
    told = answer(moved_weights)
    fifth = (data.letters == data.letters[:, 5:6]).sum(axis=1) - 1
    differ = fifth != data.answers[:, 0]
    return *found, (told == fifth)[differ].mean(), (told == data.answers[:, 0])[differ].mean()


def count_in_encoding(model):
    """Return R² of a linear fit of the count of step 5's letter to the encoding of step 5 (Task 3).

    The fit is one for each letter; the result is the least of the three.
    """
    data = fresh(3, 20000)
    encoding = encode(model, data.inputs)
    count = (data.letters == data.letters[:, 5:6]).sum(axis=-1)
    groups = [data.letters[:, 5] == letter for letter in range(3)]
    return min(linear_fit(encoding[group, 5], count[group]) for group in groups)


def answer_in_encoding(model):
    """Return R² of a linear fit of the answer to encodings: the signal's, step 5's if like it and if not.

    One fit for each pair of the signal's letter and that of step 5; the result is the mean over the pairs.
    """
    data = fresh(3, 20000)
    encoding, answers = encode(model, data.inputs), data.answers[:, 0]
    found = [[], [], []]
    for signal, fifth in itertools.product(range(3), repeat=2):
        cases = (data.letters[:, 0] == signal) & (data.letters[:, 5] == fifth)
        found[1 if signal == fifth else 2].append(linear_fit(encoding[cases, 5], answers[cases]))
        if signal == fifth:
            cases = data.letters[:, 0] == signal
            found[0].append(linear_fit(encoding[cases, 0], answers[cases]))
    return [np.mean(one) for one in found]


def signal_elsewhere(model):
    """Return how often a linear fit tells the signal's letter from the encoding of step 5 (Task 3).

    Fitted for each letter of step 5 on one half of the sequences and tested on the other.
    """
    data = fresh(3, 20000)
    encoding = encode(model, data.inputs)[:, 5].astype(float)
    right = []
    for letter in range(3):
        cases = data.letters[:, 5] == letter
        features = np.column_stack([encoding[cases], np.ones(cases.sum())])
        signal, half = data.letters[cases, 0], cases.sum() // 2
        weights = np.linalg.lstsq(features[:half], np.eye(3)[signal[:half]], rcond=1e-5)[0]
        right.append(((features[half:] @ weights).argmax(axis=-1) == signal[half:]).mean())
    return np.mean(right)


def order_changes(model):
    """Return the largest change, over 1,000 sequences, when the letters come in another order (Task 3).

    Of the encoder's weights and of the decoder's, both after the order is undone, and of the logits.
    """
    data = fresh(3, 1000)
    order = np.random.default_rng(0).permutation(11)
    logits, weights, (encoder, *_) = model(data.inputs)
    other_logits, other_weights, (other_encoder, *_) = model(data.inputs[:, order])
    encoder = encoder.numpy()[:, order][:, :, order]
    pairs = ((encoder, other_encoder), (weights.numpy()[..., order], other_weights), (logits, other_logits))
    return [np.abs(one - np.array(other)).max() for one, other in pairs]


def interventions_on_signal(model):
    """Return what changed decoder weights do to right answers: the fraction still right, the mean error."""
    data = fresh(3)
    encoding = encode(model, data.inputs)
    right = decode(model, encoding) == data.answers[:, 0]
    encoding, answers, letters = encoding[right], data.answers[right, 0], data.letters[right]
    weights = decoder_weights(model, encoding)
    only = np.zeros_like(weights)
    only[:, 0] = 1
    like, other = weights.copy(), weights.copy()
    same = letters == letters[:, :1]
    like[:, 1:][same[:, 1:]] = 0
    other[~same] = 0
    changes = {
        "none": weights,
        "equal weights": np.full_like(weights, 1 / 11),
        "all on the signal": only,
        "none on the signal": without(weights, 0),
        "all on a step that is not the signal": np.roll(only, 5, axis=1),
        "none on letters like the signal, but the signal": like / like.sum(axis=1, keepdims=True),
        "none on letters that differ from the signal": other / other.sum(axis=1, keepdims=True),
    }
    found = {name: decode(model, encoding, changed) for name, changed in changes.items()}
    return {name: ((one == answers).mean(), abs(one - answers).mean()) for name, one in found.items()}


def patch_signal(model, alike, others, anew=False, equal=False):
    """Replace encodings, after the encoder, by those of another input; see whose answer comes out (Task 3).

    Args:
        model: an AttentionModel of Task 3.
        alike: whether the signal of the other input is the same letter; its answer differs in any case.
        others: whether the ten other encodings are replaced, or the signal's.
        anew: whether the decoder's weights are computed from the changed encodings, or kept.
        equal: whether all of the decoder's weights are equal, as in a model that was trained so.

    Returns:
        The share in which the own answer comes out, that of the other input, and by how much the answer moves
        for each unit of the difference between the two.
    """
    data = fresh(3)
    encoding, answers, signal = encode(model, data.inputs), data.answers[:, 0], data.letters[:, 0]
    even = np.full((len(encoding), 11), 1 / 11, np.float32) if equal else None
    right = decode(model, encoding, even) == answers
    encoding, answers, signal = encoding[right], answers[right], signal[right]
    facts = np.column_stack([answers, signal])

    def allowed(own, other):
        return (own[:, 0] != other[:, 0]) & ((own[:, 1] == other[:, 1]) == alike)

    chosen = donors(facts, np.random.default_rng(0), allowed)
    found = chosen >= 0
    other, given = encoding[chosen[found]], answers[chosen[found]]
    encoding, answers = encoding[found], answers[found]
    patched = np.concatenate(
        [encoding[:, :1], other[:, 1:]] if others else [other[:, :1], encoding[:, 1:]], axis=1
    )
    weights = even[: len(encoding)] if equal else None if anew else decoder_weights(model, encoding)
    after = decode(model, patched, weights)
    slope = np.polyfit(given - answers, after - answers, 1)[0]
    return (after == answers).mean(), (after == given).mean(), slope


POSITIONS = "--pos_enc"
MANY = {None: range(1, 21), POSITIONS: range(1, 41)}  # The seeds of the two variants.
VARIANTS_3 = {
    "`--pos_enc`": (None, POSITIONS),
    "encoder: all weights equal": ("3 encoder equal weights", POSITIONS),
    "decoder: all weights equal": ("3 decoder equal weights", POSITIONS),
    "both: all weights equal": ("3 both equal weights", POSITIONS),
    "sinusoids": ("3 sinusoids", POSITIONS),
    "a vector for the first position only": ("3 first only", POSITIONS),
    "without": (None, ""),
    "without, `--steps 5000`": (None, "--steps 5000"),
    "causal mask, no encodings": ("3 causal mask", ""),
    "causal mask, no encodings, `--enc_layers 2`": ("3 causal mask", "--enc_layers 2"),
    "`--pos_enc --enc_layers 0`": (None, f"{POSITIONS} --enc_layers 0"),
    "`--pos_enc --enc_layers 2`": (None, f"{POSITIONS} --enc_layers 2"),
}


def needs_3():
    """Return what Lesson 3 trains: (task, edit, flags, seed)."""
    many = [(3, None, flags or "", seed) for flags, seeds in MANY.items() for seed in seeds]
    return [*((3, *run, seed) for run in VARIANTS_3.values() for seed in SEEDS), *many]


def lesson_3():
    """Signal: what no order costs, what the positions add, and what the decoder's attention is for."""
    least, most = bound()
    print(f"\nBound without order and without a mask: {least:.4f} nats, {100 * most:.2f}% right")
    data = fresh(3)
    rows = []
    for label, run in VARIANTS_3.items():
        group = models(3, *run)
        cells = columns([score(outputs(model, data.inputs), data.answers) for model in group], "%", "{:.4f}")
        rows.append([label, *cells, *columns([weight_on_signal(model) for model in group], *["{:.2f}"] * 4)])
    head = ["", "right", "loss", "weight on the signal A", "B", "C", "on any other step"]
    table("Take it apart", head, rows)

    many = {flags: models(3, None, flags or "", seeds) for flags, seeds in MANY.items()}
    rows = []
    for flags, group in many.items():
        found = [score(outputs(model, data.inputs), data.answers) for model in group]
        signal = [weight_on_signal(model) for model in group]
        smallest = [min(one[:3]) for one in signal]
        encoder = np.array([encoder_from_signal(model) for model in group])
        rows.append([flags or "without", len(group), thirds((100 * one for one, _ in found), "{:.1f}")])
        rows[-1] += [thirds((one for _, one in found), "{:.4f}"), thirds(smallest, "{:.3f}")]
        rows[-1] += [thirds(column, "{:.3f}") for column in encoder.T]
        rows[-1] += [thirds((count_in_encoding(model) for model in group), "{:.3f}")]
    head = [
        "",
        "seeds",
        "right, %",
        "loss",
        "weight on the signal, the least of A, B, C",
        "encoder: on itself",
    ]
    head += ["on each letter like it", "on each other letter", "R² of the own letter's count"]
    table("Many seeds: least, median, most", head, rows)
    pairs = [zip(weight_on_signal(one), right_by_signal(one), strict=False) for one in many[POSITIONS]]
    dimmest = sorted(itertools.chain(*pairs))[:5]
    print("\nThe five letters of all models with the least weight as a signal: weight, sequences right")
    print(", ".join(f"{weight:.2f} {100 * right:.1f}%" for weight, right in dimmest))
    lengths = np.array([norms(model) for model in many[POSITIONS]])
    print(
        f"\nNorms: step 0 {thirds(lengths[:, 0])}; other steps {thirds(lengths[:, 1:].ravel())}; their ratio"
    )
    print(thirds(lengths[:, 0] / lengths[:, 1:].mean(axis=1)))
    lesson_3_order(many)
    cells = columns([used_by_the_encoder(model) for model in many[POSITIONS][: len(SEEDS)]], *["%"] * 5)
    head = ["equal encoder weights, all rows", "the signal's row", "the other rows"]
    head += ["vectors 0 and 5 exchanged: letter 5 is counted", "the first is counted"]
    table("What a trained encoder uses", head, [cells])
    lesson_3_interventions(many[POSITIONS][: len(SEEDS)])
    groups = {"`--pos_enc`": (None, POSITIONS), "without": (None, "")}
    draw_losses(3, "losses", "Positions make the difference", groups, least)


def lesson_3_order(many):
    """Print and draw what another order of the same letters changes."""
    rows = []
    for flags, group in many.items():
        rows.append(
            [flags or "without", *columns([order_changes(model) for model in group], *["{:.1e}"] * 3)]
        )
    head = ["", "encoder weights", "decoder weights", "logits"]
    table("The largest change by another order of the same letters", head, rows)
    for text in ("BBABCCABCAB", "BABBCCABCAB", "ABBBCCABCAB", "CBABBCABCAB", "BBABC", "ABABCCABCAB"):
        answer = spell(3, text).answers[0, 0]
        for flags, group in many.items():
            print(f"\n`--input {text}`, right is {answer}, {flags or 'without'}: {shares(3, group, text)}")
    found = np.array([cosines(model) for model in many[POSITIONS]])
    first = found[:, 0, 1:]
    rest = found[:, 1:, 1:][:, ~np.eye(10, dtype=bool)]
    print(f"\nCosines of the first vector with the others: {spread(first.mean(axis=1))}; of them with")
    print(f"each other: {spread(rest.mean(axis=1))} (means over pairs; {len(found)} models)")
    draw_cosines(found.mean(axis=0))
    draw_orders(many)


def draw_cosines(found):
    """Draw cosines between positional vectors, float (11, 11)."""
    figure, plane = pyplot.subplots(figsize=(6.6, 5.6), layout="constrained")
    image = plane.imshow(found, vmin=-1, vmax=1, cmap="RdBu")
    for row, column in np.ndindex(*found.shape):
        colour = "white" if abs(found[row, column]) > 0.6 else "black"
        plane.text(
            column, row, f"{found[row, column]:.1f}", ha="center", va="center", color=colour, fontsize=9
        )
    plane.set(
        title="Cosines between the positional vectors\n(mean of 40 trainings)",
        xlabel="Position",
        ylabel="Position",
    )
    plane.set(xticks=range(len(found)), yticks=range(len(found)))
    figure.colorbar(image, label="Cosine: 1 the same direction, −1 the opposite")
    save(figure, 3, "cosines")


def draw_orders(many, texts=("BBABCCABCAB", "ABBBCCABCAB")):
    """Draw the decoder's weights on two orders of the same letters, without and with positional encodings."""
    means = {
        (text, flags): np.mean(
            [model(spell(3, text).inputs)[1].numpy()[0, 0] for model in group[:10]], axis=0
        )
        for text in texts
        for flags, group in many.items()
    }
    highest = max(mean.max() for mean in means.values())
    figure, planes = pyplot.subplots(4, 1, figsize=(7.6, 5.6), layout="constrained")
    for plane, (flags, text) in zip(planes, itertools.product(many, texts), strict=True):
        row = means[text, flags]
        image = plane.imshow(row[None], vmin=0, vmax=highest, cmap="viridis", aspect="auto")
        for step, weight in enumerate(row):
            colour = "white" if weight < 0.6 * highest else "black"
            plane.text(step, 0, f"{weight:.2f}", ha="center", va="center", color=colour, fontsize=10)
        plane.set_xticks(range(len(text)), list(text))
        plane.set_yticks([])
        plane.set_title(
            "With --pos_enc" if flags else "Without positional encodings", fontsize=10, loc="left"
        )
    planes[-1].set_xlabel("The same letters in two orders; the first letter is the signal")
    figure.colorbar(image, ax=planes, label="Weight of the output step (mean of ten trainings)")
    save(figure, 3, "orders")


def lesson_3_interventions(group):
    """Print what happens to the answer when the decoder's weights or what it finds are changed."""
    found = [interventions_on_signal(model) for model in group]
    rows = [[name, *columns([one[name] for one in found], "%", "{:.2f}")] for name in found[0]]
    table(
        "The decoder's weights changed (of sequences that were right)",
        ["", "still right", "mean error"],
        rows,
    )
    rows = []
    for others, alike, anew in itertools.product((False, True), repeat=3):
        cells = columns([patch_signal(model, alike, others, anew) for model in group], "%", "%", "{:.2f}")
        what = "the ten others" if others else "the signal"
        rows.append([what, "the same" if alike else "another", "anew" if anew else "kept", *cells])
    head = ["replaced", "signal of the donor", "weights", "own answer", "donor's answer"]
    table(
        "Encodings of another input, after the encoder", [*head, "moves, for each unit between the two"], rows
    )
    even = models(3, "3 both equal weights", POSITIONS)
    rows = []
    for others, alike in itertools.product((False, True), repeat=2):
        cells = columns(
            [patch_signal(model, alike, others, equal=True) for model in even], "%", "%", "{:.2f}"
        )
        rows.append(
            [
                "the ten others" if others else "the signal",
                "the same" if alike else "another",
                "equal",
                *cells,
            ]
        )
    table(
        "The same in models with equal weights everywhere",
        [*head, "moves, for each unit between the two"],
        rows,
    )
    rows = []
    for label, some in (("`--pos_enc`", group), ("without", models(3)), ("both: all weights equal", even)):
        cells = columns([answer_in_encoding(model) for model in some], *["{:.3f}"] * 3)
        rows.append([label, *cells, percent(map(signal_elsewhere, some))])
    head = [
        "",
        "the signal's encoding",
        "step 5, if it is a letter like the signal",
        "step 5, if another letter",
    ]
    table(
        "R² of a linear fit of the answer; the signal's letter, known",
        [*head, "its letter read from step 5"],
        rows,
    )


# --- Lesson 1 -----------------------------------------------------------------------------------------------


def exact_positions(model):
    """Return how often a letter that occurs gets its largest weights exactly at its positions (Task 1)."""
    data = fresh(1)
    weights = np.round(model(data.inputs)[1].numpy().astype(float), 3)
    largest = weights == weights.max(axis=-1, keepdims=True)
    there = data.letters[:, None, :] == np.arange(1, 4)[:, None]
    return (largest == there).all(axis=-1)[there.any(axis=-1)].mean()


def ratios(model):
    """Return how many times the weight of a letter is that of a blank, and of another letter (Task 1).

    The weights of one output step depend on the letters alone, up to a factor that is the same for all; so
    one sequence with every letter gives all ratios, and those of any other sequence are the same.
    Geometric means over the output steps and the other letters.
    """
    logarithms = np.log(
        np.broadcast_to(model(spell(1, " ABC").inputs)[1].numpy(), (1, 3, 4))[0].astype(float)
    )
    own = logarithms[[0, 1, 2], [1, 2, 3]]
    others = [logarithms[step, letter] for step in range(3) for letter in (1, 2, 3) if letter != step + 1]
    return np.exp((own - logarithms[:, 0]).mean()), np.exp(own.mean() - np.mean(others))


def ratio_as_mixed(model, length):
    """Return how many times the weight of a letter is that of any other element, at this length (Task 1).

    The other elements are blanks and letters as they come in random sequences: the ratio of the mean weights.
    """
    data = fresh(1, max_len=length)
    weights = model(data.inputs)[1].numpy()
    looked_for = data.letters[:, None] == np.arange(1, 4)[:, None]
    both = looked_for.any(axis=-1) & ~looked_for.all(axis=-1)
    own = np.where(looked_for, weights, 0).sum(axis=-1) / np.maximum(looked_for.sum(axis=-1), 1)
    other = np.where(looked_for, 0, weights).sum(axis=-1) / np.maximum((~looked_for).sum(axis=-1), 1)
    return np.exp(np.log(own[both] / other[both]).mean())


def mass_by_count(model, length=10):
    """Return the mean total weight of output step 0 on 'A', for each count of 'A' from 0 (Task 1)."""
    data = fresh(1, 40000, max_len=length)
    weights = model(data.inputs)[1].numpy()[:, 0]
    mass = (weights * (data.letters == 1)).sum(axis=-1)
    return [mass[data.answers[:, 0] == count].mean() for count in range(9)]


def mass_formula(counts, blank, letter, length=10):
    """Return the total weight on a letter that occurs counts times, int (counts,), averaged over the rest.

    Each of the other elements is a blank or one of two other letters with the same probability; a blank has
    the weight 1 / blank of the letter that is looked for, another letter 1 / letter.
    """
    found = []
    for count in counts:
        rest = length - count
        blanks = np.arange(rest + 1)
        chances = [math.comb(rest, int(n)) * (1 / 3) ** n * (2 / 3) ** (rest - n) for n in blanks]
        found.append(
            (count / (count + blanks / blank + (rest - blanks) / letter) * chances).sum() if count else 0.0
        )
    return np.array(found)


def accuracy_at(model, length, samples=4000):
    """Return the fraction of new sequences of this length that are right (Task 1)."""
    data = fresh(1, samples, seed=length, max_len=length)
    return (outputs(model, data.inputs).argmax(axis=-1) == data.answers).all(axis=-1).mean()


def saturation(hidden, scaled, samples=2000, keys=10):
    """Return the mean entropy of attention weights, in nats, and the mean sizes of two gradients.

    Query and keys are drawn from the normal distribution. The sizes are the Frobenius norms of the derivative
    of the weights by the logits that the softmax gets, diag(weights) - weights weightsᵀ, and of the
    derivative of the weights by the query, which is the same times the keys, divided as the logits.
    """
    generator = np.random.default_rng(0)
    divisor = math.sqrt(hidden) if scaled else 1
    found = []
    for _ in range(samples // 200):
        query = generator.normal(size=(200, 1, hidden))
        key = generator.normal(size=(200, keys, hidden))
        logits = (query * key).sum(axis=-1) / divisor
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)
        by_logits = weights[:, :, None] * (np.eye(keys) - weights[:, None])
        by_query = by_logits @ key / divisor
        sizes = [np.sqrt((gradient**2).sum(axis=(1, 2))) for gradient in (by_logits, by_query)]
        found.append([entropy.mean(), *(size.mean() for size in sizes)])
    return np.mean(found, axis=0)


def entropy(model, task=1):
    """Return the mean entropy of the decoder's weights over new sequences, in nats."""
    weights = model(fresh(task).inputs)[1].numpy().astype(float)
    weights = np.maximum(weights / weights.sum(axis=-1, keepdims=True), 1e-300)
    return -(weights * np.log(weights)).sum(axis=-1).mean()


def step_where(losses, below):
    """Return the first printed step with a loss below this, or infinity."""
    return min((step for step, loss in losses if loss < below), default=math.inf)


def interventions_on_counting(model):
    """Return what changed weights do in a trained model (Task 1): sequences right, and a second share.

    "equal": all weights are made equal. "exchanged": output steps 0 and 1 exchange their weights and keep
    their own query; then right means that they count as before, and the second share is that of sequences, of
    those with A ≠ B, where both answers have changed places. "sharper": all logits are doubled.
    """
    data = fresh(1)
    value = model.key_layer(data.inputs).numpy()
    weights = model(data.inputs)[1].numpy()
    changes = {
        "none": weights,
        "equal": np.full_like(weights, 0.1),
        "exchanged": weights[:, [1, 0, 2]],
        "sharper": weights**2 / (weights**2).sum(axis=-1, keepdims=True),
    }
    found, differ = {}, data.answers[:, 0] != data.answers[:, 1]
    for name, changed in changes.items():
        logits = model.logits_layer(model.attention.layer_norm(changed @ value + model.query)).numpy()
        told = logits.argmax(axis=-1)
        swapped = (told[:, :2] == data.answers[:, 1::-1]).all(axis=-1)[differ].mean()
        found[name] = ((told == data.answers).all(axis=-1).mean(), swapped)
    return found


def moved_weight(model):
    """Give step 0 the total weight on 'A' that it has for another count (Task 1).

    The weights on 'A' and those on the rest keep their proportions; the counts are 1 to 6.

    Returns:
        The share of answers that become the other count, that come within one of it, and that stay; and, as a
        control, the share that is right when the total weight is set to the mean for the count that is there.
    """
    data = fresh(1)
    value, weights = model.key_layer(data.inputs).numpy(), model(data.inputs)[1].numpy()
    own, count = data.letters == 1, data.answers[:, 0]
    total = (weights[:, 0] * own).sum(axis=-1)
    usual = np.array([total[count == number].mean() for number in range(7)])
    other = np.random.default_rng(0).integers(1, 7, len(count))

    def answer(wanted):
        """Return what step 0 answers when 'A' gets the total weight that is usual for the wanted count."""
        goal = usual[wanted][:, None]
        on_own, on_rest = (
            weights[:, 0] / np.maximum(total, 1e-9)[:, None],
            weights[:, 0] / (1 - total)[:, None],
        )
        mixture = np.einsum("bk,bkd->bd", np.where(own, on_own * goal, on_rest * (1 - goal)), value)
        decoding = model.attention.layer_norm((mixture + model.query.numpy()[:, 0])[:, None])
        return model.logits_layer(decoding).numpy()[:, 0].argmax(axis=-1)

    cases = (count >= 1) & (count <= 6)
    right = (answer(np.clip(count, 1, 6)) == count)[cases].mean()
    cases &= other != count
    told = answer(other)[cases]
    near = (abs(told - other[cases]) <= 1).mean()
    return (told == other[cases]).mean(), near, (told == count[cases]).mean(), right


VARIANTS_1 = {
    "main.py": (None, ""),
    "all weights equal": ("1 equal weights", ""),
    "no √depth": ("1 no square root", ""),
    "no residual": ("1 no residual", ""),
    "no layer norm": ("1 no layer norm", ""),
    "keys and values": ("1 keys and values", ""),
    "additive score": ("1 additive score", ""),
    **{f"fixed weights, r = {ratio}": (f"1 fixed weights, {ratio}", "") for ratio in FIXED_RATIOS},
    "sigmoid, no layer norm": ("1 sigmoid", ""),
    "sigmoid with layer norm": ("1 sigmoid with layer norm", ""),
    "main.py, `--steps 10000`": (None, "--steps 10000"),
    "no layer norm, `--steps 10000`": ("1 no layer norm", "--steps 10000"),
    "main.py, `--hidden 1024 --steps 500`": (None, "--hidden 1024 --steps 500"),
    "no √depth, `--hidden 1024 --steps 500`": ("1 no square root", "--hidden 1024 --steps 500"),
}
SIZES_1 = {  # Flags to the length of a sequence.
    **{f"--steps {steps}": 10 for steps in (500, 2000, 10000)},
    **{f"--max_len {length}": length for length in (20, 100)},
    "--max_len 100 --steps 5000": 100,
}
LENGTHS = range(1, 21)


def needs_1():
    """Return what Lesson 1 trains: (task, edit, flags, seed)."""
    runs = [(1, *run, seed) for run in VARIANTS_1.values() for seed in seeds_of(run)]
    sizes = [(1, None, flags, seed) for flags in SIZES_1 if flags != "--steps 2000" for seed in SEEDS]
    return list(dict.fromkeys(runs + sizes))


def lesson_1():
    """Counting letters: each part taken away, the counting curve, other lengths, other sizes."""
    data = fresh(1)
    rows = []
    for label, run in VARIANTS_1.items():
        group = models(1, *run, seeds_of(run))
        found = [score(outputs(model, data.inputs), data.answers) for model in group]
        early = [dict(trained(1, *run, seed)[1])[500] for seed in seeds_of(run)]
        cells = [*columns(found, "%", "{:.4f}"), spread(early, "{:.3f}"), spread(map(entropy, group))]
        looks = columns([ratios(model) for model in group], "{:.2f}", "{:.2f}")
        rows.append([label, len(group), *cells, percent(map(exact_positions, group)), *looks])
    head = [
        "",
        "trainings",
        "right",
        "loss",
        "loss of a batch at step 500",
        "entropy of the weights",
        "largest exactly at the letter",
    ]
    table("Take it apart", [*head, "weight as a multiple of a blank's", "of another letter's"], rows)
    rows = []
    for hidden in (16, 64, 256, 1024):
        cells = [saturation(hidden, scaled) for scaled in (False, True)]
        rows.append([hidden, *(f"{number:.3f}" for cell in cells for number in cell)])
    head = ["entropy", "gradient by logits", "gradient by query"]
    head = ["hidden", *(f"{one}, q·k" for one in head), *(f"{one}, q·k/√d" for one in head)]
    table(f"Saturation; even weights have the entropy ln 10 = {math.log(10):.2f}", head, rows)
    found = [interventions_on_counting(model) for model in models(1)]
    rows = [[name, *columns([one[name] for one in found], "%", "%")] for name in found[0]]
    table(
        "Changed weights in a trained model", ["weights", "right", "A ≠ B: the two answers exchanged"], rows
    )
    cells = columns([moved_weight(model) for model in models(1)], *["%"] * 4)
    head = [
        "the other count comes out",
        "within one of it",
        "the answer stays",
        "control: its own count's weight",
    ]
    table("The total weight on 'A' set to that of another count", head, [cells])
    for label in ("no √depth", "keys and values", "additive score"):
        group = models(1, *VARIANTS_1[label], MORE_SEEDS)
        scores = [(score(outputs(model, data.inputs), data.answers)[0], *ratios(model)) for model in group]
        print(f"\n{label}, each training: right, × blank, × letter")
        print(
            ", ".join(f"{100 * one:.1f}% {blank:.2f} {letter:.1f}" for one, blank, letter in sorted(scores))
        )
    lesson_1_counting(models(1, seeds=MORE_SEEDS))
    lesson_1_lengths()
    rows = []
    for flags, length in SIZES_1.items():
        group = models(1, None, "" if flags == "--steps 2000" else flags)
        data = fresh(1, max_len=length)
        found = [score(outputs(model, data.inputs), data.answers) for model in group]
        rows.append([f"`{flags}`", *columns(found, "%", "{:.4f}")])
    table("Other sizes", ["trained with", "right", "loss"], rows)


def lesson_1_counting(group):
    """Print and draw how a weight counts."""
    rows = []
    for length in (5, 10, 20):
        rows.append([length, spread(ratio_as_mixed(model, length) for model in group)])
    table("Weight as a multiple of the mean of all others, by length", ["length", ""], rows)
    by_step = []
    for model in group:
        row = np.log(model(spell(1, " ABC").inputs)[1].numpy()[0].astype(float))
        by_step.append(
            np.exp([row[step, step + 1] - row[step, letter] for step in range(3) for letter in range(4)])
        )
    found = columns(by_step, *["{:.2f}"] * 12)
    table(
        "Weight of the own letter as a multiple of that of",
        ["step", "a blank", "A", "B", "C"],
        [[step, *found[4 * step : 4 * step + 4]] for step in range(3)],
    )
    blank, letter = np.exp(np.log([ratios(model) for model in group]).mean(axis=0))
    counts = np.arange(9)
    masses = np.array([mass_by_count(model) for model in group])
    formula = mass_formula(counts, blank, letter)
    rows = [[n, spread(masses[:, n]), f"{formula[n]:.2f}"] for n in counts]
    title = f"Total weight on 'A', with r = {blank:.2f} for blanks and {letter:.2f} for other letters"
    table(title, ["n", "measured", "formula"], rows)
    figure, plane = new_axes(
        "How a weight counts", "How often 'A' occurs, n", "Total weight of step 0 on 'A'"
    )
    for length, colour in zip((10, 20, 100), COLOURS, strict=False):
        across = np.arange(min(length, 20) + 1)
        plane.plot(
            across, mass_formula(across, blank, letter, length), color=colour, label=f"{length} letters"
        )
    plane.plot(
        counts,
        masses.mean(axis=0),
        "o",
        color=COLOURS[0],
        label=f"measured, 10 letters, mean of {len(group)} seeds",
    )
    label = (
        f"Formula; the others: blanks (weight 1 / {blank:.2f})\nand letters (1 / {letter:.2f}), as they come"
    )
    plane.legend(title=label, title_fontsize="small", fontsize="small")
    save(figure, 1, "counting_curve")
    for text in ("AABB", "AAAA", "AAAAAAAAAA", "          "):
        print(f"\n`--input {text!r}`: {shares(1, group, text)}")


def lesson_1_lengths():
    """Print and draw what a model that was trained at length 10 says at other lengths."""
    curves = {
        label: np.array([[accuracy_at(model, length) for length in LENGTHS] for model in models(1, edit)])
        for label, edit in (
            ("main.py: an average", None),
            ("sigmoid, no layer norm: a sum", "1 sigmoid"),
            ("no layer norm: an average", "1 no layer norm"),
            ("sigmoid with layer norm", "1 sigmoid with layer norm"),
        )
    }
    predicted = []
    for length in LENGTHS:
        answers = fresh(1, 4000, seed=length, max_len=length).answers
        predicted.append((np.rint(answers * 10 / length) == answers).all(axis=-1).mean())
    rows = []
    for index, length in enumerate(LENGTHS):
        rows.append(
            [length, *(percent(curve[:, index]) for curve in curves.values()), f"{predicted[index]:.1%}"]
        )
    table("Sequences right, trained at length 10", ["length", *curves, "10 · n / length rounds to n"], rows)
    figure, plane = new_axes("Trained at length 10, tested at others", "--sample_len", "Sequences right")
    plane.plot(LENGTHS, predicted, color="black", ls=":", label="predicted: 10 · n / length rounds to n")
    for (label, curve), colour in zip(list(curves.items())[:2], COLOURS, strict=False):
        draw_range(plane, LENGTHS, curve, label, colour, marker="o")
    plane.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    text = "Mean of ten seeds; band: least to most"
    place = {"loc": "center right", "bbox_to_anchor": (1, 0.25)}
    plane.legend(title=text, title_fontsize="small", fontsize="small", **place)
    save(figure, 1, "lengths")


# --- Pictures of the models -----------------------------------------------------------------------------

SHOWN = " BC CBBAA "  # The sequence of the forming heatmap.
DATA, LEARNT, RULE = "#eeeeee", "#cfe3f1", "#fbe3d0"
COLOUR_NAMES = {LEARNT: "blue: has learnt weights", RULE: "orange: a fixed rule", DATA: "grey: data"}
DIAGRAMS = {
    # A name to its place, colour and text; then the arrows: from, to, what flows, and how much they bend.
    1: (
        {
            "letters": (0, 6, DATA, "the letters, one-hot"),
            "key_layer": (0, 5, LEARNT, "key_layer, dense:\na key for each letter"),
            "query": (-3.1, 4, LEARNT, "query, learnt:\none for each count"),
            "softmax": (0, 4, RULE, "weights =\nsoftmax(query · keyᵀ / √64)"),
            "mixture": (0, 3, RULE, "weights · value"),
            "norm": (0, 2, LEARNT, "add the query,\nlayer normalization"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "for each letter the count\nwith the largest logit"),
        },
        [
            ("letters", "key_layer", "(100, 10, 4)", 0),
            ("key_layer", "softmax", "key (100, 10, 64)", 0),
            ("query", "softmax", "(1, 3, 64)", 0),
            ("softmax", "mixture", "weights (100, 3, 10)", 0),
            ("key_layer", "mixture", "value = key\n(100, 10, 64)", 1),
            ("mixture", "norm", "(100, 3, 64)", 0),
            ("query", "norm", "(1, 3, 64)", -1),
            ("norm", "logits", "decoding (100, 3, 64)", 0),
            ("logits", "answer", "(100, 3, 11)", 0),
        ],
    ),
    2: (
        {
            "letters": (0, 5, DATA, "the letters, one-hot"),
            "key_layer": (0, 4, LEARNT, "key_layer, dense:\na key for each letter"),
            "query": (-3.1, 3, LEARNT, "query, learnt: one for\neach count, and |A − B|"),
            "attention": (0, 3, LEARNT, "attention, as in Task 1"),
            "heat": (3.1, 3, DATA, "encoder-decoder\nheatmap"),
            "self": (0, 2, LEARNT, "with --self_att:\nself_attention"),
            "self heat": (3.1, 2, DATA, "self-attention\nheatmap"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "for each output step the\nnumber with the largest logit"),
        },
        [
            ("letters", "key_layer", "(100, 10, 4)", 0),
            ("key_layer", "attention", "key = value (100, 10, 64)", 0),
            ("query", "attention", "(1, 4, 64)", 0),
            ("attention", "heat", "(100, 4, 10)", 0),
            ("attention", "self", "query = key = value: the decoding (100, 4, 64)", 0),
            ("self", "self heat", "(100, 4, 4)", 0),
            ("self", "logits", "decoding (100, 4, 64)", 0),
            ("logits", "answer", "(100, 4, 11)", 0),
        ],
    ),
    3: (
        {
            "letters": (0, 6, DATA, "the signal and the letters,\none-hot"),
            "embedding": (0, 5, LEARNT, "embedding, dense"),
            "positions": (-3.1, 4, LEARNT, "with --pos_enc:\npositional_encoding, learnt"),
            "add": (0, 4, RULE, "add"),
            "encoder": (0, 3, LEARNT, "encoder layer: self-attention,\nthen two dense layers"),
            "encoder heat": (3.1, 3, DATA, "heatmap of\nthe encoder"),
            "query": (-3.1, 2, LEARNT, "query, learnt:\none"),
            "attention": (0, 2, LEARNT, "attention, as in Task 1"),
            "heat": (3.1, 2, DATA, "encoder-decoder\nheatmap"),
            "logits": (0, 1, LEARNT, "logits_layer, dense"),
            "answer": (0, 0, DATA, "the count with\nthe largest logit"),
        },
        [
            ("letters", "embedding", "(100, 11, 3)", 0),
            ("embedding", "add", "(100, 11, 64)", 0),
            ("positions", "add", "(1, 11, 64)", 0),
            ("add", "encoder", "query = key = value (100, 11, 64)", 0),
            ("encoder", "encoder heat", "(100, 11, 11)", 0),
            ("encoder", "attention", "key = value (100, 11, 64)", 0),
            ("query", "attention", "(1, 1, 64)", 0),
            ("attention", "heat", "(100, 1, 11)", 0),
            ("attention", "logits", "decoding (100, 1, 64)", 0),
            ("logits", "answer", "(100, 1, 11)", 0),
        ],
    ),
}


def draw_diagram(task):
    """Draw the data's way through the model of a task, with the shapes for a batch of 100."""
    boxes, arrows = DIAGRAMS[task]
    highest = max(place[1] for place in boxes.values())
    figure, plane = pyplot.subplots(figsize=(9, 1.15 * (highest + 1)), layout="constrained")
    plane.set(xlim=(-4.5, 4.5), ylim=(-0.4, highest + 0.4))
    plane.axis("off")
    patches = {}
    for name, (across, down, colour, text) in boxes.items():
        box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": "#666666"}
        label = plane.text(across, down, text, ha="center", va="center", fontsize=10, bbox=box, zorder=3)
        patches[name] = label.get_bbox_patch()
    figure.canvas.draw()  # Now the boxes have their sizes, and the arrows can end at them.
    for start_name, end_name, text, bend in arrows:
        tail, head = np.array(boxes[start_name][:2]), np.array(boxes[end_name][:2])
        ends = {"patchA": patches[start_name], "patchB": patches[end_name], "shrinkA": 1, "shrinkB": 1}
        style = {"arrowstyle": "-|>", "color": "#444444", **ends}
        level = tail[1] == head[1]
        if bend == 1:  # Around the box between them, on its right.
            style["connectionstyle"] = "arc,angleA=0,angleB=0,armA=185,armB=185,rad=8"
        elif bend == -1:  # Down, then to the right.
            style["connectionstyle"] = "angle,angleA=-90,angleB=180,rad=8"
        plane.annotate("", head, tail, arrowprops=style, zorder=1)
        middle = (tail + head) / 2
        place = {1: middle + (1.8, 0), -1: np.array([tail[0] + 0.1, head[1] + 0.1]), 0: middle + (0.1, 0)}[
            bend
        ]
        if level:
            place = middle + (0, 0.12)
        plane.text(
            *place, text, fontsize=9, va="center", ha="center" if level else "left", style="italic", zorder=4
        )
    used = {colour for _, _, colour, _ in boxes.values()}
    legend = "\n".join(name for colour, name in COLOUR_NAMES.items() if colour in used)
    plane.text(-4.4, 0, legend, fontsize=9, va="center")
    save(figure, task, "diagram")


def forming():
    """Return how the attention weights of Task 1 form in one training: {step: float (3, 10)}."""
    module = load(edited(1))
    inputs, found = spell(1, SHOWN).inputs, {}
    original = module.save_model

    def look_and_save(model, settings, step, savepath):
        found[step] = model(inputs)[1].numpy()[0]
        return original(model, settings, step, savepath)

    words = ["--train", "--seed", "1", "--save_every", "20", "--savepath", str(cache() / "forming")]
    module.save_model = look_and_save
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            module.main(words)
    finally:
        module.save_model = original
    found[0] = np.full((3, 10), 0.1)  # The queries are zeros at the start, so all keys are alike to them.
    return found


def draw_weights(plane, weights, highest, title):
    """Draw attention weights, float (3, 10), of the shown sequence. Return the image."""
    image = plane.imshow(weights, vmin=0, vmax=highest, cmap="viridis", aspect="auto")
    plane.set_title(title, fontsize=11, loc="left")
    plane.set_xticks(range(len(SHOWN)), [letter.replace(" ", "␣") for letter in SHOWN])
    plane.set_yticks(range(3), ["count of A", "count of B", "count of C"])
    for (row, column), weight in np.ndenumerate(weights):
        colour = "black" if weight > highest / 2 else "white"
        plane.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour, fontsize=9)
    return image


def draw_forming():
    """Draw the heatmap of Task 1 while it forms, as a figure and as an animation that rests at its end."""
    found = forming()
    highest = max(weights.max() for weights in found.values())
    figure, planes = pyplot.subplots(4, 1, figsize=(7, 7.6), layout="constrained")
    for plane, step in zip(planes, (0, 200, 500, 2000), strict=True):
        image = draw_weights(plane, found[step], highest, f"Step {step}")
    planes[-1].set_xlabel("Input (␣ is the null letter)")
    figure.colorbar(image, ax=planes, label="Attention weight (one training)")
    save(figure, 1, "attention_forming")

    steps = [*range(0, 600, 20), *range(600, 2001, 100)]
    figure, plane = pyplot.subplots(figsize=(6.4, 2.4), layout="constrained")
    figure.colorbar(draw_weights(plane, found[0], highest, "Step 0"), label="Attention weight")

    def draw_frame(step):
        plane.clear()
        draw_weights(plane, found[step], highest, f"Step {step}")

    path = program.script(1).parent / "images" / "attention_forming.gif"
    frames = [*steps, *[2000] * 30]  # At ten frames a second: three seconds.
    matplotlib.animation.FuncAnimation(figure, draw_frame, frames).save(
        path, matplotlib.animation.PillowWriter(10), dpi=90
    )
    pyplot.close(figure)
    print(f"\nFigure: {path.relative_to(program.ROOT)}, {path.stat().st_size / 2**20:.2f} MiB")


# --- The program ----------------------------------------------------------------------------------------

TESTED = {1: " BC CBBAA ", 2: "ABB CBACBC", 3: "BBABCCABCAB"}  # The sequence that a lesson shows.
SAMPLES = {1: {"": ""}, 2: {"": "", "_self": SELF}, 3: {"": "", "_pos": POSITIONS}}  # Image name to flags.


def draw_run(task, flags, name):
    """Let main.py test and draw the model of seed 1, print its output, and keep the figures shown."""
    folder, _ = start(task, None, flags, 1)
    trained(task, None, flags, 1)
    words = ["--input", TESTED[task]]
    print(f"\n### Sample output: python3 main.py --test --plot {' '.join(words)} ({flags or 'without'})\n")
    plots = folder / "plots"
    load(edited(task)).main(["--test", "--plot", *words, "--savepath", str(folder), "--plotpath", str(plots)])
    lesson = program.script(task).parent
    shown = (lesson / "README.md").read_text(encoding="utf-8")
    for image in plots.iterdir():
        path = f"images/{image.stem}{name}.png"
        if path in shown:
            image.replace(lesson / path)


def draw_pair(task):
    """Draw the encoder-decoder attention of both variants of a task once more, in one colour scale."""
    module, text = load(edited(task)), TESTED[task]
    found = {
        name: trained(task, None, flags, 1)[0](spell(task, text).inputs)[1].numpy()[0]
        for name, flags in SAMPLES[task].items()
    }
    highest = max(weights.max() for weights in found.values())
    for name, weights in found.items():
        flag = next(filter(None, SAMPLES[task].values()))
        title = f"Encoder-decoder attention {'with' if name else 'without'} {flag}"
        figure = module.draw_heatmap(title, weights, module.Task().outputs, list(text))
        figure.axes[0].images[0].set_clim(0, highest)
        for label, weight in zip(figure.axes[0].texts, weights.ravel(), strict=True):
            label.set_color("black" if weight > highest / 2 else "white")
        save(figure, task, f"encoder_decoder_attention{name}")


def main():
    """Print the tables and draw the figures of one lesson, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lesson", type=int, choices=(1, 2, 3), help="only this one (all)")
    parser.add_argument("--cache", help="a folder for trained models, kept from run to run (a temporary one)")
    arguments = parser.parse_args()
    CACHE[0] = arguments.cache
    chosen = [arguments.lesson] if arguments.lesson else [1, 2, 3]
    needs = {1: needs_1, 2: needs_2, 3: needs_3}
    for number in chosen:
        for run in needs[number]():
            start(*run)
    for number in chosen:
        print(f"\n## Lesson {number}")
        {1: lesson_1, 2: lesson_2, 3: lesson_3}[number]()
        draw_diagram(number)
        for name, flags in SAMPLES[number].items():
            draw_run(number, flags, name)
        if number == 1:
            draw_forming()
        else:
            draw_pair(number)


if __name__ == "__main__":
    main()
