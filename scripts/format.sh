#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bring every C and C++ file into the house's form (.clang-format).
set -euo pipefail
cd "$(dirname "$0")/.."
find include src tests examples \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | xargs -0 clang-format -i
