# Figures and tables: they read scores, never a model, and are drawn in seconds.
# `--config with_paper=true` lays the paper's own numbers under ours.
WITH_PAPER = "--with-paper" if config.get("with_paper") else ""


rule figure:
    input:
        lambda wildcards: shown_files(
            PARAMS, STUDY, PARAMS.paper.figures[wildcards.name]
        ),
    output:
        pdf="results/paper/{study}/figures/{name}.pdf",
        svg=report(
            "results/paper/{study}/figures/{name}.svg",
            category="Figures",
            labels=lambda wildcards: {
                "figure": wildcards.name,
                "shows": PARAMS.paper.figures[wildcards.name].title,
            },
            caption="../captions/drawing.rst",
        ),
        png="results/paper/{study}/figures/{name}.png",
        caption="results/paper/{study}/figures/{name}.json",
    log:
        "logs/figure/{study}/{name}.log",
    localrule: True  # seconds of work, on the submit node
    conda:
        "../../environment.yml"
    params:
        entry=lambda wildcards: PARAMS.paper.figures[wildcards.name].as_json(),
        fidelity=PARAMS.fidelity,
        overlay=WITH_PAPER,
    shell:
        "simt draw {wildcards.name} --study {wildcards.study} --fidelity {params.fidelity} {params.overlay} --to $(dirname {output.pdf}) 2>&1 | tee {log}"


rule table:
    input:
        lambda wildcards: shown_files(
            PARAMS, STUDY, PARAMS.paper.tables[wildcards.name]
        ),
    output:
        tex="results/paper/{study}/tables/{name}.tex",
        md="results/paper/{study}/tables/{name}.md",
        csv=report(
            "results/paper/{study}/tables/{name}.csv",
            category="Tables",
            labels=lambda wildcards: {
                "table": wildcards.name,
                "shows": PARAMS.paper.tables[wildcards.name].title,
            },
            caption="../captions/drawing.rst",
        ),
        caption="results/paper/{study}/tables/{name}.json",
    log:
        "logs/table/{study}/{name}.log",
    localrule: True  # seconds of work, on the submit node
    conda:
        "../../environment.yml"
    params:
        entry=lambda wildcards: PARAMS.paper.tables[wildcards.name].as_json(),
        fidelity=PARAMS.fidelity,
        overlay=WITH_PAPER,
    shell:
        "simt draw {wildcards.name} --study {wildcards.study} --fidelity {params.fidelity} {params.overlay} --to $(dirname {output.tex}) 2>&1 | tee {log}"


# A target for each: `snakemake … -- fig03-bleu-al`.
for kind, names, ending in (("figures", FIGURES, "pdf"), ("tables", TABLES, "tex")):
    for target in names:

        rule:
            name:
                target
            input:
                f"results/paper/{PARAMS.study}/{kind}/{target}.{ending}",


rule curves:
    input:
        [point.marker for point in study_points(PARAMS, STUDY)],
    output:
        curves="results/paper/{study}/curves.csv",
        metrics=directory("results/paper/{study}/metrics"),
    log:
        "logs/curves/{study}.log",
    localrule: True  # seconds of work, on the submit node
    conda:
        "../../environment.yml"
    params:
        fidelity=PARAMS.fidelity,
    shell:
        "simt curves --study {wildcards.study} --fidelity {params.fidelity} --to $(dirname {output.curves}) 2>&1 | tee {log}"


rule claims:
    input:
        [point.marker for point in study_points(PARAMS, STUDY)],
    output:
        json="results/paper/{study}/claims.json",
        md=report(
            "results/paper/{study}/claims.md",
            category="Claims",
            caption="../captions/claims.rst",
        ),
    log:
        "logs/claims/{study}.log",
    localrule: True  # seconds of work, on the submit node
    conda:
        "../../environment.yml"
    params:
        fidelity=PARAMS.fidelity,
    shell:
        "simt claims --study {wildcards.study} --fidelity {params.fidelity} --to $(dirname {output.json}) 2>&1 | tee {log}"


rule report:
    input:
        runs=[run.folder / SETTINGS_FILE for run in study_runs(STUDY)],
        paths=shown_files(PARAMS, STUDY, PARAMS.paper.theatre),
        states=[point.folder / THEATRE_FILE for point in staged_points(PARAMS, STUDY)],
        figures=[f"results/paper/{{study}}/figures/{name}.svg" for name in FIGURES],
        tables=[f"results/paper/{{study}}/tables/{name}.md" for name in TABLES],
        claims=rules.claims.output.json,
    output:
        "results/paper/{study}/report.html",
    log:
        "logs/report/{study}.log",
    localrule: True  # seconds of work, on the submit node
    conda:
        "../../environment.yml"
    params:
        theatre=PARAMS.paper.theatre.as_json(),
        fidelity=PARAMS.fidelity,
    shell:
        "simt report --study {wildcards.study} --fidelity {params.fidelity} --to {output} 2>&1 | tee {log}"
