"""What a spider finds: fields with values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any, ClassVar, Self

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface
from pydantic import BaseModel


class Field(dict[str, Any]):
    """One named value of an item, and what is known of it: ``Field(serializer=str, required=True)``."""


class Item(MutableMapping[str, Any]):
    """A mapping that takes only the fields its class declares. ``dict``, dataclass, attrs and pydantic items serve as well.

    Raises ``KeyError`` with the known fields for one that is not declared.
    """

    #: All fields by name, those of the base classes first.
    fields: ClassVar[dict[str, Field]] = {}
    _declared: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        for name in declared:
            delattr(cls, name)
        cls._declared = declared
        bases = [base for base in reversed(cls.__mro__) if issubclass(base, Item)]
        cls.fields = {name: field for base in bases for name, field in base._declared.items()}

    def __init__(self, /, *args: Any, **values: Any) -> None:
        given = dict(*args, **values)
        if not given.keys() <= self.fields.keys():
            raise self._unknown(next(name for name in given if name not in self.fields))
        self._values: dict[str, Any] = given

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise self._unknown(name)
        self._values[name] = value

    def _unknown(self, name: Any) -> KeyError:
        return KeyError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self.fields) or 'none'}")

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name in type(self).fields:
            raise AttributeError(f"use item[{name!r}] to read a field")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        # A value set as an attribute would never be stored, and nobody would hear of it.
        if not name.startswith("_"):
            raise AttributeError(f"use item[{name!r}] = ... to set a field")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and type(self) is type(other) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # a mapping that changes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values!r})"

    def copy(self) -> Self:
        """Another item with the same values."""
        return type(self)(self._values)

    __copy__ = copy

    def deepcopy(self) -> Self:
        """Another item with copies of the values."""
        return deepcopy(self)


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
        return self.item.fields.keys()

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
    ItemAdapter.ADAPTER_CLASSES.appendleft(OctopusItemAdapter)  # type: ignore[attr-defined]  # it is a deque, and meant for this


def is_item(found: object) -> bool:
    """Whether something that a callback yielded is an item."""
    return type(found) is dict or isinstance(found, Item) or ItemAdapter.is_item(found)


def to_dict(item: Any) -> dict[str, Any]:
    """The item's own fields and values; nested items stay as they are. Raises ``TypeError`` for what is no item."""
    if type(item) is dict:
        return item
    if isinstance(item, Item):
        return item._values
    if isinstance(item, BaseModel):  # itemadapter passes over the fields of extra="allow"
        values = item.__dict__
        return {name: values[name] for name in type(item).model_fields if name in values} | (item.model_extra or {})
    return dict(ItemAdapter(item))


def field_names(kind: type) -> list[str]:
    """The fields that an item class declares, in order; none for ``dict``."""
    return list(ItemAdapter.get_field_names_from_class(kind) or ()) if ItemAdapter.is_item_class(kind) else []


def serializers(kind: type) -> dict[str, Callable[[Any], Any]]:
    """What an item class has declared to be done to its values before they are stored: ``Field(serializer=...)``.

    Dataclasses and attrs classes say it in a field's ``metadata``, pydantic models in its ``json_schema_extra``.
    """
    found = {name: _serializer(ItemAdapter.get_field_meta_from_class(kind, name)) for name in field_names(kind)}
    return {name: serializer for name, serializer in found.items() if serializer is not None}


def _serializer(known: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    extra = known.get("json_schema_extra")
    return known.get("serializer") or (extra.get("serializer") if isinstance(extra, dict) else None)
