//! The texts of errors. A snapshot makes each change of them deliberate. (The table of known models stands in the
//! snapshot of the story.)

use crate::common::{answer, pass, small, tokens};
use kv_cache::{CacheError, ContiguousCache};
use layout::pool::Pool;
use std::fmt::Write;
use training::TokenId;

#[test]
fn errors_say_what_was_expected_and_what_to_do() {
    let (mut model, pool) = (small(), Pool::new(1));
    model.config.llama.max_seq_len = 10;
    let text = tokens(&model, 12);
    let mut errors = String::new();
    let mut note = |what: &str, error: CacheError| {
        writeln!(errors, "{what}:\n  {error}").unwrap();
    };
    let after = |capacity: usize, first: usize, then: &[TokenId]| {
        let mut cache = ContiguousCache::new(&model.config.llama, capacity);
        pass(&model, &pool, &mut cache, &text[..first]).unwrap();
        pass(&model, &pool, &mut cache, then).unwrap_err()
    };
    note("a chunk that does not fit", after(8, 5, &text[..4]));
    note("one token too many", after(8, 8, &text[..1]));
    note("positions outside the model's context", after(20, 8, &text[..3]));
    note("no token", after(8, 5, &[]));
    note("a token without an embedding", after(8, 5, &[TokenId(1), TokenId(320)]));
    let mut cache = ContiguousCache::new(&model.config.llama, 8);
    note("truncating to more than is held", cache.truncate(3).unwrap_err());
    let mut of_prompt = |prompt: &[TokenId]| answer(&model, &mut cache, prompt, 3, &mut |_| {}).unwrap_err();
    note("an empty prompt", of_prompt(&[]));
    note("a prompt longer than the cache", of_prompt(&text[..10]));
    note("a prompt longer than the model's context", of_prompt(&text));
    insta::assert_snapshot!(errors);
}
