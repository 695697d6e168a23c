"""The part of librdkafka that creates ACLs. The services link the library, so it is installed."""

import ctypes

from .errors import StackError
from .state import TIMEOUT_S

LIBRARY = "librdkafka.so.1"
PRODUCER = 0
CREATE_ACLS = 9
TOPIC_OR_GROUP = {"topic": 2, "group": 3}
PATTERNS = {"literal": 3, "prefixed": 4}
OPERATIONS = {"read": 3, "write": 4, "create": 5, "describe": 8, "describeconfigs": 10}
ALLOW = 3
TEXT_SIZE = 512


class Handle(ctypes.c_void_p):
    """A pointer from librdkafka. ctypes would convert a plain c_void_p to an integer."""


# Function → result type, where it is not an int.
RESULTS = {
    "rd_kafka_conf_new": Handle,
    "rd_kafka_new": Handle,
    "rd_kafka_queue_new": Handle,
    "rd_kafka_queue_poll": Handle,
    "rd_kafka_AclBinding_new": Handle,
    "rd_kafka_AdminOptions_new": Handle,
    "rd_kafka_event_error_string": ctypes.c_char_p,
    "rd_kafka_event_CreateAcls_result": Handle,
    "rd_kafka_CreateAcls_result_acls": ctypes.POINTER(Handle),
    "rd_kafka_acl_result_error": Handle,
    "rd_kafka_error_string": ctypes.c_char_p,
}


class Client:
    """A connection to the brokers. One thread at a time."""

    def __init__(self, settings):
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise StackError(f"{LIBRARY} is missing: run tools/setup") from None
        self.error_buffer = ctypes.create_string_buffer(TEXT_SIZE)
        conf = self._call("rd_kafka_conf_new")
        for name, value in settings.items():
            if self._call("rd_kafka_conf_set", conf, name.encode(), str(value).encode(), self.error_buffer, self._size()) != 0:
                raise StackError(f"librdkafka rejects its setting {name}")  # its own message could quote a password
        self.handle = self._must("rd_kafka_new", PRODUCER, conf, self.error_buffer, self._size())
        self.queue = self._call("rd_kafka_queue_new", self.handle)

    def _size(self):
        return ctypes.c_size_t(TEXT_SIZE)

    def _call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = RESULTS.get(name, ctypes.c_int)
        return function(*arguments)

    def _must(self, name, *arguments):
        result = self._call(name, *arguments)
        if not result:
            raise StackError(f"librdkafka: {self.error_buffer.value.decode(errors='replace')}")
        return result

    def create_acls(self, rights):
        """rights are tuples (user, operation, kind, name, pattern). Existing ones stay."""
        bindings = [self._binding(*right) for right in rights]
        array = (Handle * len(bindings))(*bindings)
        options = self._call("rd_kafka_AdminOptions_new", self.handle, CREATE_ACLS)
        self._call("rd_kafka_AdminOptions_set_request_timeout", options, TIMEOUT_S * 1000, self.error_buffer, self._size())
        self._call("rd_kafka_CreateAcls", self.handle, array, ctypes.c_size_t(len(bindings)), options, self.queue)
        event = self._call("rd_kafka_queue_poll", self.queue, TIMEOUT_S * 1000 + 5000)
        if not event or self._call("rd_kafka_event_error", event) != 0:
            error = self._call("rd_kafka_event_error_string", event).decode() if event else "no response"
            raise StackError(f"cannot create ACLs in Kafka: {error}")
        self._check_results(event, rights)

    def _binding(self, user, operation, kind, name, pattern):
        try:
            resource, matching, action = TOPIC_OR_GROUP[kind], PATTERNS[pattern], OPERATIONS[operation]
        except KeyError as unknown:
            raise StackError(f"unknown word in deploy/kafka-rights.conf: {unknown}") from None
        principal = f"User:{user}".encode()
        return self._must("rd_kafka_AclBinding_new", resource, name.encode(), matching, principal, b"*", action, ALLOW, self.error_buffer, self._size())

    def _check_results(self, event, rights):
        count = ctypes.c_size_t()
        result = self._call("rd_kafka_event_CreateAcls_result", event)
        results = self._call("rd_kafka_CreateAcls_result_acls", result, ctypes.byref(count))
        for right, each in zip(rights, results[: count.value]):
            error = self._call("rd_kafka_acl_result_error", each)
            if error:
                raise StackError(f"Kafka rejects the ACL {' '.join(right)}: {self._call('rd_kafka_error_string', error).decode()}")

    def close(self):
        self._call("rd_kafka_queue_destroy", self.queue)
        self._call("rd_kafka_destroy", self.handle)
