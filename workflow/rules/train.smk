# One training. What can be resumed lies undeclared in work/: Snakemake deletes only what is declared.
TRAINING_JOBS = TrainingJobs(PARAMS, TRAINING)


rule train:
    input:
        lambda wildcards: STEPS.run(Run.from_wildcards(wildcards)).inputs,
    output:
        [
            (temp if PARAMS.is_rehearsal and name == MODEL_FILE else str)(
                f"{RUN_FOLDER}/{name}"
            )
            for name in TRAINED.outputs
        ],
    log:
        f"logs/train/{RUN_NAME}.log",
    threads: TRAINING_JOBS.threads
    resources:
        gpu=TRAINING_JOBS.gpu,
        runtime=TRAINING_JOBS.runtime,
        mem_mb=TRAINING_JOBS.mem_mb,
        launcher="",
    params:
        settings=lambda wildcards: STEPS.run(
            Run.from_wildcards(wildcards)
        ).settings.as_json(),
        start=lambda wildcards: STEPS.start_option(Run.from_wildcards(wildcards)),
    shell:
        "{resources.launcher} simt --log {log} train --devices {resources.gpu} --settings {params.settings:q}"
        f" --corpus {of_wildcards(CORPUS_FOLDER)}/bpe {{params.start}} --to {of_wildcards(RUN_FOLDER)}"
        " --threads {threads}"
