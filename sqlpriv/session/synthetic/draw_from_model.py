"""CREATE SYNTHETIC TABLE … FROM MODEL: more rows of a model that is kept with its table."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.errors import Refused
from sqlpriv.session.access.context import DRAWN_BY, Access
from sqlpriv.session.access.result import Result
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.drawing import UNASKED_ROWS
from sqlpriv.synth.kept_model import draw_rows, read_model, write_model

MOST_DRAWN = 16
"""Tables that one analyst may have drawn at a time: they cost nothing, and take the disk."""


def model_folder(access: Access) -> Path:
    """Returns where the models of a vault's synthetic tables are kept."""
    return access.kernel.vault.with_suffix(".models")


def draw_from_model(draw: cmd.DrawFromModel, access: Access) -> Result:
    """Publishes rows of a kept model. Nothing is read of the vault, and nothing charged.

    Raises:
        Refused: There is no such model, the statement does not fit it, or an analyst has drawn as
            many tables as they may.
    """
    access.check_new_name(draw.name, "TABLE", draw.or_replace, draw.pos)
    _check_number(draw, access)
    if not 1 <= draw.rows <= UNASKED_ROWS:
        raise Refused.at(draw.pos, f"ROWS is a whole number from 1 to {UNASKED_ROWS}")
    kept = read_model(model_folder(access), draw.model)
    if kept is None:
        hint = "the model of a table is kept when CREATE SYNTHETIC TABLE … USING … makes it"
        raise Refused.at(draw.pos, f'there is no model "{draw.model}"', hint)
    rows = draw_rows(kept, draw.rows, draw.where, _seed(draw))
    text = draw.text.replace(DRAWN_BY, " ")  # else a table could be said to be somebody else's
    comment = f"{kept.comment}{DRAWN_BY}{access.principal}: {text}"
    access.check_new_name(draw.name, "TABLE", draw.or_replace, draw.pos)  # drawing took a while
    access.store.publish(draw.name, rows, comment, kept.types, draw.or_replace)
    write_model(kept, model_folder(access), draw.name, access.kernel.vault)
    free = "drawn from a model that is kept: nothing was read or charged"
    message = f"{draw.name}: {rows.num_rows} synthetic rows in {access.store.path.name}; {free}"
    of_model = [f"the model's {kept.quality}"] if kept.quality else []
    return Result(message="\n".join([message, *of_model]))


def _check_number(draw: cmd.DrawFromModel, access: Access) -> None:
    mine = sum(
        text.rpartition(DRAWN_BY)[2].startswith(f"{access.principal}: ")
        for name, text in access.store.comments().items()
        if DRAWN_BY in text and name.lower() != draw.name.lower()
    )
    if access.owner is None and mine >= MOST_DRAWN:
        hint = "replace one of them: CREATE OR REPLACE SYNTHETIC TABLE …; an owner drops tables"
        what = f"{access.principal} has drawn {MOST_DRAWN} tables from models, and may have no more"
        raise Refused.at(draw.pos, what, hint)


def _seed(draw: cmd.DrawFromModel) -> int | None:
    options = dict(draw.options)
    seed = options.pop("seed", None)
    if options:
        name = next(iter(options))
        raise Refused.at(draw.pos, f'a model has no option "{name}"', "its option is seed")
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise Refused.at(draw.pos, "the option seed is a whole number of at least 0")
    return seed
