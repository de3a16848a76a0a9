"""Claims of this topic as its chapters show them."""

from reasonlib.display import findings
from reasonlib.tracking import claims


def test_a_claim_that_fails_at_this_setting_is_shown_with_its_numbers_and_its_reason(tmp_path):
    claims_by_id = {claim.id: claim for claim in claims.load("transformer")}
    name = "transformer/positions/longer"
    (line,) = findings.show("transformer", ids=[name]).lines
    against = line.verdict in ("challenged", "contradicted", "exceeded")
    assert line.measured and against == (claims_by_id[name].reason in line.why)
    (line,) = findings.show("transformer", ids=[name], records=tmp_path).lines
    assert {label for _, pairs in line.measured for label, _ in pairs} <= {"asked for"}
    assert claims_by_id[name].reason not in line.why
