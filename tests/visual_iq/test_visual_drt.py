"""Dynamic residual tree: annotations that parse and those that do not, and what the tree computes."""

import pytest
import torch
from torch.nn import functional

from reasonlib.errors import DataError
from reasonlib.visual_iq.data.example import CONFIGURATIONS
from reasonlib.visual_iq.data.structure import NODE_NAMES, TREE_LEVELS, parse_structure, structure_of
from reasonlib.visual_iq.models.baselines import PanelResNet
from reasonlib.visual_iq.models.drt import DynamicResidualTree, ResNetDRT, forest

ALL = [structure_of(index) for index in range(7)]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


# Annotations


def test_two_components_as_the_released_files_write_them():
    assert structure_of(6) == (
        *("Scene", "Out_In", "Out", "Out_Center_Single", "/", "/"),
        *("In", "In_Distribute_Four", "/", "/", "/", "/"),
    )


def test_every_name_is_known_and_closed():
    assert len(NODE_NAMES) == len(set(NODE_NAMES)) == 22
    for tokens in ALL:
        assert {*tokens} - {"/"} <= {*NODE_NAMES}
        assert tokens.count("/") * 2 == len(tokens)


@pytest.mark.parametrize("number", range(7))
def test_parsing_gives_back_what_is_above_what(number):
    nodes, layout = parse_structure(ALL[number]), CONFIGURATIONS[number]
    assert [node.name for node in nodes] == [token for token in ALL[number] if token != "/"]
    assert [nodes[node.above].name for node in nodes if node.level == 3] == [
        part.name for part in layout.components
    ]
    assert [node.above for node in nodes if node.level == 0] == [-1]
    assert all(nodes[node.above].level == node.level - 1 for node in nodes if node.level)


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ("", "it is empty"),
        ("Scene Singleton Grid Center_Single / / /", "1 names are not closed"),
        ("Scene Singleton Grid Center_Single / / / / /", "token 8 closes nothing"),
        ("Scene Singleton Grid / / /", "'Grid' holds nothing"),
        ("Scene Singleton Grid Center_Single Center_Single / / / / /", "'Center_Single' is too deep"),
        ("Scene Singleton Grid Circle / / / /", "'Circle' is no name of a part"),
        ("Scene Singleton Grid Center_Single / / / / Scene", "'Scene' stands after the end of the tree"),
    ],
)
def test_a_structure_that_does_not_parse_is_one_clear_line(tokens, reason):
    with pytest.raises(DataError, match="structure does not parse, ") as caught:
        parse_structure(tuple(tokens.split()))
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    assert "it reads like 'Scene Singleton Grid Center_Single / / / /'" in str(caught.value)


def test_a_forest_points_to_parents():
    trees = forest([ALL[0], ALL[6]])
    names = [[NODE_NAMES[word] for word in level] for level in trees.words]
    assert names[0] == ["Scene", "Scene"] and names[2] == ["Grid", "Out", "In"]
    assert [parents.tolist() for parents in trees.parents] == [[0, 1], [0, 1], [0, 1, 1], [0, 1, 2]]
    assert len(trees.words) == len(TREE_LEVELS)


# Mathematics


def recursion(tree, tokens, features):
    """Zhang et al. (2019a), eq. 1 to 3, node by node."""
    nodes = parse_structure(tokens)

    def state(number):
        node = nodes[number]
        children = [other for other, child in enumerate(nodes) if child.above == number]
        below = sum((state(child) for child in children), torch.zeros(len(features)))
        word = tree.words.weight[NODE_NAMES.index(node.name)]
        linear = tree.levels[node.level]
        both = torch.cat([word, below if children else features])
        return (linear.weight @ both + linear.bias).clamp(min=0)

    return state(0)


def test_a_batch_of_trees_is_each_tree_by_recursion():
    tree, features = DynamicResidualTree(5, 4), torch.randn(7, 5)
    output = tree(features, forest(ALL))
    for number in range(7):
        torch.testing.assert_close(output[number], recursion(tree, ALL[number], features[number]))


def test_the_order_of_components_does_not_matter():
    tree, features = DynamicResidualTree(5, 4), torch.randn(1, 5)
    turned = ("Scene", "Out_In", *structure_of(6)[6:10], *structure_of(6)[2:6], "/", "/")
    torch.testing.assert_close(tree(features, forest([turned])), tree(features, forest([ALL[6]])))


def test_the_residual_is_added_before_the_last_layers():
    model, images = ResNetDRT(2, word=4).eval(), torch.rand(2, 16, 32, 32) * 255
    output = model(images, forest([ALL[0], ALL[3]]))
    plain = PanelResNet(2).eval()
    plain.backbone.load_state_dict(model.backbone.state_dict())
    torch.testing.assert_close(output.features, plain(images).features)
    torch.testing.assert_close(output.residual, model.tree(output.features, forest([ALL[0], ALL[3]])))
    torch.testing.assert_close(output.logits, model.head(output.features + output.residual))


def test_a_problem_sees_its_own_tree_alone():
    model, images = ResNetDRT(2, word=4).eval(), torch.rand(2, 16, 32, 32) * 255
    first, second = (model(images, forest([ALL[0], ALL[last]])).logits for last in (3, 6))
    torch.testing.assert_close(first[0], second[0])
    assert not torch.allclose(first[1], second[1])


def test_one_tree_a_problem():
    with pytest.raises(ValueError, match="trees must be 2, one a problem, got 1"):
        ResNetDRT(2, word=4)(torch.rand(2, 16, 32, 32), forest([ALL[0]]))


# Learning


def test_only_the_tree_tells_equal_pictures_apart():
    """The same grey for all, and an answer that depends on the structure."""
    images, target = torch.full((7, 16, 32, 32), 99.0), torch.arange(7)
    trees = forest(ALL)

    def trained(model, *more):
        model.eval()  # norms have nothing to measure on one grey
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            optimiser.zero_grad()
            functional.cross_entropy(model(images, *more).logits, target).backward()
            optimiser.step()
        with torch.no_grad():
            return (model(images, *more).logits.argmax(1) == target).float().mean().item()

    assert trained(ResNetDRT(4, dropout=0.0, word=8), trees) > 0.99
    assert trained(PanelResNet(4, dropout=0.0)) < 0.2
