"""The one exception whose text is meant for the person at the keyboard."""


class StackError(Exception):
    pass
