"""What GPUs can do at most, as their maker publishes it; none of it was measured here."""

from dataclasses import dataclass

# Of the dense peak: what a Transformer's training is assumed to reach. An assumption, not a
# measurement; `simt bench train` on the GPU itself replaces it.
ASSUMED_FRACTION = 0.3


@dataclass(frozen=True)
class Gpu:
    """A GPU by its data sheet: dense matrix products, sums kept in fp32."""

    name: str
    peak_tflops: float
    precision: str
    source: str  # NVIDIA's

    @property
    def assumed_flops_per_s(self) -> float:
        """The speed of a training on it, as far as ``ASSUMED_FRACTION`` holds."""
        return ASSUMED_FRACTION * self.peak_tflops * 1e12


GPUS = (
    # Without bf16, in which simt trains: a V100 takes the long way round by fp32 (peak 15.7).
    Gpu("V100 SXM2", 125, "fp16", "data sheet; no bf16"),
    Gpu("A100", 312, "bf16", "data sheet"),
    Gpu("H100 SXM", 989, "bf16", "data sheet, dense"),  # 1,979 with sparsity
    Gpu("L40S", 362, "bf16", "data sheet, dense"),  # 733 with sparsity
    # Appendix A; 330 with sums in fp16, which trainings do not use.
    Gpu("RTX 4090", 165, "bf16", "Ada white paper"),
)
REFERENCE = next(gpu for gpu in GPUS if gpu.name == "A100")
