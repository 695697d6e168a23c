#!/usr/bin/env python3
"""yaml-to-json.py IN.yaml OUT.json: converts YAML to compact JSON."""
import json
import pathlib
import sys

import yaml

page = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
pathlib.Path(sys.argv[2]).write_text(json.dumps(page, ensure_ascii=False, separators=(",", ":")))
