env PYTHONSAFEPATH=1 {{ python }} -m deepspeed.launcher.runner
    --hostfile={{ run }}/launch/hostfile
    --no_ssh
    --node_rank={{ node }}
    --master_addr={{ host or "127.0.0.1" }}
    --master_port={{ port }}
    --force_multi
    --no_local_rank
    --enable_each_rank_log={{ rank_logs }}
    --module hunmin.main pretrain {{ recipe }}
