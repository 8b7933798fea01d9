//! Schedulers that forget a request. The exercise "Catch starvation" asks for a test that tells them from the right
//! one.
//!
//! They have no model and no tokens: a request is a class, a number of steps and a size. Two of them run at a time, and
//! together they may be as large as memory is. What is left is the question which request joins next.

use continuous_batching::request::SeqId;

/// Requests that run at a time.
pub const PLACES: usize = 2;
/// Largest size of all running requests together.
pub const ROOM: usize = 4;
/// Steps of waiting that are worth one class.
pub const AGE: u64 = 6;

// ANCHOR: subject
/// What a test sees of a scheduler.
pub trait Subject {
    /// A request that runs for `steps` steps and holds `size` of [`ROOM`]; both at least 1. Class 0 is the most urgent.
    /// Ids count up from 1.
    fn submit(&mut self, class: u8, steps: usize, size: usize) -> SeqId;
    /// Preempts a running request: it waits again, and keeps what it has done.
    fn preempt(&mut self, id: SeqId);
    /// One step: waiting requests join, then every running one moves on. Returns the requests that ran.
    fn step(&mut self) -> Vec<SeqId>;
}
// ANCHOR_END: subject

/// A new scheduler.
pub type Make = fn() -> Box<dyn Subject>;

/// The right one.
pub fn correct() -> Box<dyn Subject> {
    make(Fault::None)
}

// ANCHOR: unjust
/// The unjust ones, each with what it does.
pub const UNJUST: [(&str, Make); 8] = [
    ("never lets waiting count", || make(Fault::NeverAges)),
    ("lets waiting count for one class and no more", || make(Fault::AgesOnce)),
    ("counts waiting from the last step in which anybody joined", || {
        make(Fault::AgesSinceLastJoin)
    }),
    ("counts waiting anew when a request is preempted", || {
        make(Fault::AgesSincePreempted)
    }),
    ("lets the shortest of a class go first", || make(Fault::ShortestFirst)),
    ("lets the youngest of a class go first", || make(Fault::YoungestFirst)),
    ("lets a request that fits pass one that finds no room", || {
        make(Fault::SkipsTheLarge)
    }),
    ("treats all classes alike", || make(Fault::NoClasses)),
];
// ANCHOR_END: unjust

fn make(fault: Fault) -> Box<dyn Subject> {
    Box::new(Small {
        fault,
        now: 0,
        last_join: 0,
        waiting: Vec::new(),
        running: Vec::new(),
        num_submitted: 0,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    NeverAges,
    AgesOnce,
    AgesSinceLastJoin,
    AgesSincePreempted,
    ShortestFirst,
    YoungestFirst,
    SkipsTheLarge,
    NoClasses,
}

#[derive(Clone, Copy)]
struct Waits {
    id: SeqId,
    class: u8,
    left: usize,
    size: usize,
    since: u64,
}

struct Small {
    fault: Fault,
    now: u64,
    last_join: u64,
    waiting: Vec<Waits>,
    running: Vec<Waits>,
    num_submitted: u64,
}

impl Small {
    /// The key of a waiting request; the one with the lowest key joins first.
    fn order(&self, request: &Waits) -> (u64, u64) {
        let since = match self.fault {
            Fault::AgesSinceLastJoin => request.since.max(self.last_join),
            _ => request.since,
        };
        let gained = match self.fault {
            Fault::NeverAges => 0,
            Fault::AgesOnce => ((self.now - since) / AGE).min(1),
            _ => (self.now - since) / AGE,
        };
        let class = match self.fault {
            Fault::NoClasses => 0,
            _ => u64::from(request.class).saturating_sub(gained),
        };
        let within = match self.fault {
            Fault::ShortestFirst => request.left as u64,
            Fault::YoungestFirst => u64::MAX - request.id.0,
            _ => request.id.0,
        };
        (class, within)
    }

    fn has_room(&self, size: usize) -> bool {
        let used: usize = self.running.iter().map(|request| request.size).sum();
        used + size <= ROOM
    }

    fn next(&self) -> Option<usize> {
        let fits = |place: &usize| self.fault != Fault::SkipsTheLarge || self.has_room(self.waiting[*place].size);
        let places = (0..self.waiting.len()).filter(fits);
        places.min_by_key(|place| self.order(&self.waiting[*place]))
    }
}

impl Subject for Small {
    fn submit(&mut self, class: u8, steps: usize, size: usize) -> SeqId {
        self.num_submitted += 1;
        let id = SeqId(self.num_submitted);
        self.waiting.push(Waits {
            id,
            class,
            left: steps.max(1),
            size: size.clamp(1, ROOM),
            since: self.now,
        });
        id
    }

    fn preempt(&mut self, id: SeqId) {
        if let Some(place) = self.running.iter().position(|request| request.id == id) {
            let mut request = self.running.remove(place);
            if self.fault == Fault::AgesSincePreempted {
                request.since = self.now;
            }
            self.waiting.push(request);
        }
    }

    fn step(&mut self) -> Vec<SeqId> {
        while self.running.len() < PLACES
            && let Some(place) = self.next()
            && self.has_room(self.waiting[place].size)
        {
            let request = self.waiting.remove(place);
            self.running.push(request);
            self.last_join = self.now;
        }
        self.now += 1;
        let ran = self.running.iter().map(|request| request.id).collect();
        for request in &mut self.running {
            request.left -= 1;
        }
        self.running.retain(|request| request.left > 0);
        ran
    }
}
