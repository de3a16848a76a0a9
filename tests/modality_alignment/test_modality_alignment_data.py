"""Points, simulated questions, readers, encoding and metrics."""

import json
import random

import numpy as np
import pytest
import torch

from reasonlib.errors import DataError
from reasonlib.modality_alignment.data import corpus, metrics
from reasonlib.modality_alignment.data.encoding import build_vocabulary, encode, select
from reasonlib.modality_alignment.data.example import LabelledBox, Region, Subtitle, VideoQuestion
from reasonlib.modality_alignment.data.metrics import Detection
from reasonlib.modality_alignment.data.points import PointsConfig, draw_points
from reasonlib.modality_alignment.data.scene import SceneConfig
from reasonlib.modality_alignment.data.simulator import KINDS, SIMULATORS, SimulatorConfig, simulate
from reasonlib.training.vocabulary import Vocabulary

QUESTIONS = simulate(200, seed=5)


def of(kind, questions=QUESTIONS):
    return [question for question in questions if question.kind == kind]


def test_points_have_the_sources_sizes_and_differ():
    train, held_out = draw_points(PointsConfig(), seed=0)
    assert train.a.shape == train.b.shape == (10_000, 64) and held_out.a.shape == (1_000, 64)
    assert train.a.dtype == torch.float32
    again, _ = draw_points(PointsConfig(), seed=0)
    assert torch.equal(train.b, again.b)
    other, _ = draw_points(PointsConfig(), seed=1)
    assert not torch.equal(train.b, other.b)

    def kurtosis(points):  # of the largest principal direction: 3 for a Gaussian, far less for clusters
        centred = points - points.mean(0)
        direction = torch.linalg.svd(centred[:2000], full_matrices=False).Vh[0]
        values = centred @ direction
        return float((values**4).mean() / (values**2).mean() ** 2)

    assert abs(kurtosis(train.a) - 3) < 0.3 < abs(kurtosis(train.b) - 3)


@pytest.mark.parametrize(("shared", "alike"), [(0.0, False), (0.9, True)])
def test_only_a_common_cause_makes_pairs_predictable(shared, alike):
    train, held_out = draw_points(PointsConfig(shared=shared), seed=0)
    weights = torch.linalg.lstsq(train.a - train.a.mean(0), train.b - train.b.mean(0)).solution
    rest = (held_out.b - train.b.mean(0)) - (held_out.a - train.a.mean(0)) @ weights
    explained = 1 - float(rest.square().sum() / (held_out.b - train.b.mean(0)).square().sum())
    assert (explained > 0.05) == alike


@pytest.mark.parametrize("changes", [{"pairs": 0}, {"shared": 2.0}, {"gap": -1.0}])
def test_bad_points(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        PointsConfig(**changes)


def test_questions_depend_on_seed_and_number_alone():
    assert simulate(20, seed=5) == QUESTIONS[:20]
    assert simulate(20, seed=6) != QUESTIONS[:20]
    first, again = simulate(1, seed=5)[0], QUESTIONS[0]
    assert np.array_equal(first.frames[0][0].features, again.frames[0][0].features)


def test_all_kinds_take_turns():
    assert {question.kind for question in QUESTIONS} == set(KINDS)
    for question in QUESTIONS:
        assert KINDS[question.kind] == question.needs
        assert len(set(question.answers)) == 5


def acting(question, frame):
    """What the truth says of a frame: the words of its caption."""
    size, colour, shape, _, motion, _, _, pushed = question.captions[frame].split()
    return {"size": size, "colour": colour, "shape": shape, "motion": motion, "pushes": pushed}


def solve(question):
    """Answer by rules from the true captions and the subtitles."""
    facts = [acting(question, frame) for frame in range(len(question.frames))]
    words = question.question.split()
    lines = [(line.speaker, line.text.split()[1], line.text.split()[-1]) for line in question.subtitles]
    if question.kind == "presence":
        (answer,) = {fact[words[1]] for fact in facts} & set(question.answers)
        return answer
    if question.kind == "colour":
        return next(fact["colour"] for fact in facts if fact["shape"] == words[4])
    if question.kind == "shape":
        return next(fact["shape"] for fact in facts if fact["colour"] == words[2])
    if question.kind == "motion":
        return next(fact["motion"] for fact in facts if fact["shape"] == words[3])
    if question.kind == "push":
        return next(fact["pushes"] for fact in facts if fact["shape"] == words[3])
    if question.kind == "wish":
        return next(shape for speaker, _, shape in lines if speaker == words[2])
    if question.kind == "speaker":
        return next(speaker for speaker, _, shape in lines if shape == words[3])
    if question.kind == "moment":
        slot = next(slot for slot, line in enumerate(lines) if line[0] == words[3])
        return facts[slot * (len(facts) // 5)]["shape"]
    wished = {shape for _, verb, shape in lines if verb == words[3]}
    (answer,) = wished & {fact["shape"] for fact in facts if fact["size"] == words[6]}
    return answer


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "opposite"])
def test_labels_are_right(kind):
    for question in of(kind):
        assert question.answers[question.right] == solve(question), question.question


def test_a_modality_says_nothing_about_the_others_questions():
    """What is spoken of says nothing about what is seen; the right answer stands at each position alike."""
    many = simulate(2000, seed=9)
    rights = np.bincount([question.right for question in many], minlength=5) / len(many)
    assert np.abs(rights - 0.2).max() < 0.03
    mentioned = [
        question.answers[question.right] in {line.text.split()[-1] for line in question.subtitles}
        for question in many
        if question.kind == "presence" and "shape" in question.question
    ]
    assert abs(np.mean(mentioned) - 0.5) < 0.15  # five of ten shapes are spoken of, whatever is seen


@pytest.mark.parametrize("kind", ["shape", "push", "wish"])
def test_the_other_modality_names_right_and_wrong_answers_alike(kind):
    """Shapes are both seen and said: that the other modality names an answer says nothing about it."""
    named = {True: [], False: []}
    for question in simulate(700, seed=9, config=SimulatorConfig(kinds=(kind,))):
        seen = {region.label for frame in question.frames for region in frame}
        said = {line.text.split()[-1] for line in question.subtitles}
        other = said if question.needs == "video" else seen
        for number, answer in enumerate(question.answers):
            if answer != "nothing":
                named[number == question.right].append(answer in other)
    assert abs(np.mean(named[True]) - np.mean(named[False])) < 0.07


def test_moments_and_boxes_show_the_answer():
    for question in of("colour"):
        start, end = question.span
        shape = question.question.split()[4]
        assert {box.frame for box in question.boxes} == set(range(int(start), int(end)))
        assert {box.label for box in question.boxes} == {shape}
        assert all(acting(question, box.frame)["shape"] == shape for box in question.boxes)


def test_features_are_a_projection_of_attributes():
    config = SimulatorConfig(kinds=("colour",), scene=SceneConfig(noise=0.0, features=64))
    questions = simulate(300, seed=1, config=config)
    vectors = [frame[0].features for question in questions for frame in question.frames]
    colours = [acting(question, frame)["colour"] for question in questions for frame in range(10)]
    names = sorted(set(colours))
    labels = np.eye(len(names))[[names.index(colour) for colour in colours]]
    inputs = np.c_[np.array(vectors), np.ones(len(vectors))]
    half = len(inputs) // 2
    weights = np.linalg.lstsq(inputs[:half], labels[:half], rcond=None)[0]
    assert ((inputs[half:] @ weights).argmax(1) == labels[half:].argmax(1)).mean() == 1.0


def test_bias_makes_the_usual_answer_more_frequent():
    def usual(bias):
        questions = simulate(400, seed=2, config=SimulatorConfig(kinds=("colour",), bias=bias))
        from reasonlib.modality_alignment.data.simulator import USUAL_COLOUR

        return np.mean([q.answers[q.right] == USUAL_COLOUR[q.question.split()[4]] for q in questions])

    assert usual(0.0) < 0.2 and 0.45 < usual(0.5) < 0.7 and usual(1.0) == 1.0


@pytest.mark.parametrize("changes", [{"kinds": ("taste",)}, {"kinds": ()}, {"bias": 2.0}])
def test_bad_simulators(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        SimulatorConfig(**changes)


def test_simulators_for_the_command_line():
    assert {question.needs for question in SIMULATORS["both"](6, 0)} == {"both"}


def test_bad_questions():
    with pytest.raises(ValueError, match="answers must be 5"):
        VideoQuestion(question="?", answers=("a",), right=0)
    with pytest.raises(ValueError, match="span"):
        VideoQuestion(question="?", answers=tuple("abcde"), right=0, span=(3.0, 1.0))


def test_encoding():
    vocabulary = build_vocabulary(QUESTIONS)
    batch = encode(QUESTIONS, vocabulary)
    assert batch.answers.shape[:2] == (200, 5) and len(batch) == 200
    for row, question in enumerate(QUESTIONS[:20]):
        words = vocabulary.decode([int(number) for number in batch.question[row] if number])
        assert " ".join(words) == question.question
        joined = vocabulary.decode([int(number) for number in batch.joined[row, 2] if number])
        assert " ".join(joined) == f"{question.question} {question.answers[2]}"
        for frame, regions in enumerate(question.frames):
            assert int(batch.region_mask[row, frame].sum()) == len(regions)
        if question.span is not None:
            assert batch.span[row].tolist() == [question.span[0], question.span[1] - 1]
            said = vocabulary.decode([int(n) for n in batch.subtitle_frames[row, int(question.span[0])] if n])
            line = next(line for line in question.subtitles if line.start == question.span[0])
            assert " ".join(said) == f"{line.speaker} {line.text}"
        else:
            assert batch.span[row].tolist() == [-1, -1]
    colour = next(row for row, question in enumerate(QUESTIONS) if question.kind == "colour")
    words, frames = batch.grounding[colour].any(-1).nonzero().unbind(1)
    assert set(words.tolist()) == {4}  # the word that names the shape
    start, end = QUESTIONS[colour].span
    assert set(frames.tolist()) == set(range(int(start), int(end)))
    part = select(batch, [3, 1], warming=True)
    assert part.warming and torch.equal(part.question, batch.question[[3, 1]])
    with pytest.raises(ValueError, match="at least one"):
        encode([], vocabulary)


def test_words_are_small_and_apart_from_punctuation():
    """As the public code reads them; a label of two words names both, one that nobody knows names none."""
    features = np.zeros(2)
    boxes = {
        label: (20.0 * number, 0.0, 20.0 * number + 9, 9.0)
        for number, label in enumerate(("penny", "coffee cup", "zebra"))
    }
    asked = VideoQuestion(
        question="What does Penny's friend, the Zyx, hold?",
        answers=("A coffee cup.", "b", "c", "d", "e"),
        right=0,
        boxes=tuple(LabelledBox(frame=0, label=label, box=box) for label, box in boxes.items()),
        frames=(tuple(Region(label=label, box=box, features=features) for label, box in boxes.items()),),
        seconds=1.0,
    )
    vocabulary = build_vocabulary([asked])
    assert {"what", "penny", "'s", "friend", ",", "hold", "?", "cup", "."} <= set(vocabulary.tokens)
    batch = encode([asked], Vocabulary([word for word in vocabulary.tokens if word != "zyx"]))
    words = "what does penny 's friend , the <unk> , hold ? a coffee cup .".split()
    named = [[words[n] for n in batch.grounding[0, :, 0, k].nonzero().flatten().tolist()] for k in range(3)]
    assert named == [["penny"], ["coffee", "cup"], []]


ENTRY = {
    "qid": 7, "q": "What is Penny holding ?", "a0": "a cup", "a1": "a book", "a2": "a box", "a3": "a pen",
    "a4": "a hat", "answer_idx": "1", "ts": [3.0, 9.0], "vid_name": "s01",
    "bbox": {
        "13": [{"img_id": 13, "top": 10, "left": 20, "width": 100, "height": 50, "label": "Penny"}],
        "19": [{"img_id": 19, "top": 0, "left": 0, "width": 30, "height": 30, "label": "book"}],
    },
}  # fmt: skip


def test_annotations_of_both_releases(tmp_path):
    plus = tmp_path / "tvqa_plus_val.json"
    plus.write_text(json.dumps([ENTRY]), encoding="utf-8")
    (question,) = corpus.read(folder=tmp_path)
    assert question.right == 1 and question.span == (3.0, 9.0) and question.answers[1] == "a book"
    assert [box.frame for box in question.boxes] == [12, 18]  # from 0; the file counts from 1
    assert question.boxes[0].label == "penny" and question.boxes[0].box == (20.0, 10.0, 120.0, 60.0)
    old = {key: value for key, value in ENTRY.items() if key not in ("bbox", "answer_idx")} | {
        "ts": "3.0-9.5"
    }
    lines = tmp_path / "tvqa_test.jsonl"
    lines.write_text(json.dumps(old) + "\n" + json.dumps(old | {"ts": "nan-nan"}) + "\n", encoding="utf-8")
    first, second = corpus.read_annotations(lines)
    assert first.right is None and first.span == (3.0, 9.5) and second.span is None


def test_subtitles_and_features(tmp_path):
    path = tmp_path / "subtitles.jsonl"
    sub = [{"text": "Penny : Hi there", "start": 0.5, "end": 2}, {"text": "( a door )", "start": 2, "end": 4}]
    path.write_text(json.dumps({"vid_name": "s01", "sub": sub}), encoding="utf-8")
    subtitles = corpus.read_subtitles(path)
    assert subtitles["s01"][0].speaker == "Penny" and subtitles["s01"][1].speaker == ""
    plus = tmp_path / "tvqa_plus_val.json"
    plus.write_text(json.dumps([ENTRY]), encoding="utf-8")
    features = {"s01": np.zeros((30, 16), dtype=np.float32)}
    (question,) = corpus.read_annotations(plus, subtitles=subtitles, features=features)
    assert len(question.frames) == 30 and question.seconds == 10.0
    batch = encode([question], build_vocabulary([question]))
    assert batch.regions.shape == (1, 30, 1, 16) and batch.span.tolist() == [[9, 26]]
    assert int((batch.subtitle_frames[0, 0] != 0).sum()) == 0  # nobody speaks yet
    assert int((batch.subtitle_frames[0, 3] != 0).sum()) == 3
    # lines and moments that end after the last frame do not stretch the frames
    (short,) = corpus.read_annotations(
        plus, subtitles=subtitles, features={"s01": np.zeros((10, 16), dtype=np.float32)}
    )
    cut = encode([short], build_vocabulary([short]))
    assert cut.span.tolist() == [[9, 9]] and torch.equal(
        cut.subtitle_frames[0], batch.subtitle_frames[0, :10]
    )
    # a clip of 120 s has as many frames in the released features as one of 100 s
    late = {"s01": (*subtitles["s01"], Subtitle(start=118.0, end=120.0, speaker="", text="bye"))}
    (long,) = corpus.read_annotations(plus, subtitles=late, features={"s01": np.zeros((300, 4))})
    assert long.seconds == 120.0


DAMAGES = ({"answer_idx": 9}, {"bbox": []}, {"bbox": {"0": ENTRY["bbox"]["13"]}}, {"q": None}, {"a3": 5},
           {"bbox": {"13": [{"label": None}]}}, {"ts": 5}, {"ts": [9, 3]})  # fmt: skip


@pytest.mark.parametrize("text", ["{", '{"q": 1}', "[1]", *(json.dumps([ENTRY | d]) for d in DAMAGES)])
def test_damaged_annotations(tmp_path, text):
    path = tmp_path / "tvqa_plus_val.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="tvqa_plus_val"):
        corpus.read_annotations(path)
    with pytest.raises(DataError, match="cannot be read"):
        corpus.read_annotations(tmp_path / "absent.json")
    with pytest.raises(ValueError, match="part must be valid"):
        corpus.read("train")


def test_damaged_files(tmp_path):
    """One line that names the file, whatever is in it."""
    path = tmp_path / "tvqa_plus_val.json"
    path.write_bytes("\u00e9".encode("latin-1"))
    with pytest.raises(DataError, match=r"tvqa_plus_val.json: no text in UTF-8"):
        corpus.read_annotations(path)
    path.write_text(json.dumps([ENTRY]), encoding="utf-8")
    with pytest.raises(DataError, match=r"question 1: .*features must be \(frames, D\)"):
        corpus.read_annotations(path, features={"s01": np.zeros(5)})
    lines = tmp_path / "subtitles.jsonl"
    for line in ({"text": None, "start": 0, "end": 1}, {"text": "hi"}, "hi"):
        lines.write_text(json.dumps({"vid_name": "s01", "sub": [line]}), encoding="utf-8")
        with pytest.raises(DataError, match=r"subtitles\.jsonl, clip 1"):
            corpus.read_subtitles(lines)


def test_accuracy_by_need():
    chosen = [question.right if question.needs == "video" else -1 for question in QUESTIONS]
    shares = metrics.accuracy_by_need(QUESTIONS, chosen)
    assert shares["accuracy.video"] == shares["accuracy.video.colour"] == 1.0
    assert shares["accuracy.subtitle"] == 0.0 and 0 < shares["accuracy"] < 1


def test_overlap_in_time_by_hand():
    assert metrics.temporal_overlap((0, 2), (4, 6)) == 0
    assert metrics.temporal_overlap((0, 0), (0, 0)) == 0
    questions = [VideoQuestion(question="?", answers=tuple("abcde"), right=0, span=(0.0, 4.0))] * 2
    result = metrics.temporal_metrics([((0.0, 4.0), 0), ((2.0, 6.0), 0)], questions)
    assert result["overlap"] == pytest.approx(2 / 3) and result["accuracy"] == 1.0
    assert result["recall@0.3"] == 1.0 and result["recall@0.5"] == result["joint"] == 0.5


def test_boxes_by_hand():
    """Two images, one label: a hit, a second box on the same object, and a miss."""
    annotated = {
        "1": [Detection("cat", 1, (0, 0, 99, 99))],
        "2": [Detection("cat", 1, (0, 0, 99, 99)), Detection("dog", 1, (200, 0, 250, 50))],
    }
    predicted = {
        "1": [Detection("cat", 0.9, (0, 0, 99, 99)), Detection("cat", 0.8, (0, 0, 99, 90))],
        "2": [Detection("cat", 0.7, (300, 300, 310, 310))],
        "3": [Detection("cat", 0.99, (0, 0, 1, 1))],  # not annotated: does not count
    }
    result = metrics.mean_average_precision(predicted, annotated)
    assert result["cat"] == pytest.approx(0.5) and result["dog"] == 0.0 and result[""] == pytest.approx(0.25)
    assert set(metrics.mean_average_precision(predicted, annotated, labels=["cat"])) == {"", "cat"}
    annotated["3"] = [Detection("dog", 1, (0, 0, 1, 1))]  # nothing there of the labels that count
    assert metrics.mean_average_precision(predicted, annotated, labels=["cat"])["cat"] == pytest.approx(0.5)


def test_boxes_overlap_as_in_the_public_evaluation():
    """Corners are moved by one, and sides are counted with one more (VOC's integer boxes, twice)."""
    first, second = np.array([[0.0, 0, 9, 9]]), np.array([[5.0, 0, 14, 9]])
    shared, side = (9 + 1 - 5 + 1) * 11, 11 * 11
    assert metrics.box_overlap(first, second)[0, 0] == pytest.approx(shared / (2 * side - shared))


LABELS = ("cat", "cup", "door", "hat")


def moved(draw, box, pixels):
    return tuple(side + draw.randint(-pixels, pixels) for side in box)


def made_up_boxes():
    """Draw predictions and annotations of 30 images; some have no prediction, one label no annotation."""
    draw = random.Random(0)
    predicted, annotated = {}, {}
    for image in range(30):
        truth = []
        for _ in range(draw.randint(1, 4)):
            left, top = draw.randint(0, 500), draw.randint(0, 250)
            label = draw.choice(LABELS[:3])
            box = (left, top, left + draw.randint(20, 120), top + draw.randint(20, 90))
            truth.append(Detection(label, 1.0, box))
        annotated[str(image)] = truth
        if image % 10 == 9:
            continue
        predicted[str(image)] = []
        for label, _, box in truth:
            for _ in range(draw.randint(0, 3)):
                near = moved(draw, box, 14)
                named = label if draw.random() < 0.8 else draw.choice(LABELS)
                predicted[str(image)].append(Detection(named, draw.random(), near))
    return predicted, annotated


def test_boxes_as_in_the_public_evaluation():
    """Computed with eval/eval_tvqa_plus.py of jayleicn/TVQAplus at d2dc721."""
    expected = {"": 0.3114051465850412, "cat": 0.22665860052429926, "cup": 0.25726444157000566}
    expected["door"] = 0.4502923976608187
    assert metrics.mean_average_precision(*made_up_boxes()) == pytest.approx(expected, abs=1e-12)


def test_released_annotations_as_in_the_public_evaluation():
    """Made-up predictions for all 3,017 questions, measured with the program of the test before."""
    try:
        questions = corpus.read()
    except DataError:
        pytest.skip("the annotations of TVQA+ are not on this machine")
    draw = random.Random(0)
    answered, predicted, annotated = [], {}, {}
    for question in questions:
        start, end = question.span
        span = (max(0.0, start + draw.uniform(-4, 4)), end + draw.uniform(0, 6))
        answered.append((span, draw.choice((question.right, draw.randrange(5)))))
        for box in question.boxes:
            image = f"{question.clip}_{question.identifier}_{box.frame}"
            annotated.setdefault(image, []).append(Detection(box.label, 1.0, box.box))
            for _ in range(draw.randint(0, 2)):
                detection = Detection(box.label, draw.random(), moved(draw, box.box, 20))
                predicted.setdefault(image, []).append(detection)
    assert len(questions) == 3017 and sum(map(len, annotated.values())) == 32_682
    shares = metrics.temporal_metrics(answered, questions)
    expected = {"accuracy": 0.608882996353994, "overlap": 0.5295869883067933, "joint": 0.353994033808419}
    expected |= {"recall@0.3": 0.8551541266158436, "recall@0.9": 0.02088167053364269}
    assert {name: shares[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    precisions = metrics.mean_average_precision(predicted, annotated)
    assert len(precisions) == 1 + 803  # the mean and all labels
    assert precisions[""] == pytest.approx(0.48013266363475193, abs=1e-12)
