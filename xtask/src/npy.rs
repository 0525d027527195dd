//! Just enough of NumPy's formats to show results: float64 arrays in C order, alone or in an
//! uncompressed archive.

use std::path::Path;

use crate::process::{Failure, at};

/// A float64 array.
#[derive(Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

/// Reads a `.npy` file.
pub fn read(path: &Path) -> Result<Array, Failure> {
    let bytes = std::fs::read(path).map_err(at(path))?;
    parse(&bytes).ok_or_else(|| Failure::new(format!("{}: no float64 array in C order", path.display())))
}

/// Reads one array of an uncompressed `.npz` archive.
pub fn read_from_archive(path: &Path, name: &str) -> Result<Array, Failure> {
    let bytes = std::fs::read(path).map_err(at(path))?;
    let found = member(&bytes, &format!("{name}.npy")).and_then(parse);
    found.ok_or_else(|| Failure::new(format!("{}: no float64 array `{name}`", path.display())))
}

/// What follows an archive's local header of that name. The array's own header tells its length.
fn member<'a>(archive: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut at = 0;
    while let Some(offset) = archive[at..].windows(4).position(|four| four == b"PK\x03\x04") {
        let header = &archive[at + offset..];
        let name_len = u16_at(header, 26)?;
        let extra_len = u16_at(header, 28)?;
        if header.get(30..30 + name_len)? == name.as_bytes() {
            return header.get(30 + name_len + extra_len..);
        }
        at += offset + 4;
    }
    None
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn parse(bytes: &[u8]) -> Option<Array> {
    let (start, header_len) = match bytes.get(..8)? {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => (10, u16_at(bytes, 8)?),
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => {
            (12, u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?) as usize)
        }
        _ => return None,
    };
    let header = std::str::from_utf8(bytes.get(start..start + header_len)?).ok()?;
    if !header.contains("'<f8'") || !header.contains("'fortran_order': False") {
        return None;
    }
    let shape = header.split_once('(')?.1.split_once(')')?.0;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let count: usize = shape.iter().product();
    let data = bytes.get(start + header_len..start + header_len + 8 * count)?;
    let values = data
        .chunks_exact(8)
        .map(|eight| f64::from_le_bytes(eight.try_into().expect("chunks of eight")))
        .collect();
    Some(Array { shape, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::root;

    fn npy(values: &[f64], shape: &str) -> Vec<u8> {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    #[test]
    fn archive_members_are_found_by_name() {
        let mut archive = vec![];
        for (name, array) in [("v.npy", npy(&[9.0], "(1,)")), ("w.npy", npy(&[1.0, 2.0], "(1, 2)"))] {
            archive.extend(b"PK\x03\x04");
            archive.extend([0; 22]);
            archive.extend((name.len() as u16).to_le_bytes());
            archive.extend(4u16.to_le_bytes());
            archive.extend(name.bytes());
            archive.extend([7; 4]);
            archive.extend(array);
        }
        let found = parse(member(&archive, "w.npy").unwrap()).unwrap();
        assert_eq!(found, Array { shape: vec![1, 2], values: vec![1.0, 2.0] });
        assert!(member(&archive, "status.npy").is_none());
    }

    #[test]
    fn the_demos_input() {
        let array = read(&root().join("examples/data/g2_coulomb.npy")).unwrap();
        assert_eq!(array.shape, [162, 14, 14]);
        assert!(parse(b"no array").is_none());
    }
}
