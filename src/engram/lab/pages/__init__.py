"""Pages: tables, figures and text of a study's report."""
