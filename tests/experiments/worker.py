"""A process that trains: `python worker.py FOLDER`, FOLDER with a main.py to import first.

It reads a line of JSON for each training, [folder of main.py, flags as a list], and answers with a line of
JSON: "" or what went wrong. Each training is a fork of this process: TensorFlow is imported once, the memory
of a training is free after it, and what one has compiled serves the next, which TensorFlow knows again by
the names that functions have in a process that has done nothing yet.
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import traceback


def train(folder, words):
    """Train by the main.py of this folder; keep what it prints as the last file."""
    sys.modules.pop("main", None)
    sys.path[0] = folder
    import main  # It stands in `folder`.

    main.tf.config.threading.set_intra_op_parallelism_threads(1)  # Two trainings share two cores.
    with contextlib.redirect_stdout(io.StringIO()) as output:
        main.main(words)
    savepath = pathlib.Path(words[words.index("--savepath") + 1])
    (savepath / "output.part").write_text(output.getvalue(), encoding="utf-8")
    (savepath / "output.part").replace(savepath / "output.txt")


def train_apart(folder, words):
    """Train in a fork of this process and return what went wrong, one line, or an empty str."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            train(folder, words)
        except BaseException as error:  # SystemExit, too: its text is the message.
            traceback.print_exc()
            os.write(writing, f"{type(error).__name__}: {error}".replace("\n", " ").encode()[:4000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return problem or ("" if status == 0 else f"it ended with {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import main  # noqa: F401  So TensorFlow is imported as main.py wants it.

    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # Who started this process has ended.
        for line in sys.stdin:
            print(json.dumps(train_apart(*json.loads(line))), flush=True)
