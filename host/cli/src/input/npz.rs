//! `.npz`: arrays of a NumPy archive, stored or deflated.

use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::{BufReadSeek, Source, npy};
use crate::failure::{Failure, system_text};

/// First bytes of a zip archive.
pub const MAGIC: &[u8] = b"PK\x03\x04";
/// First bytes of a zip archive without files.
pub const EMPTY_MAGIC: &[u8] = b"PK\x05\x06";

/// An open archive.
pub struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<Box<dyn BufReadSeek>>,
    names: Vec<String>,
}

impl<'a> Archive<'a> {
    /// Reads the archive's list of files.
    pub fn open(source: Source<'a>) -> Result<Self, Failure> {
        let path = source.path;
        let zip = ZipArchive::new(source.reader).map_err(|e| Failure::at(path, zip_text(&e)))?;
        let names = zip.file_names().map(str::to_string).collect();
        Ok(Archive { path, zip, names })
    }

    /// Reads an array whose shape passes `check`.
    pub fn array(
        &mut self,
        name: &str,
        check: &dyn Fn(&[usize]) -> Result<(), String>,
    ) -> Result<npy::Array, Failure> {
        let path = self.path;
        let file = format!("{name}.npy");
        let Some(index) = self.names.iter().position(|n| *n == file || n == name) else {
            return Err(Failure::at(path, missing(name, &self.names)));
        };
        let mut entry = self.zip.by_name(&self.names[index]).map_err(|e| Failure::at(path, zip_text(&e)))?;
        let bytes = entry.size();
        npy::read(&mut entry, bytes, check, &|text| Failure::at(path, format!("array '{name}': {text}")))
    }
}

fn missing(name: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("no array '{name}': the archive is empty");
    }
    let mut held: Vec<&str> = names.iter().map(|n| n.strip_suffix(".npy").unwrap_or(n)).collect();
    held.sort_unstable();
    let more = held.len().saturating_sub(8);
    held.truncate(8);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("no array '{name}' (the archive holds {}{tail})", held.join(", "))
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
        assert_eq!(missing("a", &names), "no array 'a' (the archive holds status, w)");
    }
}
