"""The exception whose text is shown to the user."""


class StackError(Exception):
    pass
