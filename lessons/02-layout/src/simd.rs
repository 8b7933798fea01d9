//! Which vector instructions this machine has, asked once at run time.

/// An instruction set that the kernels of this lesson are written for. All of them give the same bits; they differ in speed only.
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

impl Isa {
    /// The fastest one that this machine has.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Isa::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            return Isa::Neon;
        }
        #[allow(unreachable_code)]
        Isa::Scalar
    }

    /// All that this machine has, the fastest first; `Scalar` is always the last.
    pub fn available() -> Vec<Isa> {
        [Isa::Avx512, Isa::Avx2, Isa::Neon, Isa::Scalar]
            .into_iter()
            .filter(|isa| isa.is_available())
            .collect()
    }

    /// Whether this machine can execute the kernels of this instruction set.
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
}

/// Runs plain loops as compiled for AVX2 with fused multiply-add, where the machine has them.
///
/// Without this, `f32::mul_add` on x86-64 is a call into the C library, because the oldest such processors lack the instruction. The loops
/// inside `work` must be inlined into it (`#[inline(always)]`), since only code inside the chosen function may use the instructions; if they are
/// not, the result is the same and only slower. Other processors have the instruction always.
#[inline]
pub fn with_fma<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn compiled_for_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if Isa::Avx2.is_available() {
            // SAFETY: the instructions were just found to be there.
            return unsafe { compiled_for_avx2(work) };
        }
    }
    work()
}
