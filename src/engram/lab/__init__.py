"""The laboratory: studies as data, executors, statistics and pages. It knows no paper."""
