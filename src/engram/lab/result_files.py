"""Names of the files that a report writes, from which it can be made again."""

TABLE = "evaluations.parquet"  # every evaluation of every run
FILES = (
    "study.json",
    "calls.jsonl",
    "scores.csv",
    "evaluations.csv",
    TABLE,
)  # besides the page, in the folder of any study
FACTS = "runs.csv"  # what else is told of each run; its first column is the run's id
