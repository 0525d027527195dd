//! Where a vendor's library may be on this machine.

use std::path::{Path, PathBuf};

/// Folders in which the search starts; the environment's in a program, made-up ones in tests.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    /// CUDA toolkits: they hold `lib64` or `targets/*/lib`.
    pub(super) toolkits: Vec<PathBuf>,
    /// Prefixes of Python installations: they hold `lib/python3*/site-packages`.
    pub(super) pythons: Vec<PathBuf>,
}

impl Roots {
    /// What the environment and the usual places of this system give.
    pub(super) fn of_this_machine() -> Self {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut toolkits: Vec<_> = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"]
            .into_iter()
            .filter_map(variable)
            .collect();
        toolkits.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
        toolkits.extend(children(Path::new("/usr/local"), "cuda-"));
        let mut pythons: Vec<_> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).collect();
        pythons.extend(std::env::var_os("PATH").iter().flat_map(|path| prefixes_on(path)));
        if let Some(home) = variable("HOME") {
            pythons.push(home.join(".local"));
            // pyenv puts scripts on the path instead of links.
            pythons.extend(children(&home.join(".pyenv/versions"), ""));
        }
        pythons.extend(["/usr/local", "/usr"].map(PathBuf::from));
        Roots { toolkits: unique(toolkits), pythons: unique(pythons) }
    }

    /// Every existing folder that may hold the libraries, in the order to look.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for toolkit in &self.toolkits {
            folders.push(toolkit.join("lib64"));
            folders.extend(children(&toolkit.join("targets"), "").map(|target| target.join("lib")));
        }
        for python in &self.pythons {
            folders.extend(packages_of(python));
        }
        unique(folders.into_iter().filter(|folder| folder.is_dir()).collect())
    }
}

/// The prefixes of the Pythons on a search path: of the name as found, which a
/// virtual environment makes a link, and of what it links to.
fn prefixes_on(path: &std::ffi::OsStr) -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    for folder in std::env::split_paths(path) {
        for name in ["python3", "python"] {
            let found = folder.join(name);
            let linked = found.canonicalize().ok();
            let both = [Some(found).filter(|_| linked.is_some()), linked.clone()];
            prefixes.extend(
                both.into_iter().flatten().filter_map(|path| Some(path.parent()?.parent()?.to_path_buf())),
            );
        }
    }
    prefixes
}

/// `nvidia/*/lib` in the package folders of a Python prefix.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    let homes = children(&lib, "python3")
        .flat_map(|python| [python.join("site-packages"), python.join("dist-packages")])
        .collect::<Vec<_>>();
    homes
        .iter()
        .flat_map(|home| children(&home.join("nvidia"), ""))
        .map(|package| package.join("lib"))
        .collect()
}

/// Entries of a folder whose names start so, in order.
fn children(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.into_iter()
}

fn unique(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = std::collections::HashSet::new();
    paths.into_iter().filter(|path| seen.insert(path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("batchlas-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        fn folder(&self, path: &str) -> PathBuf {
            let path = self.0.join(path);
            std::fs::create_dir_all(&path).unwrap();
            path
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn toolkits_come_before_python_packages() {
        let scratch = Scratch::new("search");
        let lib64 = scratch.folder("cuda/lib64");
        let target = scratch.folder("cuda/targets/x86_64-linux/lib");
        let solver = scratch.folder("venv/lib/python3.11/site-packages/nvidia/cusolver/lib");
        let blas = scratch.folder("venv/lib/python3.11/site-packages/nvidia/cublas/lib");
        let all = scratch.folder("usr/lib/python3/dist-packages/nvidia/cu13/lib");
        let roots = Roots {
            toolkits: vec![scratch.0.join("cuda"), scratch.0.join("absent")],
            pythons: vec![scratch.0.join("venv"), scratch.0.join("usr")],
        };
        assert_eq!(roots.folders(), [lib64, target, blas, solver, all]);
    }

    #[cfg(unix)]
    #[test]
    fn a_virtual_environment_on_the_path_is_found_without_running_it() {
        let scratch = Scratch::new("venv");
        let real = scratch.folder("real/bin").join("python3.11");
        std::fs::write(&real, "").unwrap();
        let bin = scratch.folder("venv/bin");
        std::os::unix::fs::symlink(&real, bin.join("python3")).unwrap();
        let path = std::env::join_paths([scratch.folder("empty"), bin]).unwrap();
        let real = scratch.0.join("real").canonicalize().unwrap();
        assert_eq!(prefixes_on(&path), [scratch.0.join("venv"), real]);
    }
}
