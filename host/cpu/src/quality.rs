//! How well vectors and values solve a Hermitian eigenproblem, in double precision.

/// A matrix of order n as two column-major planes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planes {
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts; empty for a real matrix.
    pub im: Vec<f64>,
}

impl Planes {
    fn column(&self, n: usize, j: usize) -> (&[f64], &[f64]) {
        let range = j * n..(j + 1) * n;
        (&self.re[range.clone()], if self.im.is_empty() { &[] } else { &self.im[range] })
    }

    fn frobenius(&self) -> f64 {
        self.re.iter().chain(&self.im).map(|x| x * x).sum::<f64>().sqrt()
    }

    fn max(&self) -> f64 {
        self.re.iter().chain(&self.im).fold(0.0, |m, x| x.abs().max(m))
    }
}

/// ||A V - V L||_F / ||A||_F, for both triangles of A filled; 0 where the numerator is 0.
pub fn relative_residual(n: usize, a: &Planes, v: &Planes, w: &[f64]) -> f64 {
    // Squares of huge or tiny elements would leave the range.
    let max = a.max();
    let scale = if max > 0.0 && max.is_finite() { 1.0 / max } else { 1.0 };
    // 1 / max of a subnormal is infinite: 2^1023 brings even the smallest to where squares are safe.
    let scale = scale.min(2f64.powi(1023));
    let scaled = |x: &Vec<f64>| x.iter().map(|x| x * scale).collect();
    let a = Planes { re: scaled(&a.re), im: scaled(&a.im) };
    let mut sum = 0.0;
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    for k in 0..n {
        let (v_re, v_im) = v.column(n, k);
        let l = w[k] * scale;
        for i in 0..n {
            re[i] = -l * v_re[i];
            im[i] = v_im.get(i).map_or(0.0, |x| -l * x);
        }
        for j in 0..n {
            let (a_re, a_im) = a.column(n, j);
            axpy(&mut re, v_re[j], a_re);
            if !v_im.is_empty() {
                axpy(&mut re, -v_im[j], a_im);
                axpy(&mut im, v_re[j], a_im);
                axpy(&mut im, v_im[j], a_re);
            }
        }
        sum += re.iter().chain(&im).map(|x| x * x).sum::<f64>();
    }
    if sum == 0.0 { 0.0 } else { sum.sqrt() / a.frobenius() }
}

/// ||V^H V - I||_F.
pub fn departure_from_orthonormal(n: usize, v: &Planes) -> f64 {
    let mut sum = 0.0;
    for j in 0..n {
        let (x_re, x_im) = v.column(n, j);
        for k in 0..=j {
            let (y_re, y_im) = v.column(n, k);
            let mut re = dot(x_re, y_re) + dot(x_im, y_im);
            let im = if x_im.is_empty() { 0.0 } else { dot(x_re, y_im) - dot(x_im, y_re) };
            if k == j {
                re -= 1.0;
            }
            sum += (re * re + im * im) * if k == j { 1.0 } else { 2.0 };
        }
    }
    sum.sqrt()
}

fn axpy(y: &mut [f64], s: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += s * x;
    }
}

/// Eight partial sums, for speed.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (xs, x_rest) = x.as_chunks::<8>();
    let (ys, y_rest) = y.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (x, y) in xs.iter().zip(ys) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_checked_pairs() {
        // [[2, i], [-i, 2]]: eigenvalues 1 and 3, vectors (1, i)/sqrt 2 and (1, -i)/sqrt 2.
        let a = Planes { re: vec![2.0, 0.0, 0.0, 2.0], im: vec![0.0, -1.0, 1.0, 0.0] };
        let h = 0.5f64.sqrt();
        let v = Planes { re: vec![h, 0.0, h, 0.0], im: vec![0.0, h, 0.0, -h] };
        assert!(relative_residual(2, &a, &v, &[1.0, 3.0]) < 1e-15);
        assert!(departure_from_orthonormal(2, &v) < 1e-15);
        // Swapped values: each column is off by 2, so the norm is sqrt 8 over sqrt 10.
        let swapped = relative_residual(2, &a, &v, &[3.0, 1.0]);
        assert!((swapped - (0.8f64).sqrt()).abs() < 1e-15, "{swapped}");
        let twice = Planes { re: vec![h, 0.0, h, 0.0], im: vec![0.0, h, 0.0, h] };
        assert!((departure_from_orthonormal(2, &twice) - 2f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn huge_and_zero_matrices() {
        let one = Planes { re: vec![1.0], im: vec![] };
        let huge = Planes { re: vec![1e300], im: vec![] };
        assert_eq!(relative_residual(1, &huge, &one, &[1e300]), 0.0);
        assert_eq!(relative_residual(1, &huge, &one, &[0.5e300]), 0.5);
        let zero = Planes { re: vec![0.0], im: vec![] };
        assert_eq!(relative_residual(1, &zero, &one, &[0.0]), 0.0);
        assert_eq!(relative_residual(1, &zero, &one, &[1.0]), f64::INFINITY);
    }
}
