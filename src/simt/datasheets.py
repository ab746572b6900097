"""What GPUs can do at most, as their maker publishes it; none of it was measured here."""

from dataclasses import dataclass

# Of the dense peak: what a Transformer's training is assumed to reach. An assumption, not a
# measurement; `simt bench train` on the GPU itself replaces it.
ASSUMED_FRACTION = 0.3


@dataclass(frozen=True)
class Gpu:
    """A GPU by its data sheet: dense matrix products, sums kept in fp32."""

    kind: str  # as a person types it
    name: str
    peak_tflops: float
    precision: str
    memory_gb: int
    source: str  # NVIDIA's

    @property
    def assumed_flops_per_s(self) -> float:
        """The speed of a training on it, as far as ``ASSUMED_FRACTION`` holds."""
        return ASSUMED_FRACTION * self.peak_tflops * 1e12

    def seconds(self, flops: float) -> float:
        """Of a training on one of them, by that speed."""
        return flops / self.assumed_flops_per_s


GPUS = (
    # Without bf16, in which simt trains: a V100 takes the long way round by fp32 (peak 15.7).
    Gpu("v100", "V100 SXM2", 125, "fp16", 32, "data sheet; no bf16"),  # there are some with 16 GB
    Gpu("a100-40", "A100 40GB", 312, "bf16", 40, "data sheet"),
    Gpu("a100", "A100 80GB", 312, "bf16", 80, "data sheet"),
    Gpu("h100", "H100 SXM", 989, "bf16", 80, "data sheet, dense"),  # 1,979 with sparsity
    Gpu("l40s", "L40S", 362, "bf16", 48, "data sheet, dense"),  # 733 with sparsity
    # Appendix A; 330 with sums in fp16, which trainings do not use.
    Gpu("rtx4090", "RTX 4090", 165, "bf16", 24, "Ada white paper"),
)
KINDS = {gpu.kind: gpu for gpu in GPUS}
REFERENCE = KINDS["a100"]
