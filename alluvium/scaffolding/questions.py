"""What is still open about an entity, and what its declaration says and the files do not bear out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from alluvium.inspection.columns import question_of_added_column
from alluvium.inspection.numbers import asks_about, columns_of_question, question_of_numbers
from alluvium.inspection.reserved_names import question_of_invalid_name

from .comments import is_of_one_subject, is_same, on_one_line
from .declared import cdc_options
from .filters import filter_of, filter_of_topic, is_of_one_file, location_of, neighbours, undivided
from .types import fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alluvium.inspection import Entity, Inspection
    from alluvium.inspection.columns import Column

    from .declared import DeclaredTable

_CONFIRM = "Where the YAML has it right, take this comment out."


@dataclass(frozen=True)
class Question:
    """What an inspection cannot tell of a table.

    Attributes:
        text: of the question.
        columns: that it is about; none of one that is about the table.
        is_open: whether nobody has answered it.
        has_proposal: whether the YAML has an answer that only has to be confirmed.
    """

    text: str
    columns: tuple[str, ...] = ()
    is_open: bool = True
    has_proposal: bool = False

    @property
    def comment(self) -> str:
        """As it stands in the YAML, on one line."""
        return on_one_line(f"{self.text} {_CONFIRM}" if self.has_proposal else self.text)

    def about(self, column: str) -> Question:
        """The question of one of its columns alone."""
        return replace(self, text=question_of_numbers([column])) if _is_of_numbers(self) else self


def questions_of(
    inspection: Inspection,
    entity: Entity,
    columns: Mapping[str, Mapping[str, Any]],
    declared: DeclaredTable | None,
) -> Iterator[Question]:
    """What the files cannot tell of an entity, and whether its declaration does.

    What a scaffold proposes and asks about is confirmed by taking the comment out: no line of the YAML tells a key that
    was looked up from one that was guessed.

    Args:
        inspection: of the files.
        entity: one of its entities.
        columns: as they would be written.
        declared: the table that the source has for it, or None.
    """
    about = {column.type.question: column for column in entity.columns if column.type.question}
    added = {question_of_added_column(column.name): column.name for column in entity.columns if column.lacks_default}
    own = {question_of_invalid_name(column.name): column.name for column in entity.columns}
    times, decimals, missed = entity.encoding.possible_times, entity.encoding.decimals, entity.snapshots.missed
    answered_by = {
        entity.question_of_connector: "connector",
        entity.snapshots.question: "snapshots",
        missed and missed.question: "snapshots",
        decimals.question: decimals.option,
        entity.operations.before_images.question: "replica_identity",
    }
    for text in entity.questions:
        if text == entity.key.question:
            yield Question(text, is_open=declared is None or not is_key_known(declared))
        elif text == entity.order.question:
            yield Question(text, is_open=not (declared and _orders(declared)))
        elif text in answered_by:
            yield Question(text, is_open=not (declared and declared.options.get(answered_by[text])))
        elif text in about:
            yield _of_type(about[text], text, columns, declared)
        elif text in added:
            yield _of_default(added[text], text, declared)
        elif times and text == question_of_numbers(times):
            yield from _of_numbers(times, columns, declared)
        elif text in own:
            left_out = declared.options.get("except_column_list") if declared else None
            yield Question(text, (own[text],), is_open=own[text] in columns and own[text] not in (left_out or ()))
        else:
            yield Question(text)
    yield from _of_place(inspection, entity, declared)


def comment_now(comment: str, questions: Sequence[Question], columns: Mapping[str, Any]) -> str | None:
    """What a comment that asks shall be, now that some questions are answered; None for one that is done with.

    Args:
        comment: as it stands.
        questions: of the table.
        columns: that it has.
    """
    about = columns_of_question(comment)
    if about and set(about) <= set(columns):
        known = {name: question for question in questions for name in question.columns if _is_of_numbers(question)}
        left = [name for name in about if name not in known or known[name].is_open]
        if left == about:
            return comment
        return Question(question_of_numbers(left), has_proposal=True).comment if left else None
    answered = [form for one in questions if not one.is_open for form in (one.comment, on_one_line(one.text))]
    return None if any(is_same(comment, form) for form in answered) else comment


def _is_asked(text: str, declared: DeclaredTable) -> bool:
    """Whether a comment asks it, in words that may have been those of other rows."""
    return any(is_of_one_subject(comment, on_one_line(text)) for comment in declared.comments)


def is_key_known(declared: DeclaredTable) -> bool:
    """Whether a declaration says the key: none is written that is only likely."""
    return declared.key is not None


def _orders(declared: DeclaredTable) -> bool:
    """The order of offsets was proposed of one partition, and there may be more now."""
    return bool(declared.options.get("sequence_by")) or declared.options.get("order_by") not in (None, "offset")


def _of_type(
    column: Column, text: str, columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable | None
) -> Question:
    proposed = columns.get(column.name, {}).get("data_type")
    said = declared.columns.get(column.name, {}).get("data_type") if declared else None
    is_open = declared is None or not said or (said == proposed and _is_asked(text, declared))
    return Question(text, (column.name,), is_open, has_proposal=proposed is not None)


def _of_default(name: str, text: str, declared: DeclaredTable | None) -> Question:
    said = declared.columns.get(name) if declared else None
    is_open = declared is None or said is None or ("default" not in cdc_options(said) and _is_asked(text, declared))
    return Question(text, (name,), is_open, has_proposal=True)


def _of_numbers(
    names: Sequence[str], columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable | None
) -> Iterator[Question]:
    """One question of all that are open, and one of those that are answered."""
    still = [name for name in names if declared is None or _is_open_number(name, columns, declared)]
    done = [name for name in names if name not in still]
    for some, is_open in ((still, True), (done, False)):
        if some:
            yield Question(question_of_numbers(some), tuple(some), is_open, has_proposal=True)


def _is_of_numbers(question: Question) -> bool:
    return bool(question.columns) and question.text == question_of_numbers(question.columns)


def _is_open_number(name: str, columns: Mapping[str, Mapping[str, Any]], declared: DeclaredTable) -> bool:
    said = declared.columns.get(name)
    if said is None:
        return True
    is_other = said.get("data_type") not in (None, columns.get(name, {}).get("data_type"))
    is_answered = is_other or "semantic_type" in cdc_options(said)
    return not is_answered and any(asks_about(comment, on_one_line(name)) for comment in declared.comments)


def _of_place(inspection: Inspection, entity: Entity, declared: DeclaredTable | None) -> Iterator[Question]:
    shared = undivided(inspection, entity)
    if shared:
        yield Question(
            f"which files below {location_of(inspection, entity)} are its own? Those of {listed(shared)} lie there, "
            "too: say location, with options: {pathGlobFilter: ...} where their names tell them apart; else move them.",
            is_open=declared is None or declared.written_location is None,
        )


def notices_of(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> Iterator[str]:
    """What a declared table says and the files do not bear out: their place, their names, and types."""
    yield from _notices_of_files(inspection, entity, declared)
    for column in entity.columns:
        data_type = str(declared.columns.get(column.name, {}).get("data_type") or "")
        # A type that was asked about is answered by any.
        if data_type and not column.type.question and not fits(column.type, data_type):
            yield (
                f"{column.name} is declared {data_type}, and the files have {column.type.data_type} now "
                f"({column.type.why}): is the declaration right?"
            )


def _notices_of_files(inspection: Inspection, entity: Entity, declared: DeclaredTable) -> Iterator[str]:
    if declared.written_location is not None and declared.location is None:
        here = location_of(inspection, entity)
        yield f"its location {declared.written_location} has variables that are not known here: is it {here}?"
    topmost = location_of(inspection, entity)
    if declared.location not in (None, topmost):
        yield (
            f"its location {declared.written_location} has a part of the table's files, of a day or a partition: the "
            f"next one lands beside it. Set it to {topmost}, and pathGlobFilter where other files are there."
        )
    beside = neighbours(inspection, entity)
    wanted = filter_of_topic(entity)
    if beside and declared.name_filter and wanted and not declared.name_filter.startswith(wanted[:-1]):
        yield (
            f"does its pathGlobFilter {declared.name_filter} leave out the files of {listed(beside)}? {wanted} does."
        )
    seen = filter_of(inspection, entity)
    if declared.name_filter and is_of_one_file(declared.name_filter) and declared.name_filter != seen:
        remedy = f"say {seen}" if seen else "take it out"
        files = "this one" if inspection.file else "all that are here"
        yield f"its pathGlobFilter {declared.name_filter} reads one file alone: {remedy} where {files} shall be read."
    shared = undivided(inspection, entity)
    if shared and not declared.name_filter:
        yield (
            f"the files of {listed(shared)} lie in its folder, too, and are read as its own: say "
            "options: {pathGlobFilter: ...} where their names tell them apart; else move them."
        )


def listed(entities: Sequence[Entity]) -> str:
    """Their topics, or names where they have none."""
    return ", ".join(sorted({entity.files.topic or entity.name for entity in entities}))
