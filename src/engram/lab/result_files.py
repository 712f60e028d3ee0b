"""Names of the files that a report writes, from which it can be made again."""

TABLE = "evaluations.parquet"  # every evaluation of every run
FACTS = "runs.csv"  # what else is told of each run; its first column is the run's id
