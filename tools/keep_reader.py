"""Put the reader that ``story_qa/evidence`` trained among the weights that travel with the library.

    reasonlib run story_qa/evidence --row evidence-loss --scale paper --data babi-10k
    python tools/keep_reader.py _run/story_qa/evidence/evidence-loss/paper-babi-10k-0-...

Takes the last weights of the finished run, stores 16 bits a number, reads them back and answers the test
questions once more; the difference to the record is printed.
"""

import json
import sys
from pathlib import Path

from reasonlib.story_qa.experiments import EXPERIMENTS, _pick, finetune, load
from reasonlib.story_qa.models import bert, evidence, hibert, pretrained
from reasonlib.training.checkpoints import load_weights


def keep(run: Path) -> None:
    record = json.loads((run / "finished.json").read_text(encoding="utf-8"))
    settings = EXPERIMENTS["story_qa/evidence"].rows[record["row"]] | record["config"]
    splits = load(record["data"]["name"], settings["questions"], settings["test_size"])
    answers = finetune.answer_classes(splits.train)
    encoder, tokenizer = bert.load_encoder(settings["encoder"])
    encoder = hibert.fresh(hibert.lowest_layers(encoder, settings["sentence_layers"]))
    config = hibert.SentenceReaderConfig(answers=len(answers), **_pick(hibert.SentenceReaderConfig, settings))
    model = evidence.EvidenceReader(encoder, config)
    last = max(run.glob("checkpoint-*.safetensors"))
    own = {
        name.removeprefix("model/"): tensor
        for name, tensor in load_weights(last).items()
        if name.startswith("model/")
    }
    model.load_state_dict(own)
    made = {
        "command": f"reasonlib run story_qa/evidence --row {record['row']} --scale {record['scale']} "
        f"--data {record['data']['name']} --seed {record['seed']}",
        "data": record["data"]["name"],
        "steps": record["steps"]["done"],
        "accuracy": round(record["metrics"]["accuracy"], 4),
    }
    pretrained.save_evidence(model, tokenizer, answers, pretrained.EVIDENCE, made)
    found = pretrained.load_evidence()
    test = hibert.encode_sentences(splits.test, found.tokenizer, found.answers)
    accuracy = hibert.accuracy(found.model, test)["accuracy"]
    print(f"accuracy {accuracy:.5f} from 16 bits, {record['metrics']['accuracy']:.5f} in the record")


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
