import re,glob
pat=re.compile(r'(?<![\w.{#:/-])(\d+(?:[ \u00a0]\d{3})*(?:\.\d+)?)(?:\s| |\u00a0)*(ms|µs|GB/s|GFLOP/s|TFLOP/s|tokens a second|requests a second|times (?:as|faster|slower|the time|one row|longer|less))\b')
tot={}
for f in sorted(glob.glob('book/src/*.md')+glob.glob('book/src/teaching/*.md')):
    fence=False
    for i,l in enumerate(open(f),1):
        if l.lstrip().startswith('```'): fence=not fence; continue
        if fence: continue
        s=re.sub(r'\{\{#.*?\}\}','X',l)
        s=re.sub(r'\$[^$]*\$','M',s)
        for m in pat.finditer(s):
            tot.setdefault(f,[]).append((i,s[max(0,m.start()-50):m.end()+25].strip()))
for f in tot:
    print(f,len(tot[f]))
    for t in tot[f]: print('   ',t)
