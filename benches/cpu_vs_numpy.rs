//! The CPU family's side of `cpu_vs_numpy.py`: solves the batches that the
//! script names and prints seconds.
//!
//! Lines on standard input: `load FILE N BATCH` (raw f64, row-major) and
//! `eigh` or `eigvalsh`, each answered by `SECONDS SUM_OF_SQUARED_VALUES`.

use std::io::{BufRead, Write};
use std::time::Instant;

use batchlas::{Batch, Queue, linalg};

fn main() {
    // `cargo test --benches` and `cargo bench` start every bench program with `--bench` or nothing.
    if !std::env::args().any(|a| a == "--serve") {
        println!("run benches/cpu_vs_numpy.py, which starts this program with --serve");
        return;
    }
    let queue = Queue::cpu();
    let mut a = Batch::<f64>::zeros(0, 0, 0);
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input");
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["load", file, n, batch] => a = load(file, number(n), number(batch)),
            [job] => {
                let start = Instant::now();
                let solved = match job {
                    "eigh" => linalg::eigh(&queue, &a),
                    "eigvalsh" => linalg::eigvalsh(&queue, &a),
                    _ => panic!("unknown job {job}"),
                }
                .expect("a square batch");
                let seconds = start.elapsed().as_secs_f64();
                assert_eq!(solved.failed(), 0);
                println!("{seconds} {}", solved.values.iter().map(|w| w * w).sum::<f64>());
            }
            _ => panic!("unknown line {line}"),
        }
        std::io::stdout().flush().expect("standard output");
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn load(file: &str, n: usize, batch: usize) -> Batch<f64> {
    let bytes = std::fs::read(file).expect("the file of the script");
    let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Batch::from_row_major(&numbers, n, n, batch).expect("n * n * batch numbers")
}
