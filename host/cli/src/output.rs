//! Files that appear whole or not at all.
//!
//! A [`Target`] is checked before the solve, so that hours of work do not end
//! at a folder that cannot be written; it is staged in a temporary file beside
//! its place after the solve, and renamed when everything else has succeeded.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use ndarray::{ArrayView1, ArrayView2, ArrayView3};
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt};
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::failure::{Failure, system_text};

/// A place for an output, found writable.
#[derive(Debug)]
pub struct Target {
    /// As the user gave it, for messages.
    given: PathBuf,
    path: PathBuf,
    folder: PathBuf,
}

/// An output that is complete but not yet in its place; dropped, it leaves nothing.
#[derive(Debug)]
pub struct Staged {
    file: NamedTempFile,
    path: PathBuf,
}

impl Target {
    /// Checks that `path` has this extension and can be written, and is not the input.
    pub fn check(path: &Path, extension: &str, input: &Path) -> Result<Self, Failure> {
        let given = path.to_path_buf();
        let fits = path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
        if !fits {
            return Err(Failure::at(path, format!("the name of this output must end in .{extension}")));
        }
        check_existing(path)?;
        // A link is followed, or the rename would replace the link itself.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::canonicalize(input).is_ok_and(|input| input == path) {
            return Err(Failure::at(&given, "the output would replace the input"));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let target = Target { given, path, folder };
        target.temporary()?;
        Ok(target)
    }

    fn temporary(&self) -> Result<NamedTempFile, Failure> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".batchlas-").suffix(".part");
        // Not the private mode of a temporary file: the umask decides, as for any output.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(&self.folder).map_err(|e| self.failed(innermost(&e)))
    }

    /// Writes the output beside its place.
    pub fn stage(
        &self,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Staged, Failure> {
        let file = self.temporary()?;
        let mut buffered = BufWriter::with_capacity(1 << 20, file.as_file());
        write(&mut buffered).and_then(|()| buffered.flush()).map_err(|e| self.failed(&e))?;
        drop(buffered);
        Ok(Staged { file, path: self.path.clone() })
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::at(&self.given, format!("cannot be written: {}", system_text(error)))
    }
}

impl Staged {
    /// Puts the output in its place.
    pub fn commit(self) -> Result<(), Failure> {
        let path = self.path;
        self.file.persist(&path).map(drop).map_err(|e| Failure::io(&path, &e.error))
    }
}

/// tempfile wraps the system's error in one that names the temporary file.
fn innermost(error: &io::Error) -> &io::Error {
    let inner = error.get_ref().and_then(|e| e.source()).and_then(|e| e.downcast_ref::<io::Error>());
    inner.unwrap_or(error)
}

/// What is there already must be a file that could be overwritten in place.
fn check_existing(path: &Path) -> Result<(), Failure> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            return Err(Failure::at(path, "cannot be written: it is a link to nothing"));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Failure::io(path, &e)),
    };
    if meta.is_dir() {
        return Err(Failure::at(path, "cannot be written: it is a directory"));
    }
    if !meta.is_file() {
        return Err(Failure::at(path, "cannot be written: it is not a regular file"));
    }
    let open = OpenOptions::new().write(true).open(path);
    open.map(drop).map_err(|e| Failure::at(path, format!("cannot be written: {}", system_text(&e))))
}

/// The arrays of an OUT.npz, in NumPy's order of elements.
#[derive(Debug)]
pub struct Solution<'a, T, R> {
    /// Number of items.
    pub batch: usize,
    /// Order of the matrices.
    pub n: usize,
    /// (batch, n), ascending along the second axis.
    pub w: &'a [R],
    /// (batch, n, n), `v[i, :, k]` the k-th vector of item i; none where only values were asked for.
    pub v: Option<&'a [T]>,
    /// (batch).
    pub status: &'a [i32],
}

/// Writes `w`, `v` and `status` as an uncompressed archive, like `numpy.savez`.
pub fn write_npz<T, R>(out: impl Write + Seek, solution: &Solution<'_, T, R>) -> io::Result<()>
where
    T: WritableElement,
    R: WritableElement,
{
    let (b, n) = (solution.batch, solution.n);
    // Dropped after an error, a ZipWriter tries again and writes to stderr itself.
    let mut zip = ManuallyDrop::new(ZipWriter::new(out));
    let w = ArrayView2::from_shape((b, n), solution.w).map_err(io::Error::other)?;
    add(&mut zip, "w", &w)?;
    if let Some(v) = solution.v {
        let v = ArrayView3::from_shape((b, n, n), v).map_err(io::Error::other)?;
        add(&mut zip, "v", &v)?;
    }
    add(&mut zip, "status", &ArrayView1::from(solution.status))?;
    zip.flush()?;
    ManuallyDrop::into_inner(zip).finish().map_err(io::Error::from)?.flush()
}

fn add<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str, array: &impl WriteNpyExt) -> io::Result<()> {
    // large_file: an entry may pass 4 GiB.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options).map_err(io::Error::from)?;
    array.write_npy(zip).map_err(|e| match e {
        WriteNpyError::Io(e) => e,
        other => io::Error::other(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_stage_leaves_nothing_and_a_commit_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.npz");
        let count = || fs::read_dir(dir.path()).unwrap().count();
        let target = Target::check(&path, "npz", Path::new("in.npy")).unwrap();
        assert_eq!(count(), 0);
        drop(target.stage(|w| w.write_all(b"x")).unwrap());
        assert_eq!(count(), 0);
        assert!(target.stage(|_| Err(io::Error::other("disk full"))).is_err());
        assert_eq!(count(), 0);
        target.stage(|w| w.write_all(b"x")).unwrap().commit().unwrap();
        assert_eq!(count(), 1);
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    /// A disk that has room for 100 bytes.
    struct Full(u64);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = (100 - self.0).min(bytes.len() as u64);
            self.0 += taken;
            if taken == 0 { Err(io::Error::other("disk full")) } else { Ok(taken as usize) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            Ok(self.0)
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let solution = Solution { batch: 1, n: 2, w: &[1.0, 2.0], v: Some(&[0.0; 4]), status: &[0] };
        let error = write_npz(Full(0), &solution).unwrap_err();
        assert!(error.to_string().contains("disk full"), "{error}");
    }

    #[test]
    fn places_that_cannot_be_written_are_found_beforehand() {
        let dir = tempfile::tempdir().unwrap();
        let check = |path: &Path| Target::check(path, "npz", Path::new("in.npy")).unwrap_err().to_string();
        assert!(check(&dir.path().join("out.npy")).contains("must end in .npz"));
        assert!(check(&dir.path().join("none/out.npz")).contains("No such file"));
        let folder = dir.path().join("folder.npz");
        fs::create_dir(&folder).unwrap();
        assert!(check(&folder).contains("is a directory"));
        #[cfg(unix)]
        {
            let link = dir.path().join("link.npz");
            std::os::unix::fs::symlink("nothing.npz", &link).unwrap();
            assert!(check(&link).contains("a link to nothing"));
        }
        let same = dir.path().join("same.npz");
        fs::write(&same, b"x").unwrap();
        assert!(Target::check(&same, "npz", &same).unwrap_err().to_string().contains("replace the input"));
    }
}
