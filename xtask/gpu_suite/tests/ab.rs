//! An A/B run, with a script in place of `batchlas`.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gpu_suite::ab::{self, SIDES, Work};

/// Writes a row that names the kernels it was given, and compares by the files' bytes.
const SCRIPT: &str = r#"#!/bin/sh
case "$1" in
compare)
    if [ "$(sed 's/#.*//' "$2" | sort -u)" = "$(sed 's/#.*//' "$3" | sort -u)" ]; then flag=null; else flag='"slower"'; fi
    echo "{\"key\":\"k\",\"measure\":\"ms\",\"ratio\":1.0,\"flag\":$flag,\"note\":null}" > "$5"
    echo "1 pairs $flag"
    [ "$flag" = null ] || exit 4
    ;;
*)
    for last; do :; done
    echo "$1 ${BATCHLAS_KERNEL_DIR:-embedded} #$*" > "$last"
    [ "$1" = bench ] || { echo "an item is wrong" >&2; exit 3; }
    ;;
esac
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gpu-suite-ab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        let program = folder.join("bin/batchlas");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

// One test, so that no other one forks while a script is open for writing.
#[test]
fn sides_are_run_there_and_back_and_compared_with_the_first() {
    let folder = Folder::new("whole", SCRIPT);
    let results = folder.0.join("results");
    let sides = "default bin/batchlas -\nno-cubin bin/batchlas kernels/no-cubin\n";
    std::fs::write(folder.0.join(SIDES), sides).unwrap();
    let sides = ab::sides_in(&folder.0).unwrap();
    ab::run(&sides, &Work::read(&["--accuracy", "steqr --n 4"], "simt").unwrap(), &results).unwrap();

    let text = read(&results, "ab.txt");
    assert!(text.contains("accuracy: steqr --n 4 --device simt"), "{text}");
    assert!(text.contains("no-cubin accuracy: an item is wrong"), "{text}");
    let summary = text.split_once("== summary\n").unwrap().1;
    let expected = "default: two benches of one build: 0 of 1 pairs flagged\n\
                    no-cubin: two benches of one build: 0 of 1 pairs flagged\n\
                    bench: A = default, B = no-cubin: 1 of 1 pairs flagged\n\
                    accuracy: A = default, B = no-cubin: 1 of 1 pairs flagged\n";
    assert_eq!(summary, expected);
    let rows = read(&results, "default.bench.jsonl");
    assert_eq!(rows.matches("bench embedded").count(), 2, "both rounds: {rows}");
    assert!(rows.contains("--device simt --json"), "{rows}");
    assert!(read(&results, "no-cubin.accuracy.jsonl").contains("kernels/no-cubin #accuracy steqr --n 4"));
    assert_eq!(std::fs::read_dir(&results).unwrap().count(), 5, "nothing else is left");

    let broken = Folder::new("broken", "#!/bin/sh\necho no such device >&2\nexit 1\n");
    std::fs::write(broken.0.join(SIDES), "a bin/batchlas -\nb bin/batchlas -\n").unwrap();
    let sides = ab::sides_in(&broken.0).unwrap();
    let error = ab::run(&sides, &Work::on("cuda"), &broken.0.join("results")).unwrap_err().to_string();
    assert!(error.contains("a bench: no such device"), "{error}");
    std::fs::write(broken.0.join(SIDES), "a bin/batchlas\n").unwrap();
    assert!(ab::sides_in(&broken.0).unwrap_err().to_string().contains("cannot read `a bin/batchlas`"));
}
