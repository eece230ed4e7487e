#!/bin/bash
# trainx under torchrun, on each host:
#   HOSTS=2 HOST=0 MASTER_ADDR=<host 0> configs/cluster/torchrun.sh CONFIG [key=value ...]
# Elastic, on 2 to 4 hosts, of which the others go on if one is lost:
#   HOSTS=2:4 MASTER_ADDR=<host 0> MAX_RESTARTS=10 configs/cluster/torchrun.sh CONFIG [key=value ...]
# On one host `trainx train CONFIG --nproc-per-node auto` does the same without torchrun.
set -eu
hosts=${HOSTS:-1} address=${MASTER_ADDR:-127.0.0.1} port=${MASTER_PORT:-29500}
if [[ $hosts == *:* ]]; then
  # Agents count themselves and meet at a store on MASTER_ADDR, with which the job ends. Each start
  # gets a port of its own: agents that share the store do not agree again after a host was lost.
  export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
  place=(--rdzv-backend c10d --rdzv-endpoint "$address:$port" --rdzv-id "${RUN_ID:-trainx}"
    ${RDZV_CONF:+--rdzv-conf "$RDZV_CONF"} ${LOCAL_ADDR:+--local-addr "$LOCAL_ADDR"})
else
  # Rank 0 listens at the port after MASTER_PORT, which torchrun's agent keeps for itself: both must
  # be open.
  place=(--node-rank "${HOST:-0}" --master-addr "$address" --master-port "$port")
fi
# trainx is no Python script (--no-python).
exec torchrun --no-python --nnodes "$hosts" --nproc-per-node "${RANKS_PER_HOST:-gpu}" "${place[@]}" \
  --max-restarts "${MAX_RESTARTS:-0}" trainx train "$@"
