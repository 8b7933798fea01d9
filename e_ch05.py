import re
p='book/src/05-generation.md'
s=open(p).read()
def cut(start,end):
    global s
    a=s.index(start); b=s.index(end,a)
    part=s[a:b]; s=s[:a]+s[b:]
    return part
def sub(old,new,count=1):
    global s
    assert s.count(old)>=1,(old[:60])
    s=s.replace(old,new,count)
# exercise blocks
blocks={}
for i,nxt in (('05.1','{{#exercise 05.2}}'),('05.2','{{#exercise 05.3}}'),('05.3','{{#exercise 05.4}}'),('05.4','{{#exercise 05.5}}'),('05.5','{{#exercise 05.6}}')):
    blocks[i]=cut('{{#exercise %s}}'%i,nxt).strip()
# opening
a=s.index('{{#here 05}}'); b=s.index('After this chapter you can')
s=s[:a]+'''The default model continues a sentence of twelve tokens:

> {{#recorded 05 steps.Opening.values.text}}

On the recorded machine each of the first tokens took {{#recorded 05 steps.Opening.values.first_ms:.2}} ms and each of the last {{#recorded 05 steps.Opening.values.last_ms:.2}} ms (medians of eight). After {{#recorded 05 "steps.Let the text grow.values.longest"}} tokens a
token took {{#recorded 05 "steps.Let the text grow.values.longest_ms:.1"}} ms, while the row of one token alone takes {{#recorded 05 "steps.Let the text grow.values.one_row_ms:.2"}} ms.

**Why does each token cost more?** A language model is a function: tokens go in, one number for each token of its vocabulary comes out. Text comes from calling it in a loop. This chapter opens the function, writes the loop in its plainest
form, and counts the cost of that form.

{{#here 05}}

'''+s[b:]
sub('- say what a language model returns, and what happens outside of it;','- say what a language model returns and what happens outside of it;')
sub('1. About 1.3 times as much as one row. The weights are read once for all rows, and reading is what one row waits for.','1. About {{#rows 8}} times as much as one row, as lesson 02 recorded it. The weights are read once for all rows, and one row waits for that reading.')
sub('''2. The weights. Gradients and moments change weights, and nothing is changed here. The tape keeps what the backward pass will read, and there is no backward pass.''','''2. The weights. Gradients and moments serve to change weights, and generation changes none. The tape keeps what the backward pass reads, and generation has no backward pass.''')
sub('Both questions are asked by `cargo course check` too. Decide before you unfold the answer; a wrong guess that is written down teaches more than a right one that is read.','`cargo course check` asks both questions too. Decide before you unfold the answer.')
sub('''That is all. The model keeps nothing between two calls: it is a function, and what is not in its input does not exist for it. A conversation that seems to remember is a program that
passes the whole conversation again.

So the first call computes the prompt, the second the prompt and one token, and so on.''','''The model keeps nothing between two calls. A chat program that seems to remember passes the whole conversation again.

The first call computes the prompt, the second the prompt and one token, and so on.''')
sub('''The edge of the triangle is what each step adds: 12 rows at the first step and one at each of the other 63, together 75. Everything inside is a row that was computed before, from the same
tokens, with the same result to the last bit. The last token of the answer is in no row: it is written and never read.''','''The edge of the triangle is what each step adds: 12 rows at the first step and one row at each of the other 63 steps, together 75. Every row inside was computed before, from the same tokens, with the same result
to the last bit. The last token of the answer is in no row, because no step follows that reads it.''')
a=s.index('Is that as bad as it looks?'); b=s.index("## One token's way through the model")
s=s[:a]+'''The useless rows are cheap, because rows share the weights that are read for them: in lesson 02's record 8, 32 and 128 rows cost {{#rows 8}}, {{#rows 32}} and {{#rows 128}} times as much as one. They are not free, and the area of the triangle
grows with the square of the text.

'''+s[b:]
sub('''White boxes are the
kernels of this chapter; grey boxes are matrix products $y = x W^\\top$ with weights `[out, in]`, and lesson 02 has made them fast. A row is a list of 256 numbers, the *residual stream*.
Each layer reads it twice and adds to it twice; nothing is ever overwritten.''','''White boxes are the
kernels of this chapter. Grey boxes are the matrix products of lesson 02, $y = x W^\\top$ with weights `[out, in]`. A row is a list of 256 numbers, the *residual stream*.
Each layer reads it twice and adds to it twice.''')
sub('''In code a layer is one screen. All buffers were allocated before; every function gets `rows` rows at once:''','''In code a layer takes one screen. Its buffers are allocated before the pass, and every function gets `rows` rows at once:''')
sub('''At the end only the last row goes on. The head turns it into 2048 scores, the *logits*. The other rows' scores would predict tokens that are already there:''','''After the last layer only the last row goes on. The head turns it into 2048 scores, the *logits*. The scores of the other rows would predict tokens that are already there:''')
sub('''**Rows meet only in attention.** Norm, products, rotary and gate treat each row alone. So a row depends on itself and on the rows before it, and on nothing else: not on the rows after it, and
not on the number of threads. That is why the inside of the triangle comes out the same each time.''','''**Rows meet only in attention.** Norm, products, rotary and gate treat each row alone. So a row depends on itself and on the rows before it, but not on the rows after it or on the number of threads. For this reason the inside
of the triangle comes out the same each time.''')
sub('''We now take one layer with `hidden_size` 4 and one head of `head_dim` 4, and go through it on paper. The same numbers stand in `tests/by_hand.rs`, where the kernels compute them.''','''The paper model has one layer with `hidden_size` 4 and one head of `head_dim` 4. The test `tests/suite/by_hand.rs` computes the same numbers with the kernels.''')
sub('''Rows may be large or small; a product that follows likes them of one size. The *root mean square* of a row is what its name says, read backwards: square, mean, root.''','''Rows may be large or small, and the norm gives all of them one size for the product that follows. The *root mean square* of a row is the root of the mean of its squares.''')
sub('''(Weights 1, $\\varepsilon$ 0.) The mean of the numbers themselves is not subtracted (layer norm would, and would make token 2 a row of zeros). Each number then has a learned weight of its own. $\\varepsilon$ is a small
number *inside the root*: a row of zeros gives $0 / \\sqrt{\\varepsilon} = 0$ and not $0 / 0$.''','''(Weights 1, $\\varepsilon$ 0.) The mean of the numbers themselves is not subtracted. (Layer norm subtracts it, and would make token 2 a row of zeros.) Each number then has a learned weight of its own. $\\varepsilon$ is a small
number *inside the root*: a row of zeros gives $0 / \\sqrt{\\varepsilon} = 0$ and not $0 / 0$.

'''+blocks['05.1'])
sub('''Three products make three things of each normed row: a *query* (what am I looking for?), a *key* (what do I offer?) and a *value* (what do I hand over?). Products are lesson 02's, so
we take their results as given, and to see what position does we let all three tokens have the *same* query and key:''','''Three products make three vectors of each normed row. The *query* of a row is compared with the *keys* of other rows, and the comparison decides how much of their *values* the row takes over. The results of the products are given here. All three
tokens have the *same* query and key, so that only the position makes a difference:''')
sub('''Without anything more, "fox bites dog" and "dog bites fox" would be the same to attention: it sees a heap of keys. Rotary embedding gives each key and query its position by turning pairs
of numbers.''','''Without a position, "fox bites dog" and "dog bites fox" would be the same to attention, because it sees keys without an order. Rotary embedding gives each key and query its position by turning pairs
of numbers.''')
sub('''For our paper model we choose for pair 0 an angle with cosine 0.6 and
sine 0.8 (about 53°), and let pair 1 stand still.''','''In the paper model pair 0 has an angle with cosine 0.6 and
sine 0.8 (about 53°), and pair 1 stands still.''')
sub('''A turn changes no length: $3^2 + 4^2 = 5^2$. And now the point of it. The score of two heads is their dot product, and when both are turned only the *difference* of their angles is left. Query
2 with key 2: $-1.4 \\cdot (-0.28) + 4.8 \\cdot 0.96 = 5$, as if nothing had been turned. Query 1 with key 1: 5 again. Query 2 with key 1, one position back:
$3 \\cdot (-0.28) + 4 \\cdot 0.96 = 3$. Query 1 with key 0, also one back: $5 \\cdot 0.6 = 3$. Attention sees how far back a key is, and never where in the text.

Values are not turned: they are what is handed over, and nobody compares them.''','''A turn changes no length: $3^2 + 4^2 = 5^2$. The score of two heads is their dot product, and when both are turned only the *difference* of their angles is left. Query
2 with key 2: $-1.4 \\cdot (-0.28) + 4.8 \\cdot 0.96 = 5$, as without any turn. Query 1 with key 1: 5 again. Query 2 with key 1, one position back:
$3 \\cdot (-0.28) + 4 \\cdot 0.96 = 3$. Query 1 with key 0, also one back: $5 \\cdot 0.6 = 3$. Attention sees how far back a key is, but not where in the text.

Values are not turned, because they are not compared.

'''+blocks['05.2'])
sub('''Each row compares its query with the keys of the positions up to its own. A score is the dot product divided by the root of `head_dim`, here by 2, so that wide heads do not give larger
scores.''','''Each row compares its query with the keys of the positions up to its own. A score is the dot product divided by the root of `head_dim`, here by 2. The division keeps wide heads from giving larger
scores.''')
sub('''The weights add up to one, and the output is the values' mean with these weights.''','''The weights add up to one, and the output is the mean of the values with these weights.''')
sub('''**Causality is a length.** Row $i$ sees $i + 1$ positions. There is no mask of zeros and no minus infinity: the loop over positions ends there. What is not read can not leak.

Subtracting the largest score changes no weight, for $e^{x - m} = e^x / e^m$ and the $e^m$ cancels. But it keeps every exponent at or below zero: a score of 100 is ordinary, and $e^{89}$ is
no f32 any more.''','''**Causality is a length.** Row $i$ sees $i + 1$ positions. The loop over positions ends there, so a mask of zeros or minus infinities is not needed.

Subtracting the largest score changes no weight, since $e^{x - m} = e^x / e^m$ and the $e^m$ cancels. It keeps every exponent at or below zero: a score of 100 is ordinary, but $e^{89}$ is too large for an f32.''')
sub('''This is *grouped* attention. It changes little in what
the model can say, and halves the keys and values.''','''This is *grouped* attention. It halves the keys and values here and costs little quality.''')
sub('''After attention comes a product (`out`) and the sum is added to the residual stream.
''','''After attention comes a product (`out`), whose result is added to the residual stream.

'''+blocks['05.3']+'\n')
sub('''The second half of a layer widens the row to two times 688 numbers, *gate* and *up*, and multiplies the one, bent by $\\mathrm{silu}(x) = x / (1 + e^{-x})$, with the other. silu is near 0 for
very negative numbers and near $x$ for large ones, so the gate decides how much of each number passes. This one is given:''','''The second half of a layer widens the row to two times 688 numbers, *gate* and *up*, and multiplies $\\mathrm{silu}(\\mathrm{gate})$ with up, where $\\mathrm{silu}(x) = x / (1 + e^{-x})$. silu is near 0 for
very negative numbers and near $x$ for large ones, so the gate decides how much of each number passes. This function is given:''')
sub('''**The choice.** Before lesson 09 we always take the largest score: *greedy*. It is given, because of one trap: every comparison with NaN is false, so a plain search steps over a number that
is none, and damaged weights pass for a bad model.''','''**The choice.** Up to lesson 09 the loop takes the largest score: the *greedy* choice. The function is given, because of one trap: every comparison with NaN is false. A plain search steps over a NaN, and damaged weights
then look like a bad model.''')
sub('''**The loop** is exercise 05.4. The model hands it a closure; the closure is the whole of what the loop knows about models:''','''**The loop** is exercise 05.4. It gets a closure and knows nothing else about models:''')
a=s.index('**The text.** A token is a piece of bytes.'); b=s.index('```rust\n{{#include ../../lessons/05-generation/src/text.rs:push}}')
s=s[:a]+blocks['05.4']+'''

### From tokens to characters
A token is a piece of bytes. Most tokens are words or parts of words, but 你 is three bytes (`e4 bd a0`), and a vocabulary without a piece for it spells it in two or three
tokens. A program that writes out each token as it comes shows � two or three times and 你 never. So bytes wait until a character is complete:

'''+s[b:]
sub('''`take_complete_characters` is exercise 05.5: it appends the characters that are complete to the text, and says how many bytes these were.
''','''`take_complete_characters` appends the characters that are complete to the text, and returns the number of their bytes.

'''+blocks['05.5']+'\n')
sub('''The dashed line is the counted work, drawn so that it meets the last point: the time follows the work. The rule at the bottom is what one row costs alone, all that a
new token would need if the rows before it were known.

Before any of this is measured, the program warms up, for the first passes of a fresh process are slower: scratch memory is touched for the first time, threads start, code is read.''','''The dashed line is the counted work, drawn so that it meets the last point. The rule at the bottom is the time of one row alone. A new token would need no more than that if the rows before it were known.

### The first passes
The first passes of a fresh process are slower: scratch memory is touched for the first time, threads start, code is read. The story starts itself anew five times and times ten passes in each process.
On the recorded machine the first pass took {{#recorded 05 claims.M4.measured.value:.1}} times as long as a steady one. Every other measurement of this book warms up first.''')
sub('''{{#claims 05}}
''','''### What a pass waits for
A pass over few rows waits for the weights, a pass over many rows for the arithmetic. On the recorded machine both limits meet at {{#recorded 05 "steps.Compare it with the machine.values.they meet at:.1"}} multiply-adds for each byte of the default model.

So fewer bytes help where a pass waits for bytes. The same weights in bf16 take half of them, and the product widens each weight in a register. With `random:135m`, whose weights come from memory, one row was
{{#recorded 05 "steps.Halve the bytes.values.times.0:.2"}} times as fast and 128 rows {{#recorded 05 "steps.Halve the bytes.values.times.1:.2"}} times. The logits are equal to the last bit, because the file holds bf16 and the sums stay f32. On a GPU half precision also doubles the
arithmetic, so there long prompts gain too.

The same division gives an upper limit for any machine: tokens a second of one text ≤ bandwidth / bytes of the weights. Computed, not measured:

| weights | bytes | DDR4-3200, two channels: 51.2 GB/s | 600 GB/s | RTX 3090: 936 GB/s | A100 80 GB: 2039 GB/s | recorded machine |
|---|---|---|---|---|---|---|
| 7B, fp16 | 13.5 GB | CARD7F |
| 7B, 4 bits | 3.4 GB | CARD7Q |
| 13B, fp16 | 26 GB | CARD13F |
| 13B, 4 bits | 6.5 GB | CARD13Q |

**Try it.** Look up the memory bandwidth of your own machine or card and compute its row for 7B in fp16. A rule of thumb says that 30 % more bandwidth gives 30 % more tokens. By this formula that is exact for one text, as long as reading is the limit.

{{#claims 05}}
''')
for tag,m,d in (('CARD7F','7B','fp16'),('CARD7Q','7B','4 bits'),('CARD13F','13B','fp16'),('CARD13Q','13B','4 bits')):
    cells=' | '.join('{{#recorded 05 "steps.Halve the bytes.values.tokens a second, %s %s.%d:.1"}}'%(m,d,i) for i in range(5))
    sub(tag,cells)
sub('''At each token the model gives a share to every token that it knows. Here are the five best, as recorded from the default model, and the text that each of them would have led to. Step to a token and choose another candidate.
Look for three kinds of places: where one candidate has nearly everything (the grammar decides), where several are equal (a name, a kind of weather: any will do), and where a small
choice turns the whole story.''','''At each token the model gives a probability to every token of its vocabulary. The figure has the five best, as recorded from the default model, and the text that each of them would have led to. Step to a token and choose another candidate.
Look for three kinds of places: where one candidate has nearly everything (the grammar decides), where several are equal (a name, a kind of weather), and where a small choice changes the whole story.''')
# table of exercises stays
sub('''`cargo course start 05` makes your own copy in `work/lesson05`; `cargo course check 05.1` checks one exercise. Parts that you have not written yet are filled from the reference, so the lesson runs at
any time. All floats are compared within 1e-5 of the largest number; a plain loop passes.
''','''The exercises stand above, each behind its part of the chapter. `cargo course start 05` makes your own copy in `work/lesson05`; `cargo course check 05.1` checks one exercise. Parts that you have not written yet are filled from the reference, so the lesson runs at
any time. All floats are compared within 1e-5 of the largest number; a plain loop passes.
''')
sub('''- **"The model remembers."** Shown only the newest token, it continues that token alone. The loop passes everything, each time.
- **"It outputs words."** It outputs scores. Choosing, spelling and stopping are the loop's.
- **"Every row needs the head."** Only the last row's scores are wanted while a text is written. Scoring a known text wants them all (`forward_all`), and pays for them.''','''- **"The model remembers."** Shown only the newest token, it continues that token alone. The loop passes the whole text each time.
- **"It outputs words."** It outputs scores. The loop chooses, spells and stops.
- **"Every row needs the head."** While a text is written, only the scores of the last row are used. Scoring a known text needs all of them (`forward_all`) and pays for them.''')
sub('''3. Someone turns the values as well. What breaks?''','''3. A program turns the values as well. What breaks?''')
sub('''The output is a sum of values. If each was turned by its own position, the sum mixes numbers from different directions, and where a word stood would change what it says. Nothing undoes the turns, since values are
never compared.''','''The output is a sum of values. If each value is turned by its own position, the sum mixes numbers from different directions, and the content of a word depends on its position in the text. Nothing undoes the turns, since values are
not compared.''')
sub('''and there row 5 reads positions 0 to 5. Row 6 is never read by it.''','''and there row 5 reads positions 0 to 5, but not 6.''')
sub('''Rows meet only in attention, and what it reads of earlier rows are their keys and values, in each layer. Everything else of them is used in their own row and nowhere else. Keep that thought: it is the whole of lesson 06.''','''Attention reads the keys and values of earlier rows, in each layer. Everything else of a row is used in that row only. Lesson 06 is built on this.''')
sub('''Sixty-four tokens, and 97 % of the rows were computed before. Each step threw its keys and values away, and the next one computed the same numbers again. What may be kept? That is lesson 06. The rule in the chart
says what there is to win.

Another way to go on is lesson 09, which needs only this chapter: how to choose a token other than the first.''','''For sixty-four tokens, 97 % of the rows were computed before. Each step threw its keys and values away, and the next step computed the same numbers again. What may be kept? That is lesson 06. The rule in the chart
shows how much there is to win.

Lesson 09, how to choose another token than the first, needs only this chapter.''')
open(p,'w').write(s)
