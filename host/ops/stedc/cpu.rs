//! `cpu`: the tridiagonal solver of the crate `batchlas-cpu` on the host's cores, any n: implicit QL and QR.

use batchlas_cpu::{steqr_f32, steqr_f64};

use super::arrays::Operands;
use super::{Plan, Problem};
use crate::error::Result;
use crate::ops::cpu::OnCpu;
use crate::ops::steqr::cpu::run_beside;

impl OnCpu for Problem {
    fn solve(plan: &Plan, operands: Operands<'_>) -> Result<()> {
        let Problem { n, batch, .. } = plan.problem;
        match operands {
            Operands::F32(a) => run_beside((n, batch), (a.d, a.e), a.w, a.q, a.status, steqr_f32),
            Operands::F64(a) => run_beside((n, batch), (a.d, a.e), a.w, a.q, a.status, steqr_f64),
        }
    }
}
