from __future__ import annotations

from pathlib import Path

import pytest

from .project import landed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    landed(tmp_path / "landing", "shop.public.orders", {"order_id": 1, "note": "a"}, {"order_id": 2, "note": "b"})
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "dbt_project.yml").write_text("name: analytics\n", encoding="utf-8")
    return tmp_path
