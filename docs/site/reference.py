# SPDX-License-Identifier: BSL-1.0
"""The API reference: what Doxygen makes of the public headers, in the folder `api` of the site."""

import shutil
import subprocess

from mkdocs.exceptions import BuildError

ABSENT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>API reference</title></head>
<body><p>Doxygen was not installed when this site was built, so the API reference is missing. Install it and build the site again.</p></body></html>
"""


def make_reference(root, site):
    """Writes the reference below `site`/api. A warning of Doxygen is an error."""
    folder = site / "api"
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("doxygen") is None:
        (folder / "index.html").write_text(ABSENT, encoding="utf-8")
        return
    settings = (root / "docs" / "site" / "Doxyfile").read_text(encoding="utf-8") + f'OUTPUT_DIRECTORY = "{folder}"\n'
    done = subprocess.run(["doxygen", "-"], cwd=root, input=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"the API reference: {done.stderr.strip()}")
