//! Tridiagonal matrices: the arrays `d` and `e` of a NumPy archive.

use std::path::Path;

use batchlas::Real;

use super::npy::{Array, Elements, shape_text};
use super::{Order, Source, npz};
use crate::failure::{Failure, check_memory};

/// A batch of tridiagonal matrices in one of the two real types.
#[derive(Debug)]
pub enum Tridiagonals {
    /// NumPy's float32.
    F32(Tridiagonal<f32>),
    /// NumPy's float64.
    F64(Tridiagonal<f64>),
}

/// Diagonals and off-diagonals, item after item.
#[derive(Debug)]
pub struct Tridiagonal<T> {
    /// n elements an item.
    d: Vec<T>,
    /// n - 1 elements an item.
    e: Vec<T>,
    /// Number of matrices.
    pub batch: usize,
    /// Order of each.
    pub n: usize,
}

impl<T: Real> Tridiagonal<T> {
    /// Diagonals and off-diagonals of `count` matrices from `first` on.
    pub fn part(&self, (first, count): (usize, usize)) -> (&[T], &[T]) {
        let of = |width: usize| first * width..(first + count) * width;
        (&self.d[of(self.n)], &self.e[of(self.n.saturating_sub(1))])
    }

    /// Takes the elements of two arrays whose shapes fit. There may be many of order 0: there must be memory for their
    /// statuses.
    fn new(shape: Shape, d: (Vec<T>, Order), e: (Vec<T>, Order)) -> Result<Self, String> {
        let Shape { batch, n } = shape;
        if n.checked_mul(n).and_then(|x| x.checked_mul(size_of::<T>())).is_none() {
            return Err(format!("a matrix of order {n} is larger than any memory"));
        }
        let fits = check_memory(batch, size_of::<i32>(), &format!("the statuses of {batch} matrices"));
        fits.map_err(|e| e.to_string())?;
        let (d, e) = (in_order(d, batch, n), in_order(e, batch, n.saturating_sub(1)));
        Ok(Tridiagonal { d, e, batch, n })
    }
}

/// Elements of (batch, width) item after item.
fn in_order<T: Copy>((data, order): (Vec<T>, Order), batch: usize, width: usize) -> Vec<T> {
    match order {
        Order::C => data,
        Order::Fortran => (0..batch)
            .flat_map(|item| data.iter().skip(item).step_by(batch.max(1)).take(width))
            .copied()
            .collect(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    batch: usize,
    n: usize,
}

/// The batch that an array of diagonals makes.
fn diagonals(d: &[usize]) -> Result<Shape, String> {
    match *d {
        [n] => Ok(Shape { batch: 1, n }),
        [batch, n] => Ok(Shape { batch, n }),
        _ => Err(format!("shape {}: (batch, n) or (n,) is needed", shape_text(d))),
    }
}

/// The batch, where the off-diagonals fit the diagonals.
fn shape(d: &[usize], e: &[usize]) -> Result<Shape, String> {
    let shape = diagonals(d)?;
    let mut needed = d.to_vec();
    needed[d.len() - 1] = shape.n.saturating_sub(1);
    if e != needed {
        return Err(format!(
            "shape {}: {} is needed, for the diagonals of shape {}",
            shape_text(e),
            shape_text(&needed),
            shape_text(d)
        ));
    }
    Ok(shape)
}

/// Reads the tridiagonal matrices of a file.
///
/// # Errors
/// One line that names the file and what is wrong with it.
pub fn read_tridiagonal(path: &Path) -> Result<Tridiagonals, Failure> {
    let mut source = Source::open(path)?;
    let mut is = |magic: &[u8]| source.starts_with(magic).map_err(|e| Failure::io(path, &e));
    if !is(npz::MAGIC)? && !is(npz::EMPTY_MAGIC)? {
        return Err(source.fail(match source.bytes {
            0 => "the file is empty",
            _ => "a .npz archive with the arrays d and e is needed (numpy.savez(FILE, d=d, e=e))",
        }));
    }
    let mut archive = npz::Archive::open(source)?;
    let d = archive.array("d", &|d| diagonals(d).map(drop))?;
    let e = archive.array("e", &|e| shape(&d.shape, e).map(drop))?;
    join(d, e).map_err(|text| Failure::at(path, text))
}

fn join(d: Array, e: Array) -> Result<Tridiagonals, String> {
    let shape = shape(&d.shape, &e.shape)?;
    match (d.elements, e.elements) {
        (Elements::F32(x), Elements::F32(y)) => {
            Tridiagonal::new(shape, (x, d.order), (y, e.order)).map(Tridiagonals::F32)
        }
        (Elements::F64(x), Elements::F64(y)) => {
            Tridiagonal::new(shape, (x, d.order), (y, e.order)).map(Tridiagonals::F64)
        }
        (Elements::C32(_) | Elements::C64(_), _) | (_, Elements::C32(_) | Elements::C64(_)) => {
            Err("d and e are real: float32 or float64 is needed".to_string())
        }
        (x, y) => Err(format!("d is {}, e is {}: they need one type", x.type_name(), y.type_name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_fit() {
        assert_eq!(shape(&[5], &[4]), Ok(Shape { batch: 1, n: 5 }));
        assert_eq!(shape(&[3, 1], &[3, 0]), Ok(Shape { batch: 3, n: 1 }));
        assert_eq!(shape(&[3, 0], &[3, 0]), Ok(Shape { batch: 3, n: 0 }));
        assert_eq!(shape(&[0, 4], &[0, 3]), Ok(Shape { batch: 0, n: 4 }));
        let text = shape(&[3, 4], &[3, 4]).unwrap_err();
        assert_eq!(text, "shape (3, 4): (3, 3) is needed, for the diagonals of shape (3, 4)");
        assert!(shape(&[4], &[1, 3]).is_err());
        assert!(diagonals(&[2, 2, 2]).is_err() && diagonals(&[]).is_err());
    }

    #[test]
    fn both_orders_give_the_same_items() {
        let c = vec![0, 1, 2, 10, 11, 12];
        let f = vec![0, 10, 1, 11, 2, 12];
        assert_eq!(in_order((f, Order::Fortran), 2, 3), in_order((c, Order::C), 2, 3));
    }
}
