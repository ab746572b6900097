# Figures and tables: they read scores, never a model, and are drawn in seconds.


rule figure:
    input:
        lambda wildcards: shown_files(
            PARAMS, STUDY, PARAMS.paper.figures[wildcards.name]
        ),
    output:
        pdf="results/paper/{study}/figures/{name}.pdf",
        svg="results/paper/{study}/figures/{name}.svg",
        png="results/paper/{study}/figures/{name}.png",
        caption="results/paper/{study}/figures/{name}.json",
    log:
        "logs/figure/{study}/{name}.log",
    conda:
        "../../environment.yml"
    params:
        entry=lambda wildcards: PARAMS.paper.figures[wildcards.name].as_json(),
        fidelity=PARAMS.fidelity,
    shell:
        "simt draw {wildcards.name} --study {wildcards.study} --fidelity {params.fidelity} --to $(dirname {output.pdf}) 2>&1 | tee {log}"


rule table:
    input:
        lambda wildcards: shown_files(
            PARAMS, STUDY, PARAMS.paper.tables[wildcards.name]
        ),
    output:
        tex="results/paper/{study}/tables/{name}.tex",
        md="results/paper/{study}/tables/{name}.md",
        csv="results/paper/{study}/tables/{name}.csv",
        caption="results/paper/{study}/tables/{name}.json",
    log:
        "logs/table/{study}/{name}.log",
    conda:
        "../../environment.yml"
    params:
        entry=lambda wildcards: PARAMS.paper.tables[wildcards.name].as_json(),
        fidelity=PARAMS.fidelity,
    shell:
        "simt draw {wildcards.name} --study {wildcards.study} --fidelity {params.fidelity} --to $(dirname {output.tex}) 2>&1 | tee {log}"
