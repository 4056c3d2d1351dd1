"""A complete benchmark outside mwzeval: yes-no questions, scored by the share of right answers."""

from functools import cached_property
from types import MappingProxyType

from mwzeval.benchmark import Benchmark, BenchmarkInfo, FileScorer, ScoredFile
from mwzeval.errors import InputError, Problem
from mwzeval.files.reading import read_json
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Signature, Words
from mwzeval.scores.table import Table

GOLD = {f"q{number}": "yes" if number % 3 else "no" for number in range(20)}


class Toy(Benchmark):
    api = 1
    info = BenchmarkInfo(
        "toy",
        "Toy",
        input_help='A correct file: {"answers": {"q0": "yes", …}}\nREADME.md describes it.',
        words=Words("question", "questions", "topic", "answer"),
        headline=("accuracy",),
    )

    def recognises(self, raw):
        return isinstance(raw, dict) and "answers" in raw

    def add_arguments(self, parser, verb):
        parser.add_argument("--maybe", action="store_true", help="count maybe as right")

    def scorer(self, arguments):
        return Scorer(arguments.maybe)


class Scorer(FileScorer):
    reasons = MappingProxyType({"wrong": "The answer is not the right one."})

    def __init__(self, maybe):
        self.maybe = maybe

    def validate(self, file):
        missing = [name for name in GOLD if name not in read_json(file)["answers"]]
        return [Problem("missing", "no answer", file=file, example=name) for name in missing]

    def score(self, file, *, progress=False):
        if problems := self.validate(file):
            raise InputError(problems)
        return ScoredAnswers(read_json(file)["answers"], self.maybe)


class ScoredAnswers(ScoredFile):
    warnings = ()

    def __init__(self, answers, maybe):
        self.answers, self.maybe = answers, maybe
        self.right = {q: answers[q] in (GOLD[q], "maybe" if maybe else "") for q in GOLD}

    @cached_property
    def scored_table(self):
        rows = [(q, {"right": self.right[q], "all": 1}) for q in GOLD]
        signature = Signature.of("toy", {"maybe": self.maybe, "n": len(rows)})
        share = percentage("right", of="all")
        measure = Measure("accuracy", "Accuracy", signature, share, cases="all", outcome="right")
        return ScoredTable(Table.from_rows(("right", "all"), rows), (measure,))

    def report(self, resampling=None):
        scores = self.scored_table.scores(resampling)
        metrics = {score.name: score.value for score in scores}
        coverage = {"questions": {"scored": len(GOLD), "of": len(GOLD)}}
        meta = {"corpus": "toy", "fold": "test", "unit": "question", "coverage": coverage}
        return Report(metrics, scores, self.scored_table.table, (), meta, "toy")

    def explain(self, q):
        turn = TurnView((Utterance("system", self.answers[q]),), (Fact("gold", GOLD[q]),))
        reason = Reason("wrong", "accuracy", WHOLE, 0, f"the answer is {GOLD[q]}")
        reasons = () if self.right[q] else (reason,)
        return Explanation(q, {WHOLE: {"accuracy": self.right[q]}}, (), (turn,), reasons)
