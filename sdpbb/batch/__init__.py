"""Batches: many instances, each solved in isolation; a failure is a row of the results."""

from sdpbb.batch.coordinator import BatchParameters, run_batch
from sdpbb.batch.errors import BatchError
from sdpbb.batch.job import Job
from sdpbb.batch.manifest import read_manifest
from sdpbb.batch.outcome import BatchResult
from sdpbb.batch.row import Row, RowStatus

__all__ = [
    "BatchError",
    "BatchParameters",
    "BatchResult",
    "Job",
    "Row",
    "RowStatus",
    "read_manifest",
    "run_batch",
]
