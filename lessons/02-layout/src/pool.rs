//! A persistent pool of threads. A call costs about a microsecond.
//!
//! A forward pass of a small model calls about two hundred matrix products per token, some of them 20 µs long. A thread
//! that is created per product costs more than that; a thread that sleeps in the kernel needs 5 to 50 µs to wake. So
//! the workers are created once, spin briefly after each job in the hope of the next one, and only then sleep.
//!
//! The idea, without the details:
//!
//! ```text
//! run(n, task):   publish (task, n);  take tasks until none is left;  wait until all taken ones are finished
//! worker:         loop { spin, then sleep, until a job is published;  take tasks until none is left }
//! ```
//!
//! What the real code adds, and why it is right:
//! 1. One atomic word holds `generation << 32 | tasks not yet taken`. Taking a task is one compare-and-swap on it, so a
//!    late worker can never take a task of a job that it has not seen: its generation no longer matches.
//! 2. A taken task keeps `run` from returning, so the borrowed closure outlives every call of it although the workers
//!    are not scoped threads.
//! 3. A thread counts itself as a sleeper before it looks for work a last time, and `run` looks at the sleepers after
//!    it has published (both sequentially consistent), so no wake-up is lost.
//! 4. A task that panics does not take a worker with it: the panic is carried to the caller, after all tasks have
//!    ended.
//! 5. `run` inside a task runs in place, one task after the other: the outer job already uses all threads.
//! 6. The operating system may refuse a thread. The pool then has fewer: the result of a job does not depend on their
//!    number.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps: longer than the serial work between two products of one token (norms,
/// rotary embedding), much shorter than a scheduler's time slice, so that an idle program soon uses no processor time.
const SPIN: Duration = Duration::from_micros(50);

thread_local! {
    /// True while this thread executes tasks; see point 5 above.
    static INSIDE_TASK: Cell<bool> = const { Cell::new(false) };
}

/// A fixed number of threads that execute numbered tasks together with the calling thread.
///
/// Cost of [`Pool::run`] when the workers still spin: about one microsecond; no allocation.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held during a job: a second thread that calls `run` waits for the first one's job to end.
    turn: Mutex<()>,
    num_threads: usize,
}

/// One value alone in its cache lines (two: processors fetch them in pairs), so that spinning on it disturbs no other
/// value.
#[repr(align(128))]
struct Alone<T>(T);

struct Shared {
    /// `generation << 32 | tasks not yet taken`.
    ticket: Alone<AtomicU64>,
    /// Tasks not yet finished. `run` returns when it reaches zero.
    pending: Alone<AtomicUsize>,
    /// Written by `run` while no task can be taken; read by threads that have taken a task.
    job: UnsafeCell<Job>,
    stop: AtomicBool,
    sleepers: AtomicUsize,
    caller_sleeps: AtomicBool,
    /// Guards no data. Orders "look a last time, then sleep" of a worker against "publish, then wake" of `run`.
    sleep: Mutex<()>,
    published: Condvar,
    finished: Condvar,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Clone, Copy)]
struct Job {
    /// The caller's closure with its lifetime erased; valid while `pending` is not zero.
    task: *const (dyn Fn(usize) + Sync),
    num_tasks: u32,
}

// SAFETY: `job` is written only by the holder of `turn` while the ticket shows no task left and none is pending, and
// read only after a task was taken (acquire on the ticket, which was released after the write). All else in it is
// atomic or locked.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in `job` is to a `Sync` closure, which may be called from any thread.
unsafe impl Send for Shared {}

impl Pool {
    /// Makes a pool of `num_threads` threads, the caller of [`Pool::run`] being one of them: `num_threads - 1` workers
    /// are started. If the operating system refuses one of them, the pool goes on with those that it has, and a note
    /// on stderr gives the reason.
    ///
    /// # Panics
    /// If `num_threads` is zero.
    pub fn new(num_threads: usize) -> Pool {
        let (pool, refused) = Pool::start(num_threads, |worker, work| {
            std::thread::Builder::new().name(format!("pool-{worker}")).spawn(work)
        });
        if let Some(error) = refused {
            let found = pool.num_threads;
            // A note that can not be written is no reason to stop.
            let _ = writeln!(
                std::io::stderr(),
                "note: expected {num_threads} threads, the system started {found} ({error}); going on with {found}, \
                 pass --threads {found} or raise the limit"
            );
        }
        pool
    }

    /// A pool whose workers are started by `spawn`, up to the first one that is refused; and why it was.
    fn start(
        num_threads: usize,
        spawn: impl Fn(usize, Box<dyn FnOnce() + Send>) -> std::io::Result<JoinHandle<()>>,
    ) -> (Pool, Option<std::io::Error>) {
        assert!(num_threads >= 1, "a pool needs at least one thread");
        fn nothing(_: usize) {}
        let shared = Arc::new(Shared {
            ticket: Alone(AtomicU64::new(0)),
            pending: Alone(AtomicUsize::new(0)),
            job: UnsafeCell::new(Job {
                task: &(nothing as fn(usize)),
                num_tasks: 0,
            }),
            stop: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            caller_sleeps: AtomicBool::new(false),
            sleep: Mutex::new(()),
            published: Condvar::new(),
            finished: Condvar::new(),
            panic: Mutex::new(None),
        });
        let (mut workers, mut refused) = (Vec::new(), None);
        for worker in 1..num_threads {
            let shared = Arc::clone(&shared);
            match spawn(worker, Box::new(move || shared.work_until_stopped())) {
                Ok(handle) => workers.push(handle),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let pool = Pool {
            num_threads: workers.len() + 1,
            shared,
            workers,
            turn: Mutex::new(()),
        };
        (pool, refused)
    }

    /// A pool of as many threads as this process may use at once.
    pub fn with_available_threads() -> Pool {
        Pool::new(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// Number of threads that take part in a job, the caller included: as many as were asked for, or as many as the
    /// operating system allowed.
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }

    /// Calls `task(0)`, …, `task(num_tasks - 1)`, each once, on the threads of the pool and on the calling one; returns
    /// when all have returned. Which thread gets which task is not determined, so a task's result must not depend on
    /// it.
    ///
    /// # Panics
    /// If a task panicked: with its message, after all other tasks have ended.
    pub fn run(&self, num_tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if self.workers.is_empty() || num_tasks <= 1 || INSIDE_TASK.get() {
            (0..num_tasks).for_each(task);
            return;
        }
        let turn = lock(&self.turn);
        let shared = &*self.shared;
        let num_tasks = u32::try_from(num_tasks).expect("fewer than 2^32 tasks");
        // SAFETY: this only erases the lifetime. `run` does not return before `pending` is zero, and the closure is not
        // called after that.
        let task = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const (dyn Fn(usize) + Sync)>(task) };
        // SAFETY: we hold `turn`, and the last job's tasks are all finished: no thread reads `job` now.
        unsafe { *shared.job.get() = Job { task, num_tasks } };
        shared.pending.0.store(num_tasks as usize, Ordering::Relaxed);
        let generation = (shared.ticket.0.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        shared
            .ticket
            .0
            .store(generation << 32 | u64::from(num_tasks), Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(lock(&shared.sleep));
            shared.published.notify_all();
        }

        INSIDE_TASK.set(true);
        shared.take_tasks();
        INSIDE_TASK.set(false);
        shared.wait_until_finished();

        let panic = lock(&shared.panic).take();
        drop(turn);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.sleep));
        self.shared.published.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches every task's panic, so it ends normally.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn tasks_left(&self, ordering: Ordering) -> u32 {
        self.ticket.0.load(ordering) as u32
    }

    /// Takes one task of the current job. Returns its number, counted from the end: 1 is the last task.
    fn take(&self) -> Option<u32> {
        let mut seen = self.ticket.0.load(Ordering::Acquire);
        loop {
            let left = seen as u32;
            if left == 0 {
                return None;
            }
            // A job of the same generation and count comes back only after 2^32 jobs, so an equal word means the same
            // job.
            match self
                .ticket
                .0
                .compare_exchange_weak(seen, seen - 1, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Some(left),
                Err(now) => seen = now,
            }
        }
    }

    fn take_tasks(&self) {
        while let Some(left) = self.take() {
            // SAFETY: we have taken a task, so the job stands still until we report it as finished.
            let Job { task, num_tasks } = unsafe { *self.job.get() };
            // SAFETY: as above, `run` has not returned, so the closure it borrows is alive.
            let task = unsafe { &*task };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task((num_tasks - left) as usize))) {
                lock(&self.panic).get_or_insert(payload);
            }
            if self.pending.0.fetch_sub(1, Ordering::SeqCst) == 1 && self.caller_sleeps.load(Ordering::SeqCst) {
                drop(lock(&self.sleep));
                self.finished.notify_all();
            }
        }
    }

    fn work_until_stopped(&self) {
        INSIDE_TASK.set(true);
        while !self.stop.load(Ordering::Relaxed) {
            self.take_tasks();
            if spin_until(|| self.tasks_left(Ordering::Relaxed) > 0 || self.stop.load(Ordering::Relaxed)) {
                continue;
            }
            let mut guard = lock(&self.sleep);
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            while self.tasks_left(Ordering::SeqCst) == 0 && !self.stop.load(Ordering::SeqCst) {
                guard = self.published.wait(guard).unwrap_or_else(|e| e.into_inner());
            }
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn wait_until_finished(&self) {
        if spin_until(|| self.pending.0.load(Ordering::Acquire) == 0) {
            return;
        }
        let mut guard = lock(&self.sleep);
        self.caller_sleeps.store(true, Ordering::SeqCst);
        while self.pending.0.load(Ordering::SeqCst) != 0 {
            guard = self.finished.wait(guard).unwrap_or_else(|e| e.into_inner());
        }
        self.caller_sleeps.store(false, Ordering::SeqCst);
    }
}

/// Spins for up to [`SPIN`]; returns whether the condition came true.
fn spin_until(condition: impl Fn() -> bool) -> bool {
    let mut started = None;
    loop {
        for _ in 0..64 {
            if condition() {
                return true;
            }
            std::hint::spin_loop();
        }
        // The clock is read only once per 64 looks: it costs as much as 20 of them.
        if started.get_or_insert_with(Instant::now).elapsed() > SPIN {
            return false;
        }
    }
}

/// Locks a mutex, poisoned or not: none of the data behind these locks can be left half written by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_runs_once_whatever_the_number_of_threads() {
        for num_threads in 1..=4 {
            let pool = Pool::new(num_threads);
            for num_tasks in [0, 1, 2, 3, 7, 64, 1000] {
                let counts: Vec<_> = (0..num_tasks).map(|_| AtomicUsize::new(0)).collect();
                pool.run(num_tasks, &|i| {
                    counts[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_refused_thread_leaves_a_smaller_pool_that_does_all_the_work() {
        for allowed in 0..3 {
            let (pool, refused) = Pool::start(8, |worker, work| match worker <= allowed {
                true => std::thread::Builder::new().spawn(work),
                false => Err(std::io::ErrorKind::WouldBlock.into()),
            });
            assert_eq!(pool.num_threads(), allowed + 1);
            assert_eq!(refused.map(|error| error.kind()), Some(std::io::ErrorKind::WouldBlock));
            let sum = AtomicUsize::new(0);
            pool.run(100, &|i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 4950);
        }
    }

    #[test]
    fn many_short_jobs_lose_no_task_and_no_wake_up() {
        let pool = Pool::new(3);
        let sum = AtomicUsize::new(0);
        for round in 0..3000 {
            pool.run(3, &|i| {
                sum.fetch_add(i + 1, Ordering::Relaxed);
            });
            if round % 1000 == 999 {
                std::thread::sleep(SPIN * 20); // long enough for the workers to fall asleep
            }
        }
        assert_eq!(sum.into_inner(), 3000 * 6);
    }

    #[test]
    fn two_callers_take_turns() {
        let pool = Pool::new(2);
        let sum = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        pool.run(5, &|i| {
                            sum.fetch_add(i, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 2 * 500 * 10);
    }

    #[test]
    fn a_job_inside_a_task_runs_in_place() {
        let pool = Pool::new(2);
        let sum = AtomicUsize::new(0);
        pool.run(4, &|_| {
            pool.run(4, &|i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 4 * 6);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_survives_it() {
        let pool = Pool::new(2);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.run(8, &|i| assert!(i != 5, "task five fails"));
        }));
        let payload = panicked.expect_err("the panic is carried to the caller");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"task five fails"));
        let ran = AtomicUsize::new(0);
        pool.run(8, &|_| {
            ran.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ran.into_inner(), 8);
    }
}
