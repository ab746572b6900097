# A run decoded on a split at all its knob values in one job, and the scores of that. What is trained is
# decoded before more is trained: so points come early, and a rehearsal holds the weights of few runs.
DECODING_JOBS = JobsBySize(PARAMS, DECODING)


ALIGNED = POINT_FOLDER.replace("{split}", "aligned")


for pair in PARAMS.pairs:
    if not has_estimator(PARAMS, pair):
        continue

    rule:
        name:
            f"estimator_{pair}"
        input:
            STEPS.estimator(pair).inputs,
        output:
            STEPS.estimator(pair).outputs,
        log:
            f"logs/estimator/{pair}.log",
        threads: ESTIMATOR.threads
        resources:
            runtime=ESTIMATOR.runtime,
            mem_mb=ESTIMATOR.mem_mb,
        params:
            settings=PARAMS.scoring.estimator.as_json(),
            pair=pair,  # a command is put together when the loop is over
        shell:
            "simt --log {log} estimator --settings {params.settings:q}"
            f" --corpus {of_params(CORPUS_FOLDER)} --to {of_params(CORPUS_FOLDER)}/estimator --threads {{threads}}"


rule decode:
    input:
        lambda wildcards: STEPS.decoding(Point.from_wildcards(wildcards)).inputs,
    output:
        [f"{POINT_FOLDER}/{name}" for name in decoded("test").outputs],
    log:
        f"logs/decode/{POINT_NAME}.log",
    wildcard_constraints:
        split="test|aligned",
    priority: 1
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=lambda wildcards: STEPS.decoding(
            Point.from_wildcards(wildcards)
        ).settings.as_json(),
    shell:
        "simt --log {log} decode --settings {params.settings:q}"
        f" --corpus {of_wildcards(CORPUS_FOLDER)} --run {of_wildcards(RUN_FOLDER)} --to {of_wildcards(POINT_FOLDER)} --threads {{threads}}"


rule confidences:
    input:
        lambda wildcards: STEPS.decoding(Point.from_wildcards(wildcards)).inputs,
    output:
        [f"{POINT_FOLDER}/{name}" for name in decoded("valid").outputs],
    log:
        f"logs/confidences/{POINT_NAME}.log",
    wildcard_constraints:
        split="valid",
    priority: 1
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=lambda wildcards: STEPS.decoding(
            Point.from_wildcards(wildcards)
        ).settings.as_json(),
    shell:
        "simt --log {log} confidences --settings {params.settings:q}"
        f" --corpus {of_wildcards(CORPUS_FOLDER)} --run {of_wildcards(RUN_FOLDER)} --to {of_wildcards(POINT_FOLDER)} --threads {{threads}}"


rule states:
    input:
        lambda wildcards: STEPS.states(
            Point(Run.from_wildcards(wildcards), "aligned")
        ).inputs,
    output:
        [f"{ALIGNED}/{name}" for name in STATES.outputs],
    log:
        f"logs/states/{RUN_NAME}/aligned.log",
    priority: 1
    threads: DECODING_JOBS.threads
    resources:
        gpu=DECODING_JOBS.gpu,
        runtime=DECODING_JOBS.runtime,
        mem_mb=DECODING_JOBS.mem_mb,
    params:
        settings=PARAMS.paper.policy_viewer.choice.as_json(),
    shell:
        "simt --log {log} states --settings {params.settings:q}"
        f" --corpus {of_wildcards(CORPUS_FOLDER)} --run {of_wildcards(RUN_FOLDER)} --to {of_wildcards(ALIGNED)} --threads {{threads}}"


rule score:
    input:
        lambda wildcards: STEPS.scoring(Point.from_wildcards(wildcards)).inputs,
    output:
        [f"{POINT_FOLDER}/{name}" for name in scored("test").outputs],
    log:
        f"logs/score/{POINT_NAME}.log",
    wildcard_constraints:
        split="test|aligned",
    threads: SCORING.threads
    resources:
        gpu=SCORING.gpu,
        runtime=SCORING.runtime,
        mem_mb=SCORING.mem_mb,
    params:
        settings=lambda wildcards: STEPS.scoring(
            Point.from_wildcards(wildcards)
        ).settings.as_json(),
        models=lambda wildcards: STEPS.models_option(Point.from_wildcards(wildcards)),
    shell:
        "simt --log {log} score-point --settings {params.settings:q} --split {wildcards.split}"
        f" --corpus {of_wildcards(CORPUS_FOLDER)} --to {of_wildcards(POINT_FOLDER)} {{params.models}} --threads {{threads}}"
