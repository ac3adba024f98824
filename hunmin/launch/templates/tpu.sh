#!/bin/bash
# A TPU host of a run. TorchTPU says by which variables the chips find each other; torchrun starts a process a chip.
set -euo pipefail
{% if nodes > 1 %}
: "${TORCH_TPU_TOPOLOGY:?set it to the mesh of chips of the whole slice, e.g. 4x4}"
{% endif %}
variables=$(env PYTHONSAFEPATH=1 {{ python }} -m torch.tpu.distributed)
set -a
eval "$variables"
set +a
exec env PYTHONSAFEPATH=1 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 {{ python }} -m torch.distributed.run \
{% if nodes > 1 %}
    --nnodes={{ nodes }} --node-rank="$NODE_RANK" --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" \
{% else %}
    --standalone \
{% endif %}
    --nproc-per-node={{ devices }} --max-restarts={{ restarts }} --shutdown-timeout={{ grace_period }} \
    --log-dir={{ rank_logs }}/node-"${NODE_RANK:-0}" --redirects=3 --tee=0:3 \
    --module hunmin.main pretrain {{ recipe }}
