//! What is played.

/// A request of a scenario.
pub(super) struct Asks {
    pub(super) arrives: u64,
    pub(super) prompt: &'static str,
    pub(super) answer: &'static str,
    /// Takes over the prompt of request 0.
    pub(super) sibling: bool,
    /// Cancelled before this step.
    pub(super) cancelled: &'static [u64],
}

/// Requests that come one after the other.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) num_blocks: usize,
    pub(super) prefix_cache: bool,
    pub(super) asks: Vec<Asks>,
}

fn asks(arrives: u64, prompt: &'static str, answer: &'static str) -> Asks {
    Asks {
        arrives,
        prompt,
        answer,
        sibling: false,
        cancelled: &[],
    }
}

/// All of them; the first one is shown first.
pub(super) fn scenarios() -> Vec<Scenario> {
    let sibling = |answer| Asks {
        sibling: true,
        ..asks(0, "Give the fox a name :", answer)
    };
    vec![
        Scenario {
            name: "growth",
            about: "Three texts that share nothing; the prefix cache is off.",
            num_blocks: 8,
            prefix_cache: false,
            asks: vec![
                asks(0, "Once upon a time there", "was a fox who sang"),
                asks(0, "The owl", "was very old"),
                asks(4, "In the deep sea lived a", "blue whale"),
            ],
        },
        Scenario {
            name: "shared prefix",
            about: "Four texts that begin alike, and one in which the same words come in another order.",
            num_blocks: 8,
            prefix_cache: true,
            asks: vec![
                asks(
                    0,
                    "You are a kind bear who tells stories about a fox",
                    "Once a fox sang",
                ),
                asks(1, "You are a kind bear who tells stories of the sea", "The sea"),
                asks(5, "You are a kind owl who tells stories about a fox", "A fox"),
                asks(7, "You are a kind bear who tells stories", "Once upon"),
                asks(9, "bear who tells stories You are a kind", "No"),
            ],
        },
        Scenario {
            name: "three answers to one prompt",
            about: "B and C ask what A asks, and take over its blocks.",
            num_blocks: 8,
            prefix_cache: true,
            asks: vec![
                asks(0, "Give the fox a name :", "Rusty the brave fox"),
                sibling("Ember"),
                sibling("Luna of the deep sea"),
            ],
        },
        Scenario {
            name: "eviction",
            about: "Few blocks: whoever needs one takes the one that has been free for the longest time.",
            num_blocks: 6,
            prefix_cache: true,
            asks: vec![
                asks(0, "The cat sat on the old mat and", "sang"),
                asks(1, "In the deep blue sea lived a very old whale who", "sang a lot"),
                asks(4, "A fox", "sang"),
                asks(5, "The cat sat on the old mat and", "slept"),
            ],
        },
        Scenario {
            name: "cancelled",
            about: "B leaves in the middle of its text, D before it has begun.",
            num_blocks: 6,
            prefix_cache: true,
            asks: vec![
                asks(0, "You are a kind bear", "who tells stories about a fox"),
                Asks {
                    cancelled: &[4, 5],
                    ..asks(1, "You are a kind owl who sang", "of the deep blue sea")
                },
                asks(2, "The cat sat on the mat", "and slept"),
                Asks {
                    cancelled: &[3],
                    ..asks(2, "A fox sang", "of the sea")
                },
            ],
        },
    ]
}
