# From an address, or the grammar, to files of ids. Each folder's settings.json is written last.
CORPUS_JOBS = Jobs(PARAMS, CORPUS)


rule fetch:
    output:
        "results/corpora/{pair}/raw/settings.json",
    log:
        "logs/fetch/{pair}.log",
    localrule: True  # compute nodes may have no network
    conda:
        "../../environment.yml"
    params:
        settings=lambda wildcards: corpus_settings(
            PARAMS, wildcards.pair, "fetch"
        ).as_json(),
    shell:
        "simt fetch --settings {params.settings:q} --to $(dirname {output}) 2>&1 | tee {log}"


rule prepare:
    input:
        rules.fetch.output,
    output:
        "results/corpora/{pair}/text/settings.json",
    log:
        "logs/prepare/{pair}.log",
    conda:
        "../../environment.yml"
    threads: CORPUS_JOBS.threads
    resources:
        runtime=CORPUS_JOBS.runtime,
        mem_mb=CORPUS_JOBS.mem_mb,
    params:
        settings=lambda wildcards: corpus_settings(
            PARAMS, wildcards.pair, "prepare"
        ).as_json(),
    shell:
        "simt prepare --settings {params.settings:q} --from $(dirname {input})"
        " --to $(dirname {output}) --processes {threads} 2>&1 | tee {log}"


rule bpe:
    input:
        rules.prepare.output,
    output:
        "results/corpora/{pair}/bpe/settings.json",
    log:
        "logs/bpe/{pair}.log",
    conda:
        "../../environment.yml"
    threads: CORPUS_JOBS.threads
    resources:
        runtime=CORPUS_JOBS.runtime,
        mem_mb=CORPUS_JOBS.mem_mb,
    params:
        settings=lambda wildcards: corpus_settings(
            PARAMS, wildcards.pair, "bpe"
        ).as_json(),
    shell:
        "simt bpe --settings {params.settings:q} --from $(dirname {input})"
        " --to $(dirname {output}) --processes {threads} 2>&1 | tee {log}"
