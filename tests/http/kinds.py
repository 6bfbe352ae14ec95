"""Classes of a project whose objects wait in a queue."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Any, Generic, TypeVar

import attrs
from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic import Field as ModelField

from openoctopus.items import Field, Item


class Colour(Enum):
    RED = "red"
    ROT = RED
    PAIR = (1, "two")


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    A = "a"


class Right(Flag):
    READ = 1
    WRITE = 2


class Book(Item):
    title = Field()
    price = Field()


class CountedBook(Book):
    pages = Field()


Renamed = type("Hidden", (Item,), {})


@dataclass
class Point:
    x: Any
    y: Any = 0
    made: list[str] = field(default_factory=list)
    scale: InitVar[int] = 1

    def __post_init__(self, scale: int) -> None:
        self.made.append("made")
        self.x = self.x if scale == 1 else self.x * scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    name: str
    derived: str = field(init=False, default="d")


@attrs.frozen
class Shop:
    name: str
    _hidden: int = 1
    length: int = attrs.field(init=False, default=5)


class Outer:
    @dataclass
    class Inner:
        value: Any


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    number: int = ModelField(alias="Number")
    nested: Any = None
    _private: int = PrivateAttr(default=1)


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


IntBox = Box[int]


class Mapped(dict[str, Any]):
    """A dict of its own kind, which is no item class."""


class Plain:
    """No item at all."""


def local_point() -> Any:
    @dataclass
    class Local:
        x: int

    return Local(1)
