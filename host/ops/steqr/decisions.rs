//! What ships for each type and number of lanes, with the evidence.

use super::{Form, Layout, Partition, Update};
use crate::scalar::Dtype;

/// How the family `cta` runs a type on tiles of so many lanes, where nobody asks for another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// The element type.
    pub dtype: Dtype,
    /// Lanes of a tile: the least of 4, 8, 16, 32 that is not below n.
    pub lanes: u32,
    /// How the warp goes through the iteration.
    pub form: Form,
    /// How a sweep updates the matrix.
    pub update: Update,
    /// Where the vectors lie in shared memory.
    pub layout: Layout,
    /// Which lanes a collective names.
    pub partition: Partition,
    /// Warps a block.
    pub warps: u32,
    /// What was measured, or why the row stands without.
    pub evidence: &'static str,
}

const fn row(dtype: Dtype, lanes: u32, evidence: &'static str) -> Shipped {
    let (form, update) = (Form::Decoupled, Update::Pg);
    let (layout, partition, warps) = (Layout::Private, Partition::Native, 1);
    Shipped { dtype, lanes, form, update, layout, partition, warps, evidence }
}

/// The decisions, one row a type and number of lanes. H200, vectors, exp for the others, batch 65536 up to 8 lanes and
/// 32768 above, ns an item, one run: benches/results/steqr_h200_2026-11-30.jsonl. There, too: interleaved within 1 % of
/// private; two or four warps a block gained nothing (the multiplier stays 1); nested on the whole warp the same.
pub static SHIPPED: [Shipped; 8] = [
    row(Dtype::F32, 4, "decoupled 0.33, lockstep 0.87, nested 0.96, flat 1.02"),
    row(Dtype::F32, 8, "decoupled 0.89, flat 3.35, lockstep 3.44, nested 3.47"),
    row(Dtype::F32, 16, "decoupled 3.44 (4 rows a lane; 4.39 with 2), flat 16.9, lockstep 17.8, nested 18.8"),
    row(
        Dtype::F32,
        32,
        "decoupled 21.4 (4 rows, 2 shared; 28.1 with 2, 31.0 with 4), nested 94.8, others 97.2",
    ),
    row(Dtype::F64, 4, "decoupled 0.40, lockstep 1.50, nested 1.51, flat 1.68"),
    row(Dtype::F64, 8, "decoupled 1.56, lockstep 6.65, nested 6.71, flat 6.96"),
    row(
        Dtype::F64,
        16,
        "decoupled 7.40 (4 rows, 2 shared; 8.68 with 2, 8.90 with 4), lockstep 36.2, flat 36.6, nested 39.4",
    ),
    row(
        Dtype::F64,
        32,
        "decoupled 47.2 (4 rows, 2 shared; 81.9 with 2, 84.0 with 1), nested 205, others 213",
    ),
];

/// Lanes of the tile for an order of at most 32.
pub(super) fn lanes(n: usize) -> u32 {
    (n as u32).next_power_of_two().max(4)
}

/// The row for a type and an order of at most 32.
///
/// # Panics
/// For a complex type or a larger order.
pub fn shipped(dtype: Dtype, n: usize) -> &'static Shipped {
    let found = SHIPPED.iter().find(|row| row.dtype == dtype && row.lanes == lanes(n));
    found.expect("a real type and an order of at most 32")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_both_types_has_one_row() {
        for dtype in [Dtype::F32, Dtype::F64] {
            for n in 0..=32 {
                let row = shipped(dtype, n);
                assert!(row.lanes as usize >= n && (row.lanes == 4 || row.lanes as usize / 2 < n), "{row:?}");
                assert!(!row.evidence.is_empty() && [1, 2, 4].contains(&row.warps));
            }
        }
        let keys: std::collections::HashSet<_> = SHIPPED.iter().map(|r| (r.dtype, r.lanes)).collect();
        assert_eq!(keys.len(), SHIPPED.len());
    }
}
