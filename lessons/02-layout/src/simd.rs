//! Which vector instructions this machine has, and how loops that are written once are compiled for each of them.
//!
//! A compiler may use an instruction only where it knows that the processor has it, and that is known at run time. So
//! every kernel is compiled once for each instruction set, and [`Isa::run`] is the one place of the workbook that
//! chooses between the copies.

use crate::lanes::{Lanes, ScalarLanes};

/// An instruction set that the kernels are compiled for. All of them give the same bits; they differ in speed only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// 16 f32 per register, 32 registers (x86-64 with AVX-512F).
    Avx512,
    /// 8 f32 per register, 16 registers (x86-64 with AVX2 and FMA).
    Avx2,
    /// 4 f32 per register, 32 registers (every 64-bit Arm).
    Neon,
    /// No vector instructions: `f32::mul_add`, one number at a time.
    Scalar,
}

/// Loops that are compiled for every instruction set; `lanes` gives them the registers of the chosen one.
///
/// `run` and all functions with vectors or loops that it calls must be `#[inline(always)]`: only code inside the
/// function that [`Isa::run`] enters may use the instructions. Where one is not inlined, the result is the same and
/// only slower.
pub trait Kernel {
    /// What the loops compute.
    type Output;
    /// The loops.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

impl Isa {
    /// The fastest one that this machine has. The standard library caches the answer: a call costs a few loads.
    #[inline]
    pub fn detect() -> Isa {
        let all = [Isa::Avx512, Isa::Avx2, Isa::Neon];
        all.into_iter().find(|isa| isa.is_available()).unwrap_or(Isa::Scalar)
    }

    /// All that this machine has, the fastest first; `Scalar` is always the last.
    pub fn available() -> Vec<Isa> {
        let all = [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Scalar];
        all.into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// Whether this machine can execute the kernels of this instruction set.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            Isa::Scalar => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// f32 numbers in one vector register.
    pub fn lanes(self) -> usize {
        match self {
            Isa::Avx512 => 16,
            Isa::Avx2 => 8,
            Isa::Neon => 4,
            Isa::Scalar => 1,
        }
    }

    /// The name as printed in tables.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "AVX-512",
            Isa::Avx2 => "AVX2",
            Isa::Neon => "NEON",
            Isa::Scalar => "scalar",
        }
    }

    /// Runs a kernel as compiled for this instruction set.
    ///
    /// # Panics
    /// If this machine does not have it.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        assert!(self.is_available(), "this machine has no {}", self.name());
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the instruction set, as asserted.
            Isa::Avx512 => unsafe { avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx2 => unsafe { avx2(kernel) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Isa::Neon => unsafe { neon(kernel) },
            _ => kernel.run(ScalarLanes),
        }
    }

    /// Runs plain loops, which the compiler turns into vectors by itself where it can, as compiled for this instruction
    /// set. The closure must be `#[inline(always)]` ([`Kernel`] says why).
    ///
    /// # Panics
    /// If this machine does not have it.
    #[inline]
    pub fn compiled<R>(self, loops: impl FnOnce() -> R) -> R {
        struct Plain<F>(F);
        impl<R, F: FnOnce() -> R> Kernel for Plain<F> {
            type Output = R;
            #[inline(always)]
            fn run<L: Lanes>(self, _: L) -> R {
                (self.0)()
            }
        }
        self.run(Plain(loops))
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the instruction set.
    kernel.run(unsafe { crate::lanes::Avx512Lanes::new() })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the instruction set.
    kernel.run(unsafe { crate::lanes::Avx2Lanes::new() })
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn neon<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function has the instruction set.
    kernel.run(unsafe { crate::lanes::NeonLanes::new() })
}

/// Runs plain loops as compiled for AVX2 with fused multiply-add, where the machine has them.
///
/// Without this, `f32::mul_add` on x86-64 is a call into the C library, because the oldest such processors lack the
/// instruction. Other processors always have it. The closure must be `#[inline(always)]`, see [`Kernel`].
#[inline]
pub fn with_fma<R>(loops: impl FnOnce() -> R) -> R {
    let isa = if Isa::Avx2.is_available() {
        Isa::Avx2
    } else {
        Isa::Scalar
    };
    isa.compiled(loops)
}
