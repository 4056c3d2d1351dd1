"""A complete benchmark outside mwzeval: yes-no questions, scored by the share of right answers."""

from mwzeval.benchmark import Benchmark, FileScorer, ScoredFile
from mwzeval.files.reading import read_json
from mwzeval.metrics.measure import table_of_means
from mwzeval.scores.explanation import Explanation, Reason, Utterance
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Signature, Words

GOLD = {f"q{number}": "yes" if number % 3 else "no" for number in range(20)}


class Toy(Benchmark):
    api = 1
    name, title, headline = "toy", "Toy", ("accuracy",)
    words = Words("question", "questions")

    def recognises(self, raw):
        return isinstance(raw, dict) and "answers" in raw

    def add_arguments(self, parser, verb):
        parser.add_argument("--maybe", action="store_true", help="count maybe as right")

    def scorer(self, arguments):
        return Scorer({"maybe"} if arguments.maybe else set())


class Scorer(FileScorer):
    def __init__(self, right):
        self.right = right

    def read(self, file, findings):
        answers = read_json(file)["answers"]
        for question in GOLD.keys() - answers.keys():
            findings.error("missing", "there is no answer", example=question)
        return ScoredAnswers(answers, {q: answers.get(q) in {GOLD[q], *self.right} for q in GOLD})


class ScoredAnswers(ScoredFile):
    warnings = ()

    def __init__(self, answers, right):
        self.answers, self.right = answers, right

    @property
    def scored_table(self):
        values = {q: [(WHOLE, "accuracy", self.right[q])] for q in GOLD}
        return table_of_means(values, {"accuracy": "Accuracy"}, lambda name: Signature(name, ()))

    def report(self, resampling=None):
        scores, table = self.scored_table.scores(resampling), self.scored_table.table
        coverage = {"questions": {"scored": len(GOLD), "of": len(GOLD)}}
        meta = {"corpus": "toy", "fold": "test", "unit": "question", "coverage": coverage}
        return Report({"accuracy": scores[0].value}, scores, table, (), meta, "toy")

    def explain(self, unit):
        reason = Reason("wrong", "accuracy", WHOLE, 0, f"the answer is {GOLD[unit]}")
        answer = [[Utterance("system", self.answers[unit])]]
        return Explanation.of(
            unit, answer, ("accuracy",), (), () if self.right[unit] else (reason,)
        )
