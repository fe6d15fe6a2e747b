"""Rank and world size of this process, if the caller does not pass them."""

import os
import sys
import warnings
from typing import Any

from fdconvert._errors import UsageError
from fdconvert._groups import Ranks

VARIABLES = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
]
"""Variables of launchers that number every training process: torchrun, Open MPI, MVAPICH, MPICH."""

NOT_TAKEN = [
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("PALS_RANKID", "PALS_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    # srun numbers its tasks, but an sbatch script, which runs once, is also number 0 of that many.
    ("SLURM_PROCID", "SLURM_NTASKS"),
]
"""Variables that a single process may also have, or that do not always come in pairs."""

_told = False


def rank_of_process(ranks: Ranks) -> tuple[int, int]:
    """Return rank and world size: those given, or those of torch.distributed or the launcher."""
    if ranks.world_size is not None:
        return int(ranks.rank or 0), int(ranks.world_size)
    found = _of_torch() or _of_launcher()
    if found is None:
        _tell(_about_others())
        return 0, 1
    rank, world_size, by = found
    if world_size > 1:
        what = (
            f"rank {rank} of {world_size}, as {by} says: this process gets its share of the samples. "
            f"Pass ranks=fdconvert.Ranks({rank}, {world_size}) to confirm, or "
            "ranks=fdconvert.Ranks(0, 1) for all samples"
        )
        _tell(what)
    return rank, world_size


def check_ranks(rank: int, world_size: int) -> None:
    """Raise ``UsageError`` if torch.distributed has another rank or size than the loader."""
    found = _of_torch()
    if found is not None and found[:2] != (rank, world_size):
        what = (
            f"the loader was made for rank {rank} of {world_size}, before torch.distributed was "
            f"initialised, which says {found[0]} of {found[1]}"
        )
        cure = f"make the loader afterwards, or give fdconvert.Ranks({found[0]}, {found[1]})"
        raise UsageError(f"ranks: {what}; {cure} (fdconvert.Ranks(0, 1) for all samples)")


def _of_torch() -> tuple[int, int, str] | None:
    # Only if the program has imported it.
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size(), "torch.distributed"


def _of_launcher() -> tuple[int, int, str] | None:
    for variables in VARIABLES:
        values = [os.environ.get(variable, "").strip() for variable in variables]
        if not all(values):
            continue
        rank, world_size = (int(value) if value.isdecimal() else -1 for value in values)
        if not 0 <= rank < world_size:
            what = f"{variables[0]}={values[0]} and {variables[1]}={values[1]} are not a rank and a size"
            raise UsageError(f"ranks: {what}; pass fdconvert.Ranks(rank, world_size)")
        return rank, world_size, f"{variables[0]} in the environment"
    return None


def _about_others() -> str | None:
    for variables in VARIABLES + NOT_TAKEN:
        shown = [(name, os.environ.get(name, "").strip()) for name in variables]
        rank, world_size = (int(value) if value.isdecimal() else 0 for _, value in shown)
        if rank > 0 or world_size > 1:
            said = " and ".join(f"{name}={value}" for name, value in shown if value)
            size = world_size if world_size > 1 else "..."
            return (
                f"{said} in the environment: without `ranks` each process gets all samples. Pass "
                f"ranks=fdconvert.Ranks({shown[0][1] or '...'}, {size}) for a share, or "
                "ranks=fdconvert.Ranks(0, 1) to confirm"
            )
    return None


def _tell(what: str | None) -> None:
    global _told  # noqa: PLW0603
    if what is not None and not _told:
        _told = True
        # The caller's frame, which makes the loader.
        warnings.warn(f"fdconvert.Loader: {what}", RuntimeWarning, stacklevel=4)
