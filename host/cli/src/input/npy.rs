//! `.npy`: four types, both orders of elements, both byte orders.

use std::io::Read;

use ndarray_npy::npy::header::{Header, Layout};
use ndarray_npy::{ReadDataError, ReadableElement};
use num_complex::Complex;

use super::Order;
use crate::failure::{Failure, check_memory, system_text};
use crate::progress;

/// First bytes of a `.npy` file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's own limit for headers that it reads without being told to trust them.
const LONGEST_HEADER: usize = 10_000;
/// Brackets in the header of any array that we read: a bound for the parser's recursion.
const MOST_BRACKETS: usize = 64;

/// An array as the file has it.
#[derive(Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub order: Order,
    pub elements: Elements,
}

/// The elements of an array, with their type.
#[derive(Debug)]
pub enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
    C32(Vec<Complex<f32>>),
    C64(Vec<Complex<f64>>),
}

impl Elements {
    /// NumPy's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Elements::F32(_) => "float32",
            Elements::F64(_) => "float64",
            Elements::C32(_) => "complex64",
            Elements::C64(_) => "complex128",
        }
    }
}

/// Reads one array; `bytes` is the length of the whole, header included. `check` may refuse the shape before any
/// element is read.
pub fn read(
    reader: &mut dyn Read,
    bytes: u64,
    check: &dyn Fn(&[usize]) -> Result<(), String>,
    fail: &dyn Fn(String) -> Failure,
) -> Result<Array, Failure> {
    let (header, header_bytes) = read_header(reader).map_err(fail)?;
    check(&header.shape).map_err(fail)?;
    let descr = descriptor(&header);
    let width = match descr.as_str() {
        "<f4" | ">f4" => 4,
        "<f8" | ">f8" | "<c8" | ">c8" => 8,
        "<c16" | ">c16" => 16,
        _ => return Err(fail(wrong_type(&descr))),
    };
    check_length(&header, width, bytes.saturating_sub(header_bytes), numpy_name(&descr)).map_err(fail)?;
    // The product is that of the check, or 0.
    let len = if header.shape.contains(&0) { 0 } else { header.shape.iter().product() };
    check_memory(len, width, "the input").map_err(|e| fail(e.to_string()))?;
    let reader: &mut dyn Read = &mut *progress::reading(reader, bytes);
    let elements = match &descr[1..] {
        "f4" => Elements::F32(elements(reader, &header, len, fail)?),
        "f8" => Elements::F64(elements(reader, &header, len, fail)?),
        "c8" => Elements::C32(elements(reader, &header, len, fail)?),
        _ => Elements::C64(elements(reader, &header, len, fail)?),
    };
    let order = if header.layout == Layout::Fortran { Order::Fortran } else { Order::C };
    Ok(Array { shape: header.shape, order, elements })
}

fn elements<T: ReadableElement>(
    reader: &mut dyn Read,
    header: &Header,
    len: usize,
    fail: &dyn Fn(String) -> Failure,
) -> Result<Vec<T>, Failure> {
    T::read_to_end_exact_vec(reader, &header.type_descriptor, len).map_err(|e| {
        fail(match e {
            ReadDataError::Io(e) => system_text(&e),
            ReadDataError::MissingData => "the file is cut short".to_string(),
            ReadDataError::ExtraBytes(extra) => format!("{extra} bytes follow the array"),
            other => other.to_string(),
        })
    })
}

/// Reads the header with bounds on its size; the bytes that it took are returned too.
fn read_header(reader: &mut dyn Read) -> Result<(Header, u64), String> {
    let cut = |_| "the file is cut short within its header".to_string();
    let mut bytes = vec![0; 8];
    reader.read_exact(&mut bytes).map_err(cut)?;
    if !(1..=3).contains(&bytes[6]) || bytes[7] != 0 {
        return Err(format!(".npy version {}.{} is not known (1.0, 2.0 and 3.0 are)", bytes[6], bytes[7]));
    }
    let width = if bytes[6] == 1 { 2 } else { 4 };
    bytes.resize(8 + width, 0);
    reader.read_exact(&mut bytes[8..]).map_err(cut)?;
    let length = bytes[8..].iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
    if length > LONGEST_HEADER {
        return Err(format!(
            "its header claims {length} bytes, more than the {LONGEST_HEADER} of any plain array"
        ));
    }
    let start = bytes.len();
    bytes.resize(start + length, 0);
    reader.read_exact(&mut bytes[start..]).map_err(cut)?;
    if bytes[start..].iter().filter(|b| b"([{".contains(b)).count() > MOST_BRACKETS {
        return Err("its header does not describe a plain array".to_string());
    }
    let header = Header::from_reader(&mut bytes.as_slice()).map_err(|e| one_line(&e.to_string()))?;
    Ok((header, bytes.len() as u64))
}

fn check_length(header: &Header, width: usize, held: u64, dtype: &str) -> Result<(), String> {
    let needed = header.shape.iter().try_fold(width as u64, |product, &x| product.checked_mul(x as u64));
    // A zero anywhere makes the array empty, whatever the other lengths multiply to.
    let needed = if header.shape.contains(&0) { Some(0) } else { needed };
    let shape = shape_text(&header.shape);
    match needed {
        Some(needed) if needed == held => Ok(()),
        Some(needed) if needed < held => Err(format!("{} bytes follow the array", held - needed)),
        Some(needed) => Err(format!(
            "the file is cut short: shape {shape} of {dtype} takes {needed} bytes, {held} are there"
        )),
        None => Err(format!("shape {shape} is larger than any memory")),
    }
}

/// A shape as Python writes it.
pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn descriptor(header: &Header) -> String {
    match header.type_descriptor.as_string() {
        Some(text) => text.clone(),
        None => "structured".to_string(),
    }
}

fn wrong_type(descr: &str) -> String {
    format!(
        "elements are {}; float32, float64, complex64 or complex128 are needed \
         (convert with a.astype(numpy.float64))",
        numpy_name(descr)
    )
}

/// NumPy's name of a type descriptor such as `<i8`; the descriptor itself where it has none.
fn numpy_name(descr: &str) -> &str {
    if descr == "structured" {
        return "structured records";
    }
    match descr.trim_start_matches(['<', '>', '|', '=']) {
        "f4" => "float32",
        "f8" => "float64",
        "c8" => "complex64",
        "c16" => "complex128",
        "f2" => "float16",
        "f12" | "f16" => "long double",
        "c24" | "c32" => "complex long double",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "b1" => "bool",
        "O" => "Python objects",
        _ => descr,
    }
}

/// The parser's reason, without its stack of contexts.
fn one_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim_end();
    if first.contains("syntax error") {
        return "its header is no Python dictionary of literals".to_string();
    }
    let reason = first.strip_prefix("error parsing header: ").unwrap_or(first);
    format!("its header cannot be read: {reason}")
}

#[cfg(test)]
mod tests {
    use super::super::{Matrices, matrices, square};
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16 + 1).to_le_bytes());
        out.extend(header.as_bytes());
        out.push(b'\n');
        out.extend(data);
        out
    }

    fn parse(bytes: &[u8]) -> Result<Matrices, Failure> {
        let (mut reader, check) = (bytes, |shape: &[usize]| square(shape).map(drop));
        read(&mut reader, bytes.len() as u64, &check, &|text| Failure::new(text)).map(matrices)
    }

    fn error(header: &str, data: &[u8]) -> String {
        let bytes = file(header, data);
        parse(&bytes).unwrap_err().to_string()
    }

    fn of(descr: &str, shape: &str) -> String {
        format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
    }

    #[test]
    fn big_endian_is_read() {
        let data: Vec<u8> = [1.0f64, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let bytes = file(&of("'>f8'", "(2, 2)"), &data);
        let Ok(Matrices::F64(items)) = parse(&bytes) else { panic!("not read as f64") };
        assert_eq!(items.chunk(0, 1).unwrap().get(0, 0, 1), 2.0);
    }

    #[test]
    fn bad_headers_are_named() {
        for (header, word) in [
            (of("'<f8'", "(3, 4)"), "not square"),
            (of("'<f8'", "(4,)"), "(4,)"),
            (of("'<f8'", "()"), "(batch, n, n)"),
            (of("'<f8'", "(2, 2, 2, 2)"), "(2, 2, 2, 2)"),
            (of("'<i8'", "(2, 2)"), "int64"),
            (of("'|O'", "(2, 2)"), "Python objects"),
            (of("[('x', '<f8')]", "(2, 2)"), "structured"),
            (of("'<f8'", "(2, 2)"), "cut short"),
            (of("'<f8'", "(1000000000, 1000000000, 1000000000)"), "larger than any memory"),
            (of("'<f8'", "(-1, 2, 2)"), "shape"),
            ("{'descr': '<f8'}".to_string(), "missing key"),
            ("not python".to_string(), "no Python dictionary"),
            ("(".repeat(9000), "does not describe a plain array"),
        ] {
            let text = error(&header, &[]);
            assert!(text.contains(word), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
        assert!(error(&of("'<f8'", "(1, 1)"), &[0; 9]).contains("1 bytes follow"));
    }

    #[test]
    fn a_header_longer_than_numpy_takes_is_refused() {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(u32::MAX.to_le_bytes());
        let text = parse(&bytes).unwrap_err().to_string();
        assert!(text.contains("4294967295"), "{text}");
    }

    #[test]
    fn empty_shapes_are_kept() {
        for (text, batch, n) in [("(0, 3, 3)", 0, 3), ("(5, 0, 0)", 5, 0), ("(0, 0)", 1, 0)] {
            let bytes = file(&of("'<f4'", text), &[]);
            let Ok(Matrices::F32(items)) = parse(&bytes) else { panic!("{text} is not read") };
            assert_eq!((items.batch(), items.n()), (batch, n));
        }
    }
}
