env TORCH_TPU_DEVICES_PER_HOST={{ devices }}
{% if nodes > 1 %}
    TPU_WORKER_HOSTNAMES={{ hosts | join(",") }} JOB_COMPLETION_INDEX={{ node }} NODE_RANK={{ node }}
{% endif %}
    bash {{ run }}/launch/tpu.sh
