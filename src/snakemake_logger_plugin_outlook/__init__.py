"""Lets Snakemake say how long the study will still take: `logger: outlook` in a profile.

Snakemake finds its plugins by the name of the package, so this one lives beside simt. It is for
local jobs: of others Snakemake does not tell when they begin, and who knows a queue?
"""

import sys
from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from simt.outlook import Outlook


class LogHandler(LogHandlerBase):
    """A line about the whole study whenever a job is done, beside what Snakemake says."""

    writes_to_stream = False  # else Snakemake would be silent
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    outlook: Outlook | None = None

    def emit(self, record: LogRecord) -> None:
        """Take in an event; those of other kinds do not matter."""
        values: dict[str, Any] = vars(record)
        event = values.get("event")
        if event == LogEvent.RUN_INFO:
            counts = {rule: n for rule, n in values["stats"].items() if rule != "total"}
            self.outlook = Outlook(counts, record.created)
        elif self.outlook and event == LogEvent.JOB_INFO:
            self.outlook.start(values["jobid"], values["rule_name"], record.created)
        elif self.outlook and event == LogEvent.JOB_FINISHED:
            self.outlook.finish(values["job_id"], record.created)
        elif self.outlook and event == LogEvent.JOB_ERROR:
            self.outlook.drop(values["jobid"])
        elif self.outlook and event == LogEvent.PROGRESS:
            print(self.outlook.describe(record.created), file=sys.stderr)
