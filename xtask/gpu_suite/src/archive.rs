//! A solid archive: `.tar.xz` whose window spans several programs.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lzma_rust2::{XzOptions, XzReader, XzWriter};

use crate::{Failure, at};

/// Hash chains, not trees: six times as fast, and a sixth larger.
const PRESET: u32 = 3;

/// Puts the files of a folder into an archive; its bytes. Reading it takes the window in memory, writing it
/// about eight times that: twice the largest file, between 8 MiB and 512 MiB.
pub fn create(archive: &Path, folder: &Path) -> Result<u64, Failure> {
    let files = files_of(folder)?;
    let largest = files.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let mut options = XzOptions::with_preset(PRESET);
    options.lzma_options.dict_size = window(largest);
    let file = File::create(archive).map_err(at(archive))?;
    let compressor = XzWriter::new(BufWriter::new(file), options).map_err(at(archive))?;
    let mut tar = tar::Builder::new(compressor);
    // The same files give the same archive: no times, no owners.
    tar.mode(tar::HeaderMode::Deterministic);
    for (path, _) in &files {
        let name = path.strip_prefix(folder).expect("a file of the folder");
        tar.append_path_with_name(path, name).map_err(at(path))?;
    }
    let compressor = tar.into_inner().map_err(at(archive))?;
    let mut file = compressor.finish().map_err(at(archive))?;
    file.flush().map_err(at(archive))?;
    Ok(std::fs::metadata(archive).map_err(at(archive))?.len())
}

/// What two neighbours have in common lies within this distance.
fn window(largest: u64) -> u32 {
    let twice = largest.saturating_mul(2).clamp(8 << 20, 512 << 20).next_power_of_two();
    u32::try_from(twice).expect("at most 512 MiB")
}

/// The files below a folder with their sizes, in the order of their names.
fn files_of(folder: &Path) -> Result<Vec<(PathBuf, u64)>, Failure> {
    let mut files = vec![];
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            let meta = std::fs::metadata(&path).map_err(at(&path))?;
            if meta.is_dir() {
                folders.push(path);
            } else {
                files.push((path, meta.len()));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Unpacks an archive into a folder that is not there yet, all or nothing; one that is there is left as it is,
/// so that callers may ask each time, several at once.
pub fn extract(archive: &Path, folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        return Ok(());
    }
    let scratch = folder.with_extension(format!("part{}", std::process::id()));
    let result = unpack(archive, &scratch).and_then(|()| match std::fs::rename(&scratch, folder) {
        // Somebody else was faster.
        Err(_) if folder.exists() => Ok(()),
        result => result.map_err(at(folder)),
    });
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch).map_err(at(&scratch))?;
    }
    result
}

fn unpack(archive: &Path, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let file = File::open(archive).map_err(at(archive))?;
    let mut reader = XzReader::new(BufReader::new(file), false);
    let mut tar = tar::Archive::new(&mut reader);
    tar.set_preserve_mtime(false);
    tar.unpack(folder).map_err(|error| {
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        Failure::new(format!("{} into {}: {text}", archive.display(), folder.display()))
    })?;
    // The checksum stands behind the last file.
    std::io::copy(&mut reader, &mut std::io::sink()).map_err(at(archive))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("gpu-suite-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Bytes that do not compress.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    fn fill(folder: &Path) -> Vec<u8> {
        let common = noise(300_000);
        std::fs::create_dir_all(folder.join("test")).unwrap();
        for name in ["a", "test/b", "test/c"] {
            std::fs::write(folder.join(name), [name.as_bytes(), &common].concat()).unwrap();
        }
        common
    }

    #[test]
    fn what_files_have_in_common_is_stored_once() {
        let scratch = Scratch::new("solid");
        let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
        let common = fill(&from);
        let archive = scratch.0.join("x.tar.xz");
        let size = create(&archive, &from).unwrap();
        assert!(size < 310_000, "{size}");
        extract(&archive, &to).unwrap();
        for name in ["a", "test/b", "test/c"] {
            assert_eq!(std::fs::read(to.join(name)).unwrap(), [name.as_bytes(), &common].concat(), "{name}");
        }
        assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 3, "no scratch folder is left");
    }

    #[cfg(unix)]
    #[test]
    fn programs_stay_programs() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new("mode");
        let (from, to, archive) = (scratch.0.join("from"), scratch.0.join("to"), scratch.0.join("x.tar.xz"));
        fill(&from);
        std::fs::set_permissions(from.join("a"), std::fs::Permissions::from_mode(0o755)).unwrap();
        create(&archive, &from).unwrap();
        extract(&archive, &to).unwrap();
        assert_eq!(std::fs::metadata(to.join("a")).unwrap().permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone() {
        let scratch = Scratch::new("there");
        extract(&scratch.0.join("missing.tar.xz"), &scratch.0).unwrap();
    }

    #[test]
    fn a_broken_archive_leaves_nothing_behind() {
        let scratch = Scratch::new("broken");
        let (from, to, archive) = (scratch.0.join("from"), scratch.0.join("to"), scratch.0.join("x.tar.xz"));
        fill(&from);
        create(&archive, &from).unwrap();
        let mut bytes = std::fs::read(&archive).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&archive, &bytes).unwrap();
        let error = extract(&archive, &to).unwrap_err().to_string();
        assert!(error.contains("x.tar.xz"), "{error}");
        std::fs::write(&archive, &bytes[..middle]).unwrap();
        extract(&archive, &to).unwrap_err();
        assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 2);
    }

    #[test]
    fn the_window_holds_two_neighbours() {
        assert_eq!((window(0), window(30 << 20), window(100 << 20)), (8 << 20, 64 << 20, 256 << 20));
        assert_eq!(window(u64::MAX), 512 << 20);
    }
}
