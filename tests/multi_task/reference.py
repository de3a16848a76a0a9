"""The stochastic answer network written again from its equations, one example and one step at a time.

An independent reference: loops and plain matrix products, no masks, no einsum, a GRU from its gates.
"""

import torch


def softmax(values):
    shifted = (values - values.max()).exp()
    return shifted / shifted.sum()


def gru(weights, x, state):
    """One step of a gated recurrent unit: reset, update, new."""
    of_x = weights["cell.weight_ih"] @ x + weights["cell.bias_ih"]
    of_state = weights["cell.weight_hh"] @ state + weights["cell.bias_hh"]
    (xr, xz, xn), (sr, sz, sn) = of_x.chunk(3), of_state.chunk(3)
    reset, update = torch.sigmoid(xr + sr), torch.sigmoid(xz + sz)
    new = torch.tanh(xn + reset * sn)
    return (1 - update) * new + update * state


def answer(weights, premise, hypothesis, steps):
    """Predict from vectors of the premise (m, D) and the hypothesis (n, D); return the mean and each step."""
    alpha = softmax(torch.stack([weights["summary.weight"][0] @ word for word in hypothesis]))
    state = sum(a * word for a, word in zip(alpha, hypothesis, strict=True))
    predictions = []
    for _ in range(steps):
        query = weights["attend.weight"] @ state + weights["attend.bias"]
        beta = softmax(torch.stack([query @ word for word in premise]))
        read = sum(b * word for b, word in zip(beta, premise, strict=True))
        features = torch.cat([state, read, (state - read).abs(), state * read])
        predictions.append(softmax(weights["classify.weight"] @ features + weights["classify.bias"]))
        state = gru(weights, read, state)
    return sum(predictions) / steps, torch.stack(predictions)
