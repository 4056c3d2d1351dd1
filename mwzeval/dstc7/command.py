"""DSTC7 track 1: baselines, and conversion to and from files of TREC tools.

predict   rank the candidates of a dialogue file with a baseline and write a submission
train     train the dual encoder; repeat the command to resume
convert   turn submissions into TREC runs and targets into qrels, and back

`mwzeval evaluate --benchmark dstc7-ubuntu-1` scores submissions. The commands validate, compare,
explain and report also read submissions.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import InputFile, add_files, file_of
from mwzeval.errors import UsageError
from mwzeval.libraries import required
from mwzeval.output import notify, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.dstc7.baselines.query import Knowledge
    from mwzeval.dstc7.tracks import Track
    from mwzeval.neural import Point

BASELINES = ("random", "tfidf", "bm25", "dual-encoder")
TRAINED = ("epochs", "dimensions", "batch_size", "learning_rate", "patience", "seed", "threads")
"""Settings of the dual encoder that the command line offers."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    predict = actions.add_parser("predict", help="write a baseline's submission")
    add_files(predict, "the dialogue file", "DIALOGUES.json", several=False)
    predict.add_argument("--baseline", choices=BASELINES, required=True)
    _add_track(predict)
    predict.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="output file for the submission"
    )
    predict.add_argument(
        "--model", type=InputFile, metavar="DIR", help="folder of a trained dual encoder"
    )
    predict.add_argument(
        "--pool", type=InputFile, metavar="TSV", help="the candidates of subtask 2"
    )
    predict.add_argument(
        "--dev",
        type=InputFile,
        metavar="DIALOGUES.json",
        help="subtask 4: tune the score of NONE on this file with answers",
    )
    predict.add_argument("--none-score", type=float, metavar="X", help="subtask 4: score of NONE")
    predict.add_argument(
        "--choices",
        action="store_true",
        help="write the ten best choices with their probabilities, for the F-score",
    )
    predict.add_argument(
        "--seed", type=int, default=0, help="seed of the random baseline (default: %(default)s)"
    )
    _add_knowledge(predict)

    train = actions.add_parser("train", help="train the dual encoder")
    train.add_argument(
        "training", type=InputFile, metavar="TRAIN.json", help="a dialogue file with answers"
    )
    train.add_argument(
        "dev",
        type=InputFile,
        metavar="DEV.json",
        help="another dialogue file with answers, to select the model",
    )
    train.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the model")
    train.set_defaults(writes_folder=True)
    train.add_argument(
        "--two-encoders",
        action="store_true",
        help="use different encoders for contexts and for candidates",
    )
    for name in TRAINED:
        kind = float if name == "learning_rate" else int
        train.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N")
    _add_track(train)
    _add_knowledge(train)

    convert = actions.add_parser("convert", help="convert to and from TREC run and qrels files")
    add_files(convert, "the file to convert", several=False)
    convert.add_argument(
        "--to",
        choices=("run", "qrels", "submission", "targets"),
        required=True,
        help="target format: run (from a submission), qrels (from targets), submission (from "
        "a run) or targets (from qrels)",
    )
    convert.add_argument("-o", "--output", required=True, metavar="FILE", help="output file")

    former = actions.add_parser("generate", add_help=False, prefix_chars="\0")
    former.add_argument("rest", nargs="*")


def _add_track(parser: argparse.ArgumentParser) -> None:
    meaning = "track, such as dstc7-ubuntu-1 (default: detected from the name of the output)"
    parser.add_argument("--track", metavar="NAME", help=meaning)


def _add_knowledge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--last-message", action="store_true", help="use only the last message of the context"
    )
    parser.add_argument(
        "--knowledge",
        type=InputFile,
        metavar="PATH",
        help="subtask 5: man pages (Ubuntu) or the course file (Advising)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the action; return 0. Raises `UsageError` for an action that was removed."""
    if arguments.action == "generate":
        raise UsageError(
            "`dstc7 generate` was removed: in a checkout, `python -m benchmarks.dstc7_data FOLDER` "
            "writes the same dialogues of Ubuntu's subtask 1"
        )
    {"predict": _predict, "train": _train, "convert": _convert}[arguments.action](arguments)
    return 0


def _predict(arguments: argparse.Namespace) -> None:
    from mwzeval.dstc7.baselines.ranker import Baseline, predict
    from mwzeval.dstc7.tracks import track_from

    track = track_from(arguments.track, arguments.output, is_output=True)
    baseline = Baseline(
        arguments.baseline,
        arguments.model,
        arguments.seed,
        arguments.last_message,
        _knowledge(arguments, track),
    )
    done = predict(
        baseline,
        track,
        file_of(arguments),
        arguments.output,
        pool=arguments.pool,
        dev=arguments.dev,
        none_score=arguments.none_score,
        choices=arguments.choices,
    )
    tuned = "" if done.tuned is None else f", NONE with the score {done.tuned:.6g}"
    notify(f"wrote {arguments.output}: {done.examples} examples{tuned}")


def _train(arguments: argparse.Namespace) -> None:
    required("torch", "neural")
    from mwzeval.dstc7.baselines.dual_encoder import Settings
    from mwzeval.dstc7.baselines.ranker import train
    from mwzeval.dstc7.tracks import track_of

    chosen: dict[str, Any] = {name: getattr(arguments, name) for name in TRAINED}
    given = {name: value for name, value in chosen.items() if value is not None}
    if arguments.knowledge and arguments.track is None:
        raise UsageError(
            "--knowledge needs --track, which states whether the knowledge is man pages "
            "(Ubuntu) or courses (Advising)"
        )
    track = track_of(arguments.track) if arguments.knowledge else None
    print(" steps  examples    loss  Recall@1  Recall@10     MRR")
    train(
        arguments.training,
        arguments.dev,
        arguments.output,
        settings=Settings(shared=not arguments.two_encoders, **given),
        last_message=arguments.last_message,
        knowledge=_knowledge(arguments, track),
        watch=_show,
    )


def _show(point: Point) -> None:
    loss = "      –" if point.loss is None else f"{point.loss:7.4f}"
    print(
        f"{point.step:6} {point.examples:9} {loss}    {point.scores['recall_at_1']:.4f}     "
        f"{point.scores['recall_at_10']:.4f}  {point.scores['mrr']:.4f}",
        flush=True,
    )


def _convert(arguments: argparse.Namespace) -> None:
    from mwzeval.dstc7 import trec
    from mwzeval.dstc7.dialogues import read_targets, write_targets
    from mwzeval.dstc7.submission import read_submission, submission_text
    from mwzeval.dstc7.tracks import track_of_file

    file = file_of(arguments)
    if arguments.to == "run":
        text = trec.to_run(read_submission(file, track=track_of_file(file)))
    elif arguments.to == "qrels":
        text = trec.to_qrels(read_targets(file))
    elif arguments.to == "submission":
        text = submission_text(trec.read_run(file))
    else:
        text = write_targets(trec.read_qrels(file))
    if arguments.output == "-":
        write_result(text, "text")
    else:
        write_output(arguments.output, text)


def _knowledge(arguments: argparse.Namespace, track: Track | None) -> Knowledge | None:
    if arguments.knowledge is None or track is None:
        return None
    from mwzeval.dstc7.baselines.knowledge import read_knowledge

    return read_knowledge(arguments.knowledge, track)
