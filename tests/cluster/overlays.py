"""Overlays for tests: overlay local with a few changes, as an operator's copy has them."""

import json
import os
import pathlib

from clusterlib.waymark import NAMESPACE, OVERLAY


def changed(folder, **more):
    """Writes an overlay into folder: overlay local and the fields of kustomize in more. Paths may be absolute."""
    folder.mkdir(exist_ok=True)
    relative = {"resources": [OVERLAY], "components": more.pop("components", [])}
    paths = {name: [os.path.relpath(pathlib.Path(path), folder) for path in found] for name, found in relative.items()}
    (folder / "kustomization.yaml").write_text(json.dumps({"namespace": NAMESPACE, **paths, **more}))
    return folder


def merged(name, **values):
    """An entry of configMapGenerator or secretGenerator that changes some values. A "_" in a small name is a "-"."""
    names = {key: key.replace("_", "-") if key.islower() else key for key in values}
    return {"name": name, "behavior": "merge", "literals": [f"{names[key]}={value}" for key, value in values.items()]}
