#!/bin/sh
# GPU tests and benches of BatchLAS, made by `cargo xtask gpu-pack`, or an A/B run, made by `cargo xtask ab --pack`;
# needs an NVIDIA driver and no Rust.
#   ./run.sh            every test program, then a short bench
#   ./run.sh tests      the tests alone
#   ./run.sh bench      every bench program in full; rows go to $OUT/<name>.jsonl
#   ./run.sh ab ...     the two builds of an A/B pack: rows of each, and ab.txt with what differs
#   ./run.sh NAME ...   one program (test, bench, or batchlas) with arguments of its own
# Results go to $OUT (default: ./out): junit.xml, log.txt, bench.jsonl. The bench is compared with first.jsonl
# there or beside this script. Programs are unpacked once, to $BATCHLAS_PACK_SCRATCH or the temporary folder.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
OUT=${OUT:-$here/out}
# The programs find examples/data from here.
cd "$here" || exit 1
export RUST_BACKTRACE=1

if ! [ -e /dev/nvidiactl ] && ! [ -e /dev/dxg ]; then
    echo "error: no NVIDIA GPU here: neither /dev/nvidiactl nor /dev/dxg exists" >&2
    exit 1
fi

# One folder a pack and user, which later calls find again.
scratch=${BATCHLAS_PACK_SCRATCH:-${TMPDIR:-/tmp}/batchlas-pack-$(id -u)}
mkdir -p -m 700 "$scratch" || exit 1
if ! [ -O "$scratch" ]; then
    echo "error: $scratch belongs to somebody else; set BATCHLAS_PACK_SCRATCH" >&2
    exit 1
fi
programs=$scratch/$(cat pack-id)
if ! [ -e "$programs" ]; then
    echo "unpacking the programs to $programs" >&2
    ./gpu-suite extract programs.tar.xz "$programs" || exit 1
fi

case "${1:-all}" in
all | tests | bench)
    exec ./gpu-suite "${1:-all}" "$programs" "$OUT"
    ;;
ab)
    shift
    exec ./gpu-suite ab "$programs" "$OUT" "$@"
    ;;
esac
name=$1
shift
export BATCHLAS_REQUIRE_GPU=1
mkdir -p "$OUT" || exit 1
export OUT
for kind in test bench bin; do
    if [ -e "$programs/$kind/$name" ]; then
        exec "$programs/$kind/$name" "$@"
    fi
done
echo "error: no program $name in this pack: it has" "$programs"/*/* >&2
exit 1
