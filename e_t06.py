def edit(p,pairs):
    s=open(p).read()
    for old,new in pairs:
        assert old in s,(p,old[:70])
        s=s.replace(old,new,1)
    open(p,'w').write(s)
edit('book/src/teaching/06-kv-cache.md',[
('A class that can draw the triangle with only its edge filled, and can say why 71 times less work is about 5 times less time, or 10 where the weights are near, has had the lesson.','A class that can draw the triangle with only its edge filled, and can say why 71 times less work is only a few times less time, has had the lesson.'),
('| what is kept | opening and prediction (10 minutes), three tokens with a frame around what is kept (10) | [06.1](../06-kv-cache.md#06-1) together, [06.2](../06-kv-cache.md#06-2) alone: {{#minutes-of 06.1 06.2}} minutes |','| what is kept | opening and prediction (10 minutes), three tokens with a frame around what is kept (10) | [06.1](../06-kv-cache.md#06-1) together, [06.2](../06-kv-cache.md#06-2) alone: {{#minutes-of 06.1 06.2}} minutes; [06.10](../06-kv-cache.md#06-10), {{#minutes-of 06.10}} minutes, as homework |'),
('are for the whole room, aloud.','are for the whole class, aloud.'),
("*row 5 was computed 64 times. Who reads what of it?* Go through the list on the board: residual stream, norm, query, key, value, gate, logits. Let the class cross out whatever only row 5 itself reads. Two words are left. That is the whole idea, and it took three minutes.","*row 5 was computed 64 times. Which other rows read what of it?* Go through the list on the board: residual stream, norm, query, key, value, gate, logits. Let the class cross out what only row 5 itself reads. Two words are left: key and value."),
("How much faster?* Let everybody write a number. Expect 71 from most, since the division is quickly done. Do not discuss it. Run the story up to the race, and only then ask why.","How much faster?* Let each student write a number down. Most will say 71. Do not discuss it. Run the story up to the race, and only then ask why."),
("wipe out all the rest of rows 0 and 1, and let the class compute row 2 from what is in the frame. Everybody sees that nothing was missing.","wipe out all the rest of rows 0 and 1, and let the class compute row 2 from what is in the frame. Nothing is missing."),
("The line 128 | 128 is where the room goes quiet: the cache does not save any reading.","Stop at the line 128 | 128: the cache does not save any reading."),
("## Where people get stuck","## Where students get stuck"),
("ask who reads a query later;","ask which row reads a query later;"),
("| 06.4 | one call too many at the end | who asks what follows the last token? |","| 06.4 | one call too many at the end | which step needs the token after the last one? |"),
("both are right. The calculated 5 is for weights in main memory; the default model fits into many last-level caches, where fewer rows ride free and the gain is larger. Ask where the weights are, and how many rows ride free there |","both are right. The paper machine's 4 is for weights in main memory. The default model fits into many last-level caches, where fewer rows are free and the gain is larger. Ask where the weights are, and how many rows are free there |"),
("Who would read them? Row 5's query asks on behalf of row 5.","No later row reads them. The query of row 5 serves row 5 only."),
("Same rows, same keys.","Both compute the same rows and read the same keys."),
("Rows ride almost free. Take away rows that cost almost nothing and almost nothing is won.","Rows are almost free. Rows that cost almost nothing save almost nothing."),
("(Ten: 1 GiB each. Whoever says that most texts are shorter has seen a later lesson coming.)","(With 8 of the 10 GiB in use: eight, 1 GiB each. Most texts are shorter; lesson 10 uses that.)"),
("2. A Llama-7B serves texts of 2048 tokens on a card that has 10 GiB left beside the weights. How many at once?","2. A Llama-7B serves texts of 2048 tokens on a card that has 10 GiB left beside the weights, of which 2 stay free. How many at once?"),
("What would you do with it? (Lesson 07.)","How can it be used? (Lesson 07.)"),
])
edit('book/src/teaching/06-kv-cache.md',[("(With 8 of the 10 GiB in use: eight, 1 GiB each.","(Eight, at 1 GiB each.")])
edit('lessons/06-kv-cache/README.md',[
("cargo run -p lesson06                                   # the story, some ten seconds","cargo run -p lesson06                                   # the story, about a minute"),
("The story with weights larger than the processor's cache, about a minute longer:","The whole story with weights larger than the processor's cache, some minutes:"),
("![time for one token against the number of new tokens, naive, cached and concatenated](results/tokens.svg)","![time for one token of random:135m against the number of new tokens, naive and cached](results/tokens.svg)"),
("| 06.6 | predict | | 71 times fewer rows: how much faster? | 3 | 2 |","| 06.6 | predict | | 71 times fewer rows: how much faster on a paper machine? | 3 | 2 |"),
("| 06.2 | write | `append_rows`","| 06.10 | write | `largest_batch` | how many sequences a memory serves | 10 | 1 |\n| 06.2 | write | `append_rows`"),
])
