import re,glob,sys
UN={'ms','µs','s','%','GB/s','GFLOP/s','seconds'}
def clean(l):
    l=re.sub(r'\{\{#.*?\}\}',' X ',l); l=re.sub(r'\$[^$]*\$',' M ',l); l=re.sub(r'`[^`]*`',' C ',l); return l
def isdec(w):
    w=w.strip('()*,;:|"≈~'); return re.fullmatch(r'\d+\.\d+',w)
for f in sorted(glob.glob('book/src/*.md')+glob.glob('book/src/teaching/*.md')+glob.glob('lessons/*/course.toml')):
    fence=False
    for i,l in enumerate(open(f),1):
        if l.lstrip().startswith('```'): fence=not fence; continue
        if fence: continue
        for sent in re.split(r'(?<=[.!?;])\s',clean(l)):
            w=sent.split()
            for a,b,c in zip(w,w[1:],w[2:]+['']):
                if isdec(a) and b.startswith('times') and re.match(r'(as|one|faster|slower|longer|less|that|the)\b',c): print('A',f,i,a,b,c)
                if isdec(a) and b.rstrip('.,;:)') in UN and re.search(r'\b(recorded|measured)\b',sent): print('C',f,i,sent.strip()[:150])
