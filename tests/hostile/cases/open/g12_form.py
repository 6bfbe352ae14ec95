from caselib import *

G = "form"
END = ok("sent")


def form(inner, attrs='action="submit" method="post"', outside="", **kw):
    return {"": doc(f"<form {attrs}>{inner}</form>{outside}", **kw), "*": END}


def T(data=None, **kw):
    return {"kind": "form", "form": {"index": 0, "data": data or {}, **kw}}


def sent(*pairs, method="POST", **kw):
    return {"log": {"form_sent": {"n": 1, "method": method, "pairs": [list(p) for p in pairs], **kw}}}


case(
    "361-select-and-checkbox-defaults",
    group=G,
    source="MechanicalSoup/MechanicalSoup#28",
    title="defaults of select, checkbox and radio",
    symptom="Checkboxes without a value were sent empty, unchecked ones were sent, the default option was missing.",
    why="HTML form submission: first option of a single select; on for a checkbox without value; unchecked ones are left out.",
    serve=form(
        "<select name=s><option value=1>a<option value=2>b</select><select name=t><option>x<option selected>y</select>"
        "<input type=checkbox name=c1 checked><input type=checkbox name=c2 value=v2><input type=radio name=r value=1><input type=radio name=r value=2 checked>"
    ),
    task=T(),
    expect=sent(("s", "1"), ("t", "y"), ("c1", "on"), ("r", "2")),
)

case(
    "363-textarea-newlines",
    group=G,
    source="scrapy/scrapy#2572",
    title="textarea: the first newline is dropped, line ends are CRLF",
    symptom="The posted text had a newline too many or line ends of the wrong kind.",
    why="HTML parsing drops one newline after the tag; the entry list normalises newlines to CRLF.",
    serve=form("<textarea name=t>\nline 1\nline 2</textarea>"),
    task=T(),
    expect=sent(("t", "line 1\r\nline 2")),
)

case(
    "365-get-form-replaces-query",
    group=G,
    source="scrapy/scrapy#1179",
    title="a GET form replaces the query of its action",
    symptom="The old query of the URL stayed in front: parameters doubled with every page.",
    why="HTML form submission (mutate action URL): the query is replaced.",
    serve={
        "": doc('<form action="search?old=1&amp;q=0" method=get><input name=q value="a b"><input name=page value=2></form>'),
        "*": END,
    },
    task=T({"q": "new"}),
    expect=sent(("q", "new"), ("page", "2"), method="GET", rest_path="search"),
)

case(
    "367-disabled-fields",
    group=G,
    source="lxml/lxml#197",
    title="disabled fields are not sent",
    symptom="Disabled inputs were part of the request; the server refused it.",
    why="HTML: disabled controls, and those in a disabled fieldset, are barred.",
    serve=form(
        "<input name=a value=1><input name=b value=2 disabled><fieldset disabled><input name=c value=3></fieldset><input value=noname>"
    ),
    task=T(),
    expect=sent(("a", "1")),
)

case(
    "369-one-button-only",
    group=G,
    source="scrapy/scrapy#1897",
    title="only the pressed button is sent",
    symptom="All buttons were sent as if pressed at once.",
    why="HTML: only the submitter is part of the entry list.",
    serve=form(
        "<input name=a value=1><button name=b type=button value=no>n</button><input type=reset name=r value=x><input type=submit name=go value=Save><input type=submit name=go value=Delete>"
    ),
    task=T(click={"value": "Delete"}),
    expect=sent(("a", "1"), ("go", "Delete")),
)

case(
    "371-repeated-key",
    group=G,
    source="scrapy/scrapy#3247",
    title="the same key twice in the data",
    symptom="A dict was made of the pairs, one value was lost.",
    why="Forms allow it; pairs are pairs.",
    serve=form("<input name=tok value=t>"),
    task=T([["k", "1"], ["k", "2"]]),
    expect=sent(("tok", "t"), ("k", "1"), ("k", "2")),
)

case(
    "373-form-attribute",
    group=G,
    source="gushonorato/mechanize#9",
    title='a field outside the form with form="id"',
    symptom="Fields that belong to the form by attribute were missing.",
    why="HTML: form-associated elements have a form owner by id.",
    serve={
        "": doc(
            '<form id=f1 action="submit" method="POST"><input name=a value=1></form><input name=b value=2 form=f1><form id=f2><input name=c value=3 form=f1></form>'
        ),
        "*": END,
    },
    task=T(),
    expect=sent(("a", "1"), ("b", "2"), ("c", "3")),
)

case(
    "375-no-form-no-guess",
    group=G,
    source="scrapy/scrapy#1163",
    title="a form that is not there is an error",
    symptom="The first form of the page was sent instead.",
    why="Sending something else than asked is worse than an error.",
    serve=form("<input name=a value=1>"),
    task={"kind": "form", "form": {"id": "login", "data": {}}},
    expect={"error": "*", "log": {"requests": 1}},
)
