def edit(p,pairs):
    s=open(p).read()
    for old,new in pairs:
        assert old in s,(p,old[:70])
        s=s.replace(old,new,1)
    open(p,'w').write(s)
edit('book/src/05-generation.md',[
('Small rows whose answers are known;','Small rows with known answers;'),
('Turns whose answers are known;','Turns with known answers;'),
('and the property that all this is for: the score','and the property that matters: the score'),
('After attention comes a product (`out`), whose result is added to the residual stream.','After attention comes a product (`out`). Its result is added to the residual stream.'),
('With `random:135m`, whose weights come from memory, one row was','With `random:135m`, where the weights come from memory, one row was'),
])
edit('book/src/teaching/05-generation.md',[
('Everyone can begin here: [the recap](../recap.md) is the only prerequisite, and it is worth handing out a day before.','A class can begin here: [the recap](../recap.md) is the only prerequisite. Hand it out a day before.'),
('A class that can say this sentence and draw the triangle has had the lesson, whatever else was left out.','A class that can say this sentence and draw the triangle has had the lesson.'),
('Build once on every machine, the first build takes minutes.','Build once on every machine: the first build takes minutes.'),
('| at home | attention | [05.3](../05-generation.md#05-3), {{#minutes-of 05.3}} minutes, the hardest of the lesson; [05.6](../05-generation.md#05-6) for those who want more |','| at home | attention | [05.3](../05-generation.md#05-3), {{#minutes-of 05.3}} minutes, the hardest of the lesson; [05.6](../05-generation.md#05-6) is extra |'),
('Let everybody write a number down and raise hands for 64, 75 and\n2784, and only then press Enter. In most rooms 64 and 75 share the votes; both are right answers to another question, and saying which question makes the lesson:','Let each student write a number down and raise hands for 64, 75 and\n2784, and only then press Enter. In most rooms 64 and 75 share the votes. Both are right answers to another question; name that question:'),
("Then the second question (*what does it return?*), then somebody's own prompt. The room has now seen what a model is, and asks for the inside by itself.","Then ask the second question (*what does it return?*), then take a prompt from the class. Now the class knows what a model does, and the inside can follow."),
('The moment to wait for: query 2 with key 1 gives 3, and so does query 1 with key 0. Somebody will\nsay that it depends on the distance alone. Do not say it for them.','Query 2 with key 1 gives 3, and so does query 1 with key 0. Wait until a student says that the score depends on the distance alone.'),
('## Where people get stuck','## Where students get stuck'),
('Where is the word before the choice?','No word exists before the choice.'),
('It could; `forward_all` does. Ask who would read them while a text is written.','It could; `forward_all` does. Ask which of these logits the loop reads while a text is written.'),
('05.6 only with people who\nserve Llama 3.','05.6 is for classes that\nserve Llama 3.'),
])
edit('lessons/05-generation/README.md',[
("""How near a pass comes to the limits of the machine, with `random:135m` on two cores of an AMD EPYC
(`cargo run -p lesson05 -- --model random:135m`, last step): one row takes 12.0 ms, of which reading 513 MiB at 48 GB/s
takes 93 %; 128 rows take 64.6 ms, 78 % of the peak of 555 GFLOP/s; 512 rows 298 ms, 71 %.
""","""The last steps compare a pass with the limits of your machine, race f32 against bf16 weights, and compute the most tokens a
second that 7B and 13B models can reach on it.
"""),
("cargo run -p lesson05                                   # the story, a few seconds","cargo run -p lesson05                                   # the story, less than a minute"),
])
