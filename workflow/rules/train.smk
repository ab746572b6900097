# One training. What can be resumed lies undeclared in work/: Snakemake deletes only what is declared.
TRAINING_JOBS = Jobs(PARAMS, TRAINING)


rule train:
    input:
        corpus=rules.bpe.output,
        start=lambda wildcards: start_files(PARAMS, Run.of(wildcards)),
    output:
        settings="results/runs/{pair}/{method}/{variant}/seed{seed}/settings.json",
        model="results/runs/{pair}/{method}/{variant}/seed{seed}/model.pt",
        history="results/runs/{pair}/{method}/{variant}/seed{seed}/history.jsonl",
        run="results/runs/{pair}/{method}/{variant}/seed{seed}/run.json",
    log:
        "logs/train/{pair}/{method}/{variant}/seed{seed}.log",
    conda:
        "../../environment.yml"
    threads: TRAINING_JOBS.threads
    resources:
        gpu=TRAINING_JOBS.gpu,
        runtime=TRAINING_JOBS.runtime,
        mem_mb=TRAINING_JOBS.mem_mb,
        launcher="",
    params:
        settings=lambda wildcards: run_settings(PARAMS, Run.of(wildcards)).as_json(),
        start=lambda wildcards, input: (
            f"--start {Path(input.start[0]).parent}" if input.start else ""
        ),
    shell:
        "{resources.launcher} simt train --devices {resources.gpu} --settings {params.settings:q} --corpus $(dirname {input.corpus}) {params.start}"
        " --to $(dirname {output.settings}) --threads {threads} 2>&1 | tee {log}"
