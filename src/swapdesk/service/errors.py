"""How the service says no: one exception that becomes the error body (contract 3.1)."""

from __future__ import annotations

from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode, FieldProblem, ValidationBody


class ServiceError(Exception):
    """An answer other than success. ``fields`` belongs to 422 bodies; ``headers`` go with it.
    ``vendors`` is the same refusal as the public service makes it, told in its dialect."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        fields: dict[str, FieldProblem] | None = None,
        headers: dict[str, str] | None = None,
        vendors: ServiceError | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = fields
        self.headers = headers or {}
        self.vendors = vendors

    @property
    def status(self) -> int:
        return STATUS_OF[self.code]

    def body(self, request_id: str) -> ErrorBody:
        """The body on the wire; every 422 carries ``fields``, if only an empty object."""
        if self.status == 422:
            return ValidationBody(
                message=self.message,
                code=self.code,
                request_id=request_id,
                fields=self.fields or {},
            )
        return ErrorBody(message=self.message, code=self.code, request_id=request_id)


def invalid(field: str, message: str, value: object = None) -> ServiceError:
    """A 422 VALIDATION_ERROR about one input."""
    return ServiceError(
        ErrorCode.VALIDATION_ERROR,
        "Validation Failed",
        fields={field: FieldProblem(message=message, value=value)},
    )
