"""The policy of the CrossWOZ paper (SL policy): train it, and let it speak on a fold.

train     train on a fold; called again, it goes on where it was
predict   write the policy track of a predictions file
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from mwzeval.errors import UsageError
from mwzeval.output import tell

if TYPE_CHECKING:
    from mwzeval.neural.training import Point

TRAINED = ("hidden", "learning_rate", "batch_size", "epochs", "seed", "threads")
"""Settings that the command line offers."""
FOLDS = ("train", "val", "test")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="policy_action", metavar="ACTION", required=True)
    train = actions.add_parser("train", help="train the policy")
    train.set_defaults(interrupted="the same call goes on after the last epoch that was saved")
    train.add_argument("-o", "--output", required=True, metavar="DIR", help="of the policy")
    train.add_argument("--fold", choices=FOLDS, default="train", help="default: %(default)s")
    train.add_argument(
        "--hold-out",
        type=int,
        metavar="N",
        help="choose the epoch on the last N dialogues of the fold, instead of on val",
    )
    for name in TRAINED:
        kind = float if name == "learning_rate" else int
        train.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N")
    predict = actions.add_parser("predict", help="write what a policy says")
    predict.add_argument("model", metavar="MODEL", help="file or folder of a trained policy")
    predict.add_argument("-o", "--output", required=True, metavar="FILE.json")
    predict.add_argument("--fold", choices=FOLDS, default="test", help="default: %(default)s")
    predict.add_argument(
        "--paper-compatible",
        action="store_true",
        help="with the paper's defect: every turn from the third on is taken for the last one",
    )
    for action in (train, predict):
        action.add_argument(
            "--revision", choices=("release", "convlab2", "sample"), default="release"
        )
        action.add_argument("--data", metavar="DIR", help="in the public layout")
        action.add_argument("--offline", action="store_true", default=None)


def run(arguments: argparse.Namespace) -> int:
    """Do it; return 0."""
    {"train": _train, "predict": _predict}[arguments.policy_action](arguments)
    return 0


def _train(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.corpus.database import Database
    from mwzeval.crosswoz.corpus.folds import corpus_root, load_fold
    from mwzeval.crosswoz.systems.policy_vector import load_vocabulary
    from mwzeval.crosswoz.systems.sl_training import Settings, train_policy

    root = corpus_root(arguments.revision, arguments.data, offline=arguments.offline)
    fold = load_fold(root, arguments.fold, arguments.revision)
    training = list(fold.dialogues.values())
    held_out = arguments.hold_out
    if held_out is not None:
        if not 0 < held_out < len(training):
            raise UsageError(f"--hold-out is between 1 and {len(training) - 1} here")
        training, validation = training[:-held_out], training[-held_out:]
    elif arguments.fold == "val":
        raise UsageError("to train on val, --hold-out some of its dialogues")
    else:
        validation = list(load_fold(root, "val", arguments.revision).dialogues.values())
    chosen: dict[str, Any] = {name: getattr(arguments, name) for name in TRAINED}
    given = {name: value for name, value in chosen.items() if value is not None}
    print("epoch  training  validation (cross-entropy)")
    train_policy(
        training,
        validation,
        Database(fold.tables),
        load_vocabulary(root),
        arguments.output,
        Settings(**given),
        watch=_show,
    )
    tell(f"wrote {arguments.output}")


def _show(point: Point) -> None:
    losses = f"{point.loss:.6f}  {point.scores['validation_loss']:.6f}"
    print(f"{point.epoch - 1:5}  {losses}", flush=True)


def _predict(arguments: argparse.Namespace) -> None:
    from mwzeval.crosswoz.corpus.database import Database
    from mwzeval.crosswoz.corpus.folds import corpus_root, load_fold
    from mwzeval.crosswoz.systems.sl_policy import SlPolicy, predicted_acts
    from mwzeval.files.writing import write_atomically

    policy = SlPolicy.load(arguments.model)
    root = corpus_root(arguments.revision, arguments.data, offline=arguments.offline)
    fold = load_fold(root, arguments.fold, arguments.revision)
    database = Database(fold.tables)
    plain: dict[str, Any] = {
        "_meta": {
            "dataset": "crosswoz",
            "revision": arguments.revision,
            "split": arguments.fold,
            "track": "policy",
            "system": "SL policy",
            "paper_compatible": arguments.paper_compatible,
        }
    }
    for name, dialogue in fold.dialogues.items():
        said = predicted_acts(
            policy, dialogue, database, paper_compatible=arguments.paper_compatible
        )
        plain[name] = [{"turn": turn, "system_acts": acts} for turn, acts in enumerate(said)]
    write_atomically(arguments.output, json.dumps(plain, ensure_ascii=False) + "\n")
    count = len(fold.dialogues)
    tell(f"wrote {arguments.output}: {count} dialogues")
