"""Batches: many instances, each solved in isolation; a failure is a row of the results."""

from sdpbb.questions.batch.batch import BatchParameters, run_batch
from sdpbb.questions.batch.job import Job
from sdpbb.questions.batch.manifest import read_manifest
from sdpbb.questions.batch.outcome import BatchResult, Row
from sdpbb.questions.study_folder import StudyError as BatchError

__all__ = [
    "BatchError",
    "BatchParameters",
    "BatchResult",
    "Job",
    "Row",
    "read_manifest",
    "run_batch",
]
