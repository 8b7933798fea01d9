//! The four stages of a load, timed one by one, and the first token after them.
//!
//! ```text
//!                config            instantiate        copy                  device            first token
//! eager          config + header   allocate buffers   read() every byte     -                 rows where they lie
//! mapped         config + header   mmap               -                     -                 page faults, then rows
//! packed         config + header   mmap               -                     page faults,      panels
//!                                                                           reorder
//! drawn          config + header   random numbers     read() every byte     -                 rows where they lie
//! widened        config + header   allocate buffers   read() every byte     to f32, reorder   panels
//! ```
//!
//! The last two show what else a stage may hold. A framework that builds the model before it opens the file draws
//! weights that the file then replaces; a caller that wants another type converts every number.
//!
//! A CPU computes from the memory into which the file was read, so "move to the device" takes no time, unless the
//! weights are moved into the order that the kernels read best: lesson 02's panels.
//!
//! One matrix-vector product with every matrix stands for the first token, because nearly all of its time goes there.

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
use training::random::Random;

/// Where the weights are when they are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// In buffers, into which they were read.
    Eager,
    /// In the mapping.
    Mapped,
    /// In panels, into which they were moved from the mapping.
    Packed,
    /// In buffers that held random weights before the file was read into them.
    Drawn,
    /// In panels of `f32`, converted from buffers into which the file was read.
    Widened,
}

/// The time of each stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    /// Reading config.json and the header.
    pub config: Duration,
    /// Allocating buffers.
    pub instantiate: Duration,
    /// Reading weights into the buffers.
    pub copy: Duration,
    /// Moving weights to where they are computed with.
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

    /// Time up to the first token.
    pub fn total(&self) -> Duration {
        self.load() + self.first_token
    }

    /// The median of each stage over several loads; zero without a load.
    pub fn medians(loads: &[Stages]) -> Stages {
        let of = |time: fn(&Stages) -> Duration| {
            let mut times: Vec<Duration> = loads.iter().map(time).collect();
            times.sort();
            times.get(times.len() / 2).copied().unwrap_or_default()
        };
        Stages {
            config: of(|s| s.config),
            instantiate: of(|s| s.instantiate),
            copy: of(|s| s.copy),
            device: of(|s| s.device),
            first_token: of(|s| s.first_token),
            next_token: of(|s| s.next_token),
        }
    }
}

/// One matrix, as stored bytes or in panels.
enum Matrix<'a> {
    Rows {
        dtype: Dtype,
        bytes: &'a [u8],
        rows: usize,
        cols: usize,
    },
    Panels(PackedMatrix),
}

/// Loads a folder and computes the products of the first token. Returns the sum of the squares of all results, which
/// must be the same for every plan, and the times.
///
/// # Errors
/// Those of [`open_weights`], and a tensor that can not be read.
pub fn load_and_compute(folder: &Path, plan: Plan, pool: &Pool) -> Result<(f64, Stages)> {
    let mut stages = Stages::default();
    let start = Instant::now();
    let (_, checkpoint) = open_weights(folder, Access::Mapped)?;
    let names: Vec<String> = (checkpoint.names().into_iter())
        .filter(|name| checkpoint.info(name).is_some_and(|info| info.shape.len() == 2))
        .collect();
    stages.config = start.elapsed();

    // The file was mapped with the header (one system call), so only the buffers are left to allocate.
    let start = Instant::now();
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    let reads = matches!(plan, Plan::Eager | Plan::Drawn | Plan::Widened);
    if reads {
        let lengths = names.iter().filter_map(|name| checkpoint.bytes(name));
        buffers = lengths.map(|(_, bytes)| Vec::with_capacity(bytes.len())).collect();
    }
    if plan == Plan::Drawn {
        let mut random = Random::at(&[0]);
        buffers.iter_mut().for_each(|buffer| draw(buffer, &mut random));
    }
    stages.instantiate = start.elapsed();

    let start = Instant::now();
    if reads {
        for (name, buffer) in names.iter().zip(&mut buffers) {
            buffer.clear();
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
            Plan::Widened => Matrix::Panels(packer.widen(entry.dtype, &buffers[index], rows, cols)),
            Plan::Mapped | Plan::Eager | Plan::Drawn => Matrix::Rows {
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

/// Buffers between the file and the panels. Each tensor uses them again, because fresh memory costs a page fault every
/// 4 KiB.
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

    fn widen(&mut self, dtype: Dtype, stored: &[u8], rows: usize, cols: usize) -> PackedMatrix {
        self.f32.clear();
        widen(dtype, stored, &mut self.f32);
        PackedMatrix::from_f32(&self.f32, rows, cols)
    }
}

/// Fills the room of a buffer with uniform numbers in the range of an initialised layer, two for each draw.
fn draw(buffer: &mut Vec<u8>, random: &mut Random) {
    let uniform = |bits: u64| u64::from((bits as i32 as f32 / 2.0_f32.powi(36)).to_bits());
    buffer.resize(buffer.capacity(), 0);
    for pair in buffer.as_chunks_mut::<8>().0 {
        let bits = random.next_u64();
        *pair = (uniform(bits) | uniform(bits >> 32) << 32).to_le_bytes();
    }
}

/// One product with every matrix. The threads divide its rows.
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
                    let mut values = Vec::with_capacity(*cols);
                    let squares = rows.map(|row| f64::from(dot(*dtype, row, &x, &mut values)).powi(2));
                    sums[task].store(squares.sum::<f64>().to_bits(), Relaxed);
                });
                total += sums.iter().map(|sum| f64::from_bits(sum.load(Relaxed))).sum::<f64>();
            }
        }
    }
    total
}

/// A fixed vector without a simple pattern.
fn input(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

/// The product of a row with `x`, from the stored bytes; `values` is scratch memory. It has 16 sums side by side, so
/// that the compiler uses vector instructions.
fn dot(dtype: Dtype, row: &[u8], x: &[f32], values: &mut Vec<f32>) -> f32 {
    values.clear();
    widen(dtype, row, values);
    let (chunks, rest) = values.as_chunks::<16>();
    let (x_chunks, x_rest) = x.as_chunks::<16>();
    let mut sums = [0.0_f32; 16];
    for (values, x) in chunks.iter().zip(x_chunks) {
        for lane in 0..16 {
            sums[lane] += values[lane] * x[lane];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().zip(x_rest).map(|(value, x)| value * x).sum::<f32>()
}
