//! `cpu`: faer's product in the crate `batchlas-cpu`, on the host's cores, an item a thread.

use batchlas_cpu::{Products, gemm_c32, gemm_c64, gemm_f32, gemm_f64};

use super::arrays::{Arrays, Operands, Place};
use super::{Op, Plan, Problem};
use crate::error::Result;
use crate::ops::cpu::{OnCpu, elsewhere};

impl OnCpu for Problem {
    fn solve(plan: &Plan, operands: Operands<'_>) -> Result<()> {
        match operands {
            Operands::F32(arrays) => run(plan, arrays, gemm_f32),
            Operands::F64(arrays) => run(plan, arrays, gemm_f64),
            Operands::C32(arrays) => run(plan, arrays, gemm_c32),
            Operands::C64(arrays) => run(plan, arrays, gemm_c64),
        }
    }
}

fn run<T>(
    plan: &Plan,
    arrays: Arrays<'_, T>,
    multiply: impl FnOnce(&Products, T, &[T], &[T], T, &mut [T]),
) -> Result<()> {
    let Problem { op_a, op_b, m, n, k, batch, .. } = plan.problem;
    let factor = |op: Op, place: Place| batchlas_cpu::Factor {
        transposed: op.transposes(),
        conjugated: op == Op::C,
        ld: place.ld,
        stride: place.stride,
    };
    let Arrays { alpha, beta, a, b, c, host } = arrays;
    let products =
        Products { m, n, k, batch, a: factor(op_a, a), b: factor(op_b, b), ldc: c.ld, stride_c: c.stride };
    let host = host.ok_or_else(elsewhere)?;
    multiply(&products, alpha, host.a, host.b, beta, host.c);
    Ok(())
}
