"""The recorded transcript is what the commands print today, as far as they need no Spark."""

from __future__ import annotations

from pathlib import Path

from scripts.transcript import HEADING, PAGE, WITH_SPARK, WITHOUT_SPARK, transcript


def test_transcript_is_up_to_date(tmp_path: Path) -> None:
    recorded = PAGE.read_text(encoding="utf-8")
    assert recorded.startswith(HEADING + transcript(tmp_path.resolve(), WITHOUT_SPARK)), "make transcript"
    assert [line[2:] for line in recorded.splitlines() if line.startswith("$ ")] == [*WITHOUT_SPARK, *WITH_SPARK]
