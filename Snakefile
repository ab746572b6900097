# Table of contents. `snakemake -n` shows what would be done; `simt plan` says it in words.


include: "workflow/rules/common.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/points.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/start.smk"


report: "workflow/captions/study.rst"


# Targets: each is the plural noun of its folder below results/. They ask for every step, and for what is
# lost of one that is done. Only `corpora` asks for raw files: nobody else needs them any more.
# What grows with the study is a function throughout: the Snakemake of a job does not wait for it.
ENCODED = [step for step in STEPS.corpora() if step.reads]


rule corpora:
    input:
        lambda wildcards: asked_for(STEPS.corpora()),


rule runs:
    input:
        lambda wildcards: asked_for([*ENCODED, *STEPS.runs()]),


rule points:
    input:
        lambda wildcards: asked_for([*ENCODED, *STEPS.runs(), *STEPS.points()]),


rule paper:
    default_target: True
    input:
        lambda wildcards: asked_for(
            [*ENCODED, *STEPS.runs(), *STEPS.points(), *STEPS.paper()]
        ),
