"""Settings of a row become the fields of a config."""

from dataclasses import dataclass

from reasonlib.training.settings import select_fields


@dataclass
class Config:
    width: int = 3
    hops: int = 1


def test_fields_are_selected_and_the_rest_is_left():
    assert select_fields(Config, {"width": 5, "tasks": (1,)}) == {"width": 5}
    assert Config(**select_fields(Config, {"epochs": 2})) == Config()
