#!/bin/bash
# trainx under Open MPI, which starts the processes and does no more; from host 0:
#   RANKS=16 HOSTS=a:8,b:8 configs/cluster/mpirun.sh CONFIG [key=value ...]
set -eu
# --bind-to none: each rank computes with the cores that it is given otherwise, rather than with one.
exec mpirun -np "${RANKS:?how many ranks in all}" ${HOSTS:+--host "$HOSTS"} --bind-to none \
  -x MASTER_ADDR="${MASTER_ADDR:-$(hostname)}" -x MASTER_PORT="${MASTER_PORT:-29500}" \
  trainx train "$@"
