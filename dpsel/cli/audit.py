"""The command `dpsel audit`."""

import typer

from dpsel.auditing.options import Audited, Claim, Effort, Inputs
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, RecordFile, Terminal
from dpsel.cli.terminal import TerminalReporter, say
from dpsel.system.output import Output
from dpsel.system.process import take_interrupts_back
from dpsel.system.text import json_text

NOT_PASSED = 1
"""The exit code of an audit that ran to its end and did not pass."""


@form
def audit(
    audited: Audited,
    claim: Claim,
    inputs: Inputs,
    effort: Effort,
    file: RecordFile,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Test a guarantee from the outside: draw many times from neighboring inputs, and compare.

    Prints a verdict and a JSON certificate: bounds on the observed privacy loss, and the exact loss
    where the law is known. A fail is certain up to the requested confidence; a pass is no proof.
    Exits with 0 if the audit passed, and with 1 if it did not. Reads none of your data.

    Example: dpsel audit --mechanism canonical-lipschitz --epsilon 1 --d 6 --k 3 --samples 1e6
    """
    from dpsel.auditing.api import carry_out_audit
    from dpsel.auditing.request import make_audit_request

    take_interrupts_back()
    request = make_audit_request(audited, claim, inputs, effort)
    with Output(file.output, force=file.force) as place:
        bar = not terminal.no_progress
        with TerminalReporter(quiet=terminal.quiet, bar=bar, work="auditing") as reporter:
            certificate = carry_out_audit(request, reporter)
        place.write(json_text(certificate.to_dict()).encode())
    if not terminal.quiet:
        say(str(certificate.verdict), certificate.explanation)
    if certificate.verdict != "pass":
        raise typer.Exit(NOT_PASSED)
