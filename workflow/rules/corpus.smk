# From an address, or the grammar, to files of ids. Which files these are depends on the pair: some have
# no gold alignments, some have one vocabulary for both sides. So each pair has rules of its own.

# What the user has to provide is asked for before anything is downloaded (onstart, in start.smk);
# a dry run only hears of it.
if workflow.is_main_process:
    unfetched = unfetched_pairs(PARAMS)
    if lacking := missing_by_pair(PARAMS, unfetched, corpora_folder()):
        logger.warning(
            f"Files that only you can provide are missing ({', '.join(lacking)}): "
            f"`simt plan --study {PARAMS.study}` lists them."
        )


# What is fetched is not declared but the list of it: Snakemake would delete it all when one of
# several downloads fails. The marker vouches for it, and raise_if_damaged looks at it.
rule fetch:
    output:
        [f"{CORPUS_FOLDER}/raw/{name}" for name in FETCHED_OUTPUTS],
    log:
        "logs/fetch/{pair}.log",
    localrule: True  # compute nodes may have no network
    params:
        settings=lambda wildcards: STEPS.corpus(
            wildcards.pair, "fetch"
        ).settings.as_json(),
    shell:
        "simt --log {log} fetch --settings {params.settings:q}"
        f" --to {of_wildcards(CORPUS_FOLDER)}/raw"


for pair in PARAMS.pairs:

    rule:
        name:
            f"prepare_{pair}"
        input:
            STEPS.corpus(pair, "prepare").inputs,
        output:
            STEPS.corpus(pair, "prepare").outputs,
        log:
            f"logs/prepare/{pair}.log",
        threads: CORPUS.threads
        resources:
            runtime=CORPUS.runtime,
            mem_mb=CORPUS.mem_mb,
        params:
            settings=STEPS.corpus(pair, "prepare").settings.as_json(),
            pair=pair,  # a command is put together when the loop is over
        shell:
            "simt --log {log} prepare --settings {params.settings:q}"
            f" --from {of_params(CORPUS_FOLDER)}/raw --to {of_params(CORPUS_FOLDER)}/text --processes {{threads}}"

    rule:
        name:
            f"bpe_{pair}"
        input:
            STEPS.corpus(pair, "bpe").inputs,
        output:
            STEPS.corpus(pair, "bpe").outputs,
        log:
            f"logs/bpe/{pair}.log",
        threads: CORPUS.threads
        resources:
            runtime=CORPUS.runtime,
            mem_mb=CORPUS.mem_mb,
        params:
            settings=STEPS.corpus(pair, "bpe").settings.as_json(),
            pair=pair,  # a command is put together when the loop is over
        shell:
            "simt --log {log} bpe --settings {params.settings:q}"
            f" --from {of_params(CORPUS_FOLDER)}/text --to {of_params(CORPUS_FOLDER)}/bpe --processes {{threads}}"
