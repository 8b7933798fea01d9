//! The five functions of the exercises, each by itself, and at the end the whole.
//!
//! Each group uses its own function and nothing that another exercise writes.

mod common;

/// 04.1: the header of a file that somebody else wrote.
///
/// `safe_header` gets the bytes of a whole file and returns what its header says, once all of it was compared with the file. A
/// header that lies must end in an error, not in a panic and not in a slice beyond the file.
mod ex_04_1_safe_header {
    use super::common::{safetensors, small_file};
    use loading::exercises::safe_header;
    use loading::{Dtype, LoadError};

    #[track_caller]
    fn refused(file: &[u8]) -> LoadError {
        safe_header("file", file).expect_err("this header must be refused")
    }

    fn header(entries: &str, data_bytes: usize) -> Vec<u8> {
        safetensors(entries, &vec![0; data_bytes])
    }

    #[test]
    fn a_right_file_gives_its_tensors_in_the_order_of_their_bytes() {
        let file = small_file();
        let header = safe_header("file", &file).unwrap();
        let names: Vec<&str> = header
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(header.entries[0].shape, [2, 3]);
        assert_eq!(header.entries[1].dtype, Dtype::BF16);
        assert_eq!((header.entries[2].begin, header.entries[2].end), (32, 36));
        assert_eq!(header.data_begin + 36, file.len());
        assert_eq!(header.metadata["format"], "pt");
    }

    #[test]
    fn a_file_too_short_for_its_length_field_is_cut_off() {
        for len in 0..8 {
            assert!(matches!(refused(&vec![1; len]), LoadError::CutOff { .. }));
        }
    }

    /// A length near 2^64 plus 8 wraps round to a small number. Compare without adding.
    #[test]
    fn a_length_that_wraps_round_is_too_long() {
        for length in [u64::MAX, u64::MAX - 7, 1 << 63, 100] {
            let mut file = length.to_le_bytes().to_vec();
            file.extend([b' '; 20]);
            assert!(
                matches!(refused(&file), LoadError::HeaderTooLong { .. }),
                "{length}"
            );
        }
    }

    #[test]
    fn what_is_no_json_map_of_tensors_is_refused() {
        for json in [
            "",
            "[]",
            "{",
            "{\"a\": 1}",
            "{\"a\": {\"dtype\": \"F32\"}}",
            "\u{0}",
        ] {
            assert!(
                matches!(refused(&header(json, 0)), LoadError::BadHeader { .. }),
                "{json}"
            );
        }
    }

    #[test]
    fn a_type_that_we_do_not_read_is_named() {
        let file = header(
            r#"{"a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}"#,
            8,
        );
        assert!(matches!(refused(&file), LoadError::WrongDtype { found, .. } if found == "I64"));
    }

    #[test]
    fn a_shape_whose_product_overflows_is_refused_without_multiplying_it() {
        for shape in [
            "[4294967296, 4294967296]",
            "[18446744073709551615, 2]",
            "[9223372036854775807]",
        ] {
            let json =
                format!(r#"{{"a": {{"dtype": "F32", "shape": {shape}, "data_offsets": [0, 4]}}}}"#);
            assert!(
                matches!(refused(&header(&json, 4)), LoadError::ShapeOverflow { .. }),
                "{shape}"
            );
        }
    }

    #[test]
    fn bytes_and_shape_must_agree() {
        let file = header(
            r#"{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}"#,
            8,
        );
        assert!(matches!(
            refused(&file),
            LoadError::WrongLength {
                expected_bytes: 12,
                found_bytes: 8,
                ..
            }
        ));
    }

    #[test]
    fn offsets_that_run_backwards_are_refused() {
        let file = header(
            r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}}"#,
            8,
        );
        assert!(matches!(refused(&file), LoadError::BadHeader { .. }));
    }

    #[test]
    fn tensors_must_neither_overlap_nor_leave_a_gap() {
        let two = |begin: u64| {
            format!(
                r#"{{"b": {{"dtype": "BF16", "shape": [4], "data_offsets": [{begin}, {}]}},
                     "a": {{"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}}}"#,
                begin + 8
            )
        };
        assert!(safe_header("file", &header(&two(8), 16)).is_ok());
        assert!(matches!(
            refused(&header(&two(6), 14)),
            LoadError::Overlap {
                first_end: 8,
                second_begin: 6,
                ..
            }
        ));
        assert!(matches!(
            refused(&header(&two(10), 18)),
            LoadError::Gap {
                expected_begin: 8,
                found_begin: 10,
                ..
            }
        ));
    }

    /// JSON readers keep the last of two equal keys, silently: then two readers see two different models.
    #[test]
    fn a_name_may_stand_only_once() {
        let entry = |begin: u64| {
            format!(
                r#""a": {{"dtype": "F32", "shape": [1], "data_offsets": [{begin}, {}]}}"#,
                begin + 4
            )
        };
        let json = format!("{{{}, {}}}", entry(0), entry(4));
        assert!(
            matches!(refused(&header(&json, 8)), LoadError::DuplicateName { name, .. } if name == "a")
        );
        let twice = r#"{"__metadata__": {"a": "1"}, "__metadata__": {"a": "2"}}"#;
        assert!(matches!(
            refused(&header(twice, 0)),
            LoadError::DuplicateName { .. }
        ));
    }

    #[test]
    fn the_file_ends_where_the_last_tensor_does() {
        let file = small_file();
        let expected = file.len() as u64;
        for missing in [1, 2, 35, 36] {
            let error = refused(&file[..file.len() - missing]);
            assert!(
                matches!(error, LoadError::CutOff { expected_bytes, .. } if expected_bytes == expected)
            );
        }
        let longer = [&file[..], &[0]].concat();
        assert!(matches!(refused(&longer), LoadError::TrailingBytes { .. }));
    }

    #[test]
    fn empty_tensors_and_empty_files_are_right() {
        let none = header("{}", 0);
        assert_eq!(safe_header("file", &none).unwrap().entries.len(), 0);
        let json = r#"{"a": {"dtype": "F32", "shape": [0, 7], "data_offsets": [0, 0]},
                       "b": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}"#;
        assert_eq!(
            safe_header("file", &header(json, 4)).unwrap().entries.len(),
            2
        );
    }
}

/// 04.2: from 32 bits to 16, to the nearest, and to an even last bit when two are equally near.
mod ex_04_2_bf16_bits {
    use loading::exercises::bf16_bits;

    #[track_caller]
    fn check(bits: u32, expected: u16) {
        let found = bf16_bits(f32::from_bits(bits));
        assert_eq!(
            found, expected,
            "{bits:#010x} gave {found:#06x}, expected {expected:#06x}"
        );
    }

    #[test]
    fn values_of_bf16_stay_as_they_are() {
        for bits in 0..=u16::MAX {
            let value = f32::from_bits(u32::from(bits) << 16);
            if !value.is_nan() {
                check(value.to_bits(), bits);
            }
        }
    }

    #[test]
    fn what_is_not_in_the_middle_goes_to_the_nearest() {
        check(0x3f80_7fff, 0x3f80);
        check(0x3f80_8001, 0x3f81);
        check(0xbf81_7fff, 0xbf81);
        check(0xbf81_8001, 0xbf82);
    }

    #[test]
    fn the_middle_goes_to_the_even_one() {
        check(0x3f80_8000, 0x3f80);
        check(0x3f81_8000, 0x3f82);
        check(0xbf80_8000, 0xbf80);
        check(0xbf81_8000, 0xbf82);
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
    fn not_a_number_stays_not_a_number() {
        for bits in [
            0x7f80_0001,
            0x7fff_ffff,
            0xff80_0001,
            0xffff_ffff,
            0x7fc0_0000,
        ] {
            let stored = bf16_bits(f32::from_bits(bits));
            assert!(
                stored & 0x7f80 == 0x7f80 && stored & 0x7f != 0,
                "{bits:#010x} gave {stored:#06x}"
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

    /// One value rounded wrongly is nothing; a rule that always errs one way is. The mean of many errors tells them apart:
    /// cutting off loses a quarter of a percent, rounding half up is caught by the middles.
    #[test]
    fn the_mean_error_is_nothing() {
        let (mut relative, mut middles) = (0.0, 0.0);
        let num_values = 1 << 16;
        for index in 0..num_values {
            let value = f32::from_bits(0x3f80_0000 + index * 0x7f);
            let stored = f32::from_bits(u32::from(bf16_bits(value)) << 16);
            relative += f64::from(stored / value) - 1.0;
            let middle = f32::from_bits(0x3f80_8000 + ((index & 0x7e) << 16));
            let odd = f32::from_bits(0x3f81_8000 + ((index & 0x7e) << 16));
            for value in [middle, odd] {
                let stored = f32::from_bits(u32::from(bf16_bits(value)) << 16);
                middles += f64::from(stored - value);
            }
        }
        let mean = relative / f64::from(num_values);
        assert!(mean.abs() < 2e-5, "mean relative error {mean}");
        assert_eq!(middles, 0.0, "middles must go both ways");
    }
}

/// 04.3: under which name does a tensor stand, and where is the head?
mod ex_04_3_stored_name {
    use loading::exercises::stored_name;

    fn found(wanted: &str, file: &[&str]) -> Option<String> {
        stored_name(wanted, &|name| file.contains(&name))
    }

    const EMBEDDING: &str = "model.embed_tokens.weight";
    const HEAD: &str = "lm_head.weight";

    #[test]
    fn a_name_that_is_there_is_itself() {
        assert_eq!(found(EMBEDDING, &[EMBEDDING]).as_deref(), Some(EMBEDDING));
    }

    #[test]
    fn a_base_model_has_no_prefix() {
        let file = ["embed_tokens.weight", "layers.0.mlp.up_proj.weight"];
        assert_eq!(found(EMBEDDING, &file).as_deref(), Some(file[0]));
        let wanted = "model.layers.0.mlp.up_proj.weight";
        assert_eq!(found(wanted, &file).as_deref(), Some(file[1]));
    }

    #[test]
    fn what_is_missing_is_missing() {
        assert_eq!(found("model.norm.weight", &[EMBEDDING, HEAD]), None);
        assert_eq!(found("norm.weight", &["model.norm.weight"]), None);
        assert_eq!(found(HEAD, &[]), None);
    }

    #[test]
    fn a_head_in_the_file_is_used() {
        assert_eq!(found(HEAD, &[EMBEDDING, HEAD]).as_deref(), Some(HEAD));
    }

    /// The flag in config.json is often wrong, so that nobody asks it. No head in the file: then the embedding is the head.
    #[test]
    fn an_absent_head_is_the_embedding() {
        for embedding in [EMBEDDING, "embed_tokens.weight"] {
            assert_eq!(found(HEAD, &[embedding]).as_deref(), Some(embedding));
        }
    }
}

/// 04.4: how much memory does a load need at its worst moment?
mod ex_04_4_peak_bytes {
    use loading::exercises::peak_bytes;
    use loading::memory::LoadPlan::{Mapped, OneByOne, WholeFile};

    #[test]
    fn the_whole_file_is_there_until_the_last_tensor_is_done() {
        assert_eq!(
            peak_bytes(WholeFile, &[10, 20, 30], &[20, 40, 60]),
            60 + 120
        );
    }

    #[test]
    fn one_by_one_holds_one_stored_tensor() {
        assert_eq!(peak_bytes(OneByOne, &[10, 20, 30], &[20, 40, 60]), 120 + 30);
    }

    /// The largest tensor is not always the worst moment: what is done before it counts too.
    #[test]
    fn the_order_of_tensors_matters_one_by_one() {
        assert_eq!(peak_bytes(OneByOne, &[100, 1], &[200, 2]), 300);
        assert_eq!(peak_bytes(OneByOne, &[1, 100], &[2, 200]), 302);
        assert_eq!(peak_bytes(OneByOne, &[100, 1], &[200, 200]), 401);
        assert_eq!(peak_bytes(OneByOne, &[1000, 1, 1], &[200, 2, 2]), 1200);
    }

    #[test]
    fn a_mapping_is_not_on_the_heap() {
        assert_eq!(peak_bytes(Mapped, &[10, 20], &[20, 40]), 60);
    }

    #[test]
    fn nothing_needs_nothing() {
        for plan in [WholeFile, OneByOne, Mapped] {
            assert_eq!(peak_bytes(plan, &[], &[]), 0);
        }
    }
}

/// 04.5: test files that catch every careless length check.
///
/// The right check must refuse all files of the list; each careless one must let at least one of them pass, and so be found out.
mod ex_04_5_cut_off_files {
    use super::common::small_file;
    use loading::careless::{CARELESS, correct};
    use loading::exercises::cut_off_files;

    #[test]
    fn the_whole_file_is_accepted_by_the_right_check() {
        assert!(correct(&small_file()));
    }

    #[test]
    fn every_file_is_a_beginning_of_the_whole_one() {
        let whole = small_file();
        let files = cut_off_files(&whole);
        assert!(!files.is_empty());
        for file in files {
            assert!(
                file.len() < whole.len() && whole.starts_with(&file),
                "{} bytes",
                file.len()
            );
        }
    }

    #[test]
    fn the_right_check_refuses_them_all() {
        assert!(
            !cut_off_files(&small_file())
                .iter()
                .any(|file| correct(file))
        );
    }

    #[test]
    fn each_careless_check_is_found_out() {
        let files = cut_off_files(&small_file());
        for (what, check) in CARELESS {
            assert!(
                files.iter().any(|file| check(file)),
                "no file finds out the check that {what}"
            );
        }
    }
}

/// The functions together: a folder is opened with them.
mod whole {
    use loading::careless::correct;
    use loading::memory::{LoadPlan, load_f32};

    #[test]
    fn every_fixture_folder_opens_and_reads() {
        for name in fixtures::MODELS {
            let model = super::common::open(&fixtures::model(name)).unwrap();
            let mut values = Vec::new();
            for tensor in model.weights.names() {
                model.weights.read_f32(&tensor, &mut values).unwrap();
                assert_eq!(
                    values.len(),
                    model.weights.info(&tensor).unwrap().num_values()
                );
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

    /// The header reader and the check on lengths alone agree on every cut.
    #[test]
    fn every_cut_of_a_file_is_refused() {
        let whole = super::common::small_file();
        for end in 0..=whole.len() {
            let is_whole = end == whole.len();
            assert_eq!(correct(&whole[..end]), is_whole);
            assert_eq!(
                loading::exercises::safe_header("file", &whole[..end]).is_ok(),
                is_whole
            );
        }
    }
}
