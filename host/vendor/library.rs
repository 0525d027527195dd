//! cuSOLVER and cuBLAS, opened once where they are first asked for.
//!
//! cudarc opens a library by its bare name and panics where that fails. So the
//! library is looked up and opened here first, by its full path; its bare name
//! then finds the copy already in the process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use super::search::Roots;

/// What the solver's library itself needs, in the order to open it; each may
/// also come from the system or from the library's own search path.
const NEEDED_FIRST: &[&str] = &["libnvJitLink.so", "libcublasLt.so", "libcublas.so", "libcusparse.so"];

/// File names of cuSOLVER, newest first: that of CUDA 13, and that of CUDA 11 and 12.
const SOLVER_NAMES: &[(&str, u32)] = &[("libcusolver.so.12", 13_000), ("libcusolver.so.11", 11_000)];

/// An opened cuSOLVER.
pub(super) struct Solver {
    library: Library,
    /// The name or path under which it was found.
    pub(super) path: String,
}

impl Solver {
    /// Whether the library has a function: older ones lack some, and cudarc panics there.
    pub(super) fn has(&self, function: &str) -> bool {
        // SAFETY: the address is not used.
        unsafe { self.library.get::<*const ()>(function.as_bytes()) }.is_ok()
    }
}

/// The cuSOLVER of this process.
///
/// # Errors
/// A text that lists what was looked for.
pub(super) fn solver() -> Result<&'static Solver, &'static str> {
    static SOLVER: OnceLock<Result<Solver, String>> = OnceLock::new();
    let opened = SOLVER.get_or_init(|| {
        let driver = crate::cuda::driver_version().map_err(|error| error.to_string())?;
        open(&Roots::of_this_machine(), driver)
    });
    opened.as_ref().map_err(String::as_str)
}

/// Opens cuSOLVER: by the names that cudarc tries, then in the usual folders.
fn open(roots: &Roots, driver: u32) -> Result<Solver, String> {
    let bare_names = cudarc::get_lib_name_candidates("cusolver");
    for name in &bare_names {
        if let Ok(library) = load(Path::new(name)) {
            return Ok(Solver { library, path: name.clone() });
        }
    }
    let folders = roots.folders();
    let mut refusals = Vec::new();
    for path in solver_files(&folders, driver) {
        preload(&path, &folders);
        match load(&path) {
            Ok(library) => return Ok(Solver { library, path: path.display().to_string() }),
            Err(why) => refusals.push(format!("{}: {why}", path.display())),
        }
    }
    Err(not_found(roots, &folders, &refusals))
}

/// The cuSOLVER files that this driver can serve, in the order to try.
fn solver_files(folders: &[PathBuf], driver: u32) -> Vec<PathBuf> {
    let served = SOLVER_NAMES.iter().filter(|(_, oldest_driver)| driver >= *oldest_driver);
    let files = served.flat_map(|(name, _)| folders.iter().map(move |folder| folder.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// Opens what the solver needs from its own folder or, in PyPI's layout, from
/// its neighbours. What is not there is left to the loader.
fn preload(solver: &Path, folders: &[PathBuf]) {
    let own = solver.parent();
    let site = own.and_then(Path::parent).and_then(Path::parent);
    let near = folders
        .iter()
        .filter(|folder| Some(folder.as_path()) == own || site.is_some_and(|site| folder.starts_with(site)));
    let near: Vec<_> = near.collect();
    for name in NEEDED_FIRST {
        let mut files = near.iter().flat_map(|folder| versions_of(folder, name));
        if let Some(Ok(library)) = files.next().map(|file| load(&file)) {
            // The solver holds it from here on.
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

fn not_found(roots: &Roots, folders: &[PathBuf], refusals: &[String]) -> String {
    let list = |paths: &[PathBuf]| {
        let texts: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        if texts.is_empty() { "none".to_string() } else { texts.join(", ") }
    };
    let names: Vec<_> = SOLVER_NAMES.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "no cuSOLVER: looked for {} in the loader's path, in CUDA toolkits ({}) and in PyPI's nvidia packages of the Pythons under {}; folders there: {}",
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
        assert_eq!(solver_files(&folders, 13_000), [new, old.clone()]);
        assert_eq!(solver_files(&folders, 12_040), [old]);
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
        if let Err(text) = open(&roots, 13_000).map(|solver| solver.path) {
            assert!(text.contains("libcusolver.so.12") && text.contains("libcusolver.so.11"), "{text}");
            let refused = format!("{}: ", toolkit.join("lib64/libcusolver.so.12").display());
            assert!(text.contains(&refused), "{text}");
        }
        std::fs::remove_dir_all(toolkit).unwrap();
    }
}
