#!/bin/sh
# GPU tests and benches of BatchLAS, made by `cargo xtask gpu-pack`; needs an NVIDIA driver and no Rust.
#   ./run.sh            every test program; logs and the summary go to $OUT (default: ./out)
#   ./run.sh bench      every bench program; rows go to $OUT/<name>.jsonl
#   ./run.sh NAME ...   one program (test, bench, or batchlas) with arguments of its own
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
OUT=${OUT:-$here/out}
mkdir -p "$OUT" || exit 1
# The programs find examples/data from here.
cd "$here" || exit 1
export BATCHLAS_REQUIRE_GPU=1 RUST_BACKTRACE=1

if ! [ -e /dev/nvidiactl ] && ! [ -e /dev/dxg ]; then
    echo "error: no NVIDIA GPU here: neither /dev/nvidiactl nor /dev/dxg exists" >&2
    exit 1
fi

# Programs are packed: each is unpacked once into $OUT/FOLDER.
unpack() {
    [ "$OUT/$1" -nt "$1.gz" ] && return
    mkdir -p "$OUT/$(dirname "$1")" && gzip -dc "$1.gz" >"$OUT/$1.part" &&
        chmod +x "$OUT/$1.part" && mv "$OUT/$1.part" "$OUT/$1"
}

case "${1:-tests}" in
tests)
    passed=0 failed=0
    : >"$OUT/summary.txt"
    for packed in test/*.gz; do
        program=${packed%.gz}
        name=$(basename "$program")
        echo "== $name"
        if unpack "$program" && "$OUT/$program" >"$OUT/$name.log" 2>&1; then
            passed=$((passed + 1)) verdict=passed
        else
            failed=$((failed + 1)) verdict=FAILED
        fi
        grep -E '^test .* FAILED|^test result' "$OUT/$name.log"
        echo "$verdict $name" >>"$OUT/summary.txt"
    done
    echo "$passed passed, $failed failed" | tee -a "$OUT/summary.txt"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    ;;
bench)
    status=0
    for packed in bench/*.gz; do
        [ -e "$packed" ] || { echo "no bench programs in this pack"; exit 1; }
        program=${packed%.gz}
        name=$(basename "$program")
        echo "== $name"
        unpack "$program" && "$OUT/$program" --bench >"$OUT/$name.jsonl" 2>"$OUT/$name.err" || status=1
    done
    exit $status
    ;;
*)
    name=$1
    shift
    for folder in test bench bin; do
        if [ -e "$folder/$name.gz" ]; then
            unpack "$folder/$name" || exit 1
            exec "$OUT/$folder/$name" "$@"
        fi
    done
    echo "error: no program $name in this pack" >&2
    exit 1
    ;;
esac
