#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the site of these pages into build/site, or into the folder that is named; installs what is missing. Fails on any warning.
#
#   docs/build.sh [FOLDER]
#   python3 -m http.server --directory build/site 8000    # then open http://localhost:8000
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
site=$(realpath -m -- "${1:-$here/../build/site}")
"$here/../cmake/packages.sh" docs
if ! command -v mkdocs >/dev/null; then
  echo "docs/build.sh: there is no mkdocs. Install mkdocs and mkdocs-material: the system's packages, or pip install mkdocs-material" >&2
  exit 3
fi
mkdocs build --quiet --strict --clean --config-file "$here/site/mkdocs.yml" --site-dir "$site"
echo "$site/index.html"
