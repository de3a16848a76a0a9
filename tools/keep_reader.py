"""Bundle the reader that a finished run of ``story_qa/evidence`` trained.

    reasonlib run story_qa/evidence --row evidence-loss --scale paper --data babi-10k
    python tools/keep_reader.py _run/story_qa/evidence/evidence-loss/paper-babi-10k-0-...

Takes the last weights of the run, stores 16 bits a number, reads them back and answers the test questions
once more; the difference from the record is printed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reasonlib.story_qa.data.datasets import load
from reasonlib.story_qa.data.tokens import answer_classes, encode_sentences
from reasonlib.story_qa.experiments.hibert import accuracy
from reasonlib.story_qa.models import hibert, pretrained
from reasonlib.story_qa.models.bert import load_encoder
from reasonlib.story_qa.models.evidence import EvidenceReader
from reasonlib.tracking.records import Record
from reasonlib.training.checkpoints import load_weights
from reasonlib.training.settings import construct


def keep(run: Path, folder: Path = pretrained.EVIDENCE) -> tuple[float, float]:
    """Write the reader of a run; return its accuracy as written, and as recorded."""
    record = Record.from_json(json.loads((run / "finished.json").read_text(encoding="utf-8")))
    settings = record.config
    splits = load(record.data.name, settings["questions"], settings["test_size"])
    answers = answer_classes(splits.train)
    encoder, tokenizer = load_encoder(settings["encoder"])
    encoder = hibert.reinitialise(hibert.keep_layers(encoder, settings["sentence_layers"]))
    model = EvidenceReader(encoder, construct(hibert.SentenceReaderConfig, settings, answers=len(answers)))
    last = max(run.glob("checkpoint-*.safetensors"))
    model.load_state_dict(
        {
            name.removeprefix("model/"): tensor
            for name, tensor in load_weights(last).items()
            if name.startswith("model/")
        }
    )
    measured = record.metrics["accuracy"] or 0.0
    provenance = {
        "command": f"reasonlib run {record.experiment} --row {record.row} --scale {record.scale} "
        f"--data {record.data.name} --seed {record.seed}",
        "data": record.data.name,
        "steps": record.steps.done,
        "accuracy": round(measured, 4),
    }
    bundled = pretrained.load_evidence(
        pretrained.save_evidence(model, tokenizer, answers, folder, provenance)
    )
    test = encode_sentences(splits.test, bundled.tokenizer, bundled.answers)
    return accuracy(bundled.model, test)["accuracy"], measured  # type: ignore[arg-type]  # it reads alike


if __name__ == "__main__":
    written, recorded = keep(Path(sys.argv[1]))
    print(f"accuracy {written:.5f} from 16 bits, {recorded:.5f} in the record")
