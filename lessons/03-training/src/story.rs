//! The story of lesson 03: from text to ids to windows to weights, and how one knows when to stop.

use crate::{corpus_dir, model_dir, summary};
use anyhow::Result;
use autograd::Tensor;
use lab::args::CommonArgs;
use lab::chart::Chart;
use lab::race::Race;
use lab::story::{Choice, Claim, LessonInfo, Prediction, Story, Verdict};
use lab::table::Table;
use layout::pool::Pool;
use ndarray::{ArrayD, IxDyn};
use std::rc::Rc;
use std::sync::Arc;
use training::batch::{Batch, document_starts};
use training::corpus::evaluation::{EvalSize, Evaluation};
use training::corpus::{Literature, Order, StreamOptions, TrainingStream};
use training::eval::{BASELINES, EvalReport, Subject, fingerprint, slot_surprise};
use training::exercises::{merge_pair, most_frequent_pair};
use training::grammar::Grammar;
use training::kernels::attention::AttentionShape;
use training::kernels::rotary::RotaryTable;
use training::metrics::tasks::fault_of;
use training::model::Llama;
use training::random::Random;
use training::split::Split;
use training::tokenizer::Tokenizer;
use training::train::nats_per_token;
use training::trainer::{Schedule, Trainer};
use training::{LlamaConfig, TokenId, ops, plain};

/// Tokens that each miniature is trained on: about ten seconds.
const MINIATURE_TOKENS: u64 = 400_000;

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> Result<()> {
    let info = LessonInfo {
        number: "03",
        title: "Training",
        question: "How does text become weights?",
        folder: "03-training",
    };
    let pool = Arc::new(Pool::new(args.threads()));
    let folder = model_dir(&args.model)?;
    let subject = Subject::open(&folder, &args.model, Arc::clone(&pool))?;
    let grammar = Grammar::new();
    let literature = Literature::load(&corpus_dir())?;
    let size = EvalSize {
        stories: 60,
        chapters: 1,
        tasks: 60,
        prompts: 4,
    };
    let set = Evaluation::new(&grammar, &literature, &subject.tokenizer, Split::Test, size);

    let mut story = Story::begin(info, args);
    story.model(&args.model);
    opening(&mut story, &subject, &grammar, &set);
    text_to_ids(&mut story, &subject.tokenizer, &set);
    windows(&mut story, &grammar, &literature, &subject.tokenizer);
    miniature(&mut story, &literature, &subject.tokenizer, &pool)?;
    curve(&mut story, &subject)?;
    evaluation(&mut story, &subject, &set, &folder)?;
    fused(&mut story, &pool)?;
    memory(&mut story, &subject.model)?;
    story.finish()
}

fn opening(story: &mut Story, subject: &Subject, grammar: &Grammar, set: &Evaluation) {
    let prompt = &set.prompts[1];
    let told = subject.tell(std::slice::from_ref(prompt), |_| {});
    story.say(format!(
        "You: {}",
        prompt.request.as_deref().unwrap_or(&prompt.prompt)
    ));
    story.say(format!("Model: {}", told[0].text.trim()));
    let verdict = match fault_of(grammar, prompt, &told[0]) {
        None => "every name and thing is what it was at the beginning".to_owned(),
        Some(fault) => fault,
    };
    story.show("checked against the grammar", verdict);
    story.show("tokens that it was trained on", subject.record.tokens);
    let seconds: f64 = subject.record.runs.iter().map(|run| run.seconds).sum();
    story.show("minutes that took", (seconds / 60.0).round());
    story.show("parameters", subject.model.config.num_parameters());
    story.say("Everything that it knows it was told by this lesson. What happened in between?");
}

fn text_to_ids(story: &mut Story, tokenizer: &Tokenizer, set: &Evaluation) {
    story.step(
        "Text to ids",
        "A model computes with numbers; a vocabulary of 2048 pieces turns text into them and back.",
    );
    let mut words: Vec<(Vec<TokenId>, u64)> =
        [("low", 5), ("lower", 2), ("newest", 6), ("widest", 3)]
            .map(|(word, count)| (word.bytes().map(|b| TokenId(u32::from(b))).collect(), count))
            .into();
    let mut names: Vec<(TokenId, String)> = Vec::new();
    let mut table = Table::new(&["merge", "pair", "words after it"]);
    for number in 1..=4 {
        let Some(pair) = most_frequent_pair(&words) else {
            break;
        };
        let merged = TokenId(255 + number);
        for (tokens, _) in &mut words {
            *tokens = merge_pair(tokens, pair, merged);
        }
        let spell = |token: TokenId, names: &[(TokenId, String)]| match names
            .iter()
            .find(|(id, _)| *id == token)
        {
            Some((_, name)) => name.clone(),
            None => char::from_u32(token.0).unwrap_or('?').to_string(),
        };
        let (left, right) = (spell(pair.0, &names), spell(pair.1, &names));
        names.push((merged, format!("{left}{right}")));
        let shown: Vec<String> = words
            .iter()
            .map(|(tokens, _)| {
                tokens
                    .iter()
                    .map(|&t| spell(t, &names))
                    .collect::<Vec<_>>()
                    .join("·")
            })
            .collect();
        table.row([
            number.to_string(),
            format!("{left} + {right}"),
            shown.join(" "),
        ]);
    }
    story.say("Byte pair encoding joins, again and again, the two neighbours that are most frequent. Four merges, \
               over the words low (5 times), lower (2), newest (6) and widest (3):");
    story.table(&table);
    let split = |text: &str| {
        let tokens = tokenizer.encode(text);
        let pieces: Vec<String> = tokens.iter().map(|&t| tokenizer.decode(&[t])).collect();
        (tokens, pieces.join("|"))
    };
    let (tokens, pieces) = split("Once there lived a clever hedgehog, and it blew on 12 horns.");
    story.say("This vocabulary, after its 1789 merges:");
    story.show("pieces", pieces);
    let ids: Vec<u32> = tokens.iter().map(|token| token.0).collect();
    story.show_as("ids", &ids, format!("{ids:?}"));
    let (tokens, pieces) = split("你好");
    story.show_as(
        "你好",
        tokens.len(),
        format!("{} tokens, one for each byte: {pieces}", tokens.len()),
    );
    let mean = |documents: &[training::corpus::EvalDocument]| {
        let bytes: usize = documents.iter().map(|d| d.bytes).sum();
        let tokens: usize = documents.iter().map(|d| d.num_scored()).sum();
        bytes as f64 / tokens as f64
    };
    let (in_stories, in_books) = (mean(&set.stories), mean(&set.literature));
    story.show_as(
        "bytes per token",
        [in_stories, in_books],
        format!("{in_stories:.2} in stories, {in_books:.2} in books"),
    );
    story.say("So a loss per token compares models only if they share a vocabulary; bits per byte compare any two.");
}

fn windows(story: &mut Story, grammar: &Grammar, literature: &Literature, tokenizer: &Tokenizer) {
    story.step(
        "Ids to windows",
        "Documents are laid end to end and cut into windows; every position of a window is a question with a known answer.",
    );
    let options = StreamOptions::default();
    let mut stream = TrainingStream::new(grammar.clone(), literature, tokenizer.clone(), options);
    let mut window = Vec::new();
    // The first window with a border that is not its beginning.
    let border = loop {
        stream.next_window(513, &mut window);
        if let Some(at) = window.iter().skip(4).position(|token| token.0 == 0) {
            break at + 4;
        }
    };
    let starts = document_starts(&window[..512]);
    let mut table = Table::new(&["position", "reads", "must predict", "sees from"]);
    for position in border - 3..(border + 4).min(512) {
        let show = |token: TokenId| tokenizer.decode(&[token]).replace('\n', "\\n");
        table.row([
            position.to_string(),
            show(window[position]),
            show(window[position + 1]),
            starts[position].to_string(),
        ]);
    }
    story.table(&table);
    story.say("The answer at t is the token at t + 1: shifted once. Shifted by none, the answer stands in the question and \
               the loss falls to zero; shifted twice, it hardly falls. No position sees the document before its own.");
    story.predict(Prediction {
        id: "first-loss",
        question: "A model with random weights has learned nothing. Its loss over 2048 pieces, in nats per token, is about",
        options: &[
            Choice {
                text: "0",
                answer_to_wrong: Some("Zero is certainty: probability 1 for the right piece. It has no reason to be certain."),
            },
            Choice { text: "7.6", answer_to_wrong: None },
            Choice {
                text: "2048",
                answer_to_wrong: Some("2048 is the perplexity, e to the loss: so many equally likely pieces."),
            },
        ],
        answer: 1,
        because: "It gives every piece about the same probability, 1/2048, and ln 2048 = 7.62.",
    });
}

fn miniature(
    story: &mut Story,
    literature: &Literature,
    tokenizer: &Tokenizer,
    pool: &Arc<Pool>,
) -> Result<()> {
    story.step(
        "Windows to weights",
        "A miniature (0.5 M parameters) learns twice from the same number of tokens: in shuffled order, and all stories before all books.",
    );
    story.predict(Prediction {
        id: "order",
        question: "Which of the two is better afterwards, on held-out stories and books together?",
        options: &[
            Choice { text: "shuffled", answer_to_wrong: None },
            Choice {
                text: "in order, it can concentrate on one thing at a time",
                answer_to_wrong: Some("It concentrates so well on the books that it forgets the stories."),
            },
            Choice {
                text: "no difference, the tokens are the same",
                answer_to_wrong: Some("Each step moves all weights; the last steps have the last word."),
            },
        ],
        answer: 0,
        because: "Weights follow what they saw last. Shuffling makes what they saw last look like everything.",
    });
    let config = LlamaConfig::miniature();
    let schedule = Schedule {
        batch_size: 4,
        seq_len: 256,
        peak_rate: 4e-3,
        warmup_steps: 40,
        ..Schedule::for_tokens(MINIATURE_TOKENS)
    };
    let num_windows = schedule.num_steps() * schedule.batch_size as u64;
    let size = EvalSize {
        stories: 40,
        chapters: 1,
        tasks: 0,
        prompts: 0,
    };
    let held_out = Evaluation::new(
        &Grammar::new(),
        literature,
        tokenizer,
        Split::Validation,
        size,
    );
    let bar = story.progress(2 * schedule.num_steps(), "training");
    let orders = [
        ("shuffled", Order::Shuffled),
        ("in order", Order::InOrder { num_windows }),
    ];
    let mut table = Table::new(&["order", "first loss", "stories", "books", "mean"]);
    let mut chart = Chart::bars(
        "order",
        "What a miniature knows after 400 000 tokens, by the order it read them in",
    )
    .y_label("held-out nats per token");
    let mut means = Vec::new();
    let started = std::time::Instant::now();
    for (name, order) in orders {
        let options = StreamOptions {
            story_share: 0.5,
            order,
            ..StreamOptions::default()
        };
        let mut stream =
            TrainingStream::new(Grammar::new(), literature, tokenizer.clone(), options);
        let model = Llama::new(config.clone(), story.args().seed, Arc::clone(pool));
        let mut trainer = Trainer::new(model, schedule.clone());
        let mut first = None;
        for _ in 0..schedule.num_steps() {
            let tokens = stream.next_batch(schedule.batch_size, schedule.seq_len + 1);
            let windows: Vec<&[TokenId]> = tokens.chunks(schedule.seq_len + 1).collect();
            let report = trainer.train(&Batch::windows(&windows))?;
            first.get_or_insert(report.loss);
            bar.inc(1);
        }
        let stories = nats_per_token(&trainer.model, &held_out.stories, 8192);
        let books = nats_per_token(&trainer.model, &held_out.literature, 8192);
        let mean = (stories + books) / 2.0;
        means.push(mean);
        let cells = [first.unwrap_or(0.0), stories, books, mean].map(|x| format!("{x:.2}"));
        table.row(std::iter::once(name.to_owned()).chain(cells));
        chart = chart.group(name, &[("stories", stories), ("books", books)]);
    }
    let seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let tokens = 2 * schedule.num_steps() * schedule.tokens_per_step();
    story.show_as(
        "trained",
        tokens,
        format!("2 x {} tokens in {seconds:.0} s", tokens / 2),
    );
    story.say("Held-out nats per token; lower is better:");
    story.table(&table);
    story.chart(&chart)?;
    let loss = means[1] - means[0];
    story.claim(Claim {
        id: "D1",
        claimed: "training wants shuffled samples, inference wants the input order kept",
        value: loss,
        unit: "nats per token lost by reading in order",
        verdict: if loss > 0.0 { Verdict::Holds } else { Verdict::NotHere },
        note: "training half measured here; the other half is the next but one step, where answers in another order are wrong answers",
    });
    Ok(())
}

fn curve(story: &mut Story, subject: &Subject) -> Result<()> {
    story.step(
        "The run behind the default model",
        "The same program, 4.9 M parameters, for an hour instead of seconds; its curve was recorded.",
    );
    story.predict(Prediction {
        id: "floor",
        question: "The stories come from a grammar that chooses at random. Trained for ever, the loss on new stories goes to",
        options: &[
            Choice {
                text: "0",
                answer_to_wrong: Some("Nobody can know which name the grammar will choose next; only that it keeps to it afterwards."),
            },
            Choice { text: "the entropy of the grammar's choices", answer_to_wrong: None },
            Choice {
                text: "ln 2048",
                answer_to_wrong: Some("That is where it began: nothing known."),
            },
        ],
        answer: 1,
        because: "The loss stops at the text's own entropy, which for this text can be computed from its choices.",
    });
    let record = &subject.record;
    for run in &record.runs {
        story.show_as("command", &run.command, &run.command);
        story.show_as(
            "machine",
            &run.machine,
            format!("{}, {:.0} minutes", run.machine, run.seconds / 60.0),
        );
    }
    let points = |f: fn(&training::checkpoint::CurvePoint) -> f64| -> Vec<(f64, f64)> {
        record
            .curve
            .iter()
            .map(|p| (p.tokens as f64, f(p)))
            .collect()
    };
    let mut stories = Chart::lines(
        "stories",
        "Held-out stories: the loss stops at the grammar's entropy",
    )
    .x_label("tokens seen")
    .y_label("nats per token")
    .log_x()
    .series("model", points(|p| p.stories));
    let mut literature = Chart::lines("literature", "Held-out chapters of Austen and Melville")
        .x_label("tokens seen")
        .y_label("nats per token")
        .log_x()
        .series("model", points(|p| p.literature));
    for (order, name) in BASELINES.iter().enumerate() {
        let line = |f: fn(&training::train::BaselinePoint) -> &Vec<f64>| -> Vec<(f64, f64)> {
            record
                .baselines
                .iter()
                .map(|p| (p.tokens as f64, f(p)[order]))
                .collect()
        };
        stories = stories.dashed(name, line(|p| &p.stories));
        literature = literature.dashed(name, line(|p| &p.literature));
    }
    stories = stories.rule("entropy bound", record.entropy_bound);
    story.chart(&stories)?;
    story.chart(&literature)?;
    let mut table = Table::new(&["tokens", "train", "stories", "literature"]);
    let step = (record.curve.len() / 8).max(1);
    for p in record
        .curve
        .iter()
        .rev()
        .step_by(step)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        table.row([
            p.tokens.to_string(),
            format!("{:.3}", p.train),
            format!("{:.3}", p.stories),
            format!("{:.3}", p.literature),
        ]);
    }
    story.table(&table);
    story.show_as(
        "entropy bound of stories",
        record.entropy_bound,
        format!("{:.3} nats per token", record.entropy_bound),
    );
    story.say("What the fall after the plateau is: the model begins to copy. Surprise at the words of a story, where they \
               first stand and where they are said again:");
    let slots = slot_surprise(subject, &Grammar::new(), 40);
    let mut table = Table::new(&["word for", "first", "again", "repeats"]);
    for (slot, surprise) in &slots {
        let (first, again) = (
            format!("{:.2}", surprise.first),
            format!("{:.2}", surprise.again),
        );
        table.row([
            (*slot).to_owned(),
            first,
            again,
            surprise.num_again.to_string(),
        ]);
    }
    story.table(&table);
    let copied = |slot: &&str| slots[*slot].again < 1.0;
    let (kept, lost): (Vec<&str>, Vec<&str>) = slots.keys().copied().partition(copied);
    story.show("copied", kept.join(", "));
    story.show("not yet", lost.join(", "));
    story.say("What is said again most often is copied first. Fluent is not yet faithful.");
    Ok(())
}

fn evaluation(
    story: &mut Story,
    subject: &Subject,
    set: &Evaluation,
    folder: &std::path::Path,
) -> Result<()> {
    story.step(
        "Measured before anything is made faster",
        "Text, questions and metrics are fixed here, before the first line of inference code, so that no later lesson can choose its own judge.",
    );
    let recorded = std::fs::read_to_string(folder.join("evaluation.json")).ok();
    let recorded: Option<EvalReport> = recorded.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(report) = &recorded {
        story.say("The whole evaluation, as recorded (`cargo run -q -p lesson03 -- eval` repeats it in some minutes):");
        story.print(summary(report));
        story.values("evaluation", report);
    }
    let tasks = subject.answer(&set.tasks);
    story.show_as(
        "questions right, now",
        tasks.accuracy,
        format!("{:.0} % of {}", 100.0 * tasks.accuracy, set.tasks.len()),
    );
    // The same answers, each given to the next question: what happens when a batch comes back in another order.
    let mut turned = set.tasks.clone();
    let answers: Vec<String> = turned.iter().map(|item| item.answer.clone()).collect();
    for (item, answer) in turned.iter_mut().zip(answers.iter().cycle().skip(1)) {
        item.answer.clone_from(answer);
    }
    let in_turn = set
        .tasks
        .iter()
        .zip(&turned)
        .filter(|(a, b)| a.answer == b.answer)
        .count();
    let by_chance = in_turn as f64 / set.tasks.len() as f64;
    story.show_as(
        "the same answers, one place further",
        by_chance,
        format!("{:.0} % would be right", 100.0 * by_chance),
    );
    story.say("Training shuffled its samples. An answer that leaves the place of its question is a wrong answer.");
    let fingerprint = fingerprint(set);
    story.show_as(
        "fingerprint of this set",
        &fingerprint,
        format!("{}…", &fingerprint[..16]),
    );
    let manifest = include_str!("../Cargo.toml");
    let inference = ["lesson04", "lesson05", "lesson06"]
        .iter()
        .filter(|name| manifest.contains(**name))
        .count();
    story.claim(Claim {
        id: "D2",
        claimed: "the evaluation set and its metrics are fixed before the first line of inference code",
        value: inference as f64,
        unit: "inference crates that this evaluation depends on",
        verdict: if inference == 0 { Verdict::Holds } else { Verdict::NotHere },
        note: "the set is a function of one seed and its fingerprint is a test; metrics take a closure from tokens to logits",
    });
    Ok(())
}

fn fused(story: &mut Story, pool: &Arc<Pool>) -> Result<()> {
    story.step(
        "What fusing is worth",
        "Attention as fifteen plain tape operations per head, and as one: same numbers, forward and backward.",
    );
    let shape = AttentionShape {
        batch_size: 2,
        seq_len: 256,
        num_heads: 8,
        num_kv_heads: 4,
        head_dim: 32,
    };
    let theta = 10_000.0;
    let rotary = Rc::new(RotaryTable::new(shape.seq_len, shape.head_dim, theta));
    let starts: Rc<[u32]> = vec![0; shape.num_rows()].into();
    let mut random = Random::at(&[story.args().seed, 3]);
    let dims = IxDyn(&[shape.num_rows(), shape.qkv_size()]);
    let qkv = ArrayD::from_shape_fn(dims, |_| random.unit() as f32 - 0.5);
    let qkv = Tensor::parameter(qkv);
    let gradient = |out: Tensor| -> Vec<f32> {
        let seed = ArrayD::from_elem(IxDyn(&out.shape()), 1.0);
        out.backward_with(seed).expect("the tape is whole");
        qkv.take_grad()
            .expect("qkv is a leaf")
            .into_raw_vec_and_offset()
            .0
    };
    let race = Race::new(
        "attention",
        "Attention of 2 x 256 positions, forward and backward",
    )
    .rounds(5)
    .baseline("plain tape operations")
    .entry("plain tape operations", None, || {
        gradient(plain::attention(&shape, theta, &starts, &qkv).expect("shapes fit"))
    })
    .entry("fused", None, || {
        gradient(ops::attention(pool, shape, &rotary, &starts, &qkv))
    })
    .check(|a, b| {
        let worst = a
            .iter()
            .zip(b)
            .fold(0.0_f32, |worst, (a, b)| worst.max((a - b).abs()));
        if worst < 1e-4 {
            Ok(())
        } else {
            Err(format!("gradients differ by {worst}"))
        }
    });
    story.race(race)?;
    story.say("`cargo run -p lesson03 -- peers --python PYTHON` races a whole training step against PyTorch.");
    Ok(())
}

fn memory(story: &mut Story, model: &Llama) -> Result<()> {
    story.step(
        "What training holds, and inference will not",
        "The tape keeps what backward will read: keep or recompute is the question of every lesson that follows.",
    );
    let config = &model.config;
    let parameters = 4.0 * config.num_parameters() as f64;
    let windows = vec![vec![TokenId(5); 513]; 4];
    let batch = Batch::windows(&windows);
    let before = autograd::memory::live().value_bytes;
    let loss = model.loss(&batch);
    let tape = (autograd::memory::live().value_bytes - before) as f64;
    drop(loss);
    let mib = |bytes: f64| bytes / (1024.0 * 1024.0);
    let half_weights = parameters / 2.0;
    let per_token = 2 * config.num_layers * config.kv_size() * 4;
    story.show_as(
        "weights, gradients, two moments",
        4.0 * parameters,
        format!("4 x {:.1} MiB", mib(parameters)),
    );
    story.show_as(
        "the tape of one step, 4 x 512 tokens",
        tape,
        format!("{:.0} MiB", mib(tape)),
    );
    story.show_as(
        "inference: weights in bf16",
        half_weights,
        format!("{:.1} MiB", mib(half_weights)),
    );
    story.show_as(
        "inference: keys and values in f32, per token",
        per_token,
        format!("{} KiB", per_token / 1024),
    );
    let chart = Chart::bars(
        "memory",
        "Memory to train on 2048 tokens, and to infer with 512",
    )
    .y_label("MiB")
    .stack(
        "training",
        &[
            ("weights", mib(parameters)),
            ("gradients", mib(parameters)),
            ("moments", mib(2.0 * parameters)),
            ("tape", mib(tape)),
        ],
    )
    .stack(
        "inference",
        &[
            ("weights", mib(half_weights)),
            ("keys and values", mib(512.0 * per_token as f64)),
        ],
    );
    story.chart(&chart)?;
    story.say("Lesson 04 opens the file with the weights; lesson 05 asks what each token costs when nothing else is kept.");
    Ok(())
}
