//! Matrix Market: symmetric and Hermitian matrices, array or coordinate.
//!
//! real, integer and pattern fields become f64 (a pattern's entries are 1),
//! complex ones c64. One matrix a file: a batch of one.

use std::io::BufRead;
use std::str::FromStr;

use num_complex::Complex;

use super::{Items, Matrices, Order, Source};
use crate::failure::{Failure, check_memory, system_text};

/// First bytes of a Matrix Market file, in any case.
pub const MAGIC: &[u8] = b"%%MatrixMarket";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Real,
    Complex,
    Pattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Banner {
    coordinate: bool,
    field: Field,
    hermitian: bool,
}

/// Reads the matrix.
pub fn read(source: Source<'_>) -> Result<Matrices, Failure> {
    let path = source.path;
    parse(source.reader).map_err(|text| Failure::at(path, text))
}

/// Lines with their numbers; comments and blank lines are passed over.
struct Lines<R> {
    reader: R,
    number: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            self.buffer.clear();
            let read = self.reader.read_until(b'\n', &mut self.buffer).map_err(|e| system_text(&e))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let text = String::from_utf8_lossy(&self.buffer);
            let text = text.trim();
            if !text.is_empty() && (self.number == 1 || !text.starts_with('%')) {
                return Ok(Some(text.to_string()));
            }
        }
    }

    fn at(&self, text: impl std::fmt::Display) -> String {
        format!("line {}: {text}", self.number)
    }
}

fn parse(reader: impl BufRead) -> Result<Matrices, String> {
    let mut lines = Lines { reader, number: 0, buffer: Vec::new() };
    let first = lines.next()?.unwrap_or_default();
    let banner = banner(&first).map_err(|e| lines.at(e))?;
    let size = lines.next()?.ok_or("the file is cut short: it has no size line")?;
    let (n, entries) = size_line(&size, banner).map_err(|e| lines.at(e))?;
    let len =
        n.checked_mul(n).ok_or_else(|| lines.at(format!("a dense matrix of order {n} fits no memory")))?;
    check_memory(len, 16, &format!("a dense matrix of order {n}")).map_err(|e| lines.at(e))?;
    let mut matrix = Dense { values: vec![Complex::new(0.0, 0.0); len], seen: vec![false; len], n, banner };
    if banner.coordinate {
        read_coordinate(&mut lines, &mut matrix, entries)?;
    } else {
        read_array(&mut lines, &mut matrix)?;
    }
    if lines.next()?.is_some() {
        return Err(lines.at("entries beyond the number that the size line gives"));
    }
    Ok(matrix.finish())
}

fn banner(line: &str) -> Result<Banner, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let [_, object, format, field, symmetry] = words.as_slice() else {
        return Err("'%%MatrixMarket matrix coordinate|array FIELD symmetric|hermitian' is needed".into());
    };
    if object != "matrix" {
        return Err(format!("a matrix is needed, not a '{object}'"));
    }
    let coordinate = match format.as_str() {
        "coordinate" => true,
        "array" => false,
        other => return Err(format!("unknown format '{other}': coordinate or array")),
    };
    let field = match field.as_str() {
        "real" | "double" | "integer" => Field::Real,
        "complex" => Field::Complex,
        "pattern" if coordinate => Field::Pattern,
        other => {
            return Err(format!(
                "field '{other}' is not read: real, integer, complex or a coordinate pattern"
            ));
        }
    };
    let hermitian = match (symmetry.as_str(), field) {
        ("symmetric", Field::Complex) => {
            return Err("a complex symmetric matrix is not Hermitian: its eigenvalues are not real".into());
        }
        ("symmetric", _) => false,
        ("hermitian", _) => true,
        (other, _) => return Err(format!("the matrix is {other}; symmetric or hermitian is needed")),
    };
    Ok(Banner { coordinate, field, hermitian })
}

/// (order, number of entries in the file).
fn size_line(line: &str, banner: Banner) -> Result<(usize, usize), String> {
    let numbers: Vec<&str> = line.split_whitespace().collect();
    let expected = if banner.coordinate { "rows, columns and entries" } else { "rows and columns" };
    if numbers.len() != if banner.coordinate { 3 } else { 2 } {
        return Err(format!("the size line must hold {expected}"));
    }
    let rows: usize = number(numbers[0])?;
    let cols: usize = number(numbers[1])?;
    if rows != cols {
        return Err(format!("a matrix of {rows}x{cols} is not square"));
    }
    Ok((rows, numbers.get(2).map_or(Ok(0), |text| number(text))?))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number of the kind needed here"))
}

fn value(words: &[&str], field: Field) -> Result<Complex<f64>, String> {
    let expected = match field {
        Field::Real => 1,
        Field::Complex => 2,
        Field::Pattern => 0,
    };
    if words.len() != expected {
        return Err(format!("{expected} value(s) expected, {} found", words.len()));
    }
    Ok(match field {
        Field::Real => Complex::new(number(words[0])?, 0.0),
        Field::Complex => Complex::new(number(words[0])?, number(words[1])?),
        Field::Pattern => Complex::new(1.0, 0.0),
    })
}

fn read_coordinate(
    lines: &mut Lines<impl BufRead>,
    matrix: &mut Dense,
    entries: usize,
) -> Result<(), String> {
    let n = matrix.n;
    for done in 0..entries {
        let Some(line) = lines.next()? else {
            return Err(format!("the file is cut short: {done} of {entries} entries are there"));
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let [row, col, rest @ ..] = words.as_slice() else {
            return Err(lines.at("row and column expected"));
        };
        let index = |text: &str| -> Result<usize, String> {
            let index: usize = number(text)?;
            let inside = (1..=n).contains(&index);
            if inside { Ok(index - 1) } else { Err(format!("index {index} is outside 1..{n}")) }
        };
        let put = index(row).and_then(|i| matrix.put(i, index(col)?, value(rest, matrix.banner.field)?));
        put.map_err(|e| lines.at(e))?;
    }
    Ok(())
}

/// The lower triangle column by column.
fn read_array(lines: &mut Lines<impl BufRead>, matrix: &mut Dense) -> Result<(), String> {
    let n = matrix.n;
    for j in 0..n {
        for i in j..n {
            let Some(line) = lines.next()? else {
                return Err(format!(
                    "the file is cut short: the lower triangle of order {n} ends at ({}, {})",
                    i + 1,
                    j + 1
                ));
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let put = value(&words, matrix.banner.field).and_then(|x| matrix.put(i, j, x));
            put.map_err(|e| lines.at(e))?;
        }
    }
    Ok(())
}

struct Dense {
    /// Column-major, both triangles.
    values: Vec<Complex<f64>>,
    seen: Vec<bool>,
    n: usize,
    banner: Banner,
}

impl Dense {
    fn put(&mut self, i: usize, j: usize, x: Complex<f64>) -> Result<(), String> {
        if i == j && self.banner.hermitian && x.im != 0.0 {
            return Err(format!("diagonal entry ({0}, {0}) of a Hermitian matrix is not real", i + 1));
        }
        let (here, there) = (i + j * self.n, j + i * self.n);
        if self.seen[here] || self.seen[there] {
            return Err(format!("entry ({}, {}) is given twice", i + 1, j + 1));
        }
        self.seen[here] = true;
        self.values[there] = if self.banner.hermitian { x.conj() } else { x };
        self.values[here] = x;
        Ok(())
    }

    fn finish(self) -> Matrices {
        let n = self.n;
        if self.banner.field == Field::Complex {
            return Matrices::C64(Items::new(self.values, 1, n, Order::Fortran));
        }
        let real = self.values.iter().map(|x| x.re).collect();
        Matrices::F64(Items::new(real, 1, n, Order::Fortran))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Matrices, String> {
        parse(text.as_bytes())
    }

    #[test]
    fn coordinate_symmetric_fills_both_triangles() {
        let text = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 3\n1 1 2.5\n3 1 -1e0\n\n2 2 4\n";
        let Ok(Matrices::F64(items)) = read_text(text) else { panic!("not read") };
        let a = items.chunk(0, 1).unwrap();
        assert_eq!((a.get(0, 0, 0), a.get(0, 2, 0), a.get(0, 0, 2)), (2.5, -1.0, -1.0));
        assert_eq!(a.get(0, 1, 2), 0.0);
    }

    #[test]
    fn array_hermitian_conjugates() {
        let text = "%%matrixmarket MATRIX array complex Hermitian\n2 2\n1 0\n0 2\n5 0\n";
        let Ok(Matrices::C64(items)) = read_text(text) else { panic!("not read") };
        let a = items.chunk(0, 1).unwrap();
        assert_eq!(a.get(0, 1, 0), Complex::new(0.0, 2.0));
        assert_eq!(a.get(0, 0, 1), Complex::new(0.0, -2.0));
    }

    #[test]
    fn a_pattern_is_ones_and_integers_are_f64() {
        let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
        let Ok(Matrices::F64(items)) = read_text(pattern) else { panic!("not read") };
        assert_eq!(items.chunk(0, 1).unwrap().as_slice(), &[0.0, 1.0, 1.0, 0.0]);
        let integer = "%%MatrixMarket matrix array integer symmetric\n1 1\n7\n";
        let Ok(Matrices::F64(items)) = read_text(integer) else { panic!("not read") };
        assert_eq!(items.chunk(0, 1).unwrap().as_slice(), &[7.0]);
    }

    #[test]
    fn faults_name_their_lines() {
        let head = "%%MatrixMarket matrix coordinate real symmetric\n";
        for (text, word) in [
            (
                "%%MatrixMarket matrix coordinate real general\n2 2 0\n".to_string(),
                "line 1: the matrix is general",
            ),
            (
                "%%MatrixMarket matrix array complex symmetric\n1 1\n".to_string(),
                "line 1: a complex symmetric",
            ),
            ("%%MatrixMarket matrix\n".to_string(), "line 1:"),
            (format!("{head}2 3 1\n1 1 1\n"), "line 2: a matrix of 2x3 is not square"),
            (format!("{head}2 2\n"), "line 2: the size line"),
            (format!("{head}2 2 1\n%\n1 5 1\n"), "line 4: index 5 is outside 1..2"),
            (format!("{head}2 2 1\n0 1 1\n"), "line 3: index 0"),
            (format!("{head}2 2 1\n1 1 x\n"), "line 3: 'x'"),
            (format!("{head}2 2 1\n1 1\n"), "line 3: 1 value(s) expected"),
            (format!("{head}2 2 2\n2 1 1\n1 2 1\n"), "line 4: entry (1, 2) is given twice"),
            (format!("{head}2 2 2\n2 1 1\n"), "1 of 2 entries"),
            (format!("{head}2 2 1\n2 1 1\n1 1 1\n"), "line 4: entries beyond"),
            (format!("{head}99999999999 99999999999 1\n"), "fits no memory"),
            (head.to_string(), "no size line"),
            (
                "%%MatrixMarket matrix array complex hermitian\n1 1\n1 1\n".to_string(),
                "line 3: diagonal entry (1, 1)",
            ),
            ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n".to_string(), "ends at (2, 2)"),
        ] {
            match read_text(&text) {
                Ok(_) => panic!("accepted: {text}"),
                Err(e) => assert!(e.contains(word), "{e}"),
            }
        }
    }
}
