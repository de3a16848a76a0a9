"""The detector: its losses, what it finds, its learning, its weights, and how it is measured."""

import warnings

import numpy as np
import pytest
import torch
from rows import trial

from reasonlib.errors import UserError
from reasonlib.visual_iq.data import detection_targets, panels, render, symmetry
from reasonlib.visual_iq.data.example import CONFIGURATIONS, LEVELS, POSITION_OF, TYPES, configuration_index
from reasonlib.visual_iq.experiments import EXPERIMENTS, detection, detection_metrics
from reasonlib.visual_iq.models.detector import DetectionTargets, Detector, DetectorConfig
from reasonlib.visual_iq.models.detector.backbone import STRIDES, Pyramid, ResNet, SmallBackbone, to_ink
from reasonlib.visual_iq.models.detector.outputs import DetectionBatch, split_panels
from reasonlib.visual_iq.models.pretrained import BUNDLED, from_pretrained, save_pretrained

TINY = {"widths": (4, 8, 8, 8, 8), "width": 8, "hidden": 16, "looked_at": 40, "kept": 12}


def tiny(seed=0, **changes):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Detector(DetectorConfig(**TINY | changes))


def some_panels(number=6, seed=0, weights=None):
    return panels.random_panels(number, np.random.default_rng(seed), weights)


def drawn(panels):
    return torch.from_numpy(render.render_panels(*panels))


# Contracts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"widths": (8, 8)}, r"widths must be 5 numbers, got \(8, 8\)"),
        ({"anchors": ((8,), (16,))}, "anchors must be as many on each of 4 levels"),
        ({"anchors": ((8,), (16,), (32,), (64, 90))}, "anchors must be as many on each of 4 levels"),
        ({"kept": 0}, "kept must be at least 1, got 0"),
        ({"suppress": (0.7, 1.5)}, "suppress must be two numbers between 0 and 1"),
    ],
)
def test_bad_sizes_are_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message):
        DetectorConfig(**changes)


def test_sizes_read_back_from_json_are_the_same():
    assert DetectorConfig(widths=[1, 2, 3, 4, 5], anchors=[[8], [16], [32], [64]]) == DetectorConfig(
        widths=(1, 2, 3, 4, 5), anchors=((8,), (16,), (32,), (64,))
    )


def test_pyramid_has_the_strides_it_says():
    backbone = SmallBackbone((4, 6, 8, 10, 12))
    levels = backbone(torch.rand(2, 1, 160, 160))
    assert [level.shape[1] for level in levels] == list(backbone.widths) == [6, 8, 10, 12]
    merged = Pyramid(backbone.widths, 16)(levels)
    assert [tuple(level.shape) for level in merged] == [(2, 16, 160 // s, 160 // s) for s in STRIDES]


def test_coarse_levels_tell_the_fine_ones_and_not_the_reverse():
    pyramid = Pyramid((3, 3), 4)
    fine, coarse = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 4, 4)
    before = pyramid([fine, coarse])
    assert not torch.equal(pyramid([fine, coarse + 1])[0], before[0])
    assert torch.equal(pyramid([fine + 1, coarse])[1], before[1])


def test_ink_keeps_the_grey():
    ink = to_ink(torch.tensor([[[255, 0], [51, 204]]], dtype=torch.uint8))
    assert torch.allclose(ink, torch.tensor([[[[0, 1], [0.8, 0.2]]]]))


def test_losses_are_finite_and_reach_every_weight():
    model, panels = tiny(), some_panels(8)
    losses = model(drawn(panels), detection_targets.detection_targets(panels))
    assert list(losses) == ["objectness", "proposal", "type", "box", "size", "colour", "angle"]
    assert all(loss.shape == () and torch.isfinite(loss) and loss > 0 for loss in losses.values())
    sum(losses.values()).backward()
    missing = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert not missing


def test_absent_objects_and_levels_of_vacant_slots_do_not_count():
    model, panels = tiny(), some_panels(6, weights=(0, 1, 0, 1, 0, 0, 0))
    given = detection_targets.detection_targets(panels)

    def losses(given):
        torch.manual_seed(3)
        return torch.stack(list(model(drawn(panels), given).values()))

    with torch.random.fork_rng():
        before = losses(given)
        entities = given.entities.clone()
        boxes = torch.where(given.present[..., None], given.boxes, torch.tensor([30.0, 30, 90, 90]))
        entities[~given.present] = torch.tensor([3, 2, 1, 0])
        vacant = given.present & (given.entities[..., 0] == 0)
        assert vacant.any() and not given.present.all()
        entities[vacant] = torch.tensor([0, 4, 4, 4])
        assert torch.equal(losses(DetectionTargets(boxes, entities, given.present, given.angles)), before)
        entities[..., 0][given.present & ~vacant] = 1
        assert not torch.equal(losses(DetectionTargets(boxes, entities, given.present, given.angles)), before)


def test_features_in_half_precision_give_losses_in_full_precision():
    model, panels = tiny(), some_panels(4)
    with torch.autocast("cpu", torch.bfloat16):
        losses = model(drawn(panels), detection_targets.detection_targets(panels))
    assert all(loss.dtype == torch.float32 for loss in losses.values())


# Looking ----------------------------------------------------------------------------------------------------


def test_what_is_found_is_above_the_threshold_and_in_order():
    model, images = tiny(), drawn(some_panels(5))
    results = model.detect(images, threshold=0.15)
    assert len(results) == 5 and model.training
    assert sum(len(result.scores) for result in results)
    for result in results:
        assert result.boxes.shape == (len(result.scores), 4)
        assert (result.scores >= 0.15).all() and (np.diff(result.scores) <= 0).all()
        assert result.boxes.min(initial=0) >= 0 and result.boxes.max(initial=0) <= 160
        for levels, name in zip(LEVELS, ("type", "size", "colour", "angle"), strict=True):
            assert ((getattr(result, name) >= 0) & (getattr(result, name) < levels)).all()


def test_panels_do_not_see_each_other():
    model, images = tiny(), drawn(some_panels(5))
    whole, parts = (model.detect(images, threshold=0.15, batch=batch) for batch in (5, 2))
    for first, second in zip(whole, parts, strict=True):
        assert np.allclose(first.boxes, second.boxes, atol=1e-3) and np.array_equal(first.type, second.type)


def test_a_look_shows_the_stages_of_the_same_way():
    model, images = tiny(), drawn(some_panels(2))
    look = model.inspect(images[1].numpy(), threshold=0.15)
    detections = model.detect(images, threshold=0.15)[1]
    assert np.allclose(look.detections.boxes, detections.boxes, atol=1e-3)
    assert np.array_equal(look.detections.colour, detections.colour)
    assert [level.shape[1:] for level in look.pyramid] == [(40, 40), (20, 20), (10, 10), (5, 5)]
    assert look.anchors.shape == (2 * (1600 + 400 + 100 + 25), 4) and look.objectness.shape == (4250,)
    assert len(look.proposals) == len(look.proposal_scores) == len(look.first) == len(look.first_scores)
    assert 0 < len(look.proposals) <= TINY["kept"]


def test_images_that_are_no_panels_are_refused():
    with pytest.raises(ValueError, match=r"images must be \(M, 160, 160\), got \(2, 80, 80\)"):
        tiny().detect(np.zeros((2, 80, 80), np.uint8))
    with pytest.raises(ValueError, match=r"image must be \(160, 160\), got \(80, 80\)"):
        tiny().inspect(np.zeros((80, 80), np.uint8))
    assert tiny().detect(np.zeros((0, 160, 160), np.uint8)) == []


def test_nothing_is_found_where_every_box_is_background():
    model = tiny()
    with torch.no_grad():
        model.heads.object.answer.bias[len(TYPES)] += 50
    assert all(len(result.scores) == 0 for result in model.detect(drawn(some_panels(3))))


def test_it_learns_a_handful_of_panels():
    """The same few panels again and again, until they are known."""
    model, panels = (
        tiny(widths=(8, 8, 16, 16, 16), width=16, hidden=32),
        some_panels(4, weights=(1, 0, 0, 1, 1, 0, 0)),
    )
    images, given = drawn(panels), detection_targets.detection_targets(panels)
    optimiser = torch.optim.AdamW(model.parameters(), 5e-3)
    course = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(60):
            losses = model(images, given)
            optimiser.zero_grad()
            sum(losses.values()).backward()
            optimiser.step()
            course.append({name: loss.item() for name, loss in losses.items()})
    for name in ("objectness", "type", "colour", "size"):
        start, end = (np.mean([row[name] for row in part]) for part in (course[:3], course[-3:]))
        assert end < 0.5 * start, name


# A pre-trained backbone -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    from transformers import ResNetConfig, ResNetModel

    folder = tmp_path_factory.mktemp("resnet")
    sizes = ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1])
    ResNetModel(sizes).save_pretrained(folder)
    return folder


def test_a_resnet_of_the_transformers_library_serves_as_backbone(resnet):
    levels = ResNet(resnet)(torch.rand(2, 1, 160, 160))
    assert [tuple(level.shape[1:]) for level in levels] == [
        (8, 40, 40),
        (8, 20, 20),
        (16, 10, 10),
        (16, 5, 5),
    ]
    model, panels = tiny(backbone=str(resnet)), some_panels(3)
    assert torch.isfinite(sum(model(drawn(panels), detection_targets.detection_targets(panels)).values()))


# Weights ----------------------------------------------------------------------------------------------------


def test_weights_come_back_with_their_sizes(tmp_path):
    model, images = tiny(), drawn(some_panels(3))
    model(
        images, detection_targets.detection_targets(some_panels(3))
    )  # moves the statistics of the normalisation
    restored = from_pretrained(save_pretrained(tmp_path / "d.safetensors", model, {"steps": 3}, half=False))
    assert restored.config == model.config and not restored.training
    for first, second in zip(
        model.detect(images, threshold=0.15), restored.detect(images, threshold=0.15), strict=True
    ):
        assert np.allclose(first.boxes, second.boxes, atol=1e-4)


def test_damaged_and_foreign_weights_are_refused_in_one_line(tmp_path):
    from reasonlib.training.checkpoints import load_weights, save_weights, weights_metadata

    with pytest.raises(UserError, match=r"there is no visual reasoner at .*; choose detector or"):
        from_pretrained(tmp_path / "none.safetensors")
    with pytest.raises(UserError, match="holds no visual reasoner"):
        from_pretrained(save_weights(tmp_path / "a.safetensors", {"w": torch.zeros(2)}))
    path = save_pretrained(tmp_path / "b.safetensors", tiny(), {})
    tensors = load_weights(path)
    tensors.pop(next(iter(tensors)))
    with pytest.raises(UserError, match="a damaged detector of entities"):
        from_pretrained(save_weights(tmp_path / "c.safetensors", tensors, metadata=weights_metadata(path)))


# Panels, targets and measures -------------------------------------------------------------------------------


def test_random_panels_keep_to_their_layouts():
    configuration, entities = some_panels(700, seed=1)
    assert set(configuration) == set(range(7))
    filled = entities[..., 0] > 0
    assert not entities[~filled].any() and not filled[POSITION_OF[configuration] < 0].any()
    for index, layout in enumerate(CONFIGURATIONS):
        for part, slots in zip(layout.components, layout.component_slices, strict=True):
            selected = entities[configuration == index][:, slots]
            present = selected[selected[..., 0] > 0]
            count = (selected[..., 0] > 0).sum(1)
            assert (count.min(), count.max()) == part.number
            assert (present[:, 1].min(), present[:, 1].max()) == part.size
            assert (present[:, 2].min(), present[:, 2].max()) == part.colour


def test_random_panels_repeat_with_their_generator_and_take_weights():
    first, second = some_panels(20, seed=4), some_panels(20, seed=4)
    assert np.array_equal(first.entities, second.entities)
    assert set(some_panels(50, weights=(0, 0, 0, 1, 0, 0, 0)).configuration) == {3}


def test_levels_that_look_alike_are_drawn_alike():
    same = symmetry.same_pixels("angle")
    centre = int(POSITION_OF[0, 0])
    kinds = {name: same[centre, TYPES.index(name), 3].sum(-1) for name in TYPES[1:]}
    assert (kinds["triangle"] == 1).all() and (kinds["pentagon"] == 1).all()
    assert (kinds["square"] == 4).all()
    assert (kinds["circle"] < 8).all()  # drawn with pixels, it is not round
    for kind in range(1, len(TYPES)):
        table = same[centre, kind, 3]
        assert table.diagonal().all() and np.array_equal(table, table.T)
    grid = int(POSITION_OF[configuration_index("O-IG"), 1])
    squares = symmetry.same_pixels("size")[grid, TYPES.index("square"), :, 3]
    assert np.array_equal(squares, squares.transpose(1, 0)) and squares.diagonal().all()


def test_angles_are_the_same_to_the_eye_where_the_shape_is():
    same = symmetry.symmetric_angles()
    assert same[1:].sum(-1).tolist() == [[number] * 8 for number in (1, 4, 1, 2, 8)]
    assert same[TYPES.index("square"), 0, 2] and not same[TYPES.index("square"), 0, 1]
    assert not same[0].any()


def test_targets_spread_an_angle_over_those_that_look_the_same():
    panels = some_panels(40)
    given = detection_targets.detection_targets(panels)
    filled = given.entities[..., 0] > 0
    assert torch.allclose(given.angles[filled].sum(-1), torch.ones(int(filled.sum())))
    own = torch.gather(given.angles, -1, given.entities[..., 3:])[..., 0]
    assert (own[filled] > 0).all() and not given.angles[~filled].any()


class Oracle:
    """A detector that finds what is there, or what it is told."""

    def __init__(self, panels, **changes):
        boxes = torch.from_numpy(render.entity_boxes(*panels)).float()
        sure = torch.from_numpy((POSITION_OF[panels.configuration] >= 0).astype(np.float32))
        self.detections = DetectionBatch(
            boxes, sure, torch.from_numpy(panels.entities.astype(np.int64))
        )._replace(**changes)
        self.start = 0

    def detect_batch(self, images, **options):
        self.start += len(images)
        return DetectionBatch(*(tensor[self.start - len(images) : self.start] for tensor in self.detections))


def test_a_detector_that_sees_all_is_right_in_everything():
    panels = some_panels(600)
    result = detection_metrics.measure(Oracle(panels), panels)
    limits = {name: result.pop(name) for name in ("size_limit", "angle_limit", "angle_blind")}
    assert result.pop("box_l1") == 0
    assert set(result.values()) == {1.0}
    assert 0.5 < limits["angle_blind"] < limits["angle_limit"] < 0.95 and 0.9 < limits["size_limit"] <= 1


def test_each_measure_falls_with_its_own_mistake():
    panels = some_panels(100, weights=(1, 0, 0, 0, 0, 0, 0))
    plain = Oracle(panels).detections
    half = torch.arange(100) < 50

    def result(**changes):
        return detection_metrics.measure(Oracle(panels, **changes), panels)

    missed = result(scores=torch.where(half[:, None], 0.0, plain.scores))
    assert (missed["recall"], missed["precision"], missed["panel"]) == (0.5, 1, 0.5)
    levels = plain.levels.clone()
    levels[half, 0, 0] = levels[half, 0, 0] % 5 + 1
    wrong = result(levels=levels)
    assert (wrong["recall"], wrong["precision"], wrong["type"], wrong["colour"]) == (0.5, 0.5, 0.5, 1)
    levels = plain.levels.clone()
    levels[half, 0, 2] = (levels[half, 0, 2] + 1) % 10
    grey = result(levels=levels)
    assert (grey["recall"], grey["colour"], grey["size"], grey["panel"]) == (1, 0.5, 1, 0.5)
    moved = result(boxes=plain.boxes + torch.tensor([0.5, 0, 0.5, 0]))
    assert moved["box_l1"] == pytest.approx(0.25) and moved["position"] == 1
    square = some_panels(100, weights=(1, 0, 0, 0, 0, 0, 0))
    square.entities[:, 0, 0] = TYPES.index("square")
    levels = Oracle(square).detections.levels.clone()
    levels[..., 3] = (levels[..., 3] + 2) % 8  # a quarter turn
    turned = detection_metrics.measure(Oracle(square, levels=levels), square)
    assert (turned["angle"], turned["angle_fair"]) == (0, 1)


def test_detections_are_unpacked_in_order():
    boxes = torch.arange(12.0).view(1, 3, 4)
    levels = torch.arange(12).view(1, 3, 4) % 5
    (result,) = split_panels(DetectionBatch(boxes, torch.tensor([[0.5, 0.0, 0.9]]), levels))
    assert result.scores.tolist() == pytest.approx([0.9, 0.5])
    assert result.boxes[0].tolist() == [8, 9, 10, 11] and result.type.tolist() == [3, 0]


# Training and the experiment --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"steps": 0}, "steps must be at least 1, got 0"), ({"weights": (1, 2)}, "weights must be 7 shares")],
)
def test_bad_recipes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        detection.Recipe(**changes)


def test_training_repeats_and_resumes_to_the_same_bits(tmp_path):
    recipe = detection.Recipe(steps=4, every=2, batch_size=2, warmup=1)
    whole, interrupted, resumed = tiny(), tiny(), tiny()
    history = detection.train(whole, recipe, progress=False)
    assert len(history) == 2 and history.stopped == "finished"
    detection.train(interrupted, recipe, progress=False, minutes=0, checkpoint=tmp_path)
    detection.train(resumed, recipe, progress=False, checkpoint=tmp_path)
    for first, second in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert torch.equal(first, second)


def small(**settings):
    smoke = EXPERIMENTS["visual_iq/detector"].scales["smoke"]
    return trial("visual_iq/detector:small", smoke | TINY | settings, kind="regenerated")


def test_a_trial_measures_what_the_source_reports():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is found after two steps
        measured = detection.run_detector(small())
    expected = {"recall", "precision", "type", "size", "colour", "angle", "angle_fair", "position", "box_l1"}
    assert expected <= set(measured.metrics)
    assert (measured.steps_done, measured.steps_planned, measured.stopped) == (2, 2, "finished")


# The weights that are bundled with the library --------------------------------------------------------------


def test_the_shipped_detector_sees_what_there_is():
    assert BUNDLED["detector"].stat().st_size < 5e6
    result = detection_metrics.measure(from_pretrained("detector"), panels.held_out_panels(112))
    assert result["recall"] > 0.97 and result["precision"] > 0.97 and result["position"] > 0.97
    assert min(result["size_fair"], result["colour"], result["angle_fair"]) > 0.93
    assert result["box_l1"] < 0.6
