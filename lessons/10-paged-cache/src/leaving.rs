//! Who leaves gives its blocks back; and what must hold between any two calls.

use crate::block::BlockId;
use crate::pages::{Pages, Wish};
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::{Request, SeqId};

impl Pages {
    // ANCHOR: release
    /// Gives back all that a sequence holds, each block for itself: what others hold too stays. The last block goes first, so that of a text that
    /// nobody holds any more the end is evicted before the beginning.
    fn give_back(&mut self, id: SeqId) -> bool {
        self.wishes.remove(&id);
        let Some(place) = self.places.remove(&id) else {
            return false;
        };
        let mut table = std::mem::take(&mut self.tables[place]);
        self.outstanding -= table.outstanding();
        for block in table.blocks.drain(..).rev() {
            self.allocator.release(block);
            self.settle_copies(block);
        }
        table.clear();
        self.tables[place] = table;
        self.unused.push(place);
        true
    }
    // ANCHOR_END: release

    /// Gives back all that a sequence holds which will come again: it goes on to share with the same others, and is nobody's child any more.
    pub fn take_back(&mut self, id: SeqId) -> bool {
        let salt = self.table(id).map(|table| table.salt);
        let held = self.give_back(id);
        if let Some(salt) = salt {
            self.wish(id, Wish { parent: None, salt });
        }
        held
    }
}

impl Memory for Pages {
    fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        assert!(!self.holds(request.id), "{} holds blocks already", request.id);
        self.try_admit(request)
    }

    fn release(&mut self, id: SeqId) -> bool {
        self.give_back(id)
    }

    fn holds(&self, id: SeqId) -> bool {
        self.places.contains_key(&id)
    }

    fn num_holders(&self) -> usize {
        self.places.len()
    }

    fn check_invariants(&self) {
        self.allocator.check_invariants();
        if let Some(prefix) = &self.prefix {
            prefix.check_invariants();
        }
        let mut references = vec![0; self.allocator.num_blocks()];
        let mut outstanding = 0;
        for place in self.places.values() {
            let table = &self.tables[*place];
            assert!(table.len <= table.blocks.len() * self.block_size, "{table:?}");
            assert!(table.names.len() <= table.len / self.block_size, "{table:?}");
            assert!(table.blocks.len() <= table.promised, "{table:?}");
            outstanding += table.outstanding();
            let mut own = table.blocks.clone();
            own.sort();
            own.dedup();
            assert_eq!(own.len(), table.blocks.len(), "a block twice: {table:?}");
            for block in own {
                references[block.index()] += 1;
            }
        }
        for (index, references) in references.iter().enumerate() {
            let id = BlockId(index as u32);
            assert_eq!(self.allocator.ref_count(id), *references, "{id:?}");
        }
        for place in &self.unused {
            assert_eq!(self.tables[*place], Default::default(), "left something");
        }
        assert_eq!(self.tables.len(), self.places.len() + self.unused.len());
        assert_eq!(self.outstanding, outstanding, "promised and not taken");
        assert_eq!(self.num_copies, self.copies.values().sum::<usize>());
        for (block, copies) in &self.copies {
            assert!(*copies < self.allocator.ref_count(*block) as usize, "{block:?}");
        }
        assert!(
            self.allocator.num_free() >= outstanding + self.num_copies,
            "more is promised than there is"
        );
    }
}
