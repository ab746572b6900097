# A live mirror beside the jobs, if MLFLOW_TRACKING_URI names a server. It knows from the end of its
# input that this process has ended, however that came about, and then closes what is still open.
import subprocess

MIRRORS = []  # dropping one would end it


onstart:
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
