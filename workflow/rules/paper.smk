# Figures and tables: they read scores, never a model, and are drawn in seconds.
# `--config with_paper=true` lays the paper's own numbers under ours.
# `--config face=serif` draws figures for papers set in Times.
WITH_PAPER = "--with-paper" if OPTIONS.with_paper else ""


rule figure:
    input:
        lambda wildcards: STEPS.drawing("figures", wildcards.name).inputs,
    output:
        pdf=f"{PAPER_FOLDER}/figures/{{name}}.pdf",
        svg=report(
            f"{PAPER_FOLDER}/figures/{{name}}.svg",
            category="Figures",
            labels=lambda wildcards: {
                "figure": wildcards.name,
                "shows": PARAMS.paper.figures[wildcards.name].title,
            },
            caption="../captions/drawing.rst",
        ),
        png=f"{PAPER_FOLDER}/figures/{{name}}.png",
        caption=f"{PAPER_FOLDER}/figures/{{name}}.json",
        marker=f"{PAPER_FOLDER}/figures/markers/{{name}}.json",
    log:
        "logs/figure/{study}/{name}.log",
    localrule: True  # seconds of work, on the submit node
    params:
        settings=lambda wildcards: STEPS.drawing(
            "figures", wildcards.name
        ).settings.as_json(),
        overlay=WITH_PAPER,
        face=OPTIONS.face,
    shell:
        "simt --log {log} draw {wildcards.name} --settings {params.settings:q} {params.overlay} --face {params.face:q}"
        f" --to {of_wildcards(PAPER_FOLDER)}/figures"


rule table:
    input:
        lambda wildcards: STEPS.drawing("tables", wildcards.name).inputs,
    output:
        tex=f"{PAPER_FOLDER}/tables/{{name}}.tex",
        md=f"{PAPER_FOLDER}/tables/{{name}}.md",
        csv=report(
            f"{PAPER_FOLDER}/tables/{{name}}.csv",
            category="Tables",
            labels=lambda wildcards: {
                "table": wildcards.name,
                "shows": PARAMS.paper.tables[wildcards.name].title,
            },
            caption="../captions/drawing.rst",
        ),
        caption=f"{PAPER_FOLDER}/tables/{{name}}.json",
        marker=f"{PAPER_FOLDER}/tables/markers/{{name}}.json",
    log:
        "logs/table/{study}/{name}.log",
    localrule: True  # seconds of work, on the submit node
    params:
        settings=lambda wildcards: STEPS.drawing(
            "tables", wildcards.name
        ).settings.as_json(),
        overlay=WITH_PAPER,
    shell:
        "simt --log {log} draw {wildcards.name} --settings {params.settings:q} {params.overlay}"
        f" --to {of_wildcards(PAPER_FOLDER)}/tables"


# A target for each: `snakemake … -- fig03-bleu-al`; one that the study leaves out says why.
for kind, drawing in [
    *(("figures", name) for name in FIGURES),
    *(("tables", name) for name in TABLES),
]:

    rule:
        name:
            drawing
        input:
            lambda wildcards, of=(kind, drawing): STEPS.drawing(*of).asked_for,


rule curves:
    input:
        lambda wildcards: STEPS.curves().inputs,
    output:
        [f"{PAPER_FOLDER}/{name}" for name in CURVES.outputs],
    log:
        "logs/curves/{study}.log",
    localrule: True  # seconds of work, on the submit node
    params:
        settings=lambda wildcards: STEPS.curves().settings.as_json(),
    shell:
        "simt --log {log} curves --settings {params.settings:q}"
        f" --to {of_wildcards(PAPER_FOLDER)}"


rule claims:
    input:
        lambda wildcards: STEPS.claims().inputs,
    output:
        json=f"{PAPER_FOLDER}/claims.json",
        md=report(
            f"{PAPER_FOLDER}/claims.md",
            category="Claims",
            caption="../captions/claims.rst",
        ),
        marker=f"{PAPER_FOLDER}/markers/claims.json",
    log:
        "logs/claims/{study}.log",
    localrule: True  # seconds of work, on the submit node
    params:
        settings=lambda wildcards: STEPS.claims().settings.as_json(),
    shell:
        "simt --log {log} write-claims --settings {params.settings:q}"
        f" --to {of_wildcards(PAPER_FOLDER)}"


rule report:
    input:
        lambda wildcards: STEPS.report().inputs,
    output:
        page=f"{PAPER_FOLDER}/report.html",
        marker=f"{PAPER_FOLDER}/markers/report.json",
    log:
        "logs/report/{study}.log",
    localrule: True  # seconds of work, on the submit node
    params:
        settings=lambda wildcards: STEPS.report().settings.as_json(),
    shell:
        "simt --log {log} report --settings {params.settings:q} --to {output.page}"
