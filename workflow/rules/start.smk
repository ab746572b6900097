# What happens once, before the first job: files that only the user has are asked for, the terminal
# learns what is to do, and a live mirror starts if MLFLOW_TRACKING_URI names a server. The mirror
# knows from the end of its input that this process has ended, however that came about, and then
# closes what is still open.
import subprocess

from snakemake_logger_plugin_simt import tell_jobs

MIRRORS = []  # dropping one would end it


onstart:
    # Snakemake knows one onstart: all of it stands here.
    fetched = [
        job for job in workflow.dag.needrun_jobs() if job.rule.name == "fetch"
    ]
    missing = before_the_first_download(
        PARAMS, [job.wildcards.pair for job in fetched], corpora_folder()
    )
    if missing:
        raise WorkflowError(missing)
    tell_jobs(workflow.dag)
    Path("logs").mkdir(exist_ok=True)
    MIRRORS.append(
        subprocess.Popen(
            [
                Path(sys.executable).parent / "simt",
                "track",
                "--follow",
                "--study",
                PARAMS.study,
                "--fidelity",
                PARAMS.fidelity,
            ],
            stdin=subprocess.PIPE,
            stdout=open("logs/track.log", "w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    )
