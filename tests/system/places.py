# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where things are. Rooms may have a conftest of their own, so that this is not said in one."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
