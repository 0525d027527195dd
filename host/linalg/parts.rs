//! Batches that pass through a device in parts, and the CPU in a device's place.

use std::ops::Range;

use super::Eigh;
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DeviceBuffer;
use crate::memory::host::zeros;
use crate::ops::{Decision, Jobz, Target};
use crate::queue::Queue;
use crate::routes::{Pin, RouteError, tune};
use crate::scalar::Scalar;
use crate::status::Status;

/// Results in host memory, filled part by part.
pub(super) struct Output<T: Scalar> {
    n: usize,
    values: Vec<T::Real>,
    vectors: Option<Batch<T>>,
    status: Vec<i32>,
}

impl<T: Scalar> Output<T> {
    /// For a batch whose `values` eigenvalues are known to be countable.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and [`Error::Argument`] for vectors that cannot be counted.
    pub(super) fn new(n: usize, batch: usize, values: usize, jobz: Jobz) -> Result<Self> {
        let vectors = (jobz == Jobz::V).then(|| Batch::try_zeros(n, n, batch)).transpose();
        let vectors = vectors.map_err(|error| match error {
            Error::OutOfMemory { device, bytes, .. } => {
                let what = format!(
                    "the vectors of {batch} matrices of order {n}: solve fewer at a time, or for values only, which \
                     take {} bytes",
                    values.saturating_mul(size_of::<T::Real>())
                );
                Error::OutOfMemory { device, bytes, what }
            }
            other => other,
        })?;
        let values = zeros(values, || format!("the values of {batch} matrices of order {n}"))?;
        let status = zeros(batch, || format!("the statuses of {batch} matrices"))?;
        Ok(Output { n, values, vectors, status })
    }

    /// Downloads the results of these items; `vectors` are packed, and read where they are wanted.
    pub(super) fn download(
        &mut self,
        queue: &Queue,
        items: Range<usize>,
        values: &DeviceBuffer<T::Real>,
        vectors: Option<&DeviceBuffer<T>>,
        status: &DeviceBuffer<i32>,
    ) -> Result<()> {
        let of = |width: usize| items.start * width..items.end * width;
        queue.download_into(values, &mut self.values[of(self.n)])?;
        queue.download_into(status, &mut self.status[of(1)])?;
        if let (Some(from), Some(to)) = (vectors, &mut self.vectors) {
            queue.download_into(from, &mut to.as_mut_slice()[of(self.n * self.n)])?;
        }
        Ok(())
    }

    /// All of it, with the decision that led there.
    pub(super) fn into_eigh<P>(self, route: Decision<P>) -> Eigh<T, P> {
        let status = self.status.into_iter().map(Status).collect();
        Eigh { values: self.values, vectors: self.vectors, status, route }
    }
}

/// Bytes of the parts of an item on a device, each of so many elements of so many bytes: as many as can be counted.
pub(super) fn item_bytes<const N: usize>(parts: [([usize; 2], usize); N]) -> usize {
    let bytes = parts.map(|([rows, cols], each)| rows.saturating_mul(cols).saturating_mul(each));
    bytes.into_iter().fold(0, usize::saturating_add)
}

/// Items of one part: the tuning parameter, or what three quarters of the
/// GPU's free memory hold.
pub(super) fn part_items(queue: &Queue, batch: usize, item_bytes: usize) -> Result<usize> {
    if let Some(items) = tune::CHUNK_ITEMS.from_env()? {
        return Ok(items as usize);
    }
    let Some(memory) = queue.memory_info()? else { return Ok(batch.max(1)) };
    let fit = memory.free / 4 * 3 / item_bytes.max(1) as u64;
    Ok(usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, batch.max(1)))
}

/// Calls `solve(first, count)` for parts of at most `part` items, smaller ones where memory runs out.
pub(crate) fn in_parts(
    batch: usize,
    mut part: usize,
    mut solve: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut first = 0;
    while first < batch {
        let count = part.min(batch - first);
        match solve(first, count) {
            Ok(()) => first += count,
            // Fragmentation, or another process: half as many items need half as much.
            Err(Error::OutOfMemory { .. }) if count > 1 => part = count / 2,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Decides for the queue's device, or for the CPU where no family there can run the shape and the caller allows
/// it: then the CPU's queue and a note come too. A pin that cannot run stays an error.
pub(super) fn or_cpu<D>(
    queue: &Queue,
    allowed: bool,
    route: Option<&Pin>,
    decide: impl Fn(&Target, Option<&Pin>) -> Result<D>,
) -> Result<(D, Option<(Queue, String)>)> {
    let device = queue.device();
    match decide(&Target::of(queue), route) {
        Ok(decided) => Ok((decided, None)),
        Err(Error::Route(RouteError::None { shape, .. })) if allowed && device != Device::Cpu => {
            let note = format!("no family can run {shape} on {device}: the CPU solves it");
            Ok((decide(&Target::CPU, None)?, Some((Queue::cpu(), note))))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_batch_and_shrink_where_memory_runs_out() {
        let mut seen = Vec::new();
        let solve = |first, count| {
            let fits = count <= 3;
            seen.push((first, count, fits));
            let (device, what) = (String::new(), String::new());
            if fits { Ok(()) } else { Err(Error::OutOfMemory { device, bytes: 1, what }) }
        };
        in_parts(8, 7, solve).unwrap();
        assert_eq!(seen, [(0, 7, false), (0, 3, true), (3, 3, true), (6, 2, true)]);
        assert!(in_parts(1, 1, |_, _| Err(Error::argument("no"))).is_err());
        in_parts(0, 1, |_, _| panic!("nothing to solve")).unwrap();
    }
}
