package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

func TestErrorNamesPathAndValue(t *testing.T) {
	deep := struct {
		Connectors []struct {
			Tools []tool                    `json:"tools"`
			Meta  map[string]map[string]int `json:"meta"`
		} `json:"connectors"`
	}{}
	for doc, want := range map[string]string{
		`{"connectors":[{"tools":[{"name":"a"},{"name":1}]}]}`:    `$.connectors[0].tools[1].name: wrong type (a number, expected a string)`,
		`{"connectors":[{"tools":[{"nme":"a"}]}]}`:                `$.connectors[0].tools[0]: unknown key: "nme"`,
		`{"connectors":[{"tools":[{"Name":"a"}]}]}`:               `$.connectors[0].tools[0]: folded key: "Name" (differs from "name" only by case or folding)`,
		`{"connectors":[{"meta":{"a b":{"c":1.5}}}]}`:             `$.connectors[0].meta["a b"].c: not integer: "1.5"`,
		`{"connectors":[{"meta":{"a":{"c":99999999999999999}}}]}`: `$.connectors[0].meta.a.c: out of range: "99999999999999999"`,
		`{"connectors":[]} x`:                                     `$: trailing data: "x"`,
	} {
		if err := strictjson.Decode([]byte(doc), &deep); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", doc, err, want)
		}
	}
}

func TestErrorShortensHostileValues(t *testing.T) {
	long := strings.Repeat("é", 1000)
	err := strictjson.Decode([]byte(`{"`+long+`":1}`), new(manifest))
	if len(err.Error()) > 300 || !strings.Contains(err.Error(), "é…") {
		t.Errorf("error is %d bytes: %.100s", len(err.Error()), err)
	}
	err = strictjson.Decode([]byte(`{"labels":{"`+long+`":1}}`), new(manifest))
	if len(err.Error()) > 400 {
		t.Errorf("path is %d bytes", len(err.Error()))
	}
}

func TestLimits(t *testing.T) {
	doc := []byte(`[[["0123456789"]]]`)
	for _, tc := range []struct {
		name string
		opts []strictjson.Option
		want error
	}{
		{"fits exactly", []strictjson.Option{strictjson.MaxBytes(len(doc)), strictjson.MaxDepth(3)}, nil},
		{"one byte over", []strictjson.Option{strictjson.MaxBytes(len(doc) - 1)}, strictjson.TooLarge},
		{"one level over", []strictjson.Option{strictjson.MaxDepth(2)}, strictjson.TooDeep},
		{"no level at all", []strictjson.Option{strictjson.MaxDepth(0)}, strictjson.TooDeep},
	} {
		if err := strictjson.Check(doc, tc.opts...); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if err := strictjson.Check(make([]byte, strictjson.DefaultMaxBytes+1)); !errors.Is(err, strictjson.TooLarge) {
		t.Errorf("default size limit: %v", err)
	}
	siblings := "[" + strings.Repeat("[],", 1000) + "[]]"
	if err := strictjson.Check([]byte(siblings), strictjson.MaxDepth(2)); err != nil {
		t.Errorf("siblings count as depth: %v", err)
	}
}

// pageTexts are strings that real and hostile pages hold.
func pageTexts() []string {
	return []string{
		"\u2028\u2029", "\ufdd0\ufffe\uffff\U0010ffff", "a\u0301á", "\x00\x01\x1f\x7f\u0085", "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
		"\u202egnp.exe\u2066x\u2069", "שלום\u200f عربى", "\ufeff", "\u200b\u2060\u00ad", "\"\\/\b\f\n\r\t", "\ufffd", "<script>'&",
	}
}

func TestAnyTextNeverFailsOnText(t *testing.T) {
	for _, text := range pageTexts() {
		for _, escape := range []bool{false, true} {
			doc := struct {
				Text string   `json:"text"`
				Rows []string `json:"rows"`
			}{text, []string{text}}
			data, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if escape {
				data = toASCII(data)
			}
			got := doc
			got.Text, got.Rows = "", nil
			if err := strictjson.Decode(data, &got, strictjson.AnyText()); err != nil {
				t.Errorf("%q: %v", text, err)
			} else if !reflect.DeepEqual(got, doc) {
				t.Errorf("%q decodes as %q", text, got)
			}
		}
	}
}

// toASCII escapes what is not ASCII, as many writers of JSON do.
func toASCII(data []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		}
	}
	return b.Bytes()
}

func TestTextOptionsLeaveTheOtherRules(t *testing.T) {
	text, keys := strictjson.AnyText(), strictjson.AnyKeys()
	for _, tc := range []struct {
		doc  string
		opts []strictjson.Option
		want error
	}{
		{`{"labels":{"a\u0000":"x"}}`, []strictjson.Option{text}, strictjson.ControlCharacter},
		{`{"labels":{"a\u0000":"x"}}`, []strictjson.Option{text, keys}, nil},
		{`{"labels":{"a":"1","A":"2"}}`, []strictjson.Option{text}, strictjson.FoldedKey},
		{`{"labels":{"a":"1","A":"2"}}`, []strictjson.Option{keys}, nil},
		{`{"labels":{"a":"1","\u0061":"2"}}`, []strictjson.Option{text, keys}, strictjson.DuplicateKey},
		{`{"labels":{"a":"\u0000"}}`, []strictjson.Option{keys}, strictjson.ControlCharacter},
		{`{"ID":"x"}`, []strictjson.Option{text, keys}, strictjson.FoldedKey},
		{`{"idd":"x"}`, []strictjson.Option{text, keys}, strictjson.UnknownKey},
		{`{"id":"\ud800"}`, []strictjson.Option{text, keys}, strictjson.LoneSurrogate},
	} {
		if err := strictjson.Decode([]byte(tc.doc), new(manifest), tc.opts...); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.doc, err, tc.want)
		}
	}
}

type Common struct {
	Name  string `json:"name"`
	Shade string
}

type Other struct {
	Shade string
	Deep  int `json:"deep"`
}

type word string

type shapes struct {
	Common
	*Other
	Ptr     **int             `json:"ptr"`
	List    []*Common         `json:"list"`
	Fixed   [2]int8           `json:"fixed"`
	Bytes   []byte            `json:"bytes"`
	Words   map[word][]string `json:"words"`
	When    time.Time         `json:"when"`
	Addr    netip.Addr        `json:"addr"`
	Num     json.Number       `json:"num"`
	Any     any               `json:"any"`
	F32     float32           `json:"f32"`
	Quoted  int               `json:"quoted,string"`
	NotTag  string            `json:",omitempty"`
	Dash    string            `json:"-,"` //nolint:staticcheck // the key "-", spelled as older code does
	private string
}

func TestShapes(t *testing.T) {
	doc := `{"name":"n","deep":3,"ptr":7,"list":[{"name":"x","Shade":"y"},null],"fixed":[1,-128],"bytes":"AAE=",
		"words":{"a":["b"],"":null},"when":"2026-01-02T03:04:05Z","addr":"127.0.0.1","num":1.5e3,
		"any":{"k":[1,true,null,"s"]},"f32":1.5,"quoted":"12","NotTag":"t","-":"d"}`
	var got, want shapes
	if err := strictjson.Decode([]byte(doc), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(doc), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || got.private != "" {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestShapesRefused(t *testing.T) {
	for doc, want := range map[string]strictjson.Reason{
		`{"Shade":"x"}`:                 strictjson.UnknownKey, // in two embedded structs: encoding/json drops it
		`{"Common":{"name":"x"}}`:       strictjson.UnknownKey,
		`{"private":"x"}`:               strictjson.UnknownKey,
		`{"deep":1,"DEEP":2}`:           strictjson.FoldedKey,
		`{"fixed":[1]}`:                 strictjson.WrongType,
		`{"fixed":[1,2,3]}`:             strictjson.WrongType,
		`{"fixed":[1,128]}`:             strictjson.OutOfRange,
		`{"fixed":null}`:                strictjson.WrongType,
		`{"bytes":"AAE"}`:               strictjson.WrongType,
		`{"bytes":"AAF="}`:              strictjson.WrongType, // spare bits set
		`{"bytes":"AA\nE="}`:            strictjson.WrongType,
		`{"bytes":[0,1]}`:               strictjson.WrongType,
		`{"words":[]}`:                  strictjson.WrongType,
		`{"words":{"a":"b"}}`:           strictjson.WrongType,
		`{"when":"yesterday"}`:          strictjson.WrongType,
		`{"addr":7}`:                    strictjson.WrongType,
		`{"addr":"localhost"}`:          strictjson.WrongType,
		`{"addr":null}`:                 strictjson.WrongType,
		`{"num":"1"}`:                   strictjson.WrongType,
		`{"f32":1e39}`:                  strictjson.OutOfRange,
		`{"any":1e400}`:                 strictjson.OutOfRange,
		`{"any":{"a":1,"a":2}}`:         strictjson.DuplicateKey,
		`{"quoted":12}`:                 strictjson.WrongType,
		`{"ptr":1.5}`:                   strictjson.NotInteger,
		`{"list":[{"name":"x"},false]}`: strictjson.WrongType,
		`true`:                          strictjson.WrongType,
		`null`:                          strictjson.WrongType,
	} {
		var v shapes
		if err := strictjson.Decode([]byte(doc), &v); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
		if !reflect.ValueOf(v).IsZero() {
			t.Errorf("%s: refused, and yet the destination changed", doc)
		}
	}
}

func TestBadDestination(t *testing.T) {
	dirty := tool{Name: "left over"}
	var hidden any = &tool{}
	for name, v := range map[string]any{
		"nil":              nil,
		"no pointer":       tool{},
		"nil pointer":      (*tool)(nil),
		"not zero":         &dirty,
		"filled interface": &hidden, // encoding/json would decode into the tool by folded keys
		"integer keys":     new(map[int]string),
		"method on keys":   new(map[netip.Addr]string),
	} {
		if err := strictjson.Decode([]byte(`{"1":"x"}`), v); !errors.Is(err, strictjson.BadDestination) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dirty.Name != "left over" {
		t.Error("a refused destination changed")
	}
	for _, v := range []any{new(chan int), new(fmt.Stringer), new(func())} {
		if err := strictjson.Decode([]byte(`{}`), v); err == nil {
			t.Errorf("%T: decoded", v)
		}
	}
}

func TestManyKeysKeepTheRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 50_000 {
		fmt.Fprintf(&b, `"key%d":0,`, i)
	}
	for tail, want := range map[string]error{
		`"last":0}`:      nil,
		`"key3":0}`:      strictjson.DuplicateKey,
		`"key49999":0}`:  strictjson.DuplicateKey,
		`"Key7":0}`:      strictjson.FoldedKey,
		`"\u212aey8":0}`: strictjson.FoldedKey,
	} {
		if err := strictjson.Check([]byte(b.String() + tail)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", tail, err, want)
		}
	}
}

func TestReplaceLoneSurrogates(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud800"`:              `"\ufffd"`,
		`"\uDFFFx"`:             `"\ufffdx"`,
		`"\ud83d\ude00"`:        `"\ud83d\ude00"`,
		`"\ud83d\ud83d\ude00"`:  `"\ufffd\ud83d\ude00"`,
		`"\ude00\ud83d"`:        `"\ufffd\ufffd"`,
		`"\\ud800"`:             `"\\ud800"`,
		`"\\\ud800"`:            `"\\\ufffd"`,
		`"\ud800\\udc00"`:       `"\ufffd\\udc00"`,
		`"\ud800\n\udc00"`:      `"\ufffd\n\ufffd"`,
		`{"\ud800":["\udc00"]}`: `{"\ufffd":["\ufffd"]}`,
		`"\ud80`:                `"\ud80`,
		`"\`:                    `"\`,
		``:                      ``,
	} {
		data := []byte(in)
		if got := strictjson.ReplaceLoneSurrogates(data); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		if string(data) != in {
			t.Errorf("%s: the caller's bytes changed", in)
		}
	}
}
