"""Networks whose norms differ from those that a network begins with."""


def unsettle(model):
    """Give the norms other statistics and weights, and return the model in evaluation mode."""
    for name, tensor in [*model.named_buffers(), *model.named_parameters()]:
        if "mean" in name:
            tensor.data.normal_(0, 0.3)
        elif "var" in name:
            tensor.data.uniform_(0.5, 2)
        elif tensor.ndim == 1:
            tensor.data.uniform_(0.5, 1.5)
    return model.eval()
