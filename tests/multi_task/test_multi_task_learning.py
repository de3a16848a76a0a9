"""What must be learned: the heads solve small tasks, and a helper task carries over what its target lacks."""

import pytest
import torch

from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.multi_task.experiments.train import Recipe, evaluate, train
from reasonlib.multi_task.models.answer_network import AnswerConfig, AnswerNetwork


def test_sentiment_is_learnt_from_few_examples():
    split = load_simulated("sentiment", train=600, valid=60, test=200)
    trained = train(Recipe(lr=2e-3, epochs=6, longest=64), [split], seed=0)
    assert evaluate(trained.model, trained.tokenizer, split.task, split.test)["accuracy"] > 0.7


@pytest.mark.slow
def test_a_small_task_learns_from_a_large_related_one():
    """The bundled encoder compares two sentences, so that what inference teaches serves entailment."""
    entailment = load_simulated("entailment", train=120)
    inference = load_simulated("inference", train=2000)
    recipe = Recipe(lr=1e-3, epochs=4, least_steps=60, longest=64)
    accuracy = []
    for splits in ([entailment], [entailment, inference]):
        trained = train(recipe, splits, seed=0)
        scores = evaluate(trained.model, trained.tokenizer, entailment.task, entailment.test, longest=64)
        accuracy.append(scores["accuracy"])
    alone, together = accuracy
    assert together > 0.75 > alone


def copying_task(rows, *, seed):
    """Vectors of a premise and a hypothesis: is the hypothesis' marked vector among the premise's?"""
    draw = torch.Generator().manual_seed(seed)
    kinds = torch.randn(12, 16, generator=torch.Generator().manual_seed(0))
    order = torch.stack([torch.randperm(12, generator=draw) for _ in range(rows)])
    premise, outside = order[:, :6], order[:, 6]
    labels = torch.randint(2, (rows,), generator=draw)
    inside = premise[torch.arange(rows), torch.randint(6, (rows,), generator=draw)]
    query = torch.where(labels.bool(), inside, outside)
    states = torch.cat([kinds[premise], kinds[query][:, None]], 1)
    first, second = torch.ones(rows, 7).bool(), torch.zeros(rows, 7).bool()
    first[:, 6], second[:, 6] = False, True
    return states, first, second, labels


def test_the_answer_network_reads_the_premise_and_a_linear_head_on_the_hypothesis_cannot():
    torch.manual_seed(0)
    network = AnswerNetwork(AnswerConfig(width=16, classes=2, dropout=0.0, answer_dropout=0.0))
    linear = torch.nn.Linear(16, 2)
    states, first, second, labels = copying_task(1024, seed=1)
    optimiser = torch.optim.Adam([*network.parameters(), *linear.parameters()], lr=1e-2)
    for _ in range(150):
        optimiser.zero_grad()
        loss = torch.nn.functional.nll_loss(network(states, first, second).log_probabilities, labels)
        loss = loss + torch.nn.functional.cross_entropy(linear(states[:, 6]), labels)
        loss.backward()
        optimiser.step()
    states, first, second, labels = copying_task(500, seed=2)
    network.eval()
    with torch.no_grad():
        answers = network(states, first, second).log_probabilities.argmax(1)
        plain = linear(states[:, 6]).argmax(1)
    assert (answers == labels).float().mean() > 0.9 > 0.75 > (plain == labels).float().mean()
