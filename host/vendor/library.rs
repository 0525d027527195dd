//! cuSOLVER and cuBLAS, opened once where they are first asked for.
//!
//! cudarc opens a library by its bare name and panics where that fails. So the
//! library is looked up and opened here first, by its full path; its bare name
//! then finds the copy already in the process.

use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use super::search::Roots;

/// A library that is looked for.
pub(super) struct Wanted {
    /// The vendor's name of it.
    name: &'static str,
    /// The stem of its file names, as cudarc has it.
    stem: &'static str,
    /// Its file names, newest first, each with the oldest driver that serves it.
    files: &'static [(&'static str, u32)],
    /// What it needs itself, in the order to open it; each may also come from the system or from the library's own
    /// search path.
    needed_first: &'static [&'static str],
}

/// cuSOLVER: of CUDA 13, and of CUDA 11 and 12.
const SOLVER: Wanted = Wanted {
    name: "cuSOLVER",
    stem: "cusolver",
    files: &[("libcusolver.so.12", 13_000), ("libcusolver.so.11", 11_000)],
    needed_first: &["libnvJitLink.so", "libcublasLt.so", "libcublas.so", "libcusparse.so"],
};

/// cuBLAS, whose numbers are CUDA's.
const BLAS: Wanted = Wanted {
    name: "cuBLAS",
    stem: "cublas",
    files: &[("libcublas.so.13", 13_000), ("libcublas.so.12", 12_000), ("libcublas.so.11", 11_000)],
    needed_first: &["libcublasLt.so"],
};

/// An opened library.
pub(super) struct Opened {
    library: Library,
    /// The name or path under which it was found.
    pub(super) path: String,
}

impl Opened {
    /// Whether the library has a function: older ones lack some, and cudarc panics there.
    pub(super) fn has(&self, function: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.library.get::<*const ()>(function.as_bytes()) }.is_ok()
    }

    /// What a function of the signature of `cublasGetProperty` says: 13102 is 13.1.2, and 0 what is not known.
    pub(super) fn version_by(&self, function: &str) -> u32 {
        type GetProperty = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
        // SAFETY: the caller names a function of this signature.
        let Ok(get) = (unsafe { self.library.get::<GetProperty>(function.as_bytes()) }) else { return 0 };
        // Major, minor, patch: libraryPropertyType of CUDA's headers.
        let [major, minor, patch] = [0, 1, 2].map(|property| {
            let mut value: c_int = 0;
            // SAFETY: `value` is a place for an int.
            let status = unsafe { get(property, &mut value) };
            if status == 0 { value.max(0) as u32 } else { 0 }
        });
        1000 * major + 100 * minor + patch
    }
}

type Once = OnceLock<Result<Opened, String>>;

/// The cuSOLVER of this process.
///
/// # Errors
/// A text that lists what was looked for.
pub(super) fn solver() -> Result<&'static Opened, &'static str> {
    static OPENED: Once = Once::new();
    once(&OPENED, &SOLVER)
}

/// The cuBLAS of this process.
///
/// # Errors
/// As [`solver`].
pub(super) fn blas() -> Result<&'static Opened, &'static str> {
    static OPENED: Once = Once::new();
    once(&OPENED, &BLAS)
}

fn once(opened: &'static Once, wanted: &Wanted) -> Result<&'static Opened, &'static str> {
    let opened = opened.get_or_init(|| {
        let driver = crate::cuda::driver_version().map_err(|error| error.to_string())?;
        open(wanted, &Roots::of_this_machine(), driver)
    });
    opened.as_ref().map_err(String::as_str)
}

/// Opens a library: by the names that cudarc tries, then in the usual folders.
fn open(wanted: &Wanted, roots: &Roots, driver: u32) -> Result<Opened, String> {
    for name in &cudarc::get_lib_name_candidates(wanted.stem) {
        if let Ok(library) = load(Path::new(name)) {
            return Ok(Opened { library, path: name.clone() });
        }
    }
    let folders = roots.folders();
    let mut refusals = Vec::new();
    for path in files(wanted, &folders, driver) {
        preload(wanted, &path, &folders);
        match load(&path) {
            Ok(library) => return Ok(Opened { library, path: path.display().to_string() }),
            Err(why) => refusals.push(format!("{}: {why}", path.display())),
        }
    }
    Err(not_found(wanted, roots, &folders, &refusals))
}

/// The library's files that this driver can serve, in the order to try.
fn files(wanted: &Wanted, folders: &[PathBuf], driver: u32) -> Vec<PathBuf> {
    let served = wanted.files.iter().filter(|(_, oldest_driver)| driver >= *oldest_driver);
    let files = served.flat_map(|(name, _)| folders.iter().map(move |folder| folder.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// Opens what a library needs from its own folder or, in PyPI's layout, from
/// its neighbours. What is not there is left to the loader.
fn preload(wanted: &Wanted, file: &Path, folders: &[PathBuf]) {
    let own = file.parent();
    let site = own.and_then(Path::parent).and_then(Path::parent);
    let near = folders
        .iter()
        .filter(|folder| Some(folder.as_path()) == own || site.is_some_and(|site| folder.starts_with(site)));
    let near: Vec<_> = near.collect();
    for name in wanted.needed_first {
        let mut files = near.iter().flat_map(|folder| versions_of(folder, name));
        if let Some(Ok(library)) = files.next().map(|file| load(&file)) {
            // The library that needs it holds it from here on.
            std::mem::forget(library);
        }
    }
}

/// `libx.so.N` files of a library in a folder, newest first.
fn versions_of(folder: &Path, name: &str) -> Vec<PathBuf> {
    let prefix = format!("{name}.");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.strip_prefix(&prefix)?.parse().ok()?;
            Some((version, entry.path()))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, path)| path).collect()
}

fn load(path: &Path) -> Result<Library, String> {
    // SAFETY: NVIDIA's libraries may be loaded at any time; their initialisers have no preconditions.
    let opened = unsafe { Library::new(path) };
    opened.map_err(|error| {
        let detail = std::error::Error::source(&error).map(ToString::to_string);
        detail.unwrap_or_else(|| error.to_string())
    })
}

fn not_found(wanted: &Wanted, roots: &Roots, folders: &[PathBuf], refusals: &[String]) -> String {
    let list = |paths: &[PathBuf]| {
        let texts: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        if texts.is_empty() { "none".to_string() } else { texts.join(", ") }
    };
    let names: Vec<_> = wanted.files.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "no {}: looked for {} in the loader's path, in CUDA toolkits ({}) and in PyPI's nvidia packages of the Pythons under {}; folders there: {}",
        wanted.name,
        names.join(" and "),
        list(&roots.toolkits),
        list(&roots.pythons),
        list(folders),
    );
    for refusal in refusals {
        text.push_str("; ");
        text.push_str(refusal);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(name: &str, files: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("batchlas-library-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for file in files {
            std::fs::write(folder.join(file), "not a library").unwrap();
        }
        folder
    }

    #[test]
    fn an_older_driver_is_not_given_a_newer_library() {
        let folder = folder_with("driver", &["libcusolver.so.11", "libcusolver.so.12"]);
        let folders = [folder.clone()];
        let (new, old) = (folder.join("libcusolver.so.12"), folder.join("libcusolver.so.11"));
        assert_eq!(files(&SOLVER, &folders, 13_000), [new, old.clone()]);
        assert_eq!(files(&SOLVER, &folders, 12_040), [old]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let folder =
            folder_with("versions", &["libcublas.so.9", "libcublas.so.12", "libcublas.so", "libcublas.so.x"]);
        let expected = [folder.join("libcublas.so.12"), folder.join("libcublas.so.9")];
        assert_eq!(versions_of(&folder, "libcublas.so"), expected);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_looked_for_is_named_with_the_loaders_reason() {
        let toolkit = folder_with("toolkit", &[]);
        std::fs::create_dir_all(toolkit.join("lib64")).unwrap();
        std::fs::write(toolkit.join("lib64/libcusolver.so.12"), "not a library").unwrap();
        let roots = Roots { toolkits: vec![toolkit.clone()], pythons: vec![] };
        // A machine with cuSOLVER in the loader's path opens that instead.
        if let Err(text) = open(&SOLVER, &roots, 13_000).map(|solver| solver.path) {
            assert!(text.contains("libcusolver.so.12") && text.contains("libcusolver.so.11"), "{text}");
            let refused = format!("{}: ", toolkit.join("lib64/libcusolver.so.12").display());
            assert!(text.contains(&refused), "{text}");
        }
        if let Err(text) = open(&BLAS, &roots, 13_000).map(|blas| blas.path) {
            let names = "no cuBLAS: looked for libcublas.so.13 and libcublas.so.12 and libcublas.so.11 in";
            assert!(text.starts_with(names) && !text.contains("cusolver"), "{text}");
        }
        std::fs::remove_dir_all(toolkit).unwrap();
    }

    #[test]
    fn a_driver_is_given_the_blas_of_its_time() {
        let folder = folder_with("blas", &["libcublas.so.11", "libcublas.so.12", "libcublas.so.13"]);
        let newest = |driver| files(&BLAS, std::slice::from_ref(&folder), driver).first().cloned();
        assert_eq!(newest(13_000), Some(folder.join("libcublas.so.13")));
        assert_eq!(newest(12_080), Some(folder.join("libcublas.so.12")));
        assert_eq!(newest(11_080), Some(folder.join("libcublas.so.11")));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_function_that_is_not_there_has_no_version() {
        // Any library will do.
        let Ok(library) = load(Path::new("libc.so.6")) else { return };
        let opened = Opened { library, path: "libc.so.6".to_owned() };
        assert!(opened.has("malloc") && !opened.has("cublasGetProperty"));
        assert_eq!(opened.version_by("cublasGetProperty"), 0);
    }
}
