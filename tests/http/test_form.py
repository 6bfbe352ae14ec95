"""Forms and JSON are sent as browsers send them."""

from __future__ import annotations

import email.parser
import email.policy
import json
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openoctopus.exceptions import InvalidRequest
from openoctopus.http import FormRequest, JsonRequest, Request

URL = "http://example.com/submit"


def sent(formdata: Any, **options: Any) -> str:
    return FormRequest(URL, formdata=formdata, **options).body.decode("ascii")


def parts(request: Request) -> list[tuple[Message, bytes]]:
    """Header and content of each part of a multipart body."""
    kind, _, boundary = request.headers["Content-Type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    pieces = request.body.split(f"--{boundary}".encode())
    assert pieces[0] == b""
    assert pieces[-1] == b"--\r\n"
    parser = email.parser.BytesHeaderParser(policy=email.policy.compat32)
    split = [piece.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n") for piece in pieces[1:-1]]
    return [(parser.parsebytes(head), content) for head, _, content in split]


def dispositions(request: Request) -> list[str]:
    return [head["Content-Disposition"] for head, _ in parts(request)]


# Url-encoded


def test_a_form_is_posted_url_encoded() -> None:
    request = FormRequest(URL, formdata={"user": "a b", "n": 1, "skip": None})

    assert (request.method, request.url) == ("POST", URL)
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.body == b"user=a+b&n=1"


@pytest.mark.parametrize(
    ("formdata", "body"),
    [
        ({"a": ["1", "2"], "b": ("3",)}, "a=1&a=2&b=3"),
        ([("k", "1"), ("x", ""), ("k", "2")], "k=1&x=&k=2"),
        (iter([("k", "1")]), "k=1"),
        ({"a": ["1", None]}, "a=1"),
        ({"a": "*-._ ~!'()"}, "a=*-._+%7E%21%27%28%29"),
        ({"a&b": "c=d"}, "a%26b=c%3Dd"),
        ({"a": "中"}, "a=%E4%B8%AD"),
        ({"a": b"\xd6\xd0"}, "a=%D6%D0"),
        ({"a": "x\ny\r\nz\rw"}, "a=x%0D%0Ay%0D%0Az%0D%0Aw"),
        ({"a": True, "b": 1.5, 3: "c"}, "a=True&b=1.5&3=c"),
    ],
)
def test_names_and_values_are_encoded_as_the_standard_says(formdata: Any, body: str) -> None:
    assert sent(formdata) == body


@pytest.mark.parametrize(
    ("text", "encoding", "encoded"),
    [
        ("中", "gbk", "%D6%D0"),
        ("é", "windows-1252", "%E9"),
        ("é", "utf-16", "%C3%A9"),
        ("中", "latin-1", "%26%2320013%3B"),
        ("😀", "shift_jis", "%26%23128512%3B"),
    ],
)
def test_the_encoding_of_the_page_is_used(text: str, encoding: str, encoded: str) -> None:
    assert sent({text: text}, encoding=encoding) == f"{encoded}={encoded}"


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1),
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")),
        )
    )
)
def test_a_server_reads_what_was_given(pairs: list[tuple[str, str]]) -> None:
    assert parse_qsl(sent(pairs), keep_blank_values=True, strict_parsing=bool(pairs)) == pairs


def test_a_method_may_be_given() -> None:
    assert FormRequest(URL, method="PUT", formdata={"a": "1"}).body == b"a=1"
    assert FormRequest(URL, "parse", "PUT", formdata={"a": "1"}).method == "PUT"
    assert FormRequest(URL, formdata={"a": "1"}, headers={"content-type": "x/y"}).headers.getlist("Content-Type") == ["x/y"]


def test_without_data_it_is_a_plain_get() -> None:
    for empty in (None, {}, [], {"a": None}):
        request = FormRequest(URL, formdata=empty)
        assert (request.method, request.url, request.body, len(request.headers)) == ("GET", URL, b"", 0)


@pytest.mark.parametrize("method", ["GET", "get", "HEAD"])
def test_a_get_form_replaces_the_query(method: str) -> None:
    request = FormRequest(f"{URL}?old=1#part", method=method, formdata={"q": "a b", "p": "é"})

    assert request.url == f"{URL}?q=a+b&p=%C3%A9#part"
    assert request.body == b""
    assert "Content-Type" not in request.headers


@pytest.mark.parametrize("formdata", ["a=b", b"a=b", 3, [1], ["abc"], [("a", "b", "c")]])
def test_what_is_no_form_is_refused(formdata: Any) -> None:
    with pytest.raises(InvalidRequest, match="formdata is a mapping or"):
        FormRequest(URL, formdata=formdata)


def test_a_url_is_checked_as_ever() -> None:
    with pytest.raises(InvalidRequest, match="URL"):
        FormRequest(None, formdata={"a": "b"}, method="GET")  # type: ignore[arg-type]


# Multipart


def test_files_are_sent_as_multipart(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    path.write_bytes(b"\x89PNG\r\n--")
    request = FormRequest(URL, formdata={"a": "1", "b": "x\ny"}, files={"pic": path, "raw": b"\0\xff"})

    assert request.method == "POST"
    assert [(head["Content-Disposition"], head["Content-Type"], content) for head, content in parts(request)] == [
        ('form-data; name="a"', None, b"1"),
        ('form-data; name="b"', None, b"x\r\ny"),
        ('form-data; name="pic"; filename="photo.png"', "image/png", b"\x89PNG\r\n--"),
        ('form-data; name="raw"; filename="raw"', "application/octet-stream", b"\0\xff"),
    ]


def test_a_file_may_have_a_name_and_a_type() -> None:
    request = FormRequest(URL, files={"f": ("a.csv", b"1"), "g": ("b.bin", b"2", "text/x-own; charset=gbk"), "h": ("", b"")})

    assert [(head["Content-Disposition"], head["Content-Type"]) for head, _ in parts(request)] == [
        ('form-data; name="f"; filename="a.csv"', "text/csv"),
        ('form-data; name="g"; filename="b.bin"', "text/x-own; charset=gbk"),
        ('form-data; name="h"; filename=""', "application/octet-stream"),
    ]


def test_several_files_may_have_one_name() -> None:
    request = FormRequest(URL, files={"f": [("a.txt", b"1"), b"2"]})
    assert dispositions(request) == ['form-data; name="f"; filename="a.txt"', 'form-data; name="f"; filename="f"']


def test_names_cannot_break_out_of_their_line() -> None:
    request = FormRequest(URL, formdata={'a"b\r\nX: y': "1"}, files={"c\nd": ('e"\r\n\r\nf.txt', b"2")})

    assert dispositions(request) == [
        'form-data; name="a%22b%0D%0AX: y"',
        'form-data; name="c%0D%0Ad"; filename="e%22%0D%0A%0D%0Af.txt"',
    ]
    with pytest.raises(InvalidRequest, match="not a content type"):
        FormRequest(URL, files={"f": ("a", b"1", "text/plain\r\nX: y")})


def test_names_are_written_in_the_encoding() -> None:
    assert '照片.jpg"'.encode() in FormRequest(URL, files={"f": ("照片.jpg", b"")}).body
    assert '照片.jpg"'.encode("gbk") in FormRequest(URL, files={"f": ("照片.jpg", b"")}, encoding="gbk").body
    assert b'&#29031;.jpg"' in FormRequest(URL, files={"f": ("照.jpg", b"")}, encoding="latin-1").body


def test_the_boundary_is_new_and_wins_over_a_content_type_given() -> None:
    one, other = (FormRequest(URL, files={"f": b"1"}, headers={"Content-Type": "multipart/form-data"}) for _ in range(2))

    assert one.headers["Content-Type"] != other.headers["Content-Type"]
    assert parts(one.replace(files={"f": b"2"}))[0][1] == b"2"


@pytest.mark.parametrize("content", ["text", 3, None, ("a",), ("a", "text"), ("a", b"", "t", "x")])
def test_what_is_no_file_is_refused(content: Any) -> None:
    with pytest.raises(InvalidRequest, match="a file to send is bytes or a Path, not"):
        FormRequest(URL, files={"f": content})


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        FormRequest(URL, files={"f": tmp_path / "gone.txt"})


# JSON


def test_data_is_posted_as_json() -> None:
    request = JsonRequest(URL, data={"a": "中", "b": [1, None]})

    assert request.method == "POST"
    assert request.body == '{"a": "中", "b": [1, null]}'.encode()
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Accept"].startswith("application/json")


@pytest.mark.parametrize("data", [{}, [], 0, "", False])
def test_empty_data_is_data(data: Any) -> None:
    request = JsonRequest(URL, data=data)
    assert request.method == "POST"
    assert json.loads(request.body) == data


def test_json_may_be_written_in_ones_own_way() -> None:
    options = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": True}
    assert JsonRequest(URL, data={"b": "é", "a": 1}, dumps_kwargs=options).body == b'{"a":1,"b":"\\u00e9"}'
    assert JsonRequest(URL, data={1, 2}, dumps_kwargs={"default": sorted}).body == b"[1, 2]"


def test_headers_and_method_given_stay() -> None:
    request = JsonRequest(URL, "parse", "PUT", {"content-type": "application/vnd.api+json", "Accept": "*/*"}, data=1)

    assert request.method == "PUT"
    assert request.headers.raw == [("content-type", "application/vnd.api+json"), ("Accept", "*/*")]


def test_without_data_json_is_only_asked_for() -> None:
    request = JsonRequest(URL)
    assert (request.method, request.body) == ("GET", b"")
    assert JsonRequest(URL, method="POST", body=b"{}").body == b"{}"


@pytest.mark.parametrize("data", [{1, 2}, float("nan"), object(), {"a": "\ud800"}, {(1, 2): 3}])
def test_what_is_no_json_is_refused(data: Any) -> None:
    with pytest.raises(InvalidRequest, match="data cannot be sent as JSON"):
        JsonRequest(URL, data=data)


def test_data_and_body_exclude_each_other() -> None:
    with pytest.raises(InvalidRequest, match="give data= or body=, not both"):
        JsonRequest(URL, data=1, body=b"1")


def test_replace_keeps_the_body_or_makes_another() -> None:
    request = JsonRequest(URL, data={"page": 1})

    assert request.replace(url=f"{URL}2").body == b'{"page": 1}'
    assert request.replace(data={"page": 2}).body == b'{"page": 2}'
    form = FormRequest(URL, formdata={"a": "1"})
    assert (form.copy().body, form.copy().method) == (b"a=1", "POST")
    assert form.replace(formdata={"a": "2"}).body == b"a=2"
