"""Checks of deploy/images/Containerfile: the contents of an image and the inputs of its build."""

import re

from . import tree

FILE = "deploy/images/Containerfile"
USER = "USER 65532:65532"
LABELS = ("title", "description", "version", "revision", "licenses", "vendor")


def instructions(text):
    """(stage, word, rest) of each instruction. Stages count from 0; instructions before the first stage have -1."""
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
    """(source, target) of each COPY from the tree."""
    for _, word, rest in instructions(text):
        if word == "COPY" and not rest.startswith("--from"):
            *names, target = rest.split()
            yield from ((name, target) for name in names)


def check_last_stage(found):
    last = max(stage for stage, _, _ in found)
    last_stage = [(word, rest) for stage, word, rest in found if stage == last]
    if last_stage[0] != ("FROM", "scratch"):
        yield f"the last stage begins with {last_stage[0][1]}, not with scratch"
    for word, rest in last_stage:
        if word in ("RUN", "ADD") or word == "COPY" and not rest.startswith("--from="):
            yield f"the last stage must contain assembled files only: {word} {rest}"
    if tuple(USER.split()) not in last_stage:
        yield f"the last stage has no {USER}"
    if not any(word == "ENTRYPOINT" and rest.startswith("[") for word, rest in last_stage):
        yield "the last stage has no ENTRYPOINT as a list, which an image without a shell needs"
    labels = " ".join(rest for word, rest in last_stage if word == "LABEL")
    yield from (f"missing label org.opencontainers.image.{name}" for name in LABELS if f"org.opencontainers.image.{name}=" not in labels)


def check_sources(found):
    text = "\n".join(f"{word} {rest}" for _, word, rest in found)
    for name, _ in sources(text):
        if name == "." or not (tree.ROOT / name).exists():
            yield f"COPY {name}: must name existing files that the build needs"


def check_variables(found):
    known = set()
    for _, word, rest in found:
        if word == "FROM" and "${BASE}" not in rest:
            known = set()
        missing = set(re.findall(r"\$\{(\w+)", rest)) - known - ({"BASE"} if word == "FROM" else set())
        yield from (f"{word} {rest}: {name} has no ARG in this stage" for name in sorted(missing))
        if word in ("ARG", "ENV"):
            known.add(re.match(r"\w+", rest).group())
            if re.search("PASSWORD|SECRET|TOKEN|KEY", rest):
                yield f"{word} {rest}: a secret would stay in the history of the image"


def check_steps(found):
    for _, word, rest in found:
        if word == "ADD":
            yield f"ADD {rest}: use COPY"
        if word == "RUN" and re.search(r"\b(apt|apt-get|curl|wget)\b", rest):
            yield f"RUN {rest}: list packages in tools/packages.txt; tools/setup installs them"
        if word == "ARG" and rest.startswith("BASE=") and not re.search(r":[0-9a-z.-]*[0-9][0-9a-z.-]*$", rest):
            yield f"ARG {rest}: the base image has no version"


CHECKS = (check_last_stage, check_sources, check_variables, check_steps)


def check(text=None):
    found = instructions(text if text is not None else (tree.ROOT / FILE).read_text())
    yield from (f"{FILE}: {problem}" for part in CHECKS for problem in part(found))
