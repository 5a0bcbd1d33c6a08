"""Flight SQL's messages, as far as they are spoken here.

Names and field numbers are those of the public protocol (arrow.apache.org/docs/format/FlightSql and
Flight). They are written down as proto2, in which every field knows whether it is there; on the
wire that is the same. They live in a pool of their own, beside whatever else has loaded Flight's.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as Wrapped
from google.protobuf.message import DecodeError, Message

SQL, FLIGHT = "arrow.flight.protocol.sql", "arrow.flight.protocol"
_STATEMENT = "query string 1, transaction_id bytes 2"
_PREPARED = "prepared_statement_handle bytes 1"
_TABLE = "catalog string 1, db_schema string 2, table string 3"

_SPOKEN = {
    SQL: {
        "CommandGetSqlInfo": "info uint32* 1",
        "CommandGetXdbcTypeInfo": "data_type int32 1",
        "CommandGetCatalogs": "",
        "CommandGetDbSchemas": "catalog string 1, db_schema_filter_pattern string 2",
        "CommandGetTables": "catalog string 1, db_schema_filter_pattern string 2,"
        " table_name_filter_pattern string 3, table_types string* 4, include_schema bool 5",
        "CommandGetTableTypes": "",
        "CommandGetPrimaryKeys": _TABLE,
        "CommandGetExportedKeys": _TABLE,
        "CommandGetImportedKeys": _TABLE,
        "CommandGetCrossReference": "pk_catalog string 1, pk_db_schema string 2, pk_table string 3,"
        " fk_catalog string 4, fk_db_schema string 5, fk_table string 6",
        "ActionCreatePreparedStatementRequest": _STATEMENT,
        "ActionCreatePreparedStatementResult": f"{_PREPARED}, dataset_schema bytes 2,"
        " parameter_schema bytes 3",
        "ActionClosePreparedStatementRequest": _PREPARED,
        "CommandStatementQuery": _STATEMENT,
        "CommandStatementUpdate": _STATEMENT,
        "CommandPreparedStatementQuery": _PREPARED,
        "CommandPreparedStatementUpdate": _PREPARED,
        "TicketStatementQuery": "statement_handle bytes 1",
        "DoPutUpdateResult": "record_count int64 1",
        "DoPutPreparedStatementResult": _PREPARED,
        "ActionCancelQueryRequest": "info bytes 1",
        "ActionCancelQueryResult": "result int32 1",
    },
    FLIGHT: {
        "CancelFlightInfoRequest": "info bytes 1",  # a FlightInfo, left serialized
        "CancelFlightInfoResult": "status int32 1",
        "SessionOptionValue": "string_value string 1, bool_value bool 2, int64_value sfixed64 3,"
        " double_value double 4",
        "SessionOption": "key string 1, value .SessionOptionValue 2",  # an entry of a map
        "SetSessionOptionsRequest": "session_options .SessionOption* 1",
        "SessionOptionError": "value int32 1",
        "SessionOptionFailure": "key string 1, value .SessionOptionError 2",  # an entry of a map
        "SetSessionOptionsResult": "errors .SessionOptionFailure* 1",
        "GetSessionOptionsResult": "session_options .SessionOption* 1",
        "CloseSessionResult": "status int32 1",
    },
}

_FIELD = descriptor_pb2.FieldDescriptorProto


def _file(package: str, messages: dict[str, str]) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.spoken", package=package)
    for name, fields in messages.items():
        message_type = file.message_type.add(name=name)
        for field in filter(None, fields.split(", ")):
            of, kind, number = field.split()
            many = kind.endswith("*")
            label = _FIELD.LABEL_REPEATED if many else _FIELD.LABEL_OPTIONAL
            added = message_type.field.add(name=of, number=int(number), label=label)
            if kind.startswith("."):
                added.type, added.type_name = _FIELD.TYPE_MESSAGE, f".{package}{kind.strip('*')}"
            else:
                added.type = getattr(_FIELD, f"TYPE_{kind.strip('*').upper()}")
    return file


_POOL = descriptor_pool.DescriptorPool()
for _package, _messages in _SPOKEN.items():
    _POOL.Add(_file(_package, _messages))
_CLASSES: dict[str, Any] = {
    f"{package}.{name}": message_factory.GetMessageClass(
        _POOL.FindMessageTypeByName(f"{package}.{name}")
    )
    for package, messages in _SPOKEN.items()
    for name in messages
}


def message(name: str, /, package: str = SQL, **fields: Any) -> Any:
    """Returns a new message of that name with these fields set."""
    return _CLASSES[f"{package}.{name}"](**fields)


def wrap(name: str, /, **fields: Any) -> bytes:
    """Returns a message inside google.protobuf.Any, serialized: how Flight SQL carries commands."""
    any_ = Wrapped()
    any_.Pack(message(name, **fields))
    serialized: bytes = any_.SerializeToString()
    return serialized


def unwrap(data: bytes) -> tuple[str, Any]:
    """Returns the name and the message inside an Any; the message is None for a name not spoken.

    Raises:
        ValueError: The bytes are none of that.
    """
    any_ = Wrapped()
    _parse(any_, data)
    package, _, name = any_.type_url.rpartition("/")[2].rpartition(".")
    if package != SQL or f"{package}.{name}" not in _CLASSES:
        return name, None
    inner = message(name)
    _parse(inner, any_.value)
    return name, inner


def unwrap_as(body: bytes, wanted: str) -> Any:
    """Returns the command that the bytes hold.

    Raises:
        ValueError: It is not the one of that name.
    """
    name, command = unwrap(body)
    if name != wanted:
        raise ValueError(f"the message is no {wanted}")
    return command


def parse(name: str, data: bytes, package: str = FLIGHT) -> Any:
    """Returns the bare message of that name that the bytes hold.

    Raises:
        ValueError: They hold none.
    """
    parsed = message(name, package)
    _parse(parsed, data)
    return parsed


def _parse(into: Message, data: bytes) -> None:
    try:
        into.ParseFromString(data)
    except DecodeError:
        raise ValueError("the bytes are no message of Flight SQL") from None
    for field, value in into.ListFields():  # proto2 hands out text that is no UTF-8 as bytes
        if field.type == _FIELD.TYPE_STRING and not _is_text(value):
            raise ValueError(f"{field.name} is not UTF-8")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or all(isinstance(each, str) for each in value)
