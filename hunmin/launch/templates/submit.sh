#!/bin/bash
# Submit the three jobs: each begins when the one before it has ended well.
set -eu
after=
for script in {{ scripts }}; do
    job=$(sbatch --parsable --kill-on-invalid-dep=yes ${after:+--dependency=afterok:$after} "$script")
    after=${job%%;*}
    echo "submitted $script: job $after" >&2
done
