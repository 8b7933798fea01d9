//! What is said of each thing that happens.

use super::BLOCK_SIZE;
use super::watch::Watch;
use continuous_batching::batch::Batch;
use continuous_batching::request::Request;
use paged_cache::BlockId;
use paged_cache::hash::{Before, BlockHash, Salt};
use paged_cache::stats::BlockStats;
use training::TokenId;

/// What is to be said of the next frame.
#[derive(Default)]
pub(super) struct News {
    pub(super) text: Vec<String>,
    pub(super) kinds: Vec<String>,
    pub(super) marked: Vec<u32>,
}

impl News {
    pub(super) fn say(&mut self, sentence: String) {
        self.text.push(sentence);
    }

    pub(super) fn kind(&mut self, kind: &str) {
        if !self.kinds.iter().any(|known| known == kind) {
            self.kinds.push(kind.into());
        }
    }

    pub(super) fn mark(&mut self, blocks: &[BlockId]) {
        self.marked.extend(blocks.iter().map(|block| block.0));
        self.marked.sort_unstable();
        self.marked.dedup();
    }
}

impl Watch {
    /// What a request that joins has found under its names, and what ended the match.
    fn tell_lookup(&mut self, request: &Request, shared: usize) {
        let Some(prefix) = self.pages().prefix() else {
            return;
        };
        let tokens: Vec<TokenId> = request.tokens().collect();
        let mut before = Before::Nothing(Salt::default());
        let mut said = Vec::new();
        let mut found = 0;
        for tokens in tokens.chunks_exact(BLOCK_SIZE) {
            let hash = prefix.hash(&before, tokens);
            let Some((block, name)) = prefix.find(&hash, &before, tokens) else {
                said.push(format!("{} is not there", short(&hash)));
                break;
            };
            said.push(format!("{} is block {}", short(&hash), block.0));
            found += 1;
            before = Before::Block(name);
        }
        if said.is_empty() {
            return;
        }
        let ends = if found < said.len() && found > 0 {
            ", and that ends the match"
        } else {
            ""
        };
        self.news.say(format!("Looked up by name: {}{ends}.", said.join("; ")));
        if shared > 0 {
            let held = listed(&self.blocks_of(request.id));
            let (verb, tokens) = (if shared == 1 { "is" } else { "are" }, shared * BLOCK_SIZE);
            let held = held.replacen('b', "B", 1);
            self.news
                .say(format!("{held} {verb} pinned, and {tokens} tokens need no computing."));
        }
        if found > shared {
            self.news.say(
                "The last block of the match is not used: the last token has to be computed, or there are no logits."
                    .into(),
            );
        }
    }

    /// What a batch's sequences took, copied and pushed out; `before` are their blocks, and the names of all.
    pub(super) fn tell_taken(&mut self, batch: &Batch, before: &[Vec<BlockId>], names: &[Option<String>]) {
        for (sequence, before) in batch.sequences.iter().zip(before) {
            let who = name(sequence.id.0 as usize);
            let after = self.blocks_of(sequence.id);
            for (from, to) in before.iter().zip(&after).filter(|(from, to)| from != to) {
                self.written[to.index()] = self.written[from.index()];
                self.news.say(format!(
                    "{who} is about to write into block {}, which others read too. It copies it to block {} first.",
                    from.0, to.0
                ));
                self.news.kind("copy on write");
                self.news.mark(&[*from, *to]);
            }
            let taken = &after[before.len()..];
            if !taken.is_empty() {
                let is_first = !self.news.kinds.iter().any(|kind| kind == "allocate");
                let front = if is_first {
                    " from the front of the free list"
                } else {
                    ""
                };
                self.news.say(format!("{who} takes {}{front}.", listed(taken)));
                self.news.kind("allocate");
                self.news.mark(taken);
            }
            for block in after.iter().filter(|block| !before.contains(block)) {
                if let Some(lost) = &names[block.index()] {
                    self.news.say(format!(
                        "Block {} was still known as {lost}: that name is forgotten.",
                        block.0
                    ));
                    self.news.kind("evict");
                }
            }
        }
    }

    /// What was written, and which blocks became full by it.
    pub(super) fn tell_written(&mut self, batch: &Batch, names: &[Option<String>]) {
        let mut said = Vec::new();
        for sequence in &batch.sequences {
            let who = name(sequence.id.0 as usize);
            let table = self.pages().table(sequence.id).expect("it runs").clone();
            let mut touched = Vec::new();
            for row in sequence.rows() {
                let (position, token) = (batch.positions[row], batch.tokens[row]);
                let block = table.blocks[position / BLOCK_SIZE];
                self.written[block.index()][position % BLOCK_SIZE] = i64::from(token.0);
                touched.push(block);
            }
            touched.dedup();
            self.news.mark(&touched);
            let position = batch.positions[sequence.first_row];
            said.push(match sequence.num_rows {
                1 => format!(
                    "{who} writes “{}” at position {position}: block {}, place {}",
                    self.words[batch.tokens[sequence.first_row].index()],
                    touched[0].0,
                    position % BLOCK_SIZE
                ),
                rows => format!("{who} writes {rows} tokens into {}", listed(&touched)),
            });
            for (block, name) in table.blocks.iter().zip(&table.names) {
                self.names.insert(*block, name.hash);
            }
        }
        self.news.text.insert(0, said.join("; ") + ".");
        self.news.kind("write");
        self.tell_published(batch, names);
    }

    fn tell_published(&mut self, batch: &Batch, names: &[Option<String>]) {
        for sequence in &batch.sequences {
            let table = self.pages().table(sequence.id).expect("it runs").clone();
            let first = batch.positions[sequence.first_row] / BLOCK_SIZE;
            for (block, name) in table.blocks.iter().zip(&table.names).skip(first) {
                let name = short(&name.hash);
                match self.name_of(*block) {
                    Some(name) if names[block.index()].is_none() => {
                        let sentence = format!("Block {} is full: published as {name}.", block.0);
                        self.news.say(sentence);
                        self.news.kind("publish");
                    }
                    Some(_) => {}
                    None => self.news.say(format!(
                        "Block {} is full too, but {name} is published already, and that block keeps the name.",
                        block.0
                    )),
                }
            }
        }
    }

    /// That a request waits, and for what. It is asked at each step; said once.
    pub(super) fn tell_wait(&mut self, request: &Request, promised: usize) {
        let (who, unpromised) = (name(request.id.0 as usize), self.pages().num_unpromised());
        let sentence = if unpromised < promised {
            format!(
                "{who} waits. It may need {}; free and promised to nobody: {unpromised}.",
                blocks(promised)
            )
        } else {
            format!("{who} waits until A's prompt is computed, to take it over.")
        };
        if !self.frames.iter().any(|frame| frame.text == sentence) {
            self.news.say(sentence);
            self.news.kind("wait");
            self.show();
        }
    }

    /// How a request has joined; `before` is what was counted then.
    pub(super) fn tell_joined(&mut self, request: &Request, promised: usize, before: BlockStats) {
        let (who, now) = (name(request.id.0 as usize), self.pages().stats());
        let held = self.blocks_of(request.id);
        self.news.mark(&held);
        if now.forked > before.forked {
            self.news.kind("share");
            self.news.say(format!(
                "{who} joins and takes over {} of A. Its last row is computed again, for the logits, and one copy is promised to it.",
                listed(&held)
            ));
            return;
        }
        self.news.kind("join");
        self.news.say(format!(
            "{who} joins. Its {} tokens of prompt and up to {} more fit into {}, and so many are promised.",
            request.prompt.len(),
            request.max_new_tokens,
            blocks(promised)
        ));
        if now.prefix_hits > before.prefix_hits {
            self.news.kind("hit");
            self.news.kind("share");
        }
        self.tell_lookup(request, held.len());
    }

    /// Where the blocks of one who left have gone.
    pub(super) fn tell_left(&mut self, who: char, why: &str, held: &[BlockId]) {
        let count = |block: &BlockId| self.pages().allocator().ref_count(*block);
        let (freed, kept): (Vec<BlockId>, Vec<BlockId>) = held.iter().rev().partition(|block| count(block) == 0);
        let mut sentence = format!("{who} {why} and gives back {}.", listed(held));
        if !freed.is_empty() {
            let (goes, order) = if freed.len() > 1 {
                ("go", ", the last one first")
            } else {
                ("goes", "")
            };
            sentence += &format!(" To the end of the free list {goes}: {}{order}.", numbers(&freed));
        }
        if !kept.is_empty() {
            sentence += &format!(" Others still hold {}.", listed(&kept));
        }
        self.news.say(sentence);
        self.news.kind("free");
        self.news.mark(held);
    }
}

/// Its letter.
pub(super) fn name(request: usize) -> char {
    char::from(b'A' + request as u8)
}

/// The first four digits of a name.
pub(super) fn short(hash: &BlockHash) -> String {
    format!("{:02x}{:02x}", hash.0[0], hash.0[1])
}

fn blocks(count: usize) -> String {
    format!("{count} block{}", if count == 1 { "" } else { "s" })
}

/// "2, 1 and 0".
fn numbers(blocks: &[BlockId]) -> String {
    let mut numbers: Vec<String> = blocks.iter().map(|block| block.0.to_string()).collect();
    let last = numbers.pop().unwrap_or_default();
    match numbers.is_empty() {
        true => last,
        false => format!("{} and {last}", numbers.join(", ")),
    }
}

/// "blocks 0 and 1".
fn listed(blocks: &[BlockId]) -> String {
    format!("block{} {}", if blocks.len() == 1 { "" } else { "s" }, numbers(blocks))
}
