#!/usr/bin/env python3
"""Makes overlap.json: BLEU and ROUGE-L of some texts by the usual packages.

    python3 -m pip install sacrebleu==2.6.0 rouge-score==0.1.2
    python3 overlap.py > overlap.json

Texts are split at white space, by us, so that the golden values test the metric and not the tokenizer.
"""

import json

from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU


class Spaces:
    def tokenize(self, text):
        return text.split()


CASES = {
    "equal": (["the fox saw a red kite ."], ["the fox saw a red kite ."]),
    "one word": (["the fox saw a blue kite by the pond ."], ["the fox saw a red kite by the pond ."]),
    "order": (["a kite the fox saw red ."], ["the fox saw a red kite ."]),
    "shorter": (["the fox saw a red kite"], ["one day the fox saw a red kite by the pond and laughed"]),
    "longer": (["one day the fox saw a red kite by the pond and laughed"], ["the fox saw a red kite"]),
    "clipped": (["the the the the the the the"], ["the cat is on the mat"]),
    "no pair in common": (["kite red a saw fox"], ["fox saw a red kite"]),
    "two words": (["red kite"], ["red kite"]),
    "nothing in common": (["an owl sang"], ["the fox saw a red kite"]),
    "corpus": (
        [
            "mia found a green ball in the garden . she was very happy .",
            "tom and ben ate all the cakes and sang until late",
            "it was in the barn .",
        ],
        [
            "mia found a golden ball in the forest . she was so happy .",
            "tom and leo ate all the pies and played games until late .",
            "it was behind the church .",
        ],
    ),
}

bleu = BLEU(tokenize="none", smooth_method="exp", effective_order=True)
rouge = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Spaces())
out = []
for name, (candidates, references) in CASES.items():
    out.append(
        {
            "name": name,
            "candidates": candidates,
            "references": references,
            "bleu": bleu.corpus_score(candidates, [references]).score / 100,
            "rouge_l": [rouge.score(r, c)["rougeL"].fmeasure for c, r in zip(candidates, references)],
        }
    )
print(json.dumps(out, indent=1))
