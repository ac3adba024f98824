{# In a store of their own, as in the agents' one processes that start again would find those that have failed. #}
env PYTHONSAFEPATH=1 TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 {{ python }} -m torch.distributed.run
{% if nodes == 1 %}
    --standalone
{% else %}
    --nnodes={{ fewest ~ ":" ~ nodes if fewest else nodes }}
    --rdzv-backend=c10d
    --rdzv-endpoint={{ "[" ~ host ~ "]" if ":" in host else host }}:{{ port }}
    --rdzv-id={{ name }}
    --rdzv-conf=is_host={{ 1 if node == 0 else 0 }},join_timeout=600
    --local-addr={{ own_address }}
{% endif %}
    --nproc-per-node={{ devices }}
    --max-restarts={{ restarts }}
    --shutdown-timeout={{ grace_period }}
    --log-dir={{ rank_logs }}/node-{{ node }}
    --redirects=3
    --tee=0:3
    --module hunmin.main pretrain {{ recipe }}
