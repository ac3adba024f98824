cd {{ path }} && exec env PYTHONSAFEPATH=1 torchrun \
    --shutdown-timeout={{ grace_period }} \
    --log-dir={{ rank_logs }}/node-"${JOB_COMPLETION_INDEX:-0}" --redirects=3 --tee=0:3 \
    --module hunmin.main pretrain {{ recipe }}
{# The runtime says by PET_* variables where the pods meet; its own folder cannot be changed from here. #}
