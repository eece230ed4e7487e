#!/bin/bash
# trainx under torchrun, on each host:
#   HOSTS=2 HOST=0 MASTER_ADDR=<host 0> configs/cluster/torchrun.sh CONFIG [key=value ...]
# On one host `trainx train CONFIG --nproc-per-node auto` does the same without torchrun.
set -eu
# trainx is no Python script (--no-python). Rank 0 listens at the port after MASTER_PORT, which torchrun's agent keeps for itself: both must be open.
exec torchrun --no-python --nnodes "${HOSTS:-1}" --node-rank "${HOST:-0}" --nproc-per-node "${RANKS_PER_HOST:-gpu}" \
  --master-addr "${MASTER_ADDR:-127.0.0.1}" --master-port "${MASTER_PORT:-29500}" --max-restarts "${MAX_RESTARTS:-0}" \
  trainx train "$@"
