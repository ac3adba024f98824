#!/bin/bash
#SBATCH --job-name={{ sbatch(name) }}-{{ job }}
{% if job != "train" %}
#SBATCH --nodes=1
#SBATCH --ntasks=1
{% else %}
#SBATCH --nodes={{ nodes }}
{% if "ntasks-per-node" not in replaced %}
#SBATCH --ntasks-per-node={{ devices }}
{% endif %}
{% endif %}
{% if job != "corpus" and not cpu and "gpus-per-node" not in replaced %}
#SBATCH --gpus-per-node={{ devices }}
{% endif %}
{% if "exclusive" not in replaced %}
#SBATCH --exclusive
{% endif %}
{% if "mem" not in replaced %}
#SBATCH --mem=0
{% endif %}
#SBATCH --requeue
#SBATCH --signal=B:USR1@{{ grace_period }}
#SBATCH --chdir={{ sbatch(here) }}
#SBATCH --output={{ sbatch(output_pattern) }}/{{ job }}-%j.log
#SBATCH --open-mode=append
{% for option, value in [("partition", partition), ("account", account), ("time", time)] if value %}
#SBATCH --{{ option }}={{ sbatch(value) }}
{% endfor %}
{% for option in own %}
#SBATCH {{ option }}
{% endfor %}
set -u
{% if env_file %}
set -a; . {{ here / env_file }}; set +a
{% endif %}
[ -z "${SLURM_CPUS_PER_TASK:-}" ] || export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"  # newer srun reads this alone
mkdir -p {{ rank_logs }} {{ output }}
{% if job == "train" %}
rm -f {{ run }}/made/pretrain-*/logs/stopped
stopped() { ls {{ run }}/made/pretrain-*/logs/stopped > /dev/null 2>&1; }
{% else %}
stopped() { [ "$code" = 143 ] || [ "$code" = 130 ]; }
{% endif %}
# a job that ends within the grace of a preemption is not put back by Slurm
preempted() { scontrol show job "$SLURM_JOB_ID" 2>/dev/null | grep -q 'PreemptTime=[0-9]'; }
# both by the controller's clock: this node's may differ
times=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null)
begin=$(sed -n 's/.*StartTime=\([0-9][0-9T:-]*\).*/\1/p' <<< "$times")
end=$(sed -n 's/.* EndTime=\([0-9][0-9T:-]*\).*/\1/p' <<< "$times")
if [ -n "$begin" ] && [ -n "$end" ] && [ $(($(date -d "$end" +%s) - $(date -d "$begin" +%s))) -le {{ grace_period }} ]; then
    echo "the time limit ($end) is over before the {{ grace_period }} s for saving have begun: give more --time, or less --grace-period"
    exit 2  # it would be put back for ever
fi
again=0 signalled=1
# {{ grace_period }} s before the limit: save, then back to the queue; the same run folder goes on where it stopped
trap 'signalled=1; again=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1
# stopped, or preempted: every task has had the same signal and saves
trap 'signalled=1' TERM
# the processes share the cores, and are not tied to one each
srun --kill-on-bad-exit=1 --cpu-bind=none \
{% if job == "train" %}
    --output={{ rank_pattern }}/rank-%t.log --open-mode=append \
{% else %}
    --ntasks=1 \
{% endif %}
{% if image %}
    --container-image={{ image }} --container-mounts={{ mounts }} --container-workdir={{ here }} \
{% endif %}
    {{ command }} &
step=$!
# a signal ends the wait, not the step; of a step that has ended bash keeps the code
while [ "$signalled" = 1 ]; do
    signalled=0 code=0
    wait "$step" || code=$?
done
if stopped; then
    if [ "$again" = 1 ] || preempted; then  # no failure: it takes none of the restarts
        echo "stopped before its time limit, or for another job, and saved: back to the queue"
        scontrol requeue "$SLURM_JOB_ID" && exit 0
        echo "Slurm does not put this job back (see above); hunmin launch goes on from there when it is given again"
    else
        echo "stopped as asked, and saved: hunmin launch goes on from there when it is given again"
    fi
    exit 143  # not done: what comes after it must not begin
fi
if [ "$code" != 0 ]; then
    echo "{{ "training" if job == "train" else job }} ended with exit code $code"
{% if job == "train" %}
    echo "the first process says:"
    tail -n 20 {{ rank_logs }}/rank-0.log
    failures={{ output }}/train-"$SLURM_JOB_ID".failures
    failed=$(cat "$failures" 2>/dev/null | wc -l)
    if [ "$code" != 2 ] && [ "$failed" -lt {{ restarts }} ]; then  # 2: a setting that is refused
        echo "back to the queue: restart $((failed + 1)) of {{ restarts }}"
        echo "$code" >> "$failures"
        scontrol requeue "$SLURM_JOB_ID" && exit 0
        echo "Slurm does not put this job back (see above)"
    fi
{% endif %}
fi
exit "$code"
