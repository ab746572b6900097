# A run decoded on a split at all its knob values in one job, and the scores of that.
ESTIMATOR_JOBS = Jobs(PARAMS, ESTIMATOR)
DECODING_JOBS = Jobs(PARAMS, DECODING)
SCORING_JOBS = Jobs(PARAMS, SCORING)


rule estimator:
    input:
        rules.prepare.output,
    output:
        "results/corpora/{pair}/estimator/settings.json",
    log:
        "logs/estimator/{pair}.log",
    conda:
        "../../environment.yml"
    threads: ESTIMATOR_JOBS.threads
    resources:
        runtime=ESTIMATOR_JOBS.runtime,
        mem_mb=ESTIMATOR_JOBS.mem_mb,
    params:
        settings=lambda wildcards: PARAMS.scoring.estimator.as_json(),
    shell:
        "simt estimator --settings {params.settings:q} --corpus results/corpora/{wildcards.pair}"
        " --to $(dirname {output}) --threads {threads} 2>&1 | tee {log}"


rule decode:
    input:
        rules.train.output.settings,
    output:
        settings="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/settings.json",
        instances="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/instances.jsonl",
    log:
        "logs/decode/{pair}/{method}/{variant}/seed{seed}/{split}.log",
    wildcard_constraints:
        split="test|aligned",
    conda:
        "../../environment.yml"
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=lambda wildcards: point_settings(PARAMS, Point.of(wildcards)).as_json(),
    shell:
        "simt decode --settings {params.settings:q} --corpus results/corpora/{wildcards.pair} --run $(dirname {input})"
        " --to $(dirname {output.settings}) --threads {threads} 2>&1 | tee {log}"


rule confidences:
    input:
        rules.train.output.settings,
    output:
        settings="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/settings.json",
        confidence="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/confidence.json",
        sums="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/sums.json",
        grid="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/grid.json",
    log:
        "logs/confidences/{pair}/{method}/{variant}/seed{seed}/{split}.log",
    wildcard_constraints:
        split="valid",
    conda:
        "../../environment.yml"
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=lambda wildcards: point_settings(PARAMS, Point.of(wildcards)).as_json(),
    shell:
        "simt confidences --settings {params.settings:q} --corpus results/corpora/{wildcards.pair} --run $(dirname {input})"
        " --to $(dirname {output.settings}) --threads {threads} 2>&1 | tee {log}"


rule states:
    input:
        rules.train.output.settings,
    output:
        settings="results/points/{pair}/{method}/{variant}/seed{seed}/aligned/theatre.json",
        states="results/points/{pair}/{method}/{variant}/seed{seed}/aligned/states.jsonl",
    log:
        "logs/states/{pair}/{method}/{variant}/seed{seed}/aligned.log",
    conda:
        "../../environment.yml"
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=PARAMS.paper.theatre.choice.as_json(),
    shell:
        "simt states --settings {params.settings:q} --corpus results/corpora/{wildcards.pair} --run $(dirname {input})"
        " --to $(dirname {output.settings}) --threads {threads} 2>&1 | tee {log}"


rule score:
    input:
        instances=rules.decode.output.instances,
        judges=lambda wildcards: judge_files(PARAMS, Point.of(wildcards)),
    output:
        settings="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/scoring.json",
        scores="results/points/{pair}/{method}/{variant}/seed{seed}/{split}/scores.json",
    log:
        "logs/score/{pair}/{method}/{variant}/seed{seed}/{split}.log",
    conda:
        "../../environment.yml"
    threads: SCORING_JOBS.threads
    resources:
        gpu=SCORING_JOBS.gpu,
        runtime=SCORING_JOBS.runtime,
        mem_mb=SCORING_JOBS.mem_mb,
    params:
        settings=lambda wildcards: scoring_settings(
            PARAMS, Point.of(wildcards)
        ).as_json(),
        models=lambda wildcards, input: (
            f"--models {Path(input.judges[0]).parent}" if input.judges else ""
        ),
    shell:
        "simt score-point --settings {params.settings:q} --corpus results/corpora/{wildcards.pair} --split {wildcards.split}"
        " --to $(dirname {output.settings}) {params.models} --threads {threads} 2>&1 | tee {log}"
