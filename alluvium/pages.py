"""Pages of the documentation that messages name: a wheel has them, too."""

from __future__ import annotations

from pathlib import Path

from alluvium import AlluviumError
from alluvium.diagnosis.findings import CODES

# Links to docs/doctor and docs/guide.
_DOCTOR = Path(__file__).parent / "diagnosis" / "pages"
_GUIDE = Path(__file__).with_name("guide")


def page(name: str) -> str:
    """A page in Markdown.

    Args:
        name: one of the doctor's codes, or a page of the guide: ``hudi``, or as messages name it, docs/guide/hudi.md.

    Raises:
        AlluviumError: there is none of that name.
    """
    of_guide = sorted(path.stem for path in _GUIDE.glob("*.md"))
    stem = name.removeprefix("docs/guide/").removesuffix(".md")
    if stem in of_guide:
        return (_GUIDE / f"{stem}.md").read_text(encoding="utf-8")
    if name in CODES:
        return (_DOCTOR / f"{name}.md").read_text(encoding="utf-8")
    raise AlluviumError(
        f"{name} is no code of the doctor's ({', '.join(CODES)}) and no page of the guide ({', '.join(of_guide)})."
    )
