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

const UNMEASURED: &str = "not measured yet: the choice published for an sm_89 card, with one warp a block";

const fn row(dtype: Dtype, lanes: u32, form: Form, partition: Partition, evidence: &'static str) -> Shipped {
    let (update, layout, warps) = (Update::Exp, Layout::Private, 1);
    Shipped { dtype, lanes, form, update, layout, partition, warps, evidence }
}

/// The decisions, one row a type and number of lanes.
pub static SHIPPED: [Shipped; 8] = [
    row(Dtype::F32, 4, Form::Nested, Partition::Native, UNMEASURED),
    row(Dtype::F32, 8, Form::Nested, Partition::Native, UNMEASURED),
    row(Dtype::F32, 16, Form::Flat, Partition::Native, UNMEASURED),
    row(Dtype::F32, 32, Form::Nested, Partition::Warp, UNMEASURED),
    row(Dtype::F64, 4, Form::Nested, Partition::Native, UNMEASURED),
    row(Dtype::F64, 8, Form::Nested, Partition::Native, UNMEASURED),
    row(Dtype::F64, 16, Form::Flat, Partition::Native, UNMEASURED),
    row(Dtype::F64, 32, Form::Nested, Partition::Warp, UNMEASURED),
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
