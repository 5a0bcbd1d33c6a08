"""What is known of a column with a long list is found out once, of each column by itself."""

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Categories, Column, TableContract, Type
from sqlpriv.plan.expressions.facts import value_facts
from sqlpriv.plan.expressions.facts.value_facts import scope_of


def contract_of(*labels):
    return TableContract("t", (Column("x", Type.REAL, "DOUBLE", Categories(labels)),))


def test_equal_columns_keep_their_own_spelling():
    whole, real = contract_of(1, 2), contract_of(1.0, 2.0)
    assert whole == real
    for contract in (whole, real, whole):
        values = scope_of(contract)["x"].values
        assert list(map(type, values)) == list(map(type, contract.columns[0].domain.labels))


def test_a_list_is_looked_at_once(monkeypatch):
    contract, looked = contract_of(0.5), []
    monkeypatch.setattr(value_facts, "check_literal", lambda *args: looked.append(args))
    assert scope_of(contract) == scope_of(contract)
    assert len(looked) == 1


def test_what_is_refused_is_refused_again():
    contract = contract_of("a text")
    refusals = 0
    for _ in range(2):
        try:
            scope_of(contract)
        except Refused:
            refusals += 1
    assert refusals == 2
