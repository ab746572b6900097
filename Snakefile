# Table of contents. `snakemake -n` shows what would be done; `simt plan` says it in words.


include: "workflow/rules/common.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/points.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/tracking.smk"


report: "workflow/captions/study.rst"


# Targets: each is the plural noun of its folder below results/.
rule corpora:
    input:
        [corpus_folder(pair, "bpe") / SETTINGS_FILE for pair in STUDY.runs],
        [estimator_files(PARAMS, pair) for pair in STUDY.runs],


rule runs:
    input:
        [run.folder / SETTINGS_FILE for run in study_runs(STUDY)],


rule points:
    input:
        [point.marker for point in study_points(PARAMS, STUDY)],
        [point.folder / THEATRE_FILE for point in staged_points(PARAMS, STUDY)],


rule paper:
    default_target: True
    input:
        [f"results/paper/{PARAMS.study}/figures/{name}.pdf" for name in FIGURES],
        [f"results/paper/{PARAMS.study}/tables/{name}.tex" for name in TABLES],
        [f"results/paper/{PARAMS.study}/{name}" for name in PAPER_FILES],
