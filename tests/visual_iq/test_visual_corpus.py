"""Reading and writing the released file layout."""

from xml.etree import ElementTree

import joblib
import numpy as np
import pytest

from reasonlib.errors import DataError, UserError
from reasonlib.visual_iq.data import corpus, render
from reasonlib.visual_iq.data.corpus import read, read_images, released
from reasonlib.visual_iq.data.corpus_writer import write
from reasonlib.visual_iq.data.example import CONFIGURATIONS, GOVERNED, GROUPS, KEYS, RULES, Problems
from reasonlib.visual_iq.data.simulator import simulate
from reasonlib.visual_iq.data.structure import structure_of

FIELDS = ("configuration", "entities", "uniformity", "target")


def some(*numbers):
    """Problems of each configuration, as many as are asked for."""
    return Problems.concatenate(
        [simulate(configuration, count, seed=4) for configuration, count in enumerate(numbers) if count]
    )


def check_same(ours, theirs):
    for field in FIELDS:
        assert np.array_equal(getattr(ours, field), getattr(theirs, field)), field
    assert np.array_equal(ours.rules[..., :2], theirs.rules[..., :2])


# Both ways --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Eleven problems of each configuration, and the folder that they were written to."""
    problems, folder = some(*[11] * 7), tmp_path_factory.mktemp("set")
    write(problems, folder)
    return problems, folder


def test_what_is_written_is_read_again(written):
    problems, folder = written
    loaded = read(folder)
    check_same(problems, loaded)
    is_known = loaded.rules[..., 0] >= 0
    assert (loaded.rules[is_known][:, 2] == 0).all()
    assert (loaded.rules[~is_known] == -1).all()
    assert (is_known == (problems.rules[..., 0] >= 0)).all()


def test_files_are_laid_out_as_released(written):
    _, folder = written
    assert sorted(each.name for each in folder.iterdir()) == sorted(KEYS)
    names = sorted(each.name for each in (folder / "distribute_four").iterdir())
    splits = dict(zip(range(11), ["train"] * 6 + ["val"] * 2 + ["test"] * 2 + ["train"], strict=True))
    stems = [f"RAVEN_{number}_{split}" for number, split in splits.items()]
    assert names == sorted(stem + suffix for stem in stems for suffix in (".npz", ".xml"))


def test_parts_of_a_set_are_read(written):
    problems, folder = written
    check_same(problems[problems.configuration == 2], read(folder / KEYS[2]))
    numbers = np.tile(np.arange(11), 7)
    check_same(problems[np.isin(numbers, (6, 7))], read(folder, "valid"))
    check_same(problems[np.isin(numbers, (8, 9))], read(folder, "test"))
    for suffix in (".npz", ".xml"):
        check_same(problems[[7]], read(folder / KEYS[0] / f"RAVEN_7_val{suffix}"))


def test_pictures_are_the_panels(written):
    problems, folder = written
    result = read_images(folder, "test")
    chosen = problems[np.isin(np.tile(np.arange(11), 7), (8, 9))]
    assert (result.images == render.render_problems(chosen)).all()
    assert (result.target == chosen.target).all() and (result.configuration == chosen.configuration).all()


def test_arrays_are_the_released_ones(written):
    problems, folder = written
    with np.load(folder / KEYS[5] / "RAVEN_3_train.npz") as stored:
        arrays = dict(stored)
    rules = problems.rules[problems.configuration == 5][3]
    assert set(arrays) == {
        *("image", "target", "predict", "meta_matrix", "meta_target", "structure", "meta_structure")
    }
    assert arrays["image"].shape == (16, 160, 160) and arrays["image"].dtype == np.uint8
    assert arrays["meta_matrix"].shape == (8, 9)
    for row, (rule, governed, _) in zip(arrays["meta_matrix"], rules.reshape(-1, 3), strict=True):
        assert np.flatnonzero(row[:4]).tolist() == [rule]
        expected = {0: [0, 1], 1: [0], 2: [1], 3: [2], 4: [3], 5: [4]}[governed]
        assert np.flatnonzero(row[4:]).tolist() == expected
    assert (arrays["meta_target"] == arrays["meta_matrix"].max(0)).all()
    tree = "Scene Out_In Out Out_Center_Single / / In In_Center_Single / / / /"
    assert arrays["structure"].tolist() == tree.split()
    assert np.flatnonzero(arrays["meta_structure"]).tolist() == [3, 8, 9, 18, 19]
    assert len(arrays["meta_structure"]) == 21


def test_annotations_are_the_released_ones(written):
    problems, folder = written
    root = ElementTree.parse(folder / KEYS[6] / "RAVEN_0_train.xml").getroot()
    entities = problems.entities[problems.configuration == 6][0]
    panels = root.findall("Panels/Panel")
    boxes = render.entity_boxes(np.full(16, 6), entities)
    assert len(panels) == 16
    for panel, panel_entities, around in zip(panels, entities, boxes, strict=True):
        layouts = panel.findall("Struct/Component/Layout")
        assert [len(layout) - 1 for layout in layouts] == [int(layout.get("Number")) for layout in layouts]
        elements = [entity for layout in layouts for entity in layout]
        slots = np.flatnonzero(panel_entities[:, 0])
        for entity, slot in zip(elements, slots, strict=True):
            levels = [int(entity.get(name)) for name in ("Type", "Size", "Color", "Angle")]
            assert levels == panel_entities[slot].tolist()
            assert eval(entity.get("bbox")) == list(CONFIGURATIONS[6].slots[slot])
            row, column, height, width = np.array(eval(entity.get("real_bbox"))) * 160
            box = [column - width / 2, row - height / 2, column + width / 2, row + height / 2]
            assert np.allclose(box, around[slot], atol=0.02)
            mask = np.zeros(160 * 160, dtype=bool)
            runs = eval(entity.get("mask"))
            for start, length in zip(runs[::2], runs[1::2], strict=True):
                mask[start - 1 : start - 1 + length] = True
            rows, columns = np.nonzero(mask.reshape(160, 160))
            assert abs(columns.min() - box[0]) < 3 and abs(rows.max() - box[3]) < 3
    names = [(rule.get("name"), rule.get("attr")) for rule in root.findall("Rules/Rule_Group/Rule")]
    for (name, governs), (rule, governed, _) in zip(
        names, problems.rules[problems.configuration == 6][0].reshape(-1, 3), strict=True
    ):
        assert name.lower().replace("_", " ") == RULES[rule]
        assert governs.lower().replace("color", "colour") == GOVERNED[governed]


def test_numbers_of_a_split(tmp_path):
    write(some(0, 5), tmp_path, split="test", first=10, images=False)
    names = sorted(file.stem for file in (tmp_path / KEYS[1]).glob("*.npz"))
    assert names == [f"RAVEN_{number}_test" for number in (18, 19, 28, 29, 38)]
    write(some(5), tmp_path, split="valid", images=False)
    assert sorted(file.stem for file in (tmp_path / KEYS[0]).glob("*.npz"))[-1] == "RAVEN_7_val"
    write(some(1), tmp_path, first=15, images=False)
    assert (tmp_path / KEYS[0] / "RAVEN_15_train.xml").is_file()


def test_without_pictures(tmp_path):
    problems = some(2, 0, 1)
    write(problems, tmp_path, images=False)
    check_same(problems, read(tmp_path))
    with pytest.raises(DataError, match="it holds no panels"):
        read_images(tmp_path)


def test_workers_write_and_read_the_same(tmp_path):
    problems = some(70, 0, 0, 3)
    with joblib.parallel_config(backend="threading"):
        write(problems, tmp_path / "two", workers=2, images=False)
        check_same(problems, read(tmp_path / "two", workers=2))
    write(problems, tmp_path / "one", images=False)
    for file in (tmp_path / "one").rglob("*.*"):
        assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_writing_needs_known_rules_and_a_folder(tmp_path):
    problems = some(2)
    problems.rules[1, 0, 2] = -1
    with pytest.raises(ValueError, match="rules must be known for problems to be written"):
        write(problems, tmp_path)
    for given, message in (
        ({"split": "all"}, "split must be one of"),
        ({"first": -1}, "first must be at least"),
    ):
        with pytest.raises(ValueError, match=message):
            write(some(1), tmp_path, **given)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write(some(1), tmp_path / "file")
    with pytest.raises(UserError, match="give a folder with --out"):
        corpus.dumps(some(1))


# Other people's files ---------------------------------------------------------------------------------------

PANEL = (
    '<Panel><Struct name="Singleton"><Component id="0" name="Grid"><Layout name="Distribute_Four" Number="1" '
    'Position="[]" Uniformity="2">'
    '<Entity bbox="[0.75, 0.25, 0.5, 0.5]" Type="3" Size="5" Color="9" Angle="7" />'
    '<Entity bbox="[0.25, 0.75, 0.5, 0.5]" Type="5" Size="0" Color="1" Angle="2" />'
    "</Layout></Component></Struct></Panel>"
)
RULE = '<Rule name="{}" attr="{}" />'
GROUP = "".join(
    RULE.format(*each) for each in (("Arithmetic", "Position"), ("Constant", "Type"), ("Progression", "Size"))
) + RULE.format("Distribute_Three", "Color")
XML = f"<Data><Panels>{PANEL * 16}</Panels><Rules><Rule_Group id='0'>{GROUP}</Rule_Group></Rules></Data>"
TREE = np.array(["Scene", "Singleton", "Grid", "Distribute_Four", "/", "/", "/", "/"])


def write_problem(folder, xml=XML, name="RAVEN_12_train", **arrays):
    """Make a problem as other code would; an array that is None is left out."""
    folder = folder / "distribute_four"
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {"image": np.zeros((16, 160, 160), np.uint8), "target": 5, "structure": TREE} | arrays
    np.savez(folder / f"{name}.npz", **{each: value for each, value in arrays.items() if value is not None})
    (folder / f"{name}.xml").write_text(xml)
    return folder / f"{name}.npz"


def test_a_file_by_hand(tmp_path):
    write_problem(tmp_path)
    problem = read(tmp_path)
    assert problem.configuration.tolist() == [1] and problem.target.tolist() == [5]
    assert problem.uniformity.tolist() == [[2, -1]]
    expected = np.zeros((9, 4), int)
    expected[2], expected[1] = (3, 5, 9, 7), (5, 0, 1, 2)
    assert (problem.entities == expected).all()
    group = problem.rules[0, 0]
    assert [RULES[rule] for rule in group[:, 0]] == [
        "arithmetic",
        "constant",
        "progression",
        "distribute three",
    ]
    assert [GOVERNED[governed] for governed in group[:, 1]] == ["position", "type", "size", "colour"]
    assert len(group) == len(GROUPS)


def test_older_ways_to_store_are_read(tmp_path):
    write_problem(
        tmp_path, structure=TREE.astype("S"), target=np.array([3]), image=np.ones((16, 160, 160), np.uint8)
    )
    assert read(tmp_path).target.tolist() == [3]
    flat = write_problem(tmp_path, structure=None, image=np.ones((1, 16, 160, 160), np.uint8))
    assert read_images(flat).images.shape == (1, 16, 160, 160)
    assert read_images(flat).configuration.tolist() == [1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": np.zeros((16, 80, 80), np.uint8)}, "panels are 16 x 80 x 80, expected 16 x 160 x 160"),
        ({"image": np.zeros((15, 160, 160), np.uint8)}, "panels are 15 x 160 x 160, expected"),
        ({"image": np.zeros((16, 160, 160))}, "grey values are float64, expected uint8"),
        ({"target": 8}, "target must be one whole number from 0 to 7, got \\[8\\]"),
        ({"target": -1}, "target must be one whole number from 0 to 7"),
        ({"target": 0.5}, "target must be one whole number from 0 to 7"),
        ({"target": np.arange(2)}, "target must be one whole number from 0 to 7"),
        ({"target": None}, "corrupt or no .npz of a problem"),
        ({"structure": TREE[:-1]}, "structure does not parse"),
        ({"structure": np.array(["Scene", "/", "/"])}, "structure does not parse"),
        ({"structure": np.append(TREE[:3], [*["Distribute_Five"], *["/"] * 4])}, "is no name of a part"),
        (
            {"structure": np.array("Scene Up_Down Grid Center_Single / / / /".split())},
            "unknown configuration 'Scene Up_Down Grid Center_Single",
        ),
        ({"structure": np.array(structure_of(0))}, "the two files belong to different problems"),
        ({"xml": XML[:-9]}, "XML that does not parse"),
        ({"xml": "not a problem"}, "XML that does not parse"),
        ({"xml": XML.replace(PANEL, "", 1)}, "15 panels, expected 16"),
        ({"xml": XML.replace("Distribute_Four", "Distribute_Five")}, "panel 0: unknown configuration"),
        ({"xml": XML.replace("[0.75, 0.25", "[0.7, 0.2")}, "is no slot of distribute_four"),
        ({"xml": XML.replace("[0.75, 0.25", "[0.25, 0.75")}, "two entities in slot 1"),
        ({"xml": XML.replace('Type="3"', 'Type="0"')}, "Type must be a level from 1 to 5, got '0'"),
        ({"xml": XML.replace('Size="5"', 'Size="6"')}, "Size must be a level from 0 to 5, got '6'"),
        ({"xml": XML.replace('Color="9"', "")}, "Color must be a level from 0 to 9, got ''"),
        ({"xml": XML.replace('Uniformity="2"', 'Uniformity="x"')}, "Uniformity must be a level from 0 to 3"),
        ({"xml": XML.replace("Arithmetic", "Guess")}, "unknown rule 'Guess' on 'Position'"),
        ({"xml": XML.replace(RULE.format("Constant", "Type"), "")}, "component 0 lacks a rule"),
        ({"xml": XML.replace("Rule_Group", "Group")}, "0 groups of rules, expected 1"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(tmp_path, change, message):
    write_problem(tmp_path, **change)
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path)
    error_text = str(raised.value)
    assert "\n" not in error_text and str(tmp_path) in error_text


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut", None])
def test_a_corrupt_archive_is_said(tmp_path, content):
    file = write_problem(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if content is None else content)
    for call in (read, read_images):
        with pytest.raises(DataError, match=r"RAVEN_12_train.npz: corrupt or no .npz of a problem") as raised:
            call(tmp_path)
        assert "\n" not in str(raised.value)
        assert "pickle.load" not in str(raised.value)  # which NumPy from 2 on advises


@pytest.mark.parametrize("words", ["Cannot load file containing pickled data", "This file contains pickled"])
def test_what_numpy_says_of_another_file_is_not_quoted(tmp_path, monkeypatch, words):
    def load(file):
        raise ValueError(words)

    file = write_problem(tmp_path)
    file.write_bytes(b"no archive")
    monkeypatch.setattr(np, "load", load)  # as versions before and from 2 on
    for call in (read, read_images):
        with pytest.raises(DataError, match=r"corrupt or no .npz of a problem \(not an archive of arrays\)"):
            call(tmp_path)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(6, 99), (8, 1), (10, 99)],
    ids=["a version to come", "a password", "a method there is none of"],
)
def test_a_damaged_directory_of_an_archive_is_said(tmp_path, offset, value):
    file = write_problem(tmp_path)
    content = bytearray(file.read_bytes())
    start = content.find(b"PK\x01\x02")
    while start >= 0:  # each entry of the directory at the archive's end
        content[start + offset] = value
        start = content.find(b"PK\x01\x02", start + 4)
    file.write_bytes(content)
    for call in (read, read_images):
        with pytest.raises(DataError, match=r"RAVEN_12_train.npz: corrupt or no .npz of a problem"):
            call(tmp_path)


def test_one_array_is_no_problem(tmp_path):
    file = write_problem(tmp_path)
    with file.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(DataError, match=r"corrupt or no .npz of a problem \(not an archive of arrays\)"):
        read(tmp_path)


def test_damaged_pictures_are_said(tmp_path):
    file = write_problem(tmp_path)
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match="corrupt"):
        read_images(file)


def test_nothing_pickled_is_read(tmp_path):
    file = write_problem(tmp_path, target=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="corrupt or no"):
        read(file)


@pytest.mark.parametrize("suffix", [".npz", ".xml"])
def test_a_missing_half_is_said(tmp_path, suffix):
    file = write_problem(tmp_path).with_suffix(suffix)
    file.unlink()
    with pytest.raises(DataError, match=f"RAVEN_12_train{suffix}: no such file; a problem is a pair"):
        read(tmp_path)
    if suffix == ".xml":
        assert read_images(tmp_path).target.tolist() == [5]


def test_places_without_problems_are_said(tmp_path):
    with pytest.raises(DataError, match="no problem here; a set holds"):
        read(tmp_path)
    with pytest.raises(DataError, match="no such folder or file"):
        read(tmp_path / "nowhere")
    write_problem(tmp_path)
    with pytest.raises(DataError, match="no problem of split test here"):
        read(tmp_path, "test")
    with pytest.raises(ValueError, match="split must be one of train, valid, test, got 'all'"):
        read(tmp_path, "all")
    (tmp_path / "distribute_four").rename(tmp_path / "distribute_five")
    with pytest.raises(DataError, match="distribute_five: unknown configuration; a set's folders are"):
        read(tmp_path)


def test_released_sets(tmp_path, monkeypatch):
    monkeypatch.delenv("REASONLIB_DATA", raising=False)
    with pytest.raises(DataError, match="the released set i-raven is not here; set REASONLIB_DATA"):
        released("i-raven")
    monkeypatch.setenv("REASONLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="RAVEN or RAVEN-10000"):
        released()
    write(some(3), tmp_path / "RAVEN-10000", images=False)
    assert len(released()) == 3
    with pytest.raises(ValueError, match="answers must be one of raven, i-raven, raven-fair, got 'fair'"):
        released("fair")
