"""The laboratory: studies as data, executors, statistics and pages. It knows nothing of any one paper."""
