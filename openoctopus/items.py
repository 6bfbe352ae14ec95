"""What a spider finds: fields with values."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface


class Field(dict[str, Any]):
    """One named value of an item, and what is known of it: ``Field(serializer=str, required=True)``."""


class Item(MutableMapping[str, Any]):
    """A mapping that takes only the fields its class declares. ``dict``, dataclass, attrs and pydantic items serve as well.

    Raises ``KeyError`` with the known fields for one that is not declared.
    """

    fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls.fields = {**cls.fields, **declared}
        for name in declared:
            delattr(cls, name)

    def __init__(self, *args: Any, **values: Any) -> None:
        self._values: dict[str, Any] = {}
        self.update(*args, **values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise KeyError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self.fields) or 'none'}")
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name in type(self).fields:
            raise AttributeError(f"use item[{name!r}] to read a field")
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).fields:
            raise AttributeError(f"use item[{name!r}] = ... to set a field")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == other._values if isinstance(other, Item) else False

    __hash__ = None  # type: ignore[assignment]  # a mapping that changes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"

    def copy(self) -> Item:
        return type(self)(self._values)


class OctopusItemAdapter(AdapterInterface):
    """Lets ``itemadapter`` know our ``Item``."""

    item: Item

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, Item)

    @classmethod
    def get_field_meta_from_class(cls, item_class: type, field_name: str) -> Any:
        return item_class.fields.get(field_name, Field())  # type: ignore[attr-defined]

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        return list(item_class.fields)  # type: ignore[attr-defined]

    def field_names(self) -> Any:
        return self.item.keys()

    def __getitem__(self, name: str) -> Any:
        return self.item[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.item[name] = value

    def __delitem__(self, name: str) -> None:
        del self.item[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.item)

    def __len__(self) -> int:
        return len(self.item)


if OctopusItemAdapter not in ItemAdapter.ADAPTER_CLASSES:
    ItemAdapter.ADAPTER_CLASSES.appendleft(OctopusItemAdapter)


def is_item(found: object) -> bool:
    """Whether something that a callback yielded is an item."""
    return type(found) is dict or isinstance(found, Item) or ItemAdapter.is_item(found)


def to_dict(item: Any) -> dict[str, Any]:
    """The item's own fields and values; nested items stay as they are."""
    if type(item) is dict:
        return item
    if isinstance(item, Item):
        return item._values
    return dict(ItemAdapter(item))
