"""A SLURM cluster for tests: real daemons on the loopback interface, pretended nodes and GPUs.

Needs Debian's slurmctld, slurmd, slurm-client and munge; neither systemd nor a database nor any
file outside its own folder. Where cgroups can be used, signals go where they go in production;
elsewhere SLURM is kinder and signals every process of a job.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.samples.project import ROOT

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")
NODE = f"box{os.getpid()}"  # two clusters on one machine share its cgroups
GPUS = 2
# Debian keeps daemons where an ordinary user does not look.
SEARCHED = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

# The profile as it is, but for a queue that answers at once and two cores behind it all.
QUICKLY = {"simt-slurm-init-seconds-before-status-checks": 1, "latency-wait": 5, "jobs": 4}
OPTIONS = [f"--{key}={value}" for key, value in QUICKLY.items()]
SLURM = ("snakemake", "--profile", "slurm", *OPTIONS)
SITE = {"SIMT_ACCOUNT": "babel", "SIMT_PARTITION": "cpu", "SIMT_GPU_PARTITION": "gpu"}

SLURM_CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/{tracking}
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
# Believe this file about the hardware, remember jobs that ended, and do not make tests wait.
SlurmdParameters=config_overrides
MinJobAge=3600
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/none
JobSubmitPlugins=lua
{nodes}
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=10 PreemptMode=off
PartitionName=gpu Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=requeue
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=90 PreemptMode=off
PartitionName=spare Nodes=ALL MaxTime=INFINITE PriorityTier=1 PreemptMode=cancel
PartitionName=short Nodes=ALL MaxTime=1 PriorityTier=10 PreemptMode=off
"""

NODE_CONF = """\
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} \
CPUs=64 RealMemory=512000 Gres=gpu:{gpus}
"""

# What a site's limits and accounts do: while the file `refusal` holds the number of one of SLURM's
# errors, every submission is refused with it.
JOB_SUBMIT_LUA = """\
function slurm_job_submit(job, partitions, user)
  local file = io.open("{folder}/refusal", "r")
  if file == nil then return slurm.SUCCESS end
  local number = tonumber(file:read("*a"))
  file:close()
  return number
end
function slurm_job_modify(job, record, partitions, user) return slurm.SUCCESS end
return slurm.SUCCESS
"""


class Cluster:
    """Pretended nodes with two pretended GPUs each.

    Partitions: cpu; gpu, whose jobs `urgent` puts back into the queue; spare, whose jobs it
    cancels; short, for a minute at most.
    """

    def __init__(self, nodes: int = 1) -> None:
        self.nodes = [NODE, *(f"{NODE}-{number}" for number in range(2, nodes + 1))]
        # Not pytest's folder: the path of a Unix socket must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="simt-slurm-"))
        self.folder.chmod(0o755)  # munged wants its socket to be within everybody's reach
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("SLURM_")},
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder}:{SEARCHED}",
        }
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Bring the daemons up, and wait until the node takes jobs."""
        self._configure()
        key, socket_file = self.folder / "munge.key", self.folder / "munge.sock"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        own = [f"--{name}={self.folder}/munged.{name}" for name in
               ("pid-file", "log-file", "seed-file")]  # fmt: skip
        self._launch("munged", "--foreground", f"--key-file={key}", f"--socket={socket_file}", *own)
        self.wait_until(socket_file.exists)
        self.start_controller()
        for node in self.nodes:
            self._launch("slurmd", "-D", "-N", node)
        self.wait_until(lambda: self._states() == {"idle"})

    def start_controller(self) -> None:
        """Bring slurmctld up; it knows what it knew before."""
        self._launch("slurmctld", "-D")

    def stop_controller(self) -> None:
        """End slurmctld; jobs run on without it."""
        (controller,) = [daemon for daemon in self.daemons if "slurmctld" in map(str, daemon.args)]
        controller.terminate()
        controller.wait()
        self.daemons.remove(controller)

    def refuse(self, error: int | None) -> None:
        """Refuse every job from now on with one of SLURM's errors, or take them again."""
        file = self.folder / "refusal"
        if error is None:
            file.unlink()
        else:
            file.write_text(str(error))

    def stop(self) -> None:
        """Cancel what runs, end the daemons, and leave nothing behind."""
        if len(self.daemons) > 1:
            self.run("scancel", "--user", str(os.getuid()))
            self.wait_until(lambda: not self.run("squeue", "--noheader"))
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()
        for node in self.nodes:
            for group in sorted(Path("/sys/fs/cgroup").glob(f"*/slurm_{node}/**/"), reverse=True):
                group.rmdir()
        shutil.rmtree(self.folder)

    def run(self, *command: str) -> str:
        """What a command of SLURM prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def jobs(self, *columns: str) -> list[dict[str, str]]:
        """Every job there was, by columns of ``squeue --Format``."""
        layout = ",".join(f"{column}:200" for column in columns)
        lines = self.run("squeue", "--noheader", "--states=all", "--Format", layout).splitlines()
        cells = [[line[200 * n : 200 * (n + 1)].strip() for n in range(len(columns))]
                 for line in lines]  # fmt: skip
        return [dict(zip(columns, row, strict=True)) for row in cells]

    def has_steps(self, job: str) -> bool:
        """Whether processes of a job are on the node, whatever the controller believes."""
        return any(_title(entry).startswith(f"slurmstepd: [{job}.") for entry in
                   Path("/proc").glob("[0-9]*"))  # fmt: skip

    def wait_until(self, is_so: Callable[[], object], seconds: float = 60) -> None:
        """Go on when something is so; it not coming about is an error that shows the logs."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                said = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
                logs = [path.read_text()[-2000:] for path in said]
                raise AssertionError("\n".join(["SLURM did not get there", *logs]))
            time.sleep(0.1)

    def _configure(self) -> None:
        controller_port, *ports = _free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        nodes = [NODE_CONF.format(node=node, host=host, port=port, gpus=GPUS)
                 for node, port in zip(self.nodes, ports, strict=True)]  # fmt: skip
        can_group = os.getuid() == 0 and Path("/sys/fs/cgroup/freezer").is_dir()
        configuration = SLURM_CONF.format(
            folder=self.folder, host=host, user=_user(), nodes="".join(nodes),
            controller_port=controller_port, tracking="cgroup" if can_group else "linuxproc",
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(configuration)
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (self.folder / "job_submit.lua").write_text(JOB_SUBMIT_LUA.format(folder=self.folder))
        for number in range(GPUS):  # only a device makes SLURM set CUDA_VISIBLE_DEVICES
            (self.folder / f"gpu{number}").symlink_to("/dev/null")
        devices = f"Name=gpu File={self.folder}/gpu[0-{GPUS - 1}] Flags=nvidia_gpu_env\n"
        (self.folder / "gres.conf").write_text("AutoDetect=off\n" + devices)
        for name in ("state", *(f"spool.{node}" for node in self.nodes)):
            (self.folder / name).mkdir()
        # Snakemake's job step forgets SLURM_CONF; first in PATH, this puts it back.
        wrapper = self.folder / "srun"
        real = shutil.which("srun", path=SEARCHED)
        wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {real} "$@"\n')
        wrapper.chmod(0o755)

    def _launch(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("wb") as output:
            self.daemons.append(
                subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)
            )

    def _states(self) -> set[str]:
        asked = ["sinfo", "--noheader", "--partition=cpu", "--Node", "--format=%T"]
        done = subprocess.run(asked, env=self.environment, capture_output=True, text=True)
        return set(done.stdout.split())


def quick_profile(folder: Path) -> Path:
    """The same for those who give Snakemake a profile and nothing else."""
    to = folder / "slurm"
    to.mkdir()
    text = (ROOT / "workflow/profiles/slurm/config.yaml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text) | QUICKLY
    (to / "config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return to


def of_rule(jobs: list[dict[str, str]], rule: str) -> list[dict[str, str]]:
    """The jobs of a rule or a group, by the comment that Snakemake gives each."""
    return [job for job in jobs if job["Comment"].startswith(f"rule_{rule}")]


def missing_programs() -> list[str]:
    """What must be installed before a cluster can start."""
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCHED) is None]


def _title(process: Path) -> str:
    try:
        return (process / "cmdline").read_text(errors="replace")
    except OSError:  # it has ended
        return ""


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
