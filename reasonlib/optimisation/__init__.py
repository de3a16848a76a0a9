"""Optimisation: losses, activations and the optimisers that follow their slopes.

>>> import torch
>>> from reasonlib.optimisation.models import losses, optimisers
>>> point = torch.tensor([3.0], requires_grad=True)
>>> (slope,) = torch.autograd.grad(losses.huber(point, torch.zeros(1)), point)
>>> optimisers.GradientDescent(rate=0.5).step(point.detach(), slope)
tensor([2.5000])
"""
