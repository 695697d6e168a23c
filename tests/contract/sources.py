"""Which strings each program can use: the C sources as a graph of functions, macros and constants that name one another."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|[{};]|.', re.S)
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|/\*.*?\*/|//[^\n]*', re.S)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\.)*)", re.M | re.S)
FUNCTION = re.compile(r"(\w+)\s*\([^{]*\)\s*$", re.S)
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=", re.S)


class Definition:
    """A function, a macro or a constant."""

    def __init__(self, name, body, is_local, is_macro=False):
        tokens = TOKEN.findall(body)
        self.name, self.is_local, self.is_macro = name, is_local, is_macro
        self.text = body
        self.names = {token for token in tokens if token[0].isalpha() or token[0] == "_"}
        self.literals = {token[1:-1] for token in tokens if token[0] == '"'}
        self.parts = [token for token in tokens if token[0] == '"' or token.isupper() or "_" in token or token in (",", ";")]


def definitions(text, is_header):
    """All definitions of one file."""
    text = COMMENT.sub(lambda found: found[1] or " ", text)
    for name, body in MACRO.findall(text):
        yield Definition(name, body.replace("\\\n", " "), not is_header, True)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", "", text, flags=re.M | re.S)
    chunk, head, depth = [], None, 0
    for token in TOKEN.findall(text):
        chunk.append(token)
        if token == "{":
            head = "".join(chunk[:-1]) if depth == 0 else head
            depth += 1
        elif token == "}":
            depth -= 1
        if depth == 0 and (token == ";" or (token == "}" and head is not None and FUNCTION.search(head))):
            whole = "".join(chunk)
            named = FUNCTION.search(head) if head is not None and token == "}" else VARIABLE.search(whole)
            if named:
                yield Definition(named[1], whole, "static" in (head or whole).split() and not is_header)
            chunk, head = [], None


@functools.cache
def read(path):
    return list(definitions(path.read_text(), path.suffix == ".h"))


class Program:
    """All definitions that main() of a program can reach."""

    def __init__(self, *folders):
        paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.[ch]"))
        self.shared, self.of_file = {}, {}
        for path in paths:
            own = self.of_file.setdefault(path, {})
            for each in read(path):
                (own if each.is_local else self.shared).setdefault(each.name, []).append((path, each))
        self.reached = self._reach()

    def _reach(self):
        waiting, seen = list(self.shared["main"]), set()
        while waiting:
            path, definition = waiting.pop()
            if (path, definition) in seen:
                continue
            seen.add((path, definition))
            for name in definition.names:
                waiting += self.of_file[path].get(name) or self.shared.get(name, [])
        return seen

    def strings_of(self, path, definition, inside=()):
        """The strings of a definition, joined as the compiler joins them. The macros among them are replaced."""
        text = ""
        for part in definition.parts:
            if part[0] == '"':
                text += part[1:-1].replace("\\n", "\n").replace('\\"', '"')
            elif part in (",", ";"):
                yield text
                text = ""
            elif part not in inside:
                text += self._macro(path, part, (*inside, part))
        yield text

    def _macro(self, path, name, inside):
        found = [each for each in self.of_file[path].get(name) or self.shared.get(name, []) if each[1].is_macro]
        return "".join(text for where, each in found[:1] for text in self.strings_of(where, each, inside))
