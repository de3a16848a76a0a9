"""Experiments, records, fingerprints, claims and verdicts: from a run to a judged number."""
