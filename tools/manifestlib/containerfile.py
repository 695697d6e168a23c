"""deploy/images/Containerfile: what ends up in an image, and what its build relies on."""

import re

from . import tree

FILE = "deploy/images/Containerfile"
USER = "USER 65532:65532"
LABELS = ("title", "description", "version", "revision", "licenses", "vendor")


def instructions(text):
    """(stage, word, rest) of each instruction; stages count from 0, what stands before the first is -1."""
    stage, found = -1, []
    lines = re.sub(r"^\s*#.*\n", "", text, flags=re.M)
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.strip().partition(" ")
        stage += word == "FROM"
        found.append((stage, word, rest.strip()))
    return found


def sources(text):
    """(source, target) of what is copied from the tree."""
    for _, word, rest in instructions(text):
        if word == "COPY" and not rest.startswith("--from"):
            *names, target = rest.split()
            yield from ((name, target) for name in names)


def check_last_stage(found):
    last = max(stage for stage, _, _ in found)
    said = [(word, rest) for stage, word, rest in found if stage == last]
    if said[0] != ("FROM", "scratch"):
        yield f"the last stage begins with {said[0][1]}, not with scratch"
    for word, rest in said:
        if word in ("RUN", "ADD") or word == "COPY" and not rest.startswith("--from="):
            yield f"the last stage takes more than what was assembled: {word} {rest}"
    if tuple(USER.split()) not in said:
        yield f"the last stage has no {USER}"
    if not any(word == "ENTRYPOINT" and rest.startswith("[") for word, rest in said):
        yield "the last stage has no ENTRYPOINT as a list, and there is no shell"
    labels = " ".join(rest for word, rest in said if word == "LABEL")
    yield from (f"there is no label org.opencontainers.image.{name}" for name in LABELS if f"org.opencontainers.image.{name}=" not in labels)


def check_sources(found):
    text = "\n".join(f"{word} {rest}" for _, word, rest in found)
    for name, _ in sources(text):
        if name == "." or not (tree.ROOT / name).exists():
            yield f"COPY {name}: name what is needed, and it must be there"


def check_variables(found):
    known = set()
    for _, word, rest in found:
        if word == "FROM" and "${BASE}" not in rest:
            known = set()
        missing = set(re.findall(r"\$\{(\w+)", rest)) - known - ({"BASE"} if word == "FROM" else set())
        yield from (f"{word} {rest}: no ARG {name} in this stage" for name in sorted(missing))
        if word in ("ARG", "ENV"):
            known.add(re.match(r"\w+", rest).group())
            if re.search("PASSWORD|SECRET|TOKEN|KEY", rest):
                yield f"{word} {rest}: what is secret stays in the image's history"


def check_steps(found):
    for _, word, rest in found:
        if word == "ADD":
            yield f"ADD {rest}: COPY says what it does"
        if word == "RUN" and re.search(r"\b(apt|apt-get|curl|wget)\b", rest):
            yield f"RUN {rest}: list packages in tools/packages.txt, and tools/setup gets it"
        if word == "ARG" and rest.startswith("BASE=") and not re.search(r":[0-9a-z.-]*[0-9][0-9a-z.-]*$", rest):
            yield f"ARG {rest}: no version"


CHECKS = (check_last_stage, check_sources, check_variables, check_steps)


def check(text=None):
    found = instructions(text if text is not None else (tree.ROOT / FILE).read_text())
    yield from (f"{FILE}: {problem}" for part in CHECKS for problem in part(found))
