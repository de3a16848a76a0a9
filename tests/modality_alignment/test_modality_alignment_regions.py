"""Detections in the released formats: boxes, features, lengths and concepts, and systems that read them."""

import collections
import json
import random

import numpy as np
import pytest
import torch

from reasonlib.errors import DataError
from reasonlib.modality_alignment.data import corpus, regions
from reasonlib.modality_alignment.data.datasets import QuestionSet
from reasonlib.modality_alignment.data.encoding import build_vocabulary, encode
from reasonlib.modality_alignment.data.example import LabelledBox, Region, VideoQuestion
from reasonlib.modality_alignment.experiments.train import Recipe, build, train_answerer
from reasonlib.modality_alignment.models.stage import best_span, spatial_loss

FRAMES, SIZE = 20, 6  # of the clip, and of the features of a region
COUNTS = [number % 4 for number in range(FRAMES)]  # every fourth frame shows nothing
PENNY = [100, 50, 300, 350]


def detections(frames=FRAMES):
    """A clip as STAGE's file of boxes has it; Penny is the first region of each frame that has any."""
    counts = [number % 4 for number in range(frames)]
    boxes = [[PENNY, [400, 0, 500, 90], [0, 200, 90, 300]][:count] for count in counts]
    names = [["woman", "tennis court", "cup"][:count] for count in counts]
    return {"boxes": boxes, "object": names, "counts": counts}


def vectors(frames=FRAMES):
    rows = sum(number % 4 for number in range(frames))
    return np.random.default_rng(0).standard_normal((rows, SIZE)).astype(np.float32)


def entry(number, **changes):
    """A question of TVQA+ whose annotated frames are 6 apart."""
    box = {"left": 110, "top": 60, "width": 185, "height": 280, "label": "Penny"}
    answers = {f"a{index}": f"a {word}" for index, word in enumerate(("cup", "book", "box", "pen", "hat"))}
    return {
        "qid": number, "q": "What is Penny holding ?", **answers, "answer_idx": str(number % 5),
        "ts": [0.5, 4.0], "vid_name": "s01", "bbox": {"4": [box], "10": [box], "16": []},
    } | changes  # fmt: skip


@pytest.fixture
def released(tmp_path):
    """Files in the released formats; give questions and regions."""
    (tmp_path / "tvqa_plus_val.json").write_text(json.dumps([entry(number) for number in range(6)]))
    (tmp_path / "boxes.json").write_text(json.dumps({"s01": detections(), "s02": {}}))
    (tmp_path / "frm_cnt_cache.json").write_text(json.dumps({"s01": FRAMES}))
    shown = regions.read_regions(tmp_path / "boxes.json", {"s01": vectors()})
    return corpus.read(folder=tmp_path), shown


def test_each_region_has_its_own_box_name_and_features(released):
    frames = released[1]["s01"]
    assert [len(frame) for frame in frames] == COUNTS
    assert [region.label for region in frames[3]] == ["woman", "tennis court", "cup"]
    assert frames[3][0].box == tuple(PENNY)
    flat = [region.features for frame in frames for region in frame]
    assert np.array_equal(np.array(flat), vectors())


def test_the_first_regions_of_a_frame_are_kept_and_boxes_are_scaled(tmp_path):
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps({"s01": detections()}))
    frames = regions.read_regions(path, {"s01": vectors()}, most=2, picture=(1280, 720))["s01"]
    assert max(map(len, frames)) == 2 and frames[3][1].box == (200, 0, 250, 45)
    assert np.array_equal(frames[5][0].features, vectors()[COUNTS[0] + sum(COUNTS[1:5])])


def test_one_frame_in_six_is_shown_the_annotated_among_them(released):
    questions, shown = released
    assert {box.frame for box in questions[0].boxes} == {3, 9}  # from 0; the file counts from 1
    (question, *_) = regions.with_regions(questions, shown, lengths={"s01": FRAMES})
    assert question.frames == tuple(shown["s01"][number] for number in (3, 9, 15))
    assert [box.frame for box in question.boxes] == [0, 1] and question.seconds == 6.0
    (whole, *_) = regions.with_regions(questions, shown, every=1)
    assert whole.frames == shown["s01"] and whole.boxes == questions[0].boxes
    assert whole.seconds == pytest.approx(FRAMES / 3)


def test_a_long_clip_has_its_frames_at_equal_distances(tmp_path):
    """As in the release: a clip of 123 s, 369 frames, has features and annotated boxes in 300 of them."""
    path = tmp_path / "boxes.json"
    path.write_text(json.dumps({"s01": detections(300)}))
    shown = regions.read_regions(path, {"s01": vectors(300)})
    late = VideoQuestion(question="?", answers=tuple("abcde"), right=0, span=(98.4, 114.8), clip="s01")
    (question,) = regions.with_regions([late], shown, lengths={"s01": 369})
    assert question.seconds == pytest.approx(123) and len(question.frames) == 50
    assert encode([question], build_vocabulary([question])).span.tolist() == [[40, 46]]  # of 2.46 s each
    with pytest.raises(DataError, match="give the lengths"):
        regions.with_regions([late], shown)


def asked(box, *shown):
    """A question about Penny, annotated in a box, and the regions of its only frame."""
    frame = tuple(Region(label="woman", box=each, features=np.zeros(2)) for each in shown)
    return VideoQuestion(
        question="what does penny hold ?",
        answers=tuple("abcde"),
        right=0,
        boxes=(LabelledBox(frame=0, label="penny", box=box),),
        frames=(frame,),
        seconds=1.0,
    )


def test_regions_that_overlap_by_half_are_what_a_word_names():
    """Whatever the detector calls them. The public code counts an intersection with one more pixel a side."""
    box = (0.0, 0.0, 100.0, 100.0)
    moved = [(float(left), 0.0, 100.0 + left, 100.0) for left in (0, 34, 35, 200)]
    question = asked(box, *moved, (50.0, 50.0, 50.0, 50.0))
    grounding = encode([question], build_vocabulary([question])).grounding[0, :, 0]
    assert grounding.nonzero().tolist() == [[2, 0], [2, 1]]  # 67 x 101 of 13,233 pixels, 66 x 101 of 13,334
    empty = asked(box)
    assert not encode([empty], build_vocabulary([empty])).grounding.any()


@pytest.mark.parametrize(
    ("system", "streams"),
    [("tvqa-abc", ["regions"]), ("tvqa-abc", ["captions", "frames"]), ("stage", ["subtitle", "regions"])],
)
def test_systems_train_on_released_files(released, system, streams):
    questions = regions.with_concepts(regions.with_regions(*released), {"s01": "blue shirt smiling woman"})
    vocabulary = build_vocabulary(questions)
    batch = encode(questions, vocabulary)
    settings = {"system": system, "streams": streams, "embedding": 8, "hidden": 4, "matched": 4, "width": 8}
    model = build(settings, vocabulary=len(vocabulary), features=SIZE, seed=0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    recipe = Recipe(alignment="cka-linear", samples=8, epochs=2, batch_size=3, warmup_steps=1)
    history = train_answerer(model, QuestionSet(tuple(questions), batch), recipe)
    assert history.stopped == "finished" and np.isfinite(history.rows[-1]["loss"])
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert any(name.startswith(("features", "region_bridge")) for name in changed)
    if system == "stage":  # Penny is among the regions of both annotated frames
        words, frames, numbers = batch.grounding[0].nonzero().T.tolist()
        assert (words, frames, numbers) == ([2, 2], [0, 1], [0, 0])
        with torch.no_grad():
            assert spatial_loss(model(batch), batch) > 0


def test_a_shorter_clip_is_answered_as_if_it_were_alone(tmp_path):
    """Frames that only longer clips of a batch have are no frames of it."""
    (tmp_path / "tvqa_plus_val.json").write_text(json.dumps([entry(0), entry(1, vid_name="s02")]))
    (tmp_path / "boxes.json").write_text(json.dumps({"s01": detections(), "s02": detections(60)}))
    shown = regions.read_regions(tmp_path / "boxes.json", {"s01": vectors(), "s02": vectors(60)})
    questions = regions.with_regions(corpus.read(folder=tmp_path), shown)
    vocabulary = build_vocabulary(questions)
    settings = {"system": "stage", "streams": ["regions"], "embedding": 8, "width": 8}
    model = build(settings, vocabulary=len(vocabulary), features=SIZE, seed=0).eval()
    batch, alone = encode(questions, vocabulary), encode(questions[:1], vocabulary)
    assert batch.frame_mask.sum(1).tolist() == [3, 10] and alone.frame_mask.all()
    for training in (True, False):  # the moment is given, or chosen
        model.train(training)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.eval()
        with torch.no_grad():
            together, single = model(batch), model(alone)
        assert torch.allclose(together.logits[:1], single.logits, atol=1e-6)
        assert torch.equal(best_span(together.moments)[:1], best_span(single.moments))


def test_released_annotations_with_made_up_detections():
    """Every annotated box of TVQA+ is in a frame that is shown, and grounds the region that lies on it."""
    try:
        questions = corpus.read()
    except DataError:
        pytest.skip("the annotations of TVQA+ are not on this machine")
    draw = random.Random(0)
    boxes = collections.defaultdict(lambda: [[] for _ in range(300)])
    for question in questions:
        for annotated in question.boxes:
            left, top, right, bottom = annotated.box
            near = (left - draw.random(), top, right, bottom + draw.random())
            boxes[question.clip][annotated.frame].append(Region(label="", box=near, features=np.zeros(1)))
    shown = {question.clip: tuple(map(tuple, boxes[question.clip])) for question in questions}
    lengths = dict.fromkeys(shown, 360)
    seen = regions.with_regions(questions, shown, lengths=lengths)
    assert sum(len(question.boxes) for question in seen) == 32_682
    sample = draw.sample(seen, 60)
    batch = encode(sample, build_vocabulary(sample))
    for row, question in enumerate(sample):
        text = f"{question.question} {question.answers[question.right]}".lower().split()
        named = {(box.frame) for box in question.boxes if set(box.label.split()) & set(text)}
        assert set(batch.grounding[row].any(0).any(1).nonzero().flatten().tolist()) >= named


DAMAGES = {
    "no JSON": "{",
    "entry for each clip": [],
    "no clip 's01'": {"s02": detections()},
    "has no 'boxes'": {"s01": {"counts": [], "object": []}},
    "boxes of 19 frames": {"s01": detections() | {"boxes": detections()["boxes"][1:]}},
    r"frame 2 has 1 regions, but 2 boxes": {"s01": detections() | {"boxes": [[], [PENNY] * 2, *[[]] * 18]}},
    r"must be left, top, right, bottom .* frame 2": {
        "s01": detections() | {"boxes": [[], [[300, 50, 100, 350]], *detections()["boxes"][2:]]}
    },
    r"got \[0.0, 0.0, 900.0, 9.0\] in frame 2": {
        "s01": detections() | {"boxes": [[], [[0, 0, 900, 9]], *detections()["boxes"][2:]]}
    },
    "clip 's01'": {"s01": detections() | {"boxes": [[], [[0, 0, 9]], *detections()["boxes"][2:]]}},
    r"features must be \(29 regions, D\)": {"s01": detections() | {"counts": [*COUNTS[:-1], 2]}},
    r"clip 's01': .* not iterable": {"s01": detections() | {"counts": 5}},
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damaged_boxes(tmp_path, message):
    path = tmp_path / "boxes.json"
    content = DAMAGES[message]
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataError, match=message) as error:
        regions.read_regions(path, {"s01": vectors()})
    assert "boxes.json" in str(error.value) and "\n" not in str(error.value)


def test_missing_files_and_clips(tmp_path, released):
    questions, shown = released
    for read in (lambda path: regions.read_regions(path, {}), regions.read_lengths, regions.read_concepts):
        with pytest.raises(DataError, match="absent: cannot be read"):
            read(tmp_path / "absent")
    with pytest.raises(DataError, match="clip 's01' has no regions"):
        regions.with_regions(questions, {})
    with pytest.raises(DataError, match="clip 's01' has no length"):
        regions.with_regions(questions, shown, lengths={})
    with pytest.raises(DataError, match="must have regions of 25 frames, got 20"):
        regions.with_regions(questions, shown, lengths={"s01": 25})
    with pytest.raises(DataError, match="no visual concepts"):
        regions.with_concepts(questions, {})
    for arguments in ({"most": 0}, {"every": 0}):
        call = regions.read_regions if "most" in arguments else regions.with_regions
        with pytest.raises(ValueError, match="must be at least 1, got 0"):
            call(tmp_path / "boxes.json", {}, **arguments)


def test_lengths(tmp_path):
    path = tmp_path / "frm_cnt_cache.json"
    path.write_text(json.dumps({"s01": 182}))
    assert regions.read_lengths(path) == {"s01": 182}
    path.write_text(json.dumps({"s01": 0}))
    with pytest.raises(DataError, match=r"frm_cnt_cache.json, clip 's01': must have at least one frame"):
        regions.read_lengths(path)


def test_concepts(tmp_path):
    path = tmp_path / "concepts.json"
    path.write_text(json.dumps({"s01": ["Blue shirt , man", "man , blue shirt,old  lamp"]}))
    assert regions.read_concepts(path) == {"s01": "blue shirt man old  lamp"}
    contents = {
        "no JSON": "(dp0",
        "entry for each clip": "[1]",
        "clip 's01': must have a text for each frame": json.dumps({"s01": [None]}),
    }
    for message, content in contents.items():
        path.write_text(content)
        with pytest.raises(DataError, match=message):
            regions.read_concepts(path)
    with pytest.raises(DataError, match=r"visual.pickle: a pickle can run code .* json.dump"):
        regions.read_concepts(tmp_path / "visual.pickle")


def test_features_in_hdf5(tmp_path, released):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "features.h5", "w") as file:
        file["s01"] = vectors()
    features = corpus.read_features(tmp_path / "features.h5", ["s01"])
    assert regions.read_regions(tmp_path / "boxes.json", features) == released[1]
    with pytest.raises(DataError, match="no clip 's09'"):
        corpus.read_features(tmp_path / "features.h5", ["s09"])
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(DataError, match="no HDF5 file"):
        corpus.read_features(tmp_path / "text.h5", [])
