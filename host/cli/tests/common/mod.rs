//! Runs the binary, makes its inputs and reads its outputs.

#![allow(dead_code)] // each test file uses its own part

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndarray_npy::{ReadNpyExt, ReadableElement, WritableElement, WriteNpyExt};
use tempfile::TempDir;

/// A folder of its own for a test, and the binary run in it.
pub struct Lab {
    dir: TempDir,
}

/// How the binary ended.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    pub fn new() -> Self {
        Lab { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `batchlas` in the folder with these arguments, split at blanks.
    pub fn run(&self, args: &str) -> Run {
        self.run_with(args, &[])
    }

    pub fn run_with(&self, args: &str, env: &[(&str, &str)]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_batchlas"));
        for name in [
            "BATCHLAS_SYEV_ROUTE",
            "BATCHLAS_STEQR_ROUTE",
            "BATCHLAS_STEDC_ROUTE",
            "BATCHLAS_STEBZ_ROUTE",
            "BATCHLAS_TUNED_DIR",
            "BATCHLAS_COVERAGE",
            "BATCHLAS_TRACE",
            "BATCHLAS_KERNEL_DIR",
            "BATCHLAS_SIMT_SEED",
        ] {
            command.env_remove(name);
        }
        command.current_dir(self.dir.path()).args(args.split_whitespace()).envs(env.iter().copied());
        Run::of(command.output().unwrap())
    }

    /// Names of the files there, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes a `.npy` from elements in C order.
    pub fn npy<T: WritableElement + Clone>(&self, name: &str, shape: &[usize], data: &[T]) {
        self.write(name, &npy_bytes(shape, data, false));
    }

    /// The same array in Fortran order.
    pub fn npy_fortran<T: WritableElement + Clone>(&self, name: &str, shape: &[usize], data: &[T]) {
        self.write(name, &npy_bytes(shape, data, true));
    }

    /// Writes a `.npz` with one array.
    pub fn npz<T: WritableElement + Clone>(
        &self,
        name: &str,
        array: &str,
        shape: &[usize],
        data: &[T],
        compressed: bool,
    ) {
        let method =
            if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        self.zip(name, array, &npy_bytes(shape, data, false), method);
    }

    /// Writes a `.npz` with one array, given as the bytes of a `.npy`.
    pub fn npz_raw(&self, name: &str, array: &str, npy: &[u8]) {
        self.zip(name, array, npy, zip::CompressionMethod::Stored);
    }

    fn zip(&self, name: &str, array: &str, npy: &[u8], method: zip::CompressionMethod) {
        self.zip_all(name, &[(array, npy.to_vec())], method);
    }

    /// Writes a `.npz` with these `.npy` files.
    pub fn npz_of(&self, name: &str, arrays: &[(&str, Vec<u8>)], compressed: bool) {
        let method =
            if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        self.zip_all(name, arrays, method);
    }

    fn zip_all(&self, name: &str, arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) {
        let mut zip = zip::ZipWriter::new(File::create(self.path(name)).unwrap());
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        for (array, bytes) in arrays {
            zip.start_file(format!("{array}.npy"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    /// Reads an array of a `.npz`.
    pub fn array<T: ReadableElement>(&self, npz: &str, name: &str) -> ArrayD<T> {
        let mut zip = zip::ZipArchive::new(File::open(self.path(npz)).unwrap()).unwrap();
        let entry = zip.by_name(&format!("{name}.npy")).unwrap();
        ArrayD::<T>::read_npy(entry).unwrap()
    }

    /// Names of the arrays of a `.npz`.
    pub fn arrays(&self, npz: &str) -> Vec<String> {
        let zip = zip::ZipArchive::new(File::open(self.path(npz)).unwrap()).unwrap();
        let mut names: Vec<String> =
            zip.file_names().map(|n| n.trim_end_matches(".npy").to_string()).collect();
        names.sort();
        names
    }
}

impl Run {
    fn of(output: Output) -> Self {
        Run {
            code: output.status.code().expect("ended by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The run ended well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "stderr: {}", self.stderr);
        self
    }

    /// The single line of stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.stdout.trim_end().lines().count(), 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The run ended with status 1 and one line on stderr that holds `word`.
    #[track_caller]
    pub fn refused(&self, word: &str) {
        assert_eq!(self.code, 1, "stdout: {} stderr: {}", self.stdout, self.stderr);
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("batchlas: "), "{}", self.stderr);
        assert!(self.stderr.contains(word), "'{word}' is not in: {}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert_eq!(self.stdout, "");
    }
}

/// A `.npy` of elements given in C order.
pub fn npy_bytes<T: WritableElement + Clone>(shape: &[usize], data: &[T], fortran: bool) -> Vec<u8> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), data.to_vec()).unwrap();
    let mut bytes = Vec::new();
    if fortran {
        let mut turned = ArrayD::from_elem(IxDyn(shape).f(), data[0].clone());
        turned.assign(&array);
        turned.write_npy(&mut bytes).unwrap();
    } else {
        array.write_npy(&mut bytes).unwrap();
    }
    bytes
}

/// A `.npy` with this header text and these data bytes.
pub fn npy_raw(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

/// Symmetric matrices of numbers between -1 and 1, in C order, the same for the same seed.
pub fn symmetric(batch: usize, n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut out = vec![0.0; batch * n * n];
    for item in out.chunks_exact_mut((n * n).max(1)) {
        for i in 0..n {
            for j in 0..=i {
                let x = next();
                item[i * n + j] = x;
                item[j * n + i] = x;
            }
        }
    }
    out
}

/// The real data of the repository.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name)
}
