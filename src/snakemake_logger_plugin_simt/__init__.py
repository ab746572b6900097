"""Shows a study on the terminal in Snakemake's place: `logger: simt` in a profile.

Snakemake finds its plugins by the name of the package, so this one lives beside simt. It takes
events apart and hands them to simt.terminal. Snakemake's complete log in .snakemake/log does not
pass through here. Whoever asks for a dry run, for --quiet or --verbose gets Snakemake's own words.

Of a job that goes to SLURM, Snakemake tells no more than its number. So the workflow says what
each job is before it starts any: `tell_jobs(workflow.dag)` under `onstart`.
"""

import logging
import re
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from simt.joblogs import shorten_settings

if TYPE_CHECKING:
    from simt.terminal import StudyTerminal

# What Snakemake says at every start, or what is said better elsewhere.
_BOILERPLATE = (
    "Assuming unrestricted shared filesystem usage",
    "Building DAG of jobs",
    "Cleaning up SLURM log files",
    "Conda environments: ignored",
    "Elapsed time:",
    "Exiting because a job execution failed",
    "Select jobs to execute",
    "Using shell:",
    "host:",
    "WorkflowError:\nAt least one job did not complete successfully",
)
_SILENT = {
    LogEvent.WORKFLOW_STARTED,
    LogEvent.RESOURCES_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.GROUP_INFO,
    LogEvent.PROGRESS,
    LogEvent.RULEGRAPH,
}

_TOLD = "simt_jobs"  # an event of our own
# What the SLURM plugin adds to how a job ended.
_PHRASES = (
    "Detailed failure reason unavailable (status command is not 'sacct').",
    "For further error details see the cluster/cloud log "
    "and the log files of the involved rule(s).",
)


def tell_jobs(dag: Any) -> None:
    """Let the terminal know what each job is, by the number or group that it is submitted as."""
    planned: dict[str, list[dict[str, Any]]] = {}
    for job in dag.needrun_jobs():
        submitted = dag.get_job_group(job) or job
        logs = [str(log) for log in job.log]
        planned.setdefault(str(submitted.jobid), []).append(
            {"jobid": job.jobid, "rule_name": job.rule.name, "wildcards": job.wildcards_dict,
             "log": logs, "local": False}
        )  # fmt: skip
    logging.getLogger("snakemake.logging").info(None, extra={"event": _TOLD, "planned": planned})


def _verb(rule: str) -> tuple[str, dict[str, str]]:
    """What a rule does, and to which pair: some have a rule of their own, ``bpe_toy-deen``."""
    verb, _, pair = rule.partition("_")
    return verb, {"pair": pair} if pair else {}


class LogHandler(LogHandlerBase):
    """Events in, lines out. Nothing that goes wrong here reaches the study."""

    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    terminal: "StudyTerminal | None" = None

    def __post_init__(self) -> None:
        if self.writes_to_stream:
            from simt.terminal import StudyTerminal  # here: the Snakemake in each job needs none

            self.terminal = StudyTerminal(has_colour=not self.common_settings.nocolor)
        self.exits: list[str] = []  # of commands whose job is not named yet
        self.planned: dict[str, list[dict[str, Any]]] = {}  # by number, or name of the group
        self.said: set[str] = set()

    @property
    def writes_to_stream(self) -> bool:
        """Whether Snakemake is to be silent."""
        asked = self.common_settings
        return not (asked.dryrun or asked.quiet or asked.verbose or asked.debug_dag)

    def emit(self, record: logging.LogRecord) -> None:
        """Show an event; if that fails, in Snakemake's own form."""
        if self.terminal is None:
            return
        try:
            self._show(self.terminal, record)
        except Exception:
            with suppress(Exception):
                print(self.format(record), file=sys.stderr)

    def close(self) -> None:
        """Say what became of the study."""
        if self.terminal:
            with suppress(Exception):
                for message in self.exits:
                    self.terminal.say(shorten_settings(message), "red")
                self.exits.clear()
                self.terminal.close()
        super().close()

    def _show(self, terminal: "StudyTerminal", record: logging.LogRecord) -> None:
        of: dict[str, Any] = vars(record)
        event = of.get("event")
        if event == LogEvent.RUN_INFO:
            self._plan(terminal, of["stats"])
        elif event == LogEvent.JOB_INFO:
            self._start(terminal, of)
        elif event == _TOLD:
            self.planned = of["planned"]
        elif event == LogEvent.JOB_FINISHED:
            terminal.finish(of["job_id"])
        elif event == LogEvent.JOB_ERROR:
            self._show_failure(terminal, of)
        elif event == LogEvent.GROUP_ERROR:
            self._show_failed_group(terminal, of)
        elif event == LogEvent.SHELLCMD:  # only with --printshellcmds
            terminal.say(of.get("shellcmd") or of.get("cmd") or "")
        elif event == LogEvent.ERROR and "CalledProcessError" in record.getMessage():
            self.exits.append(record.getMessage())  # told with the job, which comes next
        elif event not in _SILENT:
            self._show_message(terminal, record)

    def _plan(self, terminal: "StudyTerminal", stats: dict[str, int]) -> None:
        counts: Counter[str] = Counter()
        for rule, number in stats.items():
            counts[_verb(rule)[0]] += number
        del counts["total"]
        terminal.plan(counts)

    def _start(self, terminal: "StudyTerminal", of: dict[str, Any]) -> None:
        rule, wildcards = _verb(of["rule_name"])
        wildcards |= of["wildcards"]
        terminal.start(of["jobid"], rule, wildcards, of["log"], of["local"])

    def _submit(self, terminal: "StudyTerminal", name: str, place: str) -> None:
        """A job, or a group of jobs, is in the queue."""
        jobs = self.planned.get(name, [])
        for job in jobs:
            self._start(terminal, job)
        terminal.queued([job["jobid"] for job in jobs], place)

    def _show_failure(self, terminal: "StudyTerminal", of: dict[str, Any]) -> None:
        """A failed job; those of a group were told with it."""
        from simt.terminal import exit_of

        if of["indent"]:
            return
        if of["jobid"] not in terminal.jobs:  # SLURM has not taken it
            self._submit(terminal, str(of["jobid"]), "")
        command = of["shellcmd"]
        own = next((text for text in self.exits if command and command in text), "")
        if own:
            self.exits.remove(own)
        why = exit_of(own) or of["rule_msg"] or "no exit code"
        for phrase in _PHRASES:
            why = why.replace(phrase, "").strip()
        rule, _ = _verb(of["rule_name"])
        terminal.fail(of["jobid"], rule, [log for log in of["log"] if log], why, command)

    def _show_failed_group(self, terminal: "StudyTerminal", of: dict[str, Any]) -> None:
        numbers = [info["jobid"] for info in of["job_error_info"]]
        for name, jobs in self.planned.items():
            if jobs[0]["jobid"] in numbers and jobs[0]["jobid"] not in terminal.jobs:
                self._submit(terminal, name, "")  # SLURM has not taken it
        terminal.fail_group(numbers, [log for log in of["aux_logs"] if log])

    def _show_message(self, terminal: "StudyTerminal", record: logging.LogRecord) -> None:
        text = self.format(record)
        if not text or text == "None" or text.startswith(_BOILERPLATE):
            return
        if found := re.match(r"Complete log\(s\): (.+)", text):
            terminal.complete_log = found[1]
        elif found := re.match(r"Trying to restart job (.+)\.", text):
            jobs = self.planned.get(found[1], [{"jobid": found[1]}])
            terminal.try_again([int(job["jobid"]) for job in jobs])
        elif found := re.match(r"Job (\S+) has been submitted with SLURM jobid (\S+)", text):
            self._submit(terminal, found[1], f"SLURM {found[2]}")
        elif text.startswith("Terminating processes on user request"):
            terminal.is_stopping = True
            terminal.say("Stopping what runs; the same command resumes later.", "yellow")
        elif text not in self.said:  # each SLURM job says some of it again
            self.said.add(text)
            style = {logging.WARNING: "yellow", logging.ERROR: "red"}.get(record.levelno, "")
            terminal.say(shorten_settings(text), style)
            if found := re.search(r"Job (\d+)\b.*completed successfully, but some output", text):
                terminal.give_up(int(found[1]))
