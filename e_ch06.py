p='book/src/06-kv-cache.md'
s=open(p).read()
def cut(start,end):
    global s
    a=s.index(start); b=s.index(end,a)
    part=s[a:b]; s=s[:a]+s[b:]
    return part
def sub(old,new,count=1):
    global s
    assert s.count(old)>=1,(old[:70])
    s=s.replace(old,new,count)
blocks={}
for i,nxt in (('06.1','{{#exercise 06.2}}'),('06.2','{{#exercise 06.3}}'),('06.3','{{#exercise 06.4}}'),('06.4','{{#exercise 06.5}}'),('06.5','## Common mistakes')):
    blocks[i]=cut('{{#exercise %s}}'%i,nxt).strip()
a=s.index('{{#here 06}}'); b=s.index('After this chapter you can')
s=s[:a]+'''The story of this lesson writes the same 128 tokens twice. Lesson 05's loop computed {{#recorded 06 "steps.Compute each row once.values.rows, lesson 05:,"}} rows and took {{#recorded 06 "steps.Compute each row once.values.the text, lesson 05:.2"}} s on the recorded machine. A loop that keeps keys and values computed {{#recorded 06 "steps.Compute each row once.values.rows, with a cache"}} rows and took {{#recorded 06 "steps.Compute each row once.values.the text, with a cache:.3"}} s.
Every token is the same. The rows are 71 times fewer, and the text came {{#recorded 06 "steps.Compute each row once.values.times_faster:.0"}} times as fast.

**What may be kept?** Lesson 05 wrote 64 tokens and computed 2784 rows, of which 75 were different. The other 2709 came out as before, to the last bit. This chapter finds out what of a row is used again, keeps exactly that, and explains why 71 times less work is not 71 times
less time.

{{#here 06}}

'''+s[b:]
sub('- write the cache and the loop around it, so that the answer is the same to the last bit, however the prompt is cut;','- write the cache and the loop around it, so that the answer is the same to the last bit for every way to cut the prompt;')
sub('- compute how many bytes a model keeps for each token, for any model folder;','- compute how many bytes a model keeps for each token, and how many texts fit into a memory;')
sub('2. Lesson 02: what does a matrix of weights in memory cost for 1 row, and for 23? Why is that number of rows special?','2. Lesson 02: a matrix of weights in memory multiplies one row, or eight. Which takes longer, and why?')
sub('2. About the same. The weights are read once for all rows, and up to about 23 rows the arithmetic is done while they come. With more rows the arithmetic takes longer than the reading.','2. About the same: eight rows took {{#rows 8}} times as long as one in its record, and 128 rows {{#rows 128}} times. The weights are read once for all rows, and with few rows the arithmetic is done while they come. With many rows the arithmetic takes longer than the reading.')
sub('Each question is asked by `cargo course check` too. Decide before you unfold the answer.','`cargo course check` asks these questions too. Decide before you unfold the answer.')
sub('## The idea: keep what others will read\nRows meet only in attention. There, row $i$ takes its own query and reads the keys and values of rows 0 to $i$. So for each thing that a row computes we can ask who reads it:','## The idea: keep what later rows read\nRows meet only in attention. There row $i$ takes its own query and reads the keys and values of rows 0 to $i$. The table lists what a row computes and which rows read it:')
sub('| of a row, in each layer | who reads it | when |','| of a row, in each layer | read by | when |')
sub('''Only keys and values have readers that come later. Keep them, in each layer, and a row never has to be computed again. That is the *KV cache*: not the text, not the queries, not the logits. The residual stream of an old row is needed for nothing
but its keys and values, and these are there already.''','''Only keys and values are read later. If they are kept in each layer, no row has to be computed again. This memory is the *KV cache*. It holds neither the text nor the queries nor the logits. The residual stream of an old row serves only to compute its keys and values,
and these are kept already.''')
sub('''The triangle of lesson 05 is still there, but only its edge is computed. The inside has become reading: a row at position 70 still looks at 71 keys and values in each layer, and finds them instead of making them.

**Keep or recompute** is a question that runs through this book. The tape of lesson 01 kept what the backward pass would read. Lesson 05 recomputed. Here one position costs 6 KiB to keep in the default model (we compute that [below](#memory)), and 4.35 million
multiply-adds to recompute. As long as the memory is there, keeping wins. What happens when it is not there is a matter for later lessons.''','''Of the triangle of lesson 05 only the edge is computed. The inside is read: a row at position 70 reads 71 keys and values in each layer, of which 70 were kept.

**Keep or recompute** is a question that returns in this book. The tape of lesson 01 kept what the backward pass reads. Lesson 05 recomputed. In the default model one position costs 6 KiB to keep (computed [below](#memory)), and 4.35 million
multiply-adds to recompute. As long as the memory lasts, keeping is faster. Lesson 10 shows what happens when the memory is full.''')
sub('''Now token 2 comes, alone. Its row makes a query, a key and a value. The query is turned by two steps to (-0.28, 0, 0.96, 0), the key to (-1.4, 0, 4.8, 1). Key and value go to position 2 of the cache, *then* the row attends to positions 0, 1 and 2:''','''Then token 2 comes alone. Its row makes a query, a key and a value. The query is turned by two steps to (-0.28, 0, 0.96, 0), the key to (-1.4, 0, 4.8, 1). Key and value go to position 2 of the cache first. *Then* the row attends to positions 0, 1 and 2:''')
sub('''and (0.03, 0.26, 0.71, 2) comes out, the output of row 2 in lesson 05. It is not nearly the same: the same kernel adds the same numbers in the same order, so the bits are equal. The tests of this lesson compare with `==`.

**Keys are kept turned.** A key is turned by its own position, which never changes, so the turn is done once. The new row's turn goes into its query. Scores depend on the difference of the two, as we saw, and the kept key need not know who will read it.''','''The result is (0.03, 0.26, 0.71, 2), the output of row 2 in lesson 05. The same kernel adds the same numbers in the same order, so the bits are equal. The tests of this lesson compare with `==`.

**Keys are kept turned.** A key is turned by its own position, which does not change, so it is turned once. The turn of the new row goes into its query. The score depends on the difference of both turns.''')
sub('The loop changes in one place: the model gets only the tokens that it has not seen.','The loop changes in one place: the model gets only the tokens that are not in the cache.')
sub('''rows, since the last token is written and never read. For''','''rows, since no step reads the last token. For''')
sub('''The memory is allocated once. What grows is a number, the *write index*: the positions before it are valid, everything from it on is room. A pass writes its rows from the index on, in every layer at the same places, and moves the index once, when the last layer is done.

**Time to first token** (TTFT) is what somebody waits until something appears: here, the prefill. **Time per output token** (TPOT) is how long each further token takes, in the mean. By hand: the first token appears after 6 ms, the last of 128 after 57 ms. TTFT is 6 ms, and
127 tokens came in 51 ms, so TPOT is 51 / 127 = 0.4 ms, or 2500 tokens a second. The two are bound by different things, and from now on we report them apart. An answer of one token has no TPOT.

A cache makes *decode* cheap. Prefill computes the rows of the prompt, as the naive loop's first step does, and takes the same time.''','''The memory is allocated once. Only a number grows, the *write index*: the positions before it are valid, and the places from it on are free. A pass writes its rows from the index on, at the same places in every layer. It moves the index once, after the last layer.

**Time to first token** (TTFT) is the time from the request to the first token: here, the prefill. **Time per output token** (TPOT) is the mean time of each further token. By hand: the first token appears after 6 ms, the last of 128 after 57 ms. TTFT is 6 ms, and
127 tokens came in 51 ms, so TPOT is 51 / 127 = 0.4 ms, or 2500 tokens a second. The prompt decides the first and the weights decide the second, so this book reports them apart. An answer of one token has no TPOT.

A cache makes *decode* cheap. Prefill computes the rows of the prompt, as the first step of the naive loop does, and takes the same time.

'''+blocks['06.4'])
sub('''The same short text, written three times by the default model: by lesson 05's loop, with a cache, and with a cache and the prompt in chunks of three. All numbers were counted while it ran. Look for three things: what the second step does with the first rows in each of the three, how many keys a row
reads (it is the same in all three), and at which step the first token can be chosen.''','''The default model wrote the same short text three times: by lesson 05's loop, with a cache, and with a cache and the prompt in chunks of three. All numbers were counted during these runs. Look for three things: what the second step does with the first rows in each run, how many keys a row
reads (the same in all three), and at which step the first token can be chosen.''')
sub('The whole of the memory, and two numbers that move in it:','The memory, and two numbers that move:')
sub('''A view is two borrowed slices, a stride and a length. It is lesson 05's `KvView`, and lesson 05's attention reads it: nothing in the kernel knows that there is a cache. The second assertion is worth more than it looks. A view that would show a position which nobody has written is a fault of *this program*,
and is caught where it is made.''','''A view is two borrowed slices, a stride and a length: lesson 05's `KvView`. Lesson 05's attention reads it without any change. The second assertion catches a fault of *this program*: a view of a position that is not written yet fails where it is made.
A known fault of first caches fails here too: the index moves only in the last layer, and the other layers do not see the new token.

'''+blocks['06.2'])
sub('''Nothing says that a prompt has to come in one pass. Cut it where you like: each pass appends its rows after those that are there. A pass over some rows after `offset` kept ones is a *chunk*. A whole prompt is a chunk at offset 0, a decode step is a chunk of one row.

Row $i$ of a chunk stands at position $\\mathrm{offset} + i$. This position decides two things: the angle of its turn, and what it sees. It sees the kept positions, and of its own chunk the rows up to itself:''','''A prompt may be cut anywhere: each pass appends its rows behind the kept ones. The rows of one pass after `offset` kept ones are a *chunk*. A whole prompt is a chunk at offset 0, a decode step is a chunk of one row.

Row $i$ of a chunk stands at position $\\mathrm{offset} + i$. This position decides the angle of its turn, and what it sees: the kept positions, and of its own chunk the rows up to itself:''')
sub('''Causality is still a length, and not a mask. Forgetting the offset is the most common fault of this lesson, and a nasty one: the first chunk is right, since its offset is 0, the model does not fail, and the text stays fluent. It only forgets what it was asked. Real engines have shipped it.

Why chunks? The scratch of a pass is larger, row for row, than what is kept: 14 KiB for a row against 6 KiB in the default model. A prompt of 500 tokens needs 7 MiB of scratch in one pass, and under 1 MiB in chunks of 64. The result is the same to the last bit, for every way to cut.
''','''Causality is a length here too, and not a mask. A forgotten offset is the most common fault of this lesson and hard to see: the first chunk is right, since its offset is 0, no error appears, and the text stays fluent. It only ignores the prompt. Engines in use have had this fault.

Chunks save scratch memory. A row needs 14 KiB of scratch in the default model, and 6 KiB of cache. A prompt of 500 tokens needs 7 MiB of scratch in one pass, and under 1 MiB in chunks of 64. The result is the same to the last bit for every way to cut.

'''+blocks['06.3']+'\n')
sub('''The matrix is as wide as the cache is long, for a framework that compiles a pass for fixed shapes can not let it grow with the text: each row is scored against everything that there is room for, and the mask takes away what is too much. The module `masked` does that, as an experiment. The bits are the same, and the work is that of a full cache from
the first token on. With a length there is nothing to take away.''','''The matrix is as wide as the cache is long, because a framework that compiles a pass for fixed shapes can not let it grow with the text. Each row is scored against every place of the cache, and the mask removes the places that it may not see. The module `masked` does that as an experiment. The bits are the same, and from the first token on the
work is that of a full cache.

'''+blocks['06.5'])
sub('All that can be refused is refused first. Then the layers run, and the index moves:','The pass checks first everything that it may refuse. Then the layers run, and the index moves:')
sub('''A layer looks as it did in lesson 05. Two lines differ: a row's angle comes from `row_place`, which is exercise [06.3](#06-3), and attention is whatever the pass handed in, here *append, then look*.''','''Two lines of a layer differ from lesson 05: the angle of a row comes from `row_place`, exercise [06.3](#06-3), and attention is the function that the pass hands in, here *append, then attend*.''')
sub('''The loop around it gets a closure again. It is handed the tokens that the cache has not seen, the prompt once and then one token at a time; its inside is exercise [06.4](#06-4).''','''The loop around it gets a closure again. The closure gets the tokens that are not in the cache: the prompt once, and then one token at a time. The loop is exercise [06.4](#06-4).''')
sub('''`batch_size` is the number of texts that are kept at the same time, in this lesson always 1: their caches simply add up. **By hand**''','''`batch_size` is the number of texts that are kept at the same time. In this lesson it is 1; the caches of several texts add up. **By hand**''')
sub('''In brackets: longer than the model was made for. Look at the column of one position. Grouped attention divides the keys and values by the size of a group: the model with 70 billion weights keeps less for a position than the one with 7 billion. Query heads do not count. This is why
`num_kv_heads` is in every config that was written since.''','''In brackets: longer than the model was made for. Compare the column of one position: grouped attention divides the keys and values by the size of a group, so the model with 70 billion weights keeps less for a position than the one with 7 billion. Query heads do not count.

'''+blocks['06.1']+'''

### The largest batch is computed
The formula also answers how many texts a memory can serve. A fifth of the memory stays free for what was not foreseen. The weights and the scratch of a pass are taken from the other four fifths, and the rest is divided by the cache of one text at the longest length that is promised:

$$\\mathrm{batch} = \\left\\lfloor \\frac{0.8 \\cdot \\mathrm{memory} - \\mathrm{weights} - \\mathrm{scratch}}{\\mathrm{kv\\_bytes}(\\mathrm{seq\\_len}, 1)} \\right\\rfloor$$

**By hand**, Llama-7B in fp16 on a card of 24 GiB, with 1 GiB of scratch and texts of 2048 tokens: 19.2 - 12.55 - 1 = 5.65 GiB, and a text takes 1 GiB, so five texts. At 16 slots of 4096 positions the cache alone would take 32 GiB. The recorded machine has {{#recorded 06 "machine.memory_bytes:,"}} bytes of memory and would serve
{{#recorded 06 "steps.Pay in memory.values.largest batch here"}} such texts. The story prints the number for your machine. It is an upper limit and no advice: a smaller batch may already use all of the arithmetic (lesson 07), and most texts do not reach the promised length (lesson 10).

{{#exercise 06.10}}

Return the largest number of sequences, from bytes. The weights may be larger than the memory: then there is room for none, and the function returns 0.

**By hand.** 100 bytes of memory, weights 50, scratch 6, a sequence 8: 80 may be used, 24 are left, 3 sequences fit.

**How it is graded.** This case; the free fifth alone; the order of the two subtractions; scratch; a sequence that fits only in part; weights that are larger than the memory; Llama-7B on 24 GiB.

{{#key 06.10}}''')
sub('''The cache knows its capacity from the start. One can do without: begin with what the prompt needs, and for each new token make a new cache that is one position longer, copy the old one and add the row. Many first implementations do, because concatenation is one line.''','''This cache has its whole capacity from the start. Many first caches begin with what the prompt needs instead. For each new token they make a new cache that is one position longer, copy the old one and add the row, because concatenation is one line of code.''')
sub('''to add 127 positions, which are 762 KiB. It is the triangle again, made of copies.''','''to add 127 positions, which are 762 KiB. The triangle of lesson 05 is back as copies.

Articles on first caches often blame the order of the numbers in memory for this. The two are separate, and the race below keeps them apart: both orders, preallocated, copy nothing and allocate nothing. The next section measures the order alone.''')
sub('''`make_room` asks for memory, moves everything, and gives the old memory back: for keys and for values, in each layer, at each token. A `Vec` that doubles its room when it is full is in between. It copies rarely, but it holds old and new at once when it does, up to twice what is needed afterwards, and it allocates in the middle of a text.''','''`make_room` allocates new memory, moves everything, and frees the old memory: for keys and for values, in each layer, at each token. A `Vec` that doubles its room when it is full copies rarely. But it holds up to twice the memory that is needed, and it allocates in the middle of a text.''')
sub('''Yet in the time of a whole token all of this is small, as the race of the loops below shows: a token reads 19.5 MB of weights, whatever is copied beside. It begins to hurt with a long text, and where memory is nearly full.

**A full cache** is not a fault of the program: somebody asked for more than was set aside. So it is a typed error, with what is held, what should have come and what fits, and it comes *before* the pass has written anything. The cache can be used on.''','''Beside a whole token the copies are small at this length, because a token reads 19.5 MB of weights in any case. They matter for long texts and where memory is nearly full.

**A full cache** is an expected outcome: the request needs more than was allocated. So it is a typed error that says what is held, how many rows came and how many fit. It comes *before* the pass writes anything, and the cache stays usable.''')
sub('''A text that reaches either of them is cut off: the loop ends with `FinishReason::Context`. Whoever sets the capacity to what the prompt and `max_new_tokens` need never meets the first one.

**Truncating** moves the index back. The numbers behind it stay where they are and mean nothing; the next rows overwrite them. With it a second answer to the same prompt needs no second prefill: truncate to one position less than the prompt has, and pass its last token again. That one row is needed, since the cache keeps keys and values and no logits.''','''A text that reaches either of them is cut off: the loop ends with `FinishReason::Context`. A cache with room for the prompt and `max_new_tokens` is never full.

**Truncating** moves the index back. The numbers behind it stay in memory unused until the next rows overwrite them. A second answer to the same prompt then needs no second prefill: truncate to one position less than the prompt has, and pass its last token again. This row is needed because the cache holds no logits.''')
sub('''A head reads its own keys, position after position. Lesson 02 ended with the question how long its step is. There are two answers, and they depend on how we store what a row brings:''','''A head reads its own keys, position after position. The order in which a layer stores its keys decides how far apart they lie:''')
sub('''Bytes and cache lines are the same: 32 numbers in f32 are two whole lines, so nothing is fetched in vain. What differs is the length of the runs. `[positions, heads]` is the order in which the product writes them, and a new row is copied in one piece; `[heads, positions]` is the order in which attention reads them. Attention does not notice either way: it gets a slice and a
stride, and the sum is taken in the same order, so the bits are equal.''','''Both orders read the same bytes and the same cache lines: 32 numbers in f32 fill two whole lines. The lengths of the runs differ. In `[positions, heads]` a new row is copied in one piece; in `[heads, positions]` attention reads one run. The code of attention is the same: it gets a slice and a
stride and adds in the same order, so the bits are equal.''')
sub('''A processor that sees a regular step fetches ahead, so the gain is smaller than the number of runs makes one think, and on short texts, where everything is near anyway, other things decide. This cache keeps''','''A processor fetches ahead where the step is regular, so the gain is much smaller than the ratio of runs. Short texts lie in a near cache, and their gain is smaller still. This cache keeps''')
sub('''A framework in an interpreter shows attention the kept part by slicing: `k_cache[layer, :, :length]`, twice for each layer, at each token. Each slice is an object with a shape and strides that is made, checked and handed on, for Llama-7B 64 of them a token. Handing on the cache and an index instead is said to be 10 to 20 % faster.
In Rust there is nothing to save. A view is four fields in registers, and making it costs less than the loop around it. To see what the claim is about, the module `views` builds the same view in two ways that do cost something: as objects on the heap, and as dense copies.''','''A framework in an interpreter shows attention the kept part by slicing: `k_cache[layer, :, :length]`, twice for each layer, at each token. Each slice is an object with a shape and strides, 64 of them a token for Llama-7B. The claim is that handing over the cache and an index instead is 10 to 20 % faster.
In Rust a view is four fields in registers. To show the cost that the claim is about, the module `views` builds the same view in two slower ways: as objects on the heap, and as dense copies.''')
sub('''With objects a token took {{#recorded 06 claims.G5.measured.value:.0}} % longer on the recorded machine. What the claim measures is the interpreter, and that a slice which is not dense is soon copied.''','''With objects a token took {{#recorded 06 claims.G5.measured.value:.0}} % longer on the recorded machine. The claim measures the interpreter, and the dense copies that slices often lead to.''')
sub('''The story writes one text twice, with lesson 05's loop and with a cache, and the bars have the same scale. Then whole answers race, each loop with the same tokens:

{{#chart 06 tokens "Milliseconds for a token against the number of new tokens after a prompt of 16: naive, cached, concatenated, and where the naive loop would be if time followed rows"}}

The naive loop's tokens cost more the longer the answer gets, the cached loop's hardly. The dashed line is where the naive loop would be if its time followed its rows. It is far from there: that is the next section.''','''The story writes one text twice, with lesson 05's loop and with a cache, and the bars have the same scale. Then whole answers race, each loop with the same tokens. The chart has `random:135m`, where the weights come from memory:

{{#chart 06 tokens "Milliseconds for a token of random:135m against the number of new tokens after a prompt of 16: naive, cached, and where the naive loop would be if time followed rows"}}

A token of the naive loop costs more the longer the answer gets, a token of the cached loop hardly more. The dashed line shows the naive loop if its time followed its rows. The next section explains the distance.''')
sub('''Two times, two answers:''','''The two times of an answer, with the default model:''')
sub('''It is the same work, and what differs from 1 is noise. Each further one comes''','''The work is the same, so a difference from 1 is noise. Each further token comes''')
sub('''And the ledger, for one new token after 16, 64, 128 and 256 others: lesson 05 does''','''The ledger counts one new token after 16, 64, 128 and 256 others. Lesson 05 does''')
sub('''0.05 million at 16 and 0.79 million at 256. That is the part of the square that no cache removes.

Last, the story runs out of room. With 28 places and a prompt of 16 it writes 13 tokens, one more than fit, and ends with `context`; another pass is refused; cut back to 16, it could go on. A fixed length that is masked instead,''','''0.05 million at 16 and 0.79 million at 256. No cache removes this part of the square.

Last, the story runs out of room. With 28 places and a prompt of 16 it writes 13 tokens, one more than fit, and ends with `context`. Another pass is refused. A fixed length that is masked instead,''')
a=s.index('Now back to the prediction. Count for both loops'); b=s.index('{{#claims 06}}')
s=s[:a]+'''Count for both loops how often the weights are read, and for how many rows:

| | naive | cached |
|---|---|---|
| passes | 128 | 128 |
| so all weights are read | 128 times | 128 times |
| rows | 10 176 | 143 |
| rows for each reading | 79.5 | 1.1 |

Both loops call the model once for each token, and each call reads every weight. The cache saves arithmetic. It does not save any reading. The paper machine of [06.6](#06-6) shows the effect: a pass of up to 20 rows takes as long as one row, and a pass of $r > 20$ rows $r / 20$ times as long.

- naive: 128 passes with 16 to 143 rows, together 509 times the cost of one row;
- cached: 128 passes at the cost of one row each;
- the quotient is 509 / 128: the cached loop is 4 times faster, with 71 times less work.

**Compute it yourself** for 256 new tokens: the naive passes have 16 to 271 rows. Is the gain larger or smaller, and why? (Answer: 5 + (21 + … + 271) / 20 = 1837 times one row, over 256: 7 times. More of the naive rows lie beyond the 20 that cost nothing.)

**Arithmetic intensity** is the number of multiply-adds for each number that is read. In a product it is the number of rows. Below the row where reading and arithmetic take equally long, a pass waits for memory, and most of the arithmetic units are idle. Above it a pass waits for the arithmetic. The cached
loop decodes with one row and waits for memory. The naive loop has 80 rows in the mean and waits for the arithmetic. A long prefill does too.

**What was measured.** With `random:135m`, whose 513 MiB of weights come from memory, both limits met at {{#recorded 06 "steps.Race the loops.values.they meet at:.1"}} multiply-adds for a byte on the recorded machine, and the cached loop was {{#recorded 06 "steps.Race the loops.values.times_faster.2.1:.1"}} times faster for 128 new tokens and {{#recorded 06 "steps.Race the loops.values.times_faster.0.1:.1"}} times for 16: the gain grows with length.
The claim is 2 to 3 times for 128 tokens. With the default model it was {{#recorded 06 "steps.Race the loops.values.times_faster, stories.2.1:.0"}} times: its 19.5 MB lie in the last cache of that processor, from where they come several times faster. There the limits meet after a few rows, fewer rows are free, and the cache saves more. So the figure depends on where
the weights lie. On a GPU, where the claimed 2.3 times come from, more rows are free and each step also pays for the start of its kernels.

The cache moved the limit. One text can not read less: the next row needs all weights. But the arithmetic is idle, and lesson 07 fills it.

Attention is not free either. A decode step reads what is kept: at 512 positions of the default model 3 MiB, beside 19.5 MB of weights. For Llama-7B at 2048 positions it is 1 GiB beside 13 GB. So TPOT still grows with the text, but slowly.

'''+s[b:]
sub('''`cargo course start 06` makes your own copy''','''The exercises stand above, each behind its part of the chapter. `cargo course start 06` makes your own copy''')
sub('''- **"It stores the text", "it stores the queries".** It stores keys and values, for each layer, key head and position. A query is read once, by its own row.
- **"Prefill gets faster."** It computes the same rows as before. What gets faster is everything after it.
- **"71 times less work is 71 times faster."** Only if work was what the time went into.''','''- **"It stores the text", "it stores the queries".** It stores keys and values, for each layer, key head and position. A query is read once, by its own row.
- **"Prefill gets faster."** It computes the same rows as before. The tokens after it get faster.
- **"71 times less work is 71 times faster."** Only where arithmetic takes all of the time.''')
sub('''- **Moving the index in each layer.** All layers of a pass write at the same positions. The index moves once, when the pass is over.''','''- **Moving the index in each layer, or in one layer only.** All layers of a pass write at the same positions. The index moves once, when the pass is over.
- **One length for all texts of a batch.** Each sequence has an index of its own; lesson 07 keeps them.''')
sub('''- **Allocating per token.** Room is made once, for prompt and answer. A cache that grows step by step copies a triangle.
- **Checking for room after the first layers have written.** Then a refused pass leaves a cache of which some layers are a row ahead.
- **Forgetting that the last token is never read.**''','''- **Allocating per token.** Room is made once, for prompt and answer. A cache that grows step by step copies a triangle.
- **Checking for room after the first layers have written.** Then some layers are a row ahead after a refused pass.
- **Forgetting that no step reads the last token.**''')
sub('''4. Somebody keeps the residual stream of each layer instead of keys and values. What does it save, and what does it cost, in the default model?''','''4. A program keeps the residual stream of each layer instead of keys and values. What does it save, and what does it cost, in the default model?''')
sub('''5. The cached loop is about 5 times faster for 128 new tokens after 16. Is the factor larger or smaller for 8 new tokens? And for 500?''','''5. On the paper machine the cached loop is 4 times faster for 128 new tokens after 16. Is the factor larger or smaller for 8 new tokens? And for 500?''')
sub('''Smaller, and larger. With 8 new tokens the naive passes have 16 to 23 rows, which ride almost free. With 500 they have up to 515 rows, far beyond what rides free.''','''Smaller, and larger. With 8 new tokens the naive passes have 16 to 23 rows, and nearly all of them are free. With 500 they have up to 515 rows, far more than the 20 that are free.''')
sub('''Only rows from position 100 on, and there everything is new. Old keys stand behind the index until they are overwritten, but a row at position 100 sees positions 0 to 100, and position 100 is written before it is read. Nothing old shows.''','''The rows from position 100 on are computed again. Old keys stand behind the index until they are overwritten. A row at position 100 sees positions 0 to 100, and position 100 is written before it is read, so no old number shows.''')
sub('''One row for each token, and still each token reads all weights. The machine could compute more than twenty rows in the same time. But one text has only one next row. Where could more rows come from? That is lesson 07.''','''Each token computes one row and reads all weights. The machine could compute more rows in the same time, but one text has only one next row. Where could more rows come from? That is lesson 07.''')
sub('''token 8 is announced and shown to nobody.''','''token 8 is announced and not shown to the model.''')
open(p,'w').write(s)
