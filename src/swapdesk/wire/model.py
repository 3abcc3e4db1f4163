"""Base classes of all models on the wire.

A response ignores fields that it does not know, because fields are added over time (contract 1.7).
A request body or a parameter set refuses unknown names (contract 1.6).

Modules that define models do not use ``from __future__ import annotations``, because pydantic would
then compile and evaluate the text of every field at every start.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from swapdesk.wire.encoding.parse_cache import PARTS


class WireModel(BaseModel):
    """A response object. A field that is None is written only if its name is in ``NULLABLE``.
    ``REQUIRED`` lists the wire names of the fields that the specification requires; None means all
    fields that are always written."""

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        defer_build=True,
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        hide_input_in_errors=True,
    )

    NULLABLE: ClassVar[frozenset[str]] = frozenset()
    SHARED: ClassVar[frozenset[str]] = frozenset()
    REQUIRED: ClassVar[frozenset[str] | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.SHARED:
            PARTS.expect(to_camel(name))

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {k: v for k, v in written.items() if v is not None or k in self.NULLABLE}


class RequestModel(BaseModel):
    """A request body or a set of parameters, which refuses unknown names."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,
        alias_generator=to_camel,
        populate_by_name=True,
        serialize_by_alias=True,
        hide_input_in_errors=True,
    )
