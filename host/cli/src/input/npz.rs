//! `.npz`: the array `a` of a NumPy archive, stored or deflated.

use zip::ZipArchive;
use zip::result::ZipError;

use super::{Matrices, Source, npy};
use crate::failure::{Failure, system_text};

/// First bytes of a zip archive.
pub const MAGIC: &[u8] = b"PK\x03\x04";
/// First bytes of a zip archive without files.
pub const EMPTY_MAGIC: &[u8] = b"PK\x05\x06";

/// Name of the array that `eigh` reads.
const ARRAY: &str = "a";

/// Reads the array `a`.
pub fn read(source: Source<'_>) -> Result<Matrices, Failure> {
    let path = source.path;
    let fail = |text: String| Failure::at(path, text);
    let mut archive = ZipArchive::new(source.reader).map_err(|e| fail(zip_text(&e)))?;
    let names: Vec<String> = archive.file_names().map(str::to_string).collect();
    let wanted = format!("{ARRAY}.npy");
    let Some(index) = names.iter().position(|name| *name == wanted || name == ARRAY) else {
        return Err(fail(missing(&names)));
    };
    let mut entry = archive.by_name(&names[index]).map_err(|e| fail(zip_text(&e)))?;
    let bytes = entry.size();
    npy::read(&mut entry, bytes, &|text| Failure::at(path, format!("array '{ARRAY}': {text}")))
}

fn missing(names: &[String]) -> String {
    if names.is_empty() {
        return format!("no array '{ARRAY}': the archive is empty");
    }
    let mut held: Vec<&str> = names.iter().map(|n| n.strip_suffix(".npy").unwrap_or(n)).collect();
    held.sort_unstable();
    let more = held.len().saturating_sub(8);
    held.truncate(8);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no array '{ARRAY}' (the archive holds {}{tail})", held.join(", "))
}

fn zip_text(error: &ZipError) -> String {
    match error {
        ZipError::Io(e) => system_text(e),
        ZipError::InvalidArchive(what) => format!("broken .npz archive: {what}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_array_lists_what_is_there() {
        let names = ["w.npy".to_string(), "status.npy".to_string()];
        assert_eq!(missing(&names), "no array 'a' (the archive holds status, w)");
    }
}
