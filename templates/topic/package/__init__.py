"""TOPIC: one line that says what it is about.

>>> from reasonlib.TOPIC.data.simulator import simulate
>>> simulate(1, seed=0, length=5)[0].answer
1
"""
