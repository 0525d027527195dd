//! A root of the secular equation `1 / rho + sum_i z_i^2 / (d_i - x) = 0`.

use cuda_std::math::Real;

/// Evaluations that a root may take.
const BUDGET: u32 = 64;

/// Poles `d_i`, strictly ascending, and squared weights `z_i^2`.
pub trait Poles<T>: Copy {
    /// Pole `i` and its squared weight.
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn get(self, i: u32) -> (T, T);
}

/// A root, as a pole and the distance from it: the difference to any pole then has its digits.
#[derive(Clone, Copy, Debug)]
pub struct Root<T> {
    /// The nearest pole.
    pub origin: T,
    /// Distance from it, not 0.
    pub tau: T,
    /// Whether it was found to working precision.
    pub converged: bool,
}

/// The function at a point, by the poles at and below the root's interval and those above.
#[derive(Clone, Copy)]
struct Sums<T> {
    below: T,
    below_slope: T,
    above: T,
    above_slope: T,
}

/// Where a point is: `tau` from `origin`.
#[derive(Clone, Copy)]
struct Point<T> {
    origin: T,
    tau: T,
}

impl<T: Real> Point<T> {
    /// `z^2 / (d - x)`, and its slope.
    #[inline(always)]
    fn term(self, (pole, square): (T, T)) -> (T, T) {
        let inverse = ((pole - self.origin) - self.tau).recip_approx();
        let term = square * inverse;
        (term, term * inverse)
    }

    /// Sums over the poles `from..to`, in two chains.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn sum(self, poles: impl Poles<T>, from: u32, to: u32) -> (T, T) {
        let (mut even, mut odd) = ((T::ZERO, T::ZERO), (T::ZERO, T::ZERO));
        let mut i = from;
        while i + 1 < to {
            let (a, b) = (self.term(poles.get(i)), self.term(poles.get(i + 1)));
            even = (even.0 + a.0, even.1 + a.1);
            odd = (odd.0 + b.0, odd.1 + b.1);
            i += 2;
        }
        if i < to {
            let a = self.term(poles.get(i));
            even = (even.0 + a.0, even.1 + a.1);
        }
        (even.0 + odd.0, even.1 + odd.1)
    }

    /// The function without `1 / rho`, for root `j` of `k`. Neighbours as many as `lanes`, a power of two, have their poles
    /// told apart one by one: the rest of the loop is the same for all of them.
    #[inline(always)]
    #[cfg_attr(not(target_os = "cuda"), track_caller)]
    fn sums(self, poles: impl Poles<T>, k: u32, j: u32, lanes: u32) -> Sums<T> {
        let from = j & !(lanes - 1);
        let to = (from + lanes).min(k);
        let (mut below, mut below_slope) = self.sum(poles, 0, from);
        let (mut above, mut above_slope) = self.sum(poles, to, k);
        let mut i = from;
        while i < to {
            let (term, slope) = self.term(poles.get(i));
            let is_below = i <= j;
            below += if is_below { term } else { T::ZERO };
            below_slope += if is_below { slope } else { T::ZERO };
            above += if is_below { T::ZERO } else { term };
            above_slope += if is_below { T::ZERO } else { slope };
            i += 1;
        }
        Sums { below, below_slope, above, above_slope }
    }
}

/// Where the root is known to be, from the origin.
#[derive(Clone, Copy)]
struct Bracket<T> {
    low: T,
    high: T,
}

/// Root `j` of `k`, in the interval from pole `j` to the next, or above all of them for the last.
///
/// The pole that it is nearer to becomes the origin. Rational interpolation with the two poles around it (Li's fixed
/// weight, and his middle way where that is slow) inside of a bracket that shrinks with every evaluation. `lanes`: lanes of
/// a warp, whose roots are neighbours; a constant would have the compiler unroll the loop over them.
#[inline(always)]
#[cfg_attr(not(target_os = "cuda"), track_caller)]
pub fn root<T: Real>(poles: impl Poles<T>, k: u32, j: u32, rho: T, lanes: u32) -> Root<T> {
    let inverse_rho = rho.recip();
    let is_last = j + 1 == k;
    let (own, own_square) = poles.get(j);
    let (next, next_square) = if is_last { (own, T::ZERO) } else { poles.get(j + 1) };
    // Above the last pole the squares of all weights, 1 at most, bound the distance.
    let gap = if is_last { rho * (T::ONE + T::from_u32(64) * T::EPSILON) } else { next - own };
    let middle = gap * T::HALF;
    let noise = T::UNIT_ROUNDOFF * T::from_u32(k.max(16));

    let mut point = Point { origin: own, tau: middle };
    let mut bracket = Bracket { low: T::ZERO, high: if is_last { gap } else { middle } };
    let (mut from_own, mut placed) = (true, is_last);
    let (mut middle_way, mut before) = (false, T::INFINITY);
    let mut left = BUDGET;
    loop {
        let sums = point.sums(poles, k, j, lanes);
        let w = inverse_rho + sums.below + sums.above;
        if !placed {
            // The middle tells which pole is nearer: the function rises from one to the next.
            placed = true;
            from_own = w >= T::ZERO;
            if !from_own {
                point.origin = next;
                bracket = Bracket { low: -middle, high: T::ZERO };
            }
            // The two poles around the root exactly, the others as they are here.
            let rest = w + (own_square - next_square) * middle.recip_approx();
            let (near, far) = if from_own { (own_square, next_square) } else { (next_square, own_square) };
            point.tau = bracket.keep(two_poles(rest, gap, near, far, from_own, middle));
            continue;
        }
        let size = inverse_rho - sums.below + sums.above;
        let good = w.abs() <= T::from_u32(8) * T::UNIT_ROUNDOFF * size;
        // What is left may be the rounding of the sums.
        let stuck = w.abs() <= noise * size && w.abs() * T::TWO >= before;
        bracket = bracket.cut(point.tau, w);
        let done = good || stuck || bracket.is_tight();
        left -= 1;
        if done || left == 0 {
            return Root { origin: point.origin, tau: point.tau, converged: done };
        }
        middle_way ^= w.abs() * T::from_u32(10) > before;
        before = w.abs();
        let step = if is_last {
            one_pole(&point, &sums, w)
        } else {
            let (near, square) = if from_own { (own, own_square) } else { (next, next_square) };
            let distances = [(own - point.origin) - point.tau, (next - point.origin) - point.tau];
            let inverse = ((near - point.origin) - point.tau).recip_approx();
            // What the nearer pole alone gives to the slope.
            let own_slope = square * inverse * inverse;
            interpolate(distances, &sums, w, own_slope, from_own, middle_way)
        };
        // Downhill, or it is Newton's step instead.
        let newton = -w * (sums.below_slope + sums.above_slope).recip_approx();
        let step = if w * step > T::ZERO { newton } else { step };
        let tau = bracket.keep(point.tau + step);
        if tau == point.tau {
            return Root { origin: point.origin, tau, converged: true };
        }
        point.tau = tau;
    }
}

impl<T: Real> Bracket<T> {
    /// The part that holds the root, where the function is `w` at `tau`.
    #[inline(always)]
    fn cut(self, tau: T, w: T) -> Self {
        if w < T::ZERO { Bracket { low: tau, ..self } } else { Bracket { high: tau, ..self } }
    }

    /// Whether its ends agree to working precision.
    #[inline(always)]
    fn is_tight(self) -> bool {
        self.high - self.low <= T::EPSILON * self.low.abs().min(self.high.abs())
    }

    /// The point itself where it is inside, else the middle.
    #[inline(always)]
    fn keep(self, tau: T) -> T {
        if tau > self.low && tau < self.high { tau } else { self.low + (self.high - self.low) * T::HALF }
    }
}

/// `sqrt(|x|)`, 0 where the square root has no digits.
#[inline(always)]
fn root_of<T: Real>(x: T) -> T {
    let x = x.abs().max(T::SAFE_MIN);
    x.rsqrt().times(x)
}

/// The smaller root, in modulus, of `c x^2 - a x + b = 0` where `b c` has the sign that makes both real.
#[inline(always)]
fn small_root<T: Real>(a: T, b: T, c: T) -> T {
    let root = root_of(a.mul_add(a, -(T::from_u32(4) * b * c)));
    let (numerator, denominator) = if a <= T::ZERO { (a - root, c + c) } else { (b + b, a + root) };
    numerator * denominator.recip_approx()
}

/// The root of `rest` and the terms of two poles `gap` apart, from the nearer of them.
#[inline(always)]
fn two_poles<T: Real>(rest: T, gap: T, near: T, far: T, from_own: bool, middle: T) -> T {
    // From the upper pole the mirrored equation has the other sign.
    let c = if from_own { rest } else { -rest };
    let a = c.mul_add(gap, near + far);
    let tau = small_root(a, near * gap, c);
    let tau = if tau > T::ZERO { tau.min(middle) } else { middle * T::HALF };
    if from_own { tau } else { -tau }
}

/// The step to where the function, its own pole's term with value and slope of all, is zero: for the last root.
#[inline(always)]
fn one_pole<T: Real>(point: &Point<T>, sums: &Sums<T>, w: T) -> T {
    let distance = -point.tau;
    let c = (-distance).mul_add(sums.below_slope, w);
    // x = distance + distance^2 slope / c, less what cancels.
    distance * w * c.recip_approx()
}

/// The step to the root of the interpolating function with the two poles around.
#[inline(always)]
fn interpolate<T: Real>(
    [own, next]: [T; 2],
    sums: &Sums<T>,
    w: T,
    near_slope: T,
    from_own: bool,
    middle_way: bool,
) -> T {
    let slope = sums.below_slope + sums.above_slope;
    let c = if middle_way {
        (-own).mul_add(sums.below_slope, (-next).mul_add(sums.above_slope, w))
    } else if from_own {
        (-next).mul_add(slope, w) - (own - next) * near_slope
    } else {
        (-own).mul_add(slope, w) - (next - own) * near_slope
    };
    let a = (own + next).mul_add(w, -(own * next * slope));
    let b = own * next * w;
    small_root(a, b, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct List<'a>(&'a [f64], &'a [f64]);
    impl Poles<f64> for List<'_> {
        fn get(self, i: u32) -> (f64, f64) {
            (self.0[i as usize], self.1[i as usize])
        }
    }

    /// `1 / rho + sum z^2 / (d - x)` and the sum of its terms' sizes.
    fn residual(d: &[f64], squares: &[f64], rho: f64, root: Root<f64>) -> f64 {
        let terms = d.iter().zip(squares).map(|(d, z)| z / ((d - root.origin) - root.tau));
        let (sum, size) = terms.fold((1.0 / rho, 1.0 / rho), |(s, t), x| (s + x, t + f64::abs(x)));
        sum.abs() / size
    }

    fn check(d: &[f64], z: &[f64], rho: f64) {
        let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
        let squares: Vec<f64> = z.iter().map(|z| (z / norm) * (z / norm)).collect();
        let k = d.len() as u32;
        for j in 0..k {
            let root = root(List(d, &squares), k, j, rho, 32);
            assert!(root.converged && root.tau != 0.0, "{j}: {root:?}");
            let off = residual(d, &squares, rho, root);
            assert!(off <= 4.0 * k as f64 * f64::EPSILON, "{j} of {k}: {root:?} leaves {off:e}");
            let x = root.origin + root.tau;
            let end = d.get(j as usize + 1).copied().unwrap_or(d[j as usize] + rho * 1.0001);
            assert!(d[j as usize] <= x && x <= end, "{j}: {x} is outside of {}, {end}", d[j as usize]);
        }
    }

    #[test]
    fn roots_of_easy_and_hard_equations() {
        check(&[0.3], &[1.0], 0.5);
        check(&[-1.0, 2.0], &[1.0, 1e-8], 1.0);
        check(&[-1.0, 2.0], &[1e-9, 1.0], 3.0);
        for k in [3usize, 17, 40, 200] {
            let d: Vec<f64> = (0..k).map(|i| (i as f64 * 0.7).sin() * 0.1 + i as f64).collect();
            let even: Vec<f64> = vec![1.0; k];
            let falling: Vec<f64> = (0..k).map(|i| 10f64.powf(-14.0 * i as f64 / k as f64)).collect();
            let rising: Vec<f64> = falling.iter().rev().copied().collect();
            let mixed: Vec<f64> = (0..k).map(|i| if i % 3 == 0 { 1e-12 } else { 1.0 }).collect();
            let close: Vec<f64> = (0..k).map(|i| 1.0 + i as f64 * 1e-13).collect();
            for rho in [1e-6, 1.0, 4.0] {
                for z in [&even, &falling, &rising, &mixed] {
                    check(&d, z, rho);
                }
                check(&close, &even, rho);
            }
        }
    }
}
