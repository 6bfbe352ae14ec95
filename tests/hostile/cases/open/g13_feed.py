from caselib import *

G = "feed"


def X(fmt, items, fields=None):
    return {"kind": "export", "format": fmt, "items": items, "fields": fields}


case(
    "386-csv-quotes-newlines",
    group=G,
    source="scrapy/scrapy#2672",
    title="CSV values with newlines, quotes, commas; no blank lines between rows",
    symptom="Extra blank lines (on Windows), or rows torn apart.",
    why="RFC 4180: such fields are quoted, quotes doubled.",
    task=X("csv", [{"a": "x\ny", "b": 'say "hi", ok'}, {"a": "2", "b": "\u00fc"}], ["a", "b"]),
    expect={"csv": [["a", "b"], ["x\ny", 'say "hi", ok'], ["2", "\u00fc"]]},
)

case(
    "388-late-field",
    group=G,
    source="scrapy/scrapy#4002",
    title="a field that only a later item has",
    symptom="The header came from the first item; other fields were silently lost.",
    why="Losing data silently is the worst answer. Either all columns, or a warning (Scrapy 2.14+) and the rule that fields are to be declared.",
    disputed=True,
    task=X("csv", [{"name": "A"}, {"name": "B", "age": 30}]),
    expect={"any": [{"csv": [["name", "age"], ["A", ""], ["B", "30"]]}, {"warned": True}, {"error": "*"}]},
)

case(
    "390-huge-int-json",
    group=G,
    source="scrapy/scrapy#1737",
    title="huge ints, bools, None and dates in JSON Lines",
    symptom="Values were turned into their repr, or lost precision.",
    why="JSON numbers keep the digits; dates become strings.",
    task=X("jsonl", [{"n": 123456789012345678901234567890, "b": True, "z": None, "d": {"$date": "2024-05-06T07:08:09"}}]),
    expect={"jsonl_has": [{"n": 123456789012345678901234567890, "b": True, "z": None}], "text_has": ["2024-05-06"]},
)

case(
    "392-lone-surrogate",
    group=G,
    source="scrapy/scrapy#4755",
    title="a lone surrogate in one item does not lose the feed",
    symptom="UnicodeEncodeError: the export stopped at that item.",
    why="The item may be escaped or replaced; its neighbours must arrive.",
    task=X("jsonl", [{"a": "first"}, {"a": "bad \ud83d end"}, {"a": "last"}]),
    expect={"text_has": ["first", "last"]},
)

case(
    "394-no-items",
    group=G,
    source="scrapy/scrapy#2258",
    title="a feed without items is still valid",
    symptom="An empty file that is no JSON.",
    why="[] is the empty list (or no file at all).",
    disputed=True,
    task=X("json", []),
    expect={"any": [{"json_text": []}, {"export_empty": True}]},
)

case(
    "396-falsy-and-bytes",
    group=G,
    source="scrapy/scrapy#1738",
    title="0, False, empty string and None are different in a feed",
    symptom="Falsy values vanished, non-strings raised in the XML exporter.",
    why="JSON keeps the types.",
    task=X("json", [{"i": 0, "f": False, "s": "", "n": None, "l": []}]),
    expect={"json_text": [{"i": 0, "f": False, "s": "", "n": None, "l": []}]},
)
