//! The tests of each exercise, smallest case first. A group tests one function and uses no other exercise; `whole` at
//! the end runs all of them together. A message says what was given, what was expected and what was found.

#[allow(dead_code)] // the suite uses the rest
#[path = "suite/common.rs"]
mod common;

/// 04.1: the header of a file from outside.
///
/// `safe_header` gets the bytes of a whole file, compares the header with the file and returns it. A wrong header must
/// give an error, not a panic and not a slice beyond the file. `checked_entry`, which is given, checks the claim of one
/// tensor by itself.
mod ex_04_1_safe_header {
    use super::common::{safetensors, small_file};
    use loading::exercises::safe_header;
    use loading::header::Header;
    use loading::{Dtype, LoadError};
    use std::cell::{Cell, RefCell};
    use std::panic::{catch_unwind, set_hook, take_hook};
    use std::sync::Once;

    /// A file with this JSON and `data_bytes` zero bytes of data.
    fn file(json: &str, data_bytes: usize) -> Vec<u8> {
        safetensors(json, &vec![0; data_bytes])
    }

    /// One entry of a header.
    fn entry(name: &str, dtype: &str, shape: &str, begin: u64, end: u64) -> String {
        format!(r#""{name}": {{"dtype": "{dtype}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}"#)
    }

    /// Describes a file for messages.
    fn shown(file: &[u8]) -> String {
        let length = file.first_chunk::<8>().map(|b| u64::from_le_bytes(*b));
        let Some(length) = length else {
            return format!("a file of {} bytes", file.len());
        };
        let rest = &file[8..];
        let json = &rest[..rest.len().min(length.min(400) as usize)];
        format!(
            "a file of {} bytes with header length {length}, JSON {}, and {} bytes of data",
            file.len(),
            String::from_utf8_lossy(json),
            rest.len() - json.len()
        )
    }

    thread_local! {
        /// The message and place of the function's panic.
        static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
        static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    }

    /// Keeps the message of a panic within the function instead of printing it. Other panics are printed as usual.
    fn watch_panics() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let print = take_hook();
            set_hook(Box::new(move |panic| match IS_RUNNING.get() {
                true => PANIC.set(Some(panic.to_string())),
                false => print(panic),
            }));
        });
    }

    /// Calls the function. A panic becomes a message that describes the file and says where the panic happened.
    #[track_caller]
    fn read(file: &[u8]) -> Result<Header, LoadError> {
        watch_panics();
        IS_RUNNING.set(true);
        let result = catch_unwind(|| safe_header("file", file));
        IS_RUNNING.set(false);
        result.unwrap_or_else(|_| {
            let panic = PANIC.take().unwrap_or_default().replace('\n', " ");
            panic!("{}: expected a header or an error; it {panic}", shown(file))
        })
    }

    #[track_caller]
    fn accepted(file: &[u8]) -> Header {
        read(file).unwrap_or_else(|error| panic!("{}: expected its tensors, found the error: {error}", shown(file)))
    }

    /// Expects an error of this kind.
    #[track_caller]
    fn refused(file: &[u8], kind: &str, is_kind: impl Fn(&LoadError) -> bool) {
        match read(file) {
            Ok(header) => panic!(
                "{}: expected the error {kind}, found it accepted with {} tensors",
                shown(file),
                header.entries.len()
            ),
            Err(error) => assert!(
                is_kind(&error),
                "{}: expected the error {kind}, found the error: {error}",
                shown(file)
            ),
        }
    }

    macro_rules! refused {
        ($file:expr, $kind:pat $(if $guard:expr)?) => {
            refused($file, stringify!($kind), |error| matches!(error, $kind $(if $guard)?))
        };
    }

    /// Three tensors: `a` F32 [2, 3], `b` BF16 [4], `c` F16 [1, 2], and metadata.
    #[test]
    fn a_right_file_gives_its_tensors() {
        let file = small_file();
        let header = accepted(&file);
        let names: Vec<&str> = header.entries.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"], "names of the tensors");
        assert_eq!(header.entries[0].shape, [2, 3], "shape of `a`");
        assert_eq!(header.entries[1].dtype, Dtype::BF16, "type of `b`");
        let c = &header.entries[2];
        assert_eq!((c.begin, c.end), (32, 36), "offsets of `c`");
        assert_eq!(
            header.data_begin + 36,
            file.len(),
            "data_begin is 8 + the length of the header"
        );
        let format = header.metadata.get("format").map(String::as_str);
        assert_eq!(format, Some("pt"), "`format` in __metadata__");
    }

    /// Writers sort by name, or by size, or not at all. The walk over the bytes must be in order.
    #[test]
    fn header_order_need_not_be_byte_order() {
        let json = format!(
            "{{{}, {}, {}}}",
            entry("z", "F32", "[1]", 12, 16),
            entry("y", "F32", "[2]", 0, 8),
            entry("x", "BF16", "[2]", 8, 12)
        );
        let header = accepted(&file(&json, 16));
        let names: Vec<&str> = header.entries.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(
            names,
            ["y", "x", "z"],
            "tensors in the order of their bytes: y [0, 8), x [8, 12), z [12, 16)"
        );
    }

    #[test]
    fn a_file_too_short_for_its_length_field_is_cut_off() {
        for len in 0..8 {
            refused!(&vec![1; len], LoadError::CutOff { .. });
        }
    }

    /// A length near 2^64 plus 8 wraps round to a small number. Compare it without an addition.
    #[test]
    fn a_length_that_wraps_round_is_too_long() {
        for length in [100, 1 << 63, u64::MAX - 7, u64::MAX] {
            let mut file = length.to_le_bytes().to_vec();
            file.extend([b' '; 20]);
            refused!(&file, LoadError::HeaderTooLong { .. });
        }
    }

    #[test]
    fn json_that_is_not_a_map_of_tensors_is_refused() {
        for json in ["", "[]", "{", "{\"a\": 1}", "{\"a\": {\"dtype\": \"F32\"}}", "\u{0}"] {
            refused!(&file(json, 0), LoadError::BadHeader { .. });
        }
    }

    /// The four checks of `checked_entry`. Each claim goes through it, not only the first.
    #[test]
    fn each_claim_is_checked_by_itself() {
        let good = entry("a", "F32", "[2]", 0, 8);
        let after = |bad: &str, data_bytes| file(&format!("{{{good}, {bad}}}"), data_bytes);
        let unknown = after(&entry("b", "I64", "[1]", 8, 16), 16);
        refused!(&unknown, LoadError::WrongDtype { found, .. } if found == "I64");
        let backwards = after(&entry("b", "F32", "[1]", 12, 8), 12);
        refused!(&backwards, LoadError::BadHeader { .. });
        let overflow = after(&entry("b", "F32", "[4294967296, 4294967296]", 8, 12), 12);
        refused!(&overflow, LoadError::ShapeOverflow { .. });
        let too_few = after(&entry("b", "F32", "[3]", 8, 16), 16);
        refused!(
            &too_few,
            LoadError::WrongLength {
                expected_bytes: 12,
                found_bytes: 8,
                ..
            }
        );
    }

    /// `b` stands first in the header, and begins at byte 8, 6 or 10 where `a` ends at 8.
    #[test]
    fn tensors_must_neither_overlap_nor_leave_a_gap() {
        let two = |begin: u64| {
            let b = entry("b", "BF16", "[4]", begin, begin + 8);
            file(
                &format!("{{{b}, {}}}", entry("a", "F32", "[2]", 0, 8)),
                begin as usize + 8,
            )
        };
        accepted(&two(8));
        refused!(
            &two(6),
            LoadError::Overlap {
                first_end: 8,
                second_begin: 6,
                ..
            }
        );
        refused!(
            &two(10),
            LoadError::Gap {
                expected_begin: 8,
                found_begin: 10,
                ..
            }
        );
        let late = file(&format!("{{{}}}", entry("a", "F32", "[1]", 4, 8)), 8);
        refused!(
            &late,
            LoadError::Gap {
                expected_begin: 0,
                found_begin: 4,
                ..
            }
        );
    }

    /// JSON readers keep the last of two equal keys, silently: then two readers see two different models.
    #[test]
    fn a_name_may_stand_only_once() {
        let (first, second) = (entry("a", "F32", "[1]", 0, 4), entry("a", "F32", "[1]", 4, 8));
        refused!(
            &file(&format!("{{{first}, {second}}}"), 8),
            LoadError::DuplicateName { name, .. } if name == "a"
        );
        let between = entry("b", "F32", "[1]", 4, 8);
        let second = entry("a", "F32", "[1]", 8, 12);
        refused!(
            &file(&format!("{{{first}, {between}, {second}}}"), 12),
            LoadError::DuplicateName { name, .. } if name == "a"
        );
        let twice = r#"{"__metadata__": {"a": "1"}, "__metadata__": {"a": "2"}}"#;
        refused!(&file(twice, 0), LoadError::DuplicateName { .. });
    }

    #[test]
    fn a_file_that_ends_before_its_last_tensor_is_cut_off() {
        let whole = small_file();
        let expected = whole.len() as u64;
        for missing in [1, 2, 35, 36] {
            refused!(
                &whole[..whole.len() - missing],
                LoadError::CutOff { expected_bytes, .. } if *expected_bytes == expected
            );
        }
    }

    /// The bytes after the last tensor belong to no tensor and may be anything.
    #[test]
    fn bytes_after_the_last_tensor_are_refused() {
        let longer = [&small_file()[..], &[0]].concat();
        refused!(&longer, LoadError::TrailingBytes { .. });
    }

    #[test]
    fn empty_tensors_and_empty_files_are_right() {
        let none = accepted(&file("{}", 0));
        assert_eq!(none.entries.len(), 0, "tensors of the header {{}}");
        let json = format!(
            "{{{}, {}}}",
            entry("a", "F32", "[0, 7]", 0, 0),
            entry("b", "F32", "[]", 0, 4)
        );
        let header = accepted(&file(&json, 4));
        assert_eq!(header.entries.len(), 2, "tensors of the header {json}");
    }
}

/// 04.2: from 32 bits to 16, to the nearest value, and to an even last bit when two are equally near.
mod ex_04_2_bf16_bits {
    use loading::exercises::bf16_bits;

    /// A bf16 as an `f32`.
    fn widened(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }

    #[track_caller]
    fn check(bits: u32, expected: u16) {
        let value = f32::from_bits(bits);
        let found = bf16_bits(value);
        assert!(
            found == expected,
            "bf16_bits({value}): expected {}, found {}",
            widened(expected),
            widened(found)
        );
    }

    /// Nothing to round: the lower half is zero.
    #[test]
    fn values_of_bf16_stay_as_they_are() {
        check(1.0_f32.to_bits(), 0x3f80);
        check((-2.5_f32).to_bits(), 0xc020);
        for bits in 0..=u16::MAX {
            let value = widened(bits);
            if !value.is_nan() {
                check(value.to_bits(), bits);
            }
        }
    }

    /// The lower half is one below, or one above, the middle between two neighbours.
    #[test]
    fn what_is_not_in_the_middle_goes_to_the_nearest() {
        check(0x3f80_7fff, 0x3f80);
        check(0x3f80_8001, 0x3f81);
        check(0xbf81_7fff, 0xbf81);
        check(0xbf81_8001, 0xbf82);
    }

    /// The lower half is 0x8000: both neighbours are equally near.
    #[test]
    fn the_middle_goes_to_the_even_one() {
        check(0x3f80_8000, 0x3f80);
        check(0x3f81_8000, 0x3f82);
        check(0xbf80_8000, 0xbf80);
        check(0xbf81_8000, 0xbf82);
    }

    /// An fp16 ends at 65504 and has nothing below 6e-8. A bf16 has the eight exponent bits of an f32, and so its
    /// range.
    #[test]
    fn a_bf16_keeps_the_range_of_an_f32() {
        check(131_072_f32.to_bits(), 0x4800);
        check((-131_072_f32).to_bits(), 0xc800);
        check(2_f32.powi(-30).to_bits(), 0x3080);
        check(2_f32.powi(127).to_bits(), 0x7f00);
    }

    #[test]
    fn a_carry_reaches_the_exponent_and_infinity() {
        check(0x3fff_ffff, 0x4000);
        check(f32::MAX.to_bits(), 0x7f80);
        check(f32::INFINITY.to_bits(), 0x7f80);
        check(f32::MIN.to_bits(), 0xff80);
    }

    /// A NaN whose payload lies in the lower half would become infinity if the half were cut off, and any NaN may
    /// become a number if the carry runs over it.
    #[test]
    fn a_nan_stays_a_nan() {
        for bits in [0x7f80_0001, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff, 0x7fc0_0000] {
            let stored = bf16_bits(f32::from_bits(bits));
            assert!(
                widened(stored).is_nan(),
                "bf16_bits(NaN with the fraction {}): expected a NaN, found {}",
                bits & 0x7f_ffff,
                widened(stored)
            );
        }
    }

    #[test]
    fn outside_values_agree() {
        for case in fixtures::bf16_golden() {
            let value = f32::from_bits(case.f32_bits);
            if !value.is_nan() {
                check(case.f32_bits, case.bf16_bits);
            }
        }
    }

    /// A rule that always errs in one direction changes the mean of many values: a cut loses a quarter of a percent.
    /// Rounding half up shows in the values that lie in the middle of two neighbours.
    #[test]
    fn the_mean_error_is_zero() {
        let (mut relative, mut middles) = (0.0, 0.0);
        let num_values = 1 << 16;
        for index in 0..num_values {
            let value = f32::from_bits(0x3f80_0000 + index * 0x7f);
            relative += f64::from(widened(bf16_bits(value)) / value) - 1.0;
            let middle = f32::from_bits(0x3f80_8000 + ((index & 0x7e) << 16));
            let odd = f32::from_bits(0x3f81_8000 + ((index & 0x7e) << 16));
            for value in [middle, odd] {
                middles += f64::from(widened(bf16_bits(value)) - value);
            }
        }
        let mean = relative / f64::from(num_values);
        assert!(
            mean.abs() < 2e-5,
            "{num_values} values between 1 and 2: expected a mean relative error of 0, found {mean}"
        );
        assert_eq!(
            middles, 0.0,
            "sum of the errors of values in the middle: half of them must go up, half of them down"
        );
    }
}

/// 04.3: under which name is a tensor stored, and which matrix is the head?
mod ex_04_3_stored_name {
    use loading::exercises::stored_name;

    const EMBEDDING: &str = "model.embed_tokens.weight";
    const HEAD: &str = "lm_head.weight";

    #[track_caller]
    fn check(wanted: &str, file: &[&str], expected: Option<&str>) {
        let found = stored_name(wanted, &|name| file.contains(&name));
        assert_eq!(
            found.as_deref(),
            expected,
            "asked for `{wanted}` in a file with {file:?}"
        );
    }

    #[test]
    fn a_name_that_is_there_is_itself() {
        check(EMBEDDING, &[EMBEDDING], Some(EMBEDDING));
        check(
            "model.norm.weight",
            &["norm.weight", "model.norm.weight"],
            Some("model.norm.weight"),
        );
    }

    #[test]
    fn a_base_model_has_no_prefix() {
        let file = ["embed_tokens.weight", "layers.0.mlp.up_proj.weight"];
        check(EMBEDDING, &file, Some(file[0]));
        check("model.layers.0.mlp.up_proj.weight", &file, Some(file[1]));
    }

    /// The prefix may be taken away, but never added.
    #[test]
    fn what_is_missing_is_missing() {
        check("model.norm.weight", &[EMBEDDING, HEAD], None);
        check("norm.weight", &["model.norm.weight"], None);
        check(HEAD, &[], None);
    }

    /// Not every model shares the matrix: two matrices of one shape may have been trained apart.
    #[test]
    fn a_head_in_the_file_is_used() {
        check(HEAD, &[EMBEDDING, HEAD], Some(HEAD));
    }

    /// The flag in config.json is often wrong, so the file decides: if it has no head, the embedding is the head.
    #[test]
    fn an_absent_head_is_the_embedding() {
        for embedding in [EMBEDDING, "embed_tokens.weight"] {
            check(HEAD, &[embedding], Some(embedding));
        }
    }
}

/// 04.4: how much memory does a load need at its worst moment?
mod ex_04_4_peak_bytes {
    use loading::bytes::LoadPlan::{self, Mapped, OneByOne, WholeFile};
    use loading::exercises::peak_bytes;

    #[track_caller]
    fn check(plan: LoadPlan, stored: &[u64], loaded: &[u64], expected: u64) {
        let found = peak_bytes(plan, stored, loaded);
        assert_eq!(
            found, expected,
            "{plan:?}, stored {stored:?}, loaded {loaded:?}: expected a peak of {expected} bytes, found {found}"
        );
    }

    #[test]
    fn the_whole_file_is_there_until_the_last_tensor_is_done() {
        check(WholeFile, &[10], &[20], 10 + 20);
        check(WholeFile, &[10, 20, 30], &[20, 40, 60], 60 + 120);
    }

    #[test]
    fn one_by_one_holds_one_stored_tensor() {
        check(OneByOne, &[10], &[20], 10 + 20);
        check(OneByOne, &[10, 20, 30], &[20, 40, 60], 120 + 30);
    }

    /// The largest tensor is not always the worst moment: the tensors done before it count too.
    #[test]
    fn the_order_of_tensors_matters_one_by_one() {
        check(OneByOne, &[100, 1], &[200, 2], 300);
        check(OneByOne, &[1, 100], &[2, 200], 302);
        check(OneByOne, &[100, 1], &[200, 200], 401);
        check(OneByOne, &[1000, 1, 1], &[200, 2, 2], 1200);
    }

    #[test]
    fn a_mapping_is_not_on_the_heap() {
        check(Mapped, &[10, 20], &[20, 40], 60);
    }

    #[test]
    fn no_tensors_need_no_memory() {
        for plan in [WholeFile, OneByOne, Mapped] {
            check(plan, &[], &[], 0);
        }
    }
}

/// 04.5: test files that catch every careless length check.
///
/// The right check must refuse all files of the list. Each careless check must accept at least one of them, and is
/// found out by it.
mod ex_04_5_cut_off_files {
    use super::common::{safetensors, small_file};
    use loading::careless::{CARELESS, correct};
    use loading::exercises::cut_off_files;

    /// Another whole file: two tensors, and the last one in the header is the first in the data.
    fn other_file() -> Vec<u8> {
        let json = r#"{"b": {"dtype": "F32", "shape": [3], "data_offsets": [4, 16]}, "a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}"#;
        safetensors(json, &[7; 16])
    }

    /// Both files, each with a description and the byte at which its data begins.
    fn wholes() -> [(&'static str, Vec<u8>, usize); 2] {
        let data_begin = |file: &[u8]| 8 + usize::from(file[0]);
        let (small, other) = (small_file(), other_file());
        let begins = (data_begin(&small), data_begin(&other));
        [
            ("tensors of 24, 8 and 4 bytes", small, begins.0),
            ("tensors of 4 and 12 bytes", other, begins.1),
        ]
    }

    /// Lengths of the files, for messages.
    fn lengths(files: &[Vec<u8>]) -> Vec<usize> {
        files.iter().map(Vec::len).collect()
    }

    /// A cut file is a beginning of the whole one, and shorter.
    #[test]
    fn every_file_is_a_beginning_of_the_whole_one() {
        for (what, whole, _) in wholes() {
            assert!(correct(&whole), "the right check accepts the whole file");
            let files = cut_off_files(&whole);
            assert!(!files.is_empty(), "{what}: expected test files, found none");
            for file in files {
                assert!(
                    file.len() < whole.len() && whole.starts_with(&file),
                    "{what}: expected beginnings of the file of {} bytes, found one of {} bytes that is not one",
                    whole.len(),
                    file.len()
                );
            }
        }
    }

    #[test]
    fn the_right_check_refuses_them_all() {
        for (what, whole, _) in wholes() {
            let mut files = cut_off_files(&whole);
            files.retain(|file| correct(file));
            assert!(
                files.is_empty(),
                "{what}: expected files that the right check refuses, but it accepts those of {:?} bytes",
                lengths(&files)
            );
        }
    }

    /// On the border where one tensor ends and another begins every tensor in the file is whole. The check that
    /// believes the tensors that are there accepts such a file.
    #[test]
    fn a_file_that_ends_between_two_tensors_is_among_them() {
        for ((what, whole, data_begin), borders) in wholes().into_iter().zip([vec![24, 32], vec![4]]) {
            let files = cut_off_files(&whole);
            let ends: Vec<usize> = borders.iter().map(|border| data_begin + border).collect();
            assert!(
                files.iter().any(|file| ends.contains(&file.len())),
                "{what}, data begins at byte {data_begin}: the check that believes the tensors that are there is not found out: expected a \
                 file that ends where a tensor ends ({ends:?} bytes), found files of {:?} bytes",
                lengths(&files)
            );
        }
    }

    /// Each careless check must accept one of the files. (The test above is for the one that believes whole tensors.)
    #[test]
    fn each_careless_check_is_found_out() {
        for (what, whole, data_begin) in wholes() {
            let files = cut_off_files(&whole);
            let unseen: Vec<&str> = (CARELESS.iter())
                .filter(|(fault, _)| *fault != "believes the tensors that are there")
                .filter(|(_, check)| !files.iter().any(|file| check(file)))
                .map(|(fault, _)| *fault)
                .collect();
            assert!(
                unseen.is_empty(),
                "{what}, data begins at byte {data_begin}, {} bytes in all: files of {:?} bytes do not find out the check that {}",
                whole.len(),
                lengths(&files),
                unseen.join(", nor the one that ")
            );
        }
    }
}

/// Expects that the right option of a question, and no other, begins with `found`.
#[track_caller]
fn check_answer(id: &str, found: &str) {
    let (options, answer) = fixtures::question(include_str!("../course.toml"), id);
    let fitting: Vec<usize> = (0..options.len()).filter(|&i| options[i].starts_with(found)).collect();
    assert_eq!(fitting, [answer], "{id}: options that say `{found}`, of {options:?}");
}

/// 04.6 (predict): when are the bytes of a mapped file read?
mod ex_04_6_mapped_bytes {
    use loading::WeightSource;
    use loading::bytes::{Access, FileBytes};
    use loading::gguf::Gguf;

    /// The ledger counts the bytes of weights that the program asks for: while the file is opened, and while all of it
    /// is used. (On a small GGUF file, whose reader has no exercise in it.)
    #[test]
    fn opening_reads_no_weight_and_using_reads_all() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("bytes.gguf");
        std::fs::write(&path, include_bytes!("gguf/bytes.gguf")).unwrap();
        let (gguf, opening) = lab::ledger::measure(|| {
            let bytes = FileBytes::open(&path, Access::Mapped).unwrap();
            let mut gguf = Gguf::from_bytes("bytes.gguf", bytes).unwrap();
            let config = loading::gguf::config::model_config(&gguf).unwrap();
            gguf.check(&config).unwrap();
            gguf
        });
        let names = gguf.names();
        let (_, using) = lab::ledger::measure(|| {
            let mut values = Vec::new();
            names.iter().for_each(|name| gguf.read_f32(name, &mut values).unwrap());
        });
        let word = |read: u64| match read {
            0 => "nothing",
            read if read == gguf.stored_bytes() => "all of them",
            _ => "some",
        };
        let found = format!(
            "opening: {}; first token: {}",
            word(opening.bytes_read),
            word(using.bytes_read)
        );
        super::check_answer("04.6", &found);
    }
}

/// 04.7 (predict): two formats of 16 bits are not one format.
mod ex_04_7_two_sixteen_bits {
    use half::{bf16, f16};

    #[test]
    fn seventy_thousand_fits_one_of_them() {
        let found = [f16::from_f32(70_000.0).to_f32(), bf16::from_f32(70_000.0).to_f32()];
        super::check_answer("04.7", &format!("f16: {}; bf16: {}", found[0], found[1]));
    }
}

/// 04.8 (predict): which check refuses a file with two matrices in each other's place?
mod ex_04_8_swapped_matrices {
    use super::common::safetensors;
    use loading::dtype::{Dtype, first_not_finite, widen};
    use loading::manifest::sha256_bytes;
    use safetensors::SafeTensors;

    /// The header check here is that of the `safetensors` crate; the check of the values is the loader's own.
    #[test]
    fn only_the_checksum_sees_a_swap() {
        let data: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let json = |q: &str, k: &str| {
            format!(
                r#"{{"q":{{"dtype":"F32","shape":[1,2],"data_offsets":{q}}},"k":{{"dtype":"F32","shape":[1,2],"data_offsets":{k}}}}}"#
            )
        };
        let whole = safetensors(&json("[0,8]", "[8,16]"), &data);
        let swapped = safetensors(&json("[8,16]", "[0,8]"), &data);
        let mut values = Vec::new();
        widen(Dtype::F32, &data, &mut values);
        let found = match SafeTensors::deserialize(&swapped) {
            Err(_) => "the header check",
            Ok(_) if first_not_finite(&values).is_some() => "the check for NaN",
            Ok(_) if sha256_bytes(&swapped) != sha256_bytes(&whole) => "only the checksum",
            Ok(_) => "no check",
        };
        super::check_answer("04.8", found);
    }
}

/// All functions together open a folder.
mod whole {
    use loading::bytes::LoadPlan;
    use loading::careless::correct;
    use loading::memory::load_f32;

    #[test]
    fn every_fixture_folder_opens_and_reads() {
        for name in fixtures::MODELS {
            let model = super::common::open(&fixtures::model(name)).unwrap();
            let mut values = Vec::new();
            for tensor in model.weights.names() {
                model.weights.read_f32(&tensor, &mut values).unwrap();
                assert_eq!(values.len(), model.weights.info(&tensor).unwrap().num_values());
            }
        }
    }

    #[test]
    fn all_plans_load_the_same_values() {
        let folder = fixtures::model("sharded-bf16");
        let loads = LoadPlan::ALL.map(|plan| load_f32(&folder, plan).unwrap());
        assert_eq!(loads[0], loads[1]);
        assert_eq!(loads[0], loads[2]);
    }

    /// The header reader and the check of lengths alone agree on every cut.
    #[test]
    fn every_cut_of_a_file_is_refused() {
        let whole = super::common::small_file();
        for end in 0..=whole.len() {
            let is_whole = end == whole.len();
            assert_eq!(correct(&whole[..end]), is_whole);
            assert_eq!(loading::exercises::safe_header("file", &whole[..end]).is_ok(), is_whole);
        }
    }
}
