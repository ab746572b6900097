"""What a person sees of a study: real runs of Snakemake, into a file and on a terminal."""

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.samples.project import BIN, run

SNAKEFILE = """
shell.prefix("set -euo pipefail; exec ")

rule all:
    input: "results/toy-deen/seed1.txt", "results/toy-deen/seed2.txt"

rule train:
    output: "results/{pair}/seed{seed}.txt"
    log: "logs/{pair}/seed{seed}.log"
    params: settings='{"pair": "toy-deen", "many": "long settings here", "sizes": [1, 2, 3, 4]}'
    shell: "bash train.sh {log} {output} {wildcards.seed} --settings {params.settings:q} --quick"
"""

CALM = "echo 'toy-deen: 50%' > $1; touch $2; echo 'done: 600 updates' >> $1"
# The first of them fails in the given way; its log is not UTF-8.
FAILS = (
    """printf 'loss \\377\\nsimt: the corpus is gone\\n' > $1; [ $3 = 2 ] && touch $2 || {how}"""
)
SIMT = ("snakemake", "--logger", "simt", "--cores", "1", "--keep-going")


def two_jobs(folder: Path) -> Path:
    """A folder with two jobs to do, and a target."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "train.sh").write_text(CALM)
    return folder


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    return two_jobs(tmp_path)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said if all goes well."""
    return run(two_jobs(tmp_path_factory.mktemp("calm")), *SIMT)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said if the first of both jobs fails."""
    return failing(two_jobs(tmp_path_factory.mktemp("failed")), "exit 3")


def failing(workflow: Path, how: str, *options: str) -> str:
    """What is said if the first of both jobs fails."""
    (workflow / "train.sh").write_text(FAILS.format(how=how))
    done = subprocess.run(
        [BIN / SIMT[0], *SIMT[1:], *options], cwd=workflow, capture_output=True, text=True
    )
    assert done.returncode == 1
    return done.stdout + done.stderr


def on_a_terminal(workflow: Path) -> str:
    """The bytes that a terminal gets, as text."""
    main, terminal = pty.openpty()
    command = [BIN / SIMT[0], *SIMT[1:]]
    with subprocess.Popen(
        command, cwd=workflow, stdin=terminal, stdout=terminal, stderr=terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "150", "LINES": "40"},
    ):  # fmt: skip
        os.close(terminal)
        said = b""
        while part := _read(main):
            said += part
    os.close(main)
    return said.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that nobody holds the other end any more
        return b""


def test_finished_job_is_one_line_with_what_it_gave(calm: str) -> None:
    lines = calm.splitlines()
    jobs = [line for line in lines if re.match(r"[\d:]{8} \[\d/3\] ", line)]
    assert len(jobs) == 3
    trainings = [line for line in jobs if "train toy-deen/seed" in line]
    assert len(trainings) == 2
    assert all(re.search(r" \d+ s  600 updates$", line) for line in trainings)
    assert len(lines) <= 6, "the plan, three jobs, the time, the log"


def test_end_says_how_long_it_took_and_where_the_complete_log_is(calm: str) -> None:
    assert "3 of 3 jobs are done in" in calm
    found = re.search(r"complete log: (\S+)", calm)
    assert found
    complete = Path(found[1]).read_text(encoding="utf-8")
    assert "rule train:" in complete
    assert "3 of 3 steps (100%) done" in complete


def test_file_gets_neither_a_bar_nor_colours(calm: str) -> None:
    assert "\x1b" not in calm
    assert "━" not in calm


def test_terminal_has_a_bar_and_leaves_only_lines(workflow: Path) -> None:
    (workflow / "train.sh").write_text(CALM.replace("touch", "sleep 3; touch"))
    said = on_a_terminal(workflow)
    assert "━" in said
    assert re.search(r"\d of 3 jobs, 1 run", said)
    assert re.search(r"train toy-deen/seed\d +\d s  .*50%", said), "the newest line of its log"
    assert "3 of 3 jobs are done in" in said
    assert said.rstrip().endswith("snakemake.log")


def test_failure_is_told_in_full_and_again_at_the_end(failed: str) -> None:
    assert "FAILED train toy-deen/seed1 after" in failed
    assert "rule train, pair toy-deen, seed 1" in failed
    assert "    | loss \ufffd\n    | simt: the corpus is gone" in failed
    assert "FAILED train toy-deen/seed1 (exit code 3): simt: the corpus is gone" in failed
    assert re.search("1 of 3 jobs are done in .*, 1 failed, 1 not started", failed)


def test_command_of_a_failed_job_is_shown_without_most_of_its_settings(failed: str) -> None:
    assert re.search(r"command: bash train\.sh .* --settings '\{.* …\}' --quick", failed)
    assert "sizes" not in failed


@pytest.mark.parametrize(
    ("how", "why", "remedy"),
    [
        ("exit 75", "exit code 75", "the same command resumes from there"),
        ("kill -9 $$", "killed by SIGKILL", "memory ran out"),
    ],
)
def test_failure_with_a_known_remedy_says_it(
    how: str, why: str, remedy: str, workflow: Path
) -> None:
    said = failing(workflow, how)
    assert f": {why}\n" in said
    assert remedy in said


def test_job_that_is_tried_again_and_succeeds_is_no_failure_in_the_end(workflow: Path) -> None:
    (workflow / "train.sh").write_text(f"[ -e tried ] || {{ touch tried; exit 75; }}\n{CALM}")
    said = run(workflow, *SIMT, "--retries", "1")
    assert re.search(r"train toy-deen/seed\d is tried again", said)
    assert said.count("FAILED") == 1
    assert "3 of 3 jobs are done" in said


def test_job_without_its_output_is_told_and_counted(workflow: Path) -> None:
    said = failing(workflow, "exit 0", "--latency-wait", "0")
    assert "MissingOutputException in rule train" in said
    assert "FAILED train toy-deen/seed1 (see above)" in said
    assert "1 failed" in said


@pytest.mark.parametrize(
    ("snakefile", "told"),
    [
        ('raise WorkflowError("params.yaml: no such study")', "params.yaml: no such study"),
        ('rule all:\n    input: "nowhere.txt"', "nowhere.txt"),
        ("rule all", "SyntaxError"),
    ],
)
def test_mistake_in_the_workflow_is_told_in_full(snakefile: str, told: str, workflow: Path) -> None:
    head = "from snakemake.exceptions import WorkflowError\n"
    (workflow / "Snakefile").write_text(head + snakefile)
    done = subprocess.run([BIN / SIMT[0], *SIMT[1:]], cwd=workflow, capture_output=True, text=True)
    assert done.returncode == 1
    assert told in done.stderr


def test_locked_folder_is_told_with_its_remedy(workflow: Path) -> None:
    locks = workflow / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("results/toy-deen/seed1.txt\n")
    done = subprocess.run([BIN / SIMT[0], *SIMT[1:]], cwd=workflow, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--unlock" in done.stderr
    assert "Unlocked working directory" in run(workflow, *SIMT, "--unlock")


def test_dry_run_has_counts_and_reasons(workflow: Path) -> None:
    said = run(workflow, *SIMT, "-n")
    assert re.search(r"^train +2$", said, flags=re.MULTILINE)
    assert "Reasons:" in said
    assert re.search(
        r"^train +2$", run(workflow, *SIMT, "-n", "--quiet", "rules"), flags=re.MULTILINE
    )


def test_commands_are_printed_whole_if_asked_for_and_nothing_is_done_twice(workflow: Path) -> None:
    assert '"sizes": [1, 2, 3, 4]}' in run(workflow, *SIMT, "--printshellcmds")
    assert "Nothing to be done" in run(workflow, *SIMT)


def heed_ctrl_c() -> None:
    """What runs in the background of a shell ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_jobs_that_a_person_stops_have_not_failed(workflow: Path) -> None:
    (workflow / "train.sh").write_text("touch begun; sleep 600")
    with subprocess.Popen(
        [BIN / SIMT[0], *SIMT[1:]], cwd=workflow, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=heed_ctrl_c,
    ) as snakemake:  # fmt: skip
        while not (workflow / "begun").exists():
            assert snakemake.poll() is None
            time.sleep(0.1)
        os.killpg(snakemake.pid, signal.SIGINT)  # as a terminal does it
        _, said = snakemake.communicate()
    assert "FAILED" not in said
    assert "1 stopped, 2 not started" in said


def test_reader_who_goes_away_does_not_stop_the_study(workflow: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([BIN / SIMT[0], *SIMT[1:]], cwd=workflow, stdout=writer, stderr=writer)
    os.close(writer)
    assert done.returncode == 0
    assert (workflow / "results/toy-deen/seed2.txt").exists()
