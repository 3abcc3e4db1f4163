"""The exception that the service turns into the body of an error answer (contract 3.1)."""

from __future__ import annotations

from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode, FieldProblem, ValidationBody

_AGAIN_SECONDS = "1"
"""Value of ``retry-after`` for SERVICE_UNAVAILABLE, in seconds."""

VendorsRefusal = tuple[str, dict[str, FieldProblem]]


class ServiceError(Exception):
    """Raised to answer a request with an error. ``fields`` describes the invalid fields of a 422
    answer. ``vendors`` is the code and the fields with which the public service reports this
    error."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        fields: dict[str, FieldProblem] | None = None,
        headers: dict[str, str] | None = None,
        vendors: VendorsRefusal | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = fields
        self.headers = headers or {}
        if code is ErrorCode.SERVICE_UNAVAILABLE:
            self.headers = {"retry-after": _AGAIN_SECONDS} | self.headers
        self.vendors = vendors

    @property
    def status(self) -> int:
        return STATUS_OF[self.code]

    def body(self, request_id: str, dialect: Dialect = Dialect.CONTRACT) -> ErrorBody:
        if self.status == 422:
            code, fields = str(self.code), self.fields or {}
            if dialect is Dialect.VENDOR and self.vendors is not None:
                code, fields = self.vendors
            named = {dialect.path(at): problem for at, problem in fields.items()}
            return ValidationBody(
                message=self.message, code=code, request_id=request_id, fields=named
            )
        return ErrorBody(message=self.message, code=self.code, request_id=request_id)


def invalid(
    field: str,
    message: str,
    value: object = None,
    *,
    vendors: VendorsRefusal | None = None,
) -> ServiceError:
    return ServiceError(
        ErrorCode.VALIDATION_ERROR,
        "Validation Failed",
        fields={field: FieldProblem(message=message, value=value)},
        vendors=vendors,
    )
