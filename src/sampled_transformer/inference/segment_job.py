"""`segment predict` for many files by an engine: labelled scans in a folder, and what became of each in parts.

Every process writes the scans that it labels into the folder itself, so the folder has to be one that all machines see.
The parts and the manifest, see `engine.job`, are in the same folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..data.errors import DataError
from ..data.guard import guard_here
from ..engine.job import MANIFEST, Failure, Job
from ..support.memory import keep_freed_memory
from ..support.printable import printable
from ..support.workers import Announce, Pairs
from .answer_job import check_weights
from .places import place_of
from .segment_files import Labelled, SegmentQuestion, label_place, load_segmenter


class SegmentActor:
    """A network that labels files. It refuses other weights than those of the job, and a folder that is not the job's.

    Args:
        question: What to ask about every file.
        digest: That of the weights.
        outputs: Paths below the folder by the names of files, or why a file has none.
        out: The folder, as it was given.
        folder: The same folder as an absolute path, because a process may have another current folder.
    """

    def __init__(
        self, question: SegmentQuestion, digest: str, outputs: Mapping[str, str | Failure], out: str, folder: str
    ) -> None:
        keep_freed_memory()
        guard_here(question.limits)
        check_weights(question.weights, digest)
        if not Path(folder, MANIFEST).is_file():  # otherwise every machine would keep its scans for itself
            raise ValueError(f"out: expected a folder that every machine sees, got {printable(folder)}")
        self.question, self.outputs, self.out, self.folder = question, outputs, out, folder
        self.segmenter = load_segmenter(question)

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        found: list[Any] = []
        for number, name in enumerate(files):
            announce(number)
            found.append(self._label(name, self.outputs[name]))
        return found

    def _label(self, name: str, output: str | Failure) -> Labelled | Failure:
        if isinstance(output, Failure):
            return output
        try:
            path = Path(self.folder, output)
            answer = label_place(self.segmenter, place_of(name), path, self.question, lambda _: None)
        except DataError as error:
            return Failure(str(error))
        answer.out = str(Path(self.out, output))
        return answer


def segment_job(question: SegmentQuestion, outputs: Mapping[str, str | Failure], out: str, shard: int = 8) -> Job:
    """The job of `segment predict`, for `engine.job.run_job`. It loads the network once here, to refuse what cannot
    work.

    Args:
        question: What to ask about every file.
        outputs: Where the results go, see `segment_targets.job_outputs`.
        out: Folder for the labelled scans, the parts and the manifest.
        shard: Files per part. A process labels a whole part.
    """
    from ..weights import digest_weights

    if shard < 1:
        raise ValueError(f"shard: expected at least 1, got {shard}")
    load_segmenter(question)
    digest = digest_weights(question.weights)
    known = {name: value for name, value in asdict(question).items() if name not in ("device", "limits")}
    return Job(
        "segment predict",
        {**known, "weights_digest": digest, "results_digest": _digest(outputs)},
        partial(SegmentActor, question, digest, outputs, out, str(Path(out).resolve())),
        label_table,
        1,
        shard,
    )


def label_table(pairs: Pairs) -> Any:
    """A table with one row per file; a file without a result has its reason in the column `error`."""
    import pyarrow

    classes = pyarrow.struct({"class": pyarrow.string(), "points": pyarrow.int64()})
    columns = {
        "file": pyarrow.string(),
        "out": pyarrow.string(),
        "points": pyarrow.int64(),
        "classes": pyarrow.list_(classes),
        "confidence": pyarrow.float64(),
        "notes": pyarrow.list_(pyarrow.string()),
        "error": pyarrow.string(),
    }
    rows = []
    for name, answer in pairs:
        row: dict[str, Any] = {"file": printable(name)}
        if isinstance(answer, Failure):
            row["error"] = answer.reason
        else:
            counts = [{"class": one, "points": count} for one, count in answer.classes.items()]
            row |= {**asdict(answer), **row, "out": printable(answer.out), "classes": counts}
        rows.append(row)
    return pyarrow.Table.from_pylist(rows, pyarrow.schema(columns))


def _digest(outputs: Mapping[str, str | Failure]) -> str:
    """The digest of the names of all results, because the same files can be named in several ways."""
    names = [one if isinstance(one, str) else None for one in outputs.values()]
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()
