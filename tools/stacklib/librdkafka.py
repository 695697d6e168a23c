"""As much of librdkafka as giving rights takes. The services link it, so it is wherever they are."""

import ctypes

from .errors import StackError

LIBRARY = "librdkafka.so.1"
PRODUCER = 0
CREATE_ACLS = 9
TOPIC_OR_GROUP = {"topic": 2, "group": 3}
PATTERNS = {"literal": 3, "prefixed": 4}
OPERATIONS = {"read": 3, "write": 4, "create": 5, "describe": 8, "describeconfigs": 10}
ALLOW = 3
TEXT_SIZE = 512
PATIENCE_MS = 30000


class Handle(ctypes.c_void_p):
    """Whatever librdkafka hands out. Being a class of its own, ctypes leaves it the pointer that it is."""


# name → what it returns, where that is no number.
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
    """One connection to the brokers; used by one thread."""

    def __init__(self, settings):
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError:
            raise StackError(f"{LIBRARY} is missing: run tools/setup") from None
        self.why = ctypes.create_string_buffer(TEXT_SIZE)
        conf = self._call("rd_kafka_conf_new")
        for name, value in settings.items():
            if self._call("rd_kafka_conf_set", conf, name.encode(), str(value).encode(), self.why, self._size()) != 0:
                raise StackError(f"librdkafka refuses its setting {name}")  # its own words may quote a password
        self.handle = self._must("rd_kafka_new", PRODUCER, conf, self.why, self._size())
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
            raise StackError(f"Kafka's client: {self.why.value.decode(errors='replace')}")
        return result

    def give(self, rights):
        """rights: (user, operation, kind, name, pattern) each. Whoever has one already keeps it."""
        bindings = [self._binding(*right) for right in rights]
        array = (Handle * len(bindings))(*bindings)
        options = self._call("rd_kafka_AdminOptions_new", self.handle, CREATE_ACLS)
        self._call("rd_kafka_AdminOptions_set_request_timeout", options, PATIENCE_MS, self.why, self._size())
        self._call("rd_kafka_CreateAcls", self.handle, array, ctypes.c_size_t(len(bindings)), options, self.queue)
        event = self._call("rd_kafka_queue_poll", self.queue, PATIENCE_MS + 5000)
        if not event or self._call("rd_kafka_event_error", event) != 0:
            words = self._call("rd_kafka_event_error_string", event).decode() if event else "no answer"
            raise StackError(f"Kafka gives no rights: {words}")
        self._judge(event, rights)

    def _binding(self, user, operation, kind, name, pattern):
        try:
            what, how, may = TOPIC_OR_GROUP[kind], PATTERNS[pattern], OPERATIONS[operation]
        except KeyError as unknown:
            raise StackError(f"a right that nobody knows here: {unknown}") from None
        who = f"User:{user}".encode()
        return self._must("rd_kafka_AclBinding_new", what, name.encode(), how, who, b"*", may, ALLOW, self.why, self._size())

    def _judge(self, event, rights):
        count = ctypes.c_size_t()
        result = self._call("rd_kafka_event_CreateAcls_result", event)
        answers = self._call("rd_kafka_CreateAcls_result_acls", result, ctypes.byref(count))
        for right, answer in zip(rights, answers[: count.value]):
            error = self._call("rd_kafka_acl_result_error", answer)
            if error:
                raise StackError(f"Kafka refuses {' '.join(right)}: {self._call('rd_kafka_error_string', error).decode()}")

    def close(self):
        self._call("rd_kafka_queue_destroy", self.queue)
        self._call("rd_kafka_destroy", self.handle)
