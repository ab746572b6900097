"""What only shows when the layers are put together, for every run of every study."""

from collections.abc import Mapping
from pathlib import Path

from simt.errors import SimtError
from simt.params.layers import Layers
from simt.params.schema import Study
from simt.problems import Problems
from simt.settings import METHOD_SETTINGS, ModelSettings, TrainingSettings
from simt.system_folder import names_folder, read_manifest, read_system


def check_merged(
    layers: Layers,
    models: Mapping[str, ModelSettings],
    studies: Mapping[str, Study],
    problems: Problems,
) -> None:
    """Note what is wrong with the settings of any run."""
    for study_name, study in studies.items():
        for pair, methods in study.runs.items():
            for method, variants in methods.items():
                if pair not in layers.pairs or method not in layers.methods:
                    continue  # told where it is
                if not problems.are_at("training"):  # else told again for every pair
                    _check_training(layers, problems, pair, method)
                path = f"studies.{study_name}.runs.{pair}.{method}"
                for variant in variants:
                    if variant in layers.methods[method].variants:
                        run = (pair, method, variant)
                        _check_run(layers, study, problems, path, run)
                        _check_start_folder(layers, models, problems, run)


def _check_training(layers: Layers, problems: Problems, pair: str, method: str) -> None:
    """Complete settings, and a learning rate that reaches its peak."""
    path = f"pairs.{pair}.training"
    training = layers.common_training(pair, method)
    problems.check_whole(TrainingSettings, training, path)
    warmup, updates = training.get("warmup_updates"), training.get("updates")
    if isinstance(warmup, int) and isinstance(updates, int) and warmup > updates:
        problems.add(
            f"{path}.warmup_updates", f"{warmup:,} is above updates ({updates:,}); lower it"
        )


def _check_run(
    layers: Layers, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """A run has complete settings, a model size, knobs, and a start that the study trains."""
    pair, method, variant = run
    place = f"methods.{method}.variants.{variant}"
    size = layers.methods[method].variants[variant].size
    if size not in layers.pairs[pair].sizes:
        problems.add(f"pairs.{pair}.sizes", f"has no size {size}, which {place} asks for")
    if not problems.are_at(f"methods.{method}.settings"):  # else told again for every variant
        problems.check_whole(METHOD_SETTINGS[method], layers.method_settings(*run), place)
    if not layers.knobs(*run):
        problems.add(f"{place}.knobs", f"no knob value, and none at methods.{method}.knobs")
    _check_start(layers, study, problems, path, run)


def _check_start(
    layers: Layers, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """The run to start from, if any, is trained in the same study and has the same shape."""
    pair, method, variant = run
    recipe = layers.methods[method].variants[variant]
    start = recipe.start_from
    base_method, _, base_variant = (start or "").partition("/")
    if base_method not in layers.methods:
        return
    base = layers.methods[base_method].variants.get(base_variant)
    if base is None:
        return
    place = f"methods.{method}.variants.{variant}.start_from"
    sizes = layers.pairs[pair].sizes
    theirs = layers.method_settings(pair, base_method, base_variant).get("encoder")
    ours = layers.method_settings(*run).get("encoder")
    if base_variant not in study.runs[pair].get(base_method, ()):
        problems.add(
            path, f"{variant} starts from {start}, which is not run here; add {base_variant} to "
            f"{path.rsplit('.', 1)[0]}.{base_method}",
        )  # fmt: skip
    elif len(study.seeds_of(base_method, base_variant)) < len(study.seeds_of(method, variant)):
        problems.add(
            path, f"{variant} starts from {start}, which is trained with the first seed only; "
            f"add {variant} to first_seed_only.{method}",
        )  # fmt: skip
    elif base.start_from is not None:
        problems.add(place, f"{start} itself starts from another run; start from an original one")
    elif sizes.get(base.size) != sizes.get(recipe.size):
        problems.add(
            place, f"{start} is of size {base.size}, this of {recipe.size}; make their sizes equal"
        )  # fmt: skip
    elif theirs != ours and not any(
        problems.are_at(f"methods.{one}.settings") for one in (method, base_method)
    ):
        problems.add(place, f"{start} has a {theirs} encoder, this a {ours} one; make them equal")


def _check_start_folder(
    layers: Layers,
    models: Mapping[str, ModelSettings],
    problems: Problems,
    run: tuple[str, str, str],
) -> None:
    """The exported folder to start from, if any, is there and has the same model."""
    pair, method, variant = run
    recipe = layers.methods[method].variants[variant]
    if recipe.start_from is None or not names_folder(recipe.start_from):
        return
    place, folder = f"methods.{method}.variants.{variant}.start_from", Path(recipe.start_from)
    try:
        read_manifest(folder)
        base = read_system(folder).run
    except SimtError as error:
        problems.add(place, str(error))
        return
    theirs, ours = base.method_settings.get("encoder"), layers.method_settings(*run).get("encoder")
    if theirs != ours:
        problems.add(place, f"{folder} has a {theirs} encoder, this a {ours} one; make them equal")
    model = models.get(layers.pairs[pair].sizes.get(recipe.size, ""))
    if model is not None and base.model != model:  # one that is missing is told elsewhere
        problems.add(
            place, f"{folder} is of size {base.model.as_json()}, this of {model.as_json()}; "
            "make them equal",
        )  # fmt: skip
