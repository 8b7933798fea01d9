//! The four stages of a load, timed one by one, and the first token after them.
//!
//! ```text
//!                config            instantiate        copy                  device            first token
//! eager          config + header   allocate buffers   read() every byte     -                 rows where they lie
//! mapped         config + header   mmap               -                     -                 page faults, then rows
//! packed         config + header   mmap               -                     page faults,      panels
//!                                                                           reorder
//! ```
//!
//! A CPU computes from the memory into which the file was read, so that "move to the device" is nothing there, unless the
//! weights are moved into the order that the kernels read best: lesson 02's panels. That is what lesson 05 does.
//!
//! The first token is stood in for by what nearly all of its time goes to: one matrix-vector product with every matrix.

use crate::bytes::Access;
use crate::checkpoint::Checkpoint;
use crate::dtype::{Dtype, widen};
use crate::error::Result;
use crate::folder::open_weights;
use crate::memory::read_stored;
use crate::source::WeightSource;
use half::bf16;
use layout::packed::PackedMatrix;
use layout::pool::Pool;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Where the weights end up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Read whole into buffers, used from there.
    Eager,
    /// Mapped, used from the mapping.
    Mapped,
    /// Mapped, then moved into panels.
    Packed,
}

/// The time of each stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    /// Reading config.json and the header.
    pub config: Duration,
    /// Making room.
    pub instantiate: Duration,
    /// Reading weights into that room.
    pub copy: Duration,
    /// Moving them to where they are computed with.
    pub device: Duration,
    /// One product with every matrix.
    pub first_token: Duration,
    /// The same again.
    pub next_token: Duration,
}

impl Stages {
    /// The stages with their names, up to the first token.
    pub fn named(&self) -> [(&'static str, Duration); 5] {
        [
            ("1 read config", self.config),
            ("2 instantiate", self.instantiate),
            ("3 copy weights", self.copy),
            ("4 move to device", self.device),
            ("first token", self.first_token),
        ]
    }

    /// The four stages of loading.
    pub fn load(&self) -> Duration {
        self.config + self.instantiate + self.copy + self.device
    }

    /// Until the first token is there.
    pub fn total(&self) -> Duration {
        self.load() + self.first_token
    }
}

/// One matrix, wherever it lies.
enum Matrix<'a> {
    Rows {
        dtype: Dtype,
        bytes: &'a [u8],
        rows: usize,
        cols: usize,
    },
    Panels(PackedMatrix),
}

/// Loads a folder and does the first token's products. Returns the sum of the squares of all results, by which two plans are compared,
/// and the times.
///
/// # Errors
/// Whatever is wrong with the folder.
pub fn load_and_compute(folder: &Path, plan: Plan, pool: &Pool) -> Result<(f64, Stages)> {
    let mut stages = Stages::default();
    let start = Instant::now();
    let (_, checkpoint) = open_weights(folder, Access::Mapped)?;
    let names: Vec<String> = (checkpoint.names().into_iter())
        .filter(|name| checkpoint.info(name).is_some_and(|info| info.shape.len() == 2))
        .collect();
    stages.config = start.elapsed();

    // Mapping happened with the header (one system call); what is left to make are the buffers.
    let start = Instant::now();
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    if plan == Plan::Eager {
        let lengths = names.iter().filter_map(|name| checkpoint.bytes(name));
        buffers = lengths.map(|(_, bytes)| Vec::with_capacity(bytes.len())).collect();
    }
    stages.instantiate = start.elapsed();

    let start = Instant::now();
    if plan == Plan::Eager {
        for (name, buffer) in names.iter().zip(&mut buffers) {
            read_stored(folder, &checkpoint, name, buffer)?;
        }
    }
    stages.copy = start.elapsed();

    let start = Instant::now();
    let mut matrices = Vec::with_capacity(names.len());
    let mut packer = Packer::default();
    for (index, name) in names.iter().enumerate() {
        let Some((entry, mapped)) = checkpoint.bytes(name) else {
            continue;
        };
        let (rows, cols) = (entry.shape[0], entry.shape[1]);
        matrices.push(match plan {
            Plan::Packed => Matrix::Panels(packer.pack(&checkpoint, name, rows, cols)?),
            Plan::Mapped | Plan::Eager => Matrix::Rows {
                dtype: entry.dtype,
                bytes: buffers.get(index).map_or(mapped, Vec::as_slice),
                rows,
                cols,
            },
        });
    }
    stages.device = start.elapsed();

    let start = Instant::now();
    let sum = products(&matrices, pool);
    stages.first_token = start.elapsed();
    let start = Instant::now();
    let again = products(&matrices, pool);
    stages.next_token = start.elapsed();
    assert_eq!(sum.to_bits(), again.to_bits(), "the same weights give the same sum");
    Ok((sum, stages))
}

/// Buffers between the file and the panels, used again for each tensor: fresh memory costs a page fault every 4 KiB.
#[derive(Default)]
struct Packer {
    f32: Vec<f32>,
    bf16: Vec<bf16>,
}

impl Packer {
    fn pack(&mut self, source: &Checkpoint, name: &str, rows: usize, cols: usize) -> Result<PackedMatrix> {
        let is_bf16 = source.info(name).is_some_and(|info| info.dtype == Dtype::BF16);
        if is_bf16 {
            source.read_bf16(name, &mut self.bf16)?;
            return Ok(PackedMatrix::from_bf16(&self.bf16, rows, cols));
        }
        source.read_f32(name, &mut self.f32)?;
        Ok(PackedMatrix::from_f32(&self.f32, rows, cols))
    }
}

/// One product with every matrix; threads share its rows.
fn products(matrices: &[Matrix<'_>], pool: &Pool) -> f64 {
    let mut total = 0.0;
    for matrix in matrices {
        match matrix {
            Matrix::Panels(packed) => {
                let x = input(packed.in_features());
                let mut y = vec![0.0; packed.out_features()];
                packed.matmul(pool, &x, 1, &mut y);
                total += y.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>();
            }
            Matrix::Rows {
                dtype,
                bytes,
                rows,
                cols,
            } => {
                let x = input(*cols);
                let row_bytes = cols * dtype.block_bytes();
                let share = rows.div_ceil(pool.num_threads()).max(1);
                let sums: Vec<AtomicU64> = (0..rows.div_ceil(share)).map(|_| AtomicU64::new(0)).collect();
                pool.run(sums.len(), &|task| {
                    let end = rows.min(&((task + 1) * share)) * row_bytes;
                    let rows = bytes[task * share * row_bytes..end].chunks_exact(row_bytes.max(1));
                    let squares = rows.map(|row| f64::from(dot(*dtype, row, &x)).powi(2));
                    sums[task].store(squares.sum::<f64>().to_bits(), Relaxed);
                });
                total += sums.iter().map(|sum| f64::from_bits(sum.load(Relaxed))).sum::<f64>();
            }
        }
    }
    total
}

/// Any fixed vector without a pattern that a matrix could share.
fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

const LANES: usize = 16;

/// A row's product with `x`, from its stored bytes. 16 sums side by side, so that the compiler uses vectors.
fn dot(dtype: Dtype, row: &[u8], x: &[f32]) -> f32 {
    match dtype {
        Dtype::F32 => dot_chunks::<64>(row, x, |bytes, values| {
            for (value, b) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *value = f32::from_le_bytes(*b);
            }
        }),
        Dtype::BF16 => dot_chunks::<32>(row, x, |bytes, values| {
            for (value, b) in values.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *value = f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
            }
        }),
        dtype => {
            let mut values = Vec::with_capacity(x.len());
            widen(dtype, row, &mut values);
            values.iter().zip(x).map(|(a, b)| a * b).sum()
        }
    }
}

#[inline(always)]
fn dot_chunks<const BYTES: usize>(row: &[u8], x: &[f32], load: impl Fn(&[u8], &mut [f32; LANES])) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (chunks, tail) = row.as_chunks::<BYTES>();
    let (x_chunks, x_tail) = x.as_chunks::<LANES>();
    for (chunk, x) in chunks.iter().zip(x_chunks) {
        let mut values = [0.0; LANES];
        load(chunk, &mut values);
        for lane in 0..LANES {
            sums[lane] += values[lane] * x[lane];
        }
    }
    let mut values = [0.0; LANES];
    load(tail, &mut values);
    let rest: f32 = x_tail.iter().zip(&values).map(|(x, v)| x * v).sum();
    sums.iter().sum::<f32>() + rest
}
