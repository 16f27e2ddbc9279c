# Shared by the scripts in this folder; to be sourced by bash. Sets `root`, the top of the tree, and works from there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${ALINEO_JOBS:-$(nproc)}
# Tests often wait for something, so more of them than processors keep those busy.
test_jobs=$((jobs * 3 / 2))

die() {
    echo "$(basename "$0"): $*" >&2
    exit 2
}

# build_tree FOLDER TARGET [CMAKE OPTION...]: configures FOLDER, again only when the options changed, and builds TARGET
# in it.
build_tree() {
    local folder=$1 target=$2 wanted
    shift 2
    wanted="$root $*"
    if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.configured" 2>/dev/null)" != "$wanted" ]; then
        cmake -S "$root" -B "$folder" -G Ninja "$@" || return 1
        echo "$wanted" >"$folder/.configured"
    fi
    ninja -C "$folder" -j "$jobs" "$target"
}

# verdict PASSED FAILED: the last line of every check, from which scripts/test takes its count.
verdict() {
    echo "$1 passed, $2 failed"
    [ "$2" -eq 0 ]
}

# verdict_of_tree FAULTS: the verdict of a check of the whole tree, which counts once if it passes.
verdict_of_tree() {
    verdict $(($1 == 0)) "$1"
}

# run_ctest FOLDER [CTEST OPTION...]: runs tests of a build tree and gives the verdict over the single cases in them.
run_ctest() {
    local folder=$1 rc=0
    shift
    ctest --test-dir "$folder" -j "$test_jobs" --no-tests=error --output-on-failure --output-junit "$root/$folder/ctest.xml" \
        --test-output-size-passed 67108864 --test-output-size-failed 67108864 "$@" || rc=$?
    python3 scripts/checks/count_cases.py "$folder/ctest.xml" "$rc"
}

# sources PATTERN...: the files of the tree that match, those not yet committed too.
sources() {
    git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" | sort -u | while IFS= read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}
