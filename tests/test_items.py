from __future__ import annotations

import copy
import dataclasses
import json
from decimal import Decimal
from typing import Any

import attrs
import pydantic
import pytest
from itemadapter import ItemAdapter

from openoctopus.http import Request
from openoctopus.items import Field, Item, field_names, is_item, serializers, to_dict


class Book(Item):
    title = Field(required=True)
    price = Field(serializer=str)
    tags = Field()


@dataclasses.dataclass
class Song:
    name: str
    length: int = dataclasses.field(default=0, metadata={"serializer": str})


@attrs.define
class Tag:
    word: str
    count: int = attrs.field(default=0, metadata={"serializer": str})


class Film(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    name: str
    length: int = pydantic.Field(default=0, json_schema_extra={"serializer": str})


def test_an_item_is_a_mapping_of_its_fields() -> None:
    book = Book(title="Walden", price=5)
    book["tags"] = ["a"]
    del book["price"]

    assert dict(book) == {"title": "Walden", "tags": ["a"]}
    assert len(book) == 2
    assert book.get("price", "none") == "none"
    assert book == Book({"title": "Walden"}, tags=["a"])
    assert book != {"title": "Walden", "tags": ["a"]}
    assert repr(book) == "Book({'title': 'Walden', 'tags': ['a']})"


@pytest.mark.parametrize("given", [{"titel": 1}, {"title": 1, "titel": 2}])
def test_a_field_that_is_not_declared_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(KeyError, match="Book has no field 'titel'; it has title, price, tags"):
        Book(**given)
    with pytest.raises(KeyError, match="titel"):
        Book(given)
    with pytest.raises(KeyError, match="titel"):
        Book()["titel"] = 1


def test_a_field_that_is_not_set_is_missing() -> None:
    with pytest.raises(KeyError, match="title"):
        Book()["title"]


def test_a_field_is_no_attribute() -> None:
    book = Book(title="Walden")

    with pytest.raises(AttributeError, match=r"use item\['title'\] to read a field"):
        _ = book.title
    with pytest.raises(AttributeError, match="Book has no attribute 'author'"):
        _ = book.author
    with pytest.raises(AttributeError, match=r"use item\['title'\] = ... to set a field"):
        book.title = "x"
    with pytest.raises(AttributeError, match=r"use item\['author'\] = ... to set a field"):
        book.author = "never stored"


def test_fields_are_inherited_from_all_bases() -> None:
    class Priced(Item):
        price = Field(unit="EUR")

    class Named(Item):
        name = Field()
        price = Field(unit="USD")

    class Product(Priced, Named):
        stock = Field()

    class Sale(Product):
        price = Field(unit="GBP")

    assert list(Product.fields) == ["name", "price", "stock"]
    assert Product.fields["price"] == {"unit": "EUR"}
    assert Sale.fields["price"] == {"unit": "GBP"}
    assert list(Priced.fields) == ["price"]


def test_a_class_in_between_does_not_undo_an_override() -> None:
    class Base(Item):
        x = Field(n=1)

    class Left(Base):
        y = Field()

    class Right(Base):
        x = Field(n=2)

    class Both(Left, Right):
        pass

    assert Both.fields["x"] == {"n": 2}


def test_a_field_may_have_any_name() -> None:
    class Odd(Item):
        fields = Field()
        keys = Field()
        self = Field()
        copy = Field()

    odd = Odd(fields=1, keys=2, self=3, copy=4)

    assert dict(odd) == {"fields": 1, "keys": 2, "self": 3, "copy": 4}
    assert dict(odd.copy()) == dict(odd)


def test_copies_are_independent() -> None:
    book = Book(title="Walden", tags=["a"])
    for other in (book.copy(), copy.copy(book), book.deepcopy(), copy.deepcopy(book), Book(book)):
        other["title"] = "other"
        assert type(other) is Book
    book.deepcopy()["tags"].append("b")

    assert dict(book) == {"title": "Walden", "tags": ["a"]}


def test_an_item_does_not_share_the_mapping_it_is_made_of() -> None:
    given = {"title": "Walden"}
    Book(given)["title"] = "x"

    assert given == {"title": "Walden"}


def test_an_item_cannot_be_hashed() -> None:
    with pytest.raises(TypeError):
        hash(Book())


@pytest.mark.parametrize("item", [{}, Book(), Song("a"), Tag("a"), Film(name="a")], ids=lambda item: type(item).__name__)
def test_these_are_items(item: Any) -> None:
    assert is_item(item)


@pytest.mark.parametrize("other", [None, "text", 5, [], [{}], Book, Song, Request("http://example.com/")], ids=repr)
def test_these_are_none(other: Any) -> None:
    assert not is_item(other)


@pytest.mark.parametrize(
    ("item", "values"),
    [
        ({"a": 1}, {"a": 1}),
        (Book(price=Decimal(1)), {"price": Decimal(1)}),
        (Song("a", 2), {"name": "a", "length": 2}),
        (Tag("a"), {"word": "a", "count": 0}),
        (Film(name="a", more=[Song("b")]), {"name": "a", "length": 0, "more": [Song("b")]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_item_gives_its_own_values(item: Any, values: dict[str, Any]) -> None:
    assert to_dict(item) == values


def test_what_is_no_item_has_no_values() -> None:
    with pytest.raises(TypeError):
        to_dict([1])


def test_classes_tell_their_fields_and_serializers() -> None:
    assert field_names(dict) == []
    assert field_names(int) == []
    assert [field_names(kind) for kind in (Book, Song, Tag, Film)] == [
        ["title", "price", "tags"], ["name", "length"], ["word", "count"], ["name", "length"],
    ]  # fmt: skip
    assert [serializers(kind) for kind in (dict, Book, Song, Tag, Film)] == [
        {}, {"price": str}, {"length": str}, {"count": str}, {"length": str},
    ]  # fmt: skip


def test_itemadapter_knows_our_items() -> None:
    book = Book(title="Walden")
    adapter = ItemAdapter(book)
    adapter["price"] = 5
    del adapter["title"]

    assert list(adapter.field_names()) == ["title", "price", "tags"]
    assert adapter.get_field_meta("title") == {"required": True}
    assert dict(book) == {"price": 5}
    assert json.dumps(adapter.asdict()) == '{"price": 5}'
    with pytest.raises(KeyError):
        adapter["titel"] = 1
