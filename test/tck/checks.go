package tck

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
)

// text comes back as it was: astral, combining, controls, what JSON escapes, much.
func (k *kit) text(t *testing.T) {
	for _, s := range []string{
		"", "żółć", "😀𝔘", "e\u0301\u200d", "\"\\/\b\f\n\r\t\u0000\u001f\u2028", strings.Repeat("ab😀", 100_000),
	} {
		arg, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		out := k.call(t, "tck.echo", string(arg), nil)
		same(t, "echo", out.Result, string(arg))
	}
	// A lone surrogate is no text, and the host refuses it: it becomes U+FFFD.
	out := k.call(t, "tck.echo", `{"text":"a\ud800b"}`, nil)
	same(t, "lone surrogate", out.Result, `{"text":"a\ufffdb"}`)
}

// What comes with the call is told, and nothing stays from the call before.
func (k *kit) context(t *testing.T) {
	for range 3 {
		out := k.call(t, "tck.context", `{}`, nil)
		same(t, "context", out.Result, `{"now":1767323045000,"locale":"en-GB","base_url":"https://x.example","missing":"","calls":1}`)
	}
}

// The requests are exactly these: every step kind, with no member that abi lacks.
func (k *kit) steps(t *testing.T) {
	const done = `{"ok":true,"data":{"rows":{"cols":["id","title"],"rows":[]},"picture":"image:4QRSTUVWXYZ23456"}}`
	for tool, want := range map[string]struct{ call, request string }{
		"tck.read": {"read", `{"v":1,"steps":[{"op":"navigate","path":"/issues?q=ż","wait":"#issues"},{"op":"wait","selector":".spinner","state":"detached"},
			{"op":"extract","as":"rows","schema":{"rows":"tr","cols":[{"name":"id","kind":"attr","type":"int","attr":"data-id"},{"name":"title","selector":"td"}]}},
			{"op":"exists","as":"more","selector":"a.next"},{"op":"page","as":"page"},{"op":"html","as":"html","selector":"main","max":1000},
			{"op":"snapshot","as":"tree","selector":"main","max":1000}]}`},
		"tck.act": {"act", `{"v":1,"steps":[{"op":"fill","selector":"#body","value":"a\"ż😀"},{"op":"select","selector":"#state","value":"closed"},
			{"op":"check","selector":"#notify","checked":true},{"op":"press","selector":"#body","key":"Tab"},{"op":"click","selector":"#send","wait":"#flash"}]}`},
		"tck.shot":     {"screenshot", `{"v":1,"steps":[{"op":"screenshot","as":"picture","selector":"#chart"}]}`},
		"tck.fetch":    {"fetch", `{"v":1,"method":"GET","path":"/api","parse":"text"}`},
		"tck.progress": {"progress", `{"v":1,"done":1,"total":2,"message":"half"}`},
	} {
		host := &canned{answer: done}
		if out := k.call(t, tool, `{"text":"a\"ż😀"}`, host); !out.OK {
			t.Errorf("%s: %+v", tool, out.Error)
		}
		if host.name != want.call {
			t.Errorf("%s made the host call %q, want %q", tool, host.name, want.call)
		}
		same(t, tool, host.asked, want.request)
		if strings.HasPrefix(want.request, `{"v":1,"steps"`) {
			if err := strictjson.Decode(host.asked, &abi.Program{}); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
}

// answers are read as far as the limit, and in any order of columns.
func (k *kit) answers(t *testing.T) {
	rows := `{"id":-9,"title":"Füße 😀"},{"id":12,"title":"` + strings.Repeat("x", 1_000_000) + `"}`
	table := `{"rows":[["Füße 😀",-9],["` + strings.Repeat("x", 1_000_000) + `",12]],"cols":["title","id"]}`
	out := k.call(t, "tck.read", `{}`, &canned{answer: `{"ok":true,"data":{"rows":` + table + `}}`})
	same(t, "rows", out.Result, `{"rows":[`+rows+`]}`)
	out = k.call(t, "tck.fetch", `{}`, &canned{answer: `{"ok":true,"status":404,"text":"\ud83d\ude00"}`})
	same(t, "fetch", out.Result, `{"status":404,"text":"😀"}`)
	out = k.call(t, "tck.shot", `{}`, &canned{answer: `{"ok":true,"data":{"picture":"image:4QRSTUVWXYZ23456"}}`})
	same(t, "picture", out.Result, `{"picture":"image:4QRSTUVWXYZ23456"}`)
}

// Every code is passed on as it came, and so is one that nobody knows yet.
func (k *kit) errors(t *testing.T) {
	out := k.call(t, "tck.expired", `{}`, nil)
	if out.OK || out.Error == nil || out.Error.Code != abi.ErrAuthExpired || !strings.Contains(out.Error.Message, "signed out") {
		t.Errorf("AuthExpired: %+v", out)
	}
	for _, code := range append(abi.Codes(), "grease_code") {
		for _, tool := range []string{"tck.read", "tck.act", "tck.shot", "tck.fetch"} {
			out := k.call(t, tool, `{}`, &canned{answer: fmt.Sprintf(`{"ok":false,"step":0,"error":{"code":%q,"message":"no \"ż\"","hint":"do it"}}`, code)})
			if out.OK || out.Error == nil || out.Error.Code != code || !strings.Contains(out.Error.Message, `no "ż"`) || out.Error.Hint != "do it" {
				t.Errorf("%s with %q: %+v", tool, code, out.Error)
			}
		}
	}
	for _, answer := range []string{`{}`, `{"ok":false}`} {
		if out := k.call(t, "tck.read", `{}`, &canned{answer: answer}); out.OK || out.Error == nil || out.Error.Code != abi.ErrInternal {
			t.Errorf("answer %s: %+v", answer, out)
		}
	}
	if out := k.call(t, "tck.none", `{}`, nil); out.OK || out.Error == nil || out.Error.Code != abi.ErrInvalidArgs {
		t.Errorf("unknown tool: %+v", out)
	}
}

func (k *kit) logged(t *testing.T) {
	k.call(t, "tck.progress", `{"text":"a line of log"}`, &canned{answer: `{"ok":true}`})
	if !strings.Contains(k.log.String(), "a line of log") {
		t.Errorf("log: %q", k.log.String())
	}
}
