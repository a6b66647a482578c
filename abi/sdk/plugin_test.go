//go:build !wasip1

package sdk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk"
	"github.com/drawbridge-mcp/drawbridge/abi/sdk/sdktest"
)

type note struct {
	Author string `json:"author"`
	Text   string `json:"text"`
}

type issue struct {
	ID    int     `json:"id"`
	Title string  `json:"title"`
	Due   *string `json:"due"`
	Notes []note  `json:"notes"`
}

type listIn struct {
	Status string `json:"status"`
}

type listOut struct {
	Issues []issue `json:"issues"`
}

func list(ctx *sdk.Context, in listIn) (listOut, error) {
	res, err := ctx.Read(
		sdk.Navigate("/issues?status="+in.Status),
		sdk.Extract("issues", sdk.List("tr.issue", sdk.Int("id", "td.id"), sdk.Text("title", "td.title"))),
	)
	if err != nil {
		return listOut{}, err
	}
	issues, err := sdk.Rows[issue](res, "issues")
	return listOut{issues}, err
}

func plugin() sdk.Plugin {
	return sdk.Plugin{
		sdk.Tool("t.list", list),
		sdk.Tool("t.clock", func(ctx *sdk.Context, _ struct{}) (map[string]any, error) {
			return map[string]any{
				"now": ctx.Now().Format(time.RFC3339), "setting": ctx.Setting("team"), "absent": ctx.Setting("x"),
				"locale": ctx.Locale(), "random": ctx.Rand().IntN(1 << 30),
			}, nil
		}),
		sdk.Tool("t.fail", func(_ *sdk.Context, in struct{ How string }) (struct{}, error) {
			switch in.How {
			case "plain":
				return struct{}{}, errors.New("something else")
			case "wrapped":
				return struct{}{}, fmt.Errorf("reading the list: %w", sdk.NotFound("no ticket %d", 7))
			}
			return struct{}{}, sdk.AuthExpired("signed out")
		}),
		sdk.Tool("t.unencodable", func(*sdk.Context, struct{}) (func(), error) { return func() {}, nil }),
	}
}

func table(cols []string, rows ...[]any) abi.Table { return abi.Table{Cols: cols, Rows: rows} }

func TestToolReadsTyped(t *testing.T) {
	notes := table([]string{"author", "text"}, []any{"ann", "line\n\u2028 two"}, []any{"bob", ""})
	none := table([]string{"author", "text"})
	host := &sdktest.Host{OnRead: func(abi.Program) abi.Answer {
		return sdktest.Data("issues", table([]string{"title", "id", "due", "notes", "unknown"},
			[]any{"Füße 😀", 3, "2026-05-01", notes, 1}, []any{"", -4, nil, none, nil}))
	}}
	out, err := sdktest.Call[listOut](t, plugin(), host, "t.list", listIn{Status: "open"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Issues) != 2 {
		t.Fatalf("%d issues, want 2", len(out.Issues))
	}
	first, second := out.Issues[0], out.Issues[1]
	if first.ID != 3 || first.Title != "Füße 😀" || first.Due == nil || *first.Due != "2026-05-01" {
		t.Errorf("first row is %+v", first)
	}
	if !slices.Equal(first.Notes, []note{{"ann", "line\n\u2028 two"}, {"bob", ""}}) {
		t.Errorf("nested rows are %+v", first.Notes)
	}
	if second.ID != -4 || second.Due != nil || second.Notes == nil || len(second.Notes) != 0 {
		t.Errorf("second row is %+v", second)
	}
	got := host.Programs[0]
	if got.V != abi.Version || len(got.Steps) != 2 || got.Steps[0].Path != "/issues?status=open" || got.Steps[1].Schema.Cols[0].Type != abi.TypeInt {
		t.Errorf("program is %+v", got)
	}
}

func TestNoRowsIsAnEmptyList(t *testing.T) {
	host := &sdktest.Host{OnRead: func(abi.Program) abi.Answer {
		return sdktest.Data("issues", table([]string{"id", "title"}))
	}}
	out, err := sdktest.Call[map[string]json.RawMessage](t, plugin(), host, "t.list", listIn{})
	if err != nil || string(out["issues"]) != "[]" {
		t.Errorf("issues is %s (%v), want []", out["issues"], err)
	}
}

func TestToolFailures(t *testing.T) {
	read := func(ans abi.Answer) *sdktest.Host {
		return &sdktest.Host{OnRead: func(abi.Program) abi.Answer { return ans }}
	}
	tests := []struct {
		name, tool string
		args       any
		host       *sdktest.Host
		code       abi.Code
		text       string
	}{
		{"step's error keeps its code and tells the step", "t.list", listIn{}, read(sdktest.Failed(1, abi.ErrSelectorDrift, `nothing matches "tr.issue"`)), abi.ErrSelectorDrift, `step 2 (extract): nothing matches "tr.issue"`},
		{"failed without a reason", "t.list", listIn{}, read(abi.Answer{}), abi.ErrInternal, "no reason"},
		{"failed step out of range", "t.list", listIn{}, read(sdktest.Failed(9, abi.ErrTimeout, "late")), abi.ErrTimeout, "host call: late"},
		{"table missing", "t.list", listIn{}, read(sdktest.Data("other", 1)), abi.ErrInvalidResult, `"issues"`},
		{"row too short", "t.list", listIn{}, read(sdktest.Data("issues", table([]string{"id", "title"}, []any{1}))), abi.ErrInvalidResult, "row 0 has 1 cells for 2 columns"},
		{"cell of another type", "t.list", listIn{}, read(sdktest.Data("issues", table([]string{"id"}, []any{1}, []any{"x"}))), abi.ErrInvalidResult, `row 1, column "id"`},
		{"table of another shape", "t.list", listIn{}, read(sdktest.Data("issues", []int{1})), abi.ErrInvalidResult, "issues"},
		{"nested table of another shape", "t.list", listIn{}, read(sdktest.Data("issues", table([]string{"notes"}, []any{"x"}))), abi.ErrInvalidResult, `column "notes"`},
		{"args do not decode", "t.list", map[string]any{"status": 5}, &sdktest.Host{}, abi.ErrInvalidArgs, "decoding arguments"},
		{"unknown tool", "t.nothing", listIn{}, &sdktest.Host{}, abi.ErrInvalidArgs, `no tool "t.nothing"`},
		{"plain error", "t.fail", map[string]string{"How": "plain"}, &sdktest.Host{}, abi.ErrInvalidResult, "something else"},
		{"wrapped error keeps its code", "t.fail", map[string]string{"How": "wrapped"}, &sdktest.Host{}, abi.ErrNotFound, "reading the list: no ticket 7"},
		{"the SDK's error", "t.fail", struct{}{}, &sdktest.Host{}, abi.ErrAuthExpired, "signed out"},
		{"result that has no JSON", "t.unencodable", struct{}{}, &sdktest.Host{}, abi.ErrInvalidResult, "encoding the result"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sdktest.Call[any](t, plugin(), tt.host, tt.tool, tt.args)
			if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error is %v, want %s with %q", err, tt.code, tt.text)
			}
		})
	}
}

func TestBadInputIsAnswered(t *testing.T) {
	for _, input := range []string{"", "null", "{", `{"v":2,"tool":"t.list"}`, `{"v":"1"}`, `{"tool":"t.list","args":{}}`} {
		var out abi.CallOutput
		if err := json.Unmarshal(plugin().ServeWith(nil, []byte(input)), &out); err != nil {
			t.Errorf("%s: output is not JSON: %v", input, err)
		}
		if out.OK || out.Error == nil || out.Error.Code != abi.ErrInternal {
			t.Errorf("%s: output is %+v", input, out)
		}
	}
}

func TestContextComesWithTheCall(t *testing.T) {
	call := func(seed uint32) map[string]any {
		host := &sdktest.Host{Seed: seed, Settings: map[string]string{"team": "blue"}, Locale: "de-AT", Now: time.UnixMilli(86_400_000)}
		out, err := sdktest.Call[map[string]any](t, plugin(), host, "t.clock", struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, again, other := call(1), call(1), call(2)
	if one["now"] != "1970-01-02T00:00:00Z" || one["setting"] != "blue" || one["absent"] != "" || one["locale"] != "de-AT" {
		t.Errorf("context is %v", one)
	}
	if one["random"] != again["random"] || one["random"] == other["random"] {
		t.Errorf("random numbers %v, %v, %v: want the first two equal", one["random"], again["random"], other["random"])
	}
}

func TestDescriptionIsSorted(t *testing.T) {
	if got, want := plugin().Names(), []string{"t.clock", "t.fail", "t.list", "t.unencodable"}; !slices.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
}

func TestShortForms(t *testing.T) {
	var got []string
	p := sdk.Plugin{sdk.Tool("t.short", func(ctx *sdk.Context, _ struct{}) (struct{}, error) {
		heading, err := ctx.Text("h1")
		if err != nil {
			return struct{}{}, err
		}
		texts, err := ctx.Texts("li")
		if err != nil {
			return struct{}{}, err
		}
		got = append([]string{heading}, texts...)
		return struct{}{}, errors.Join(ctx.WaitFor("main"), ctx.Navigate("/x"))
	})}
	host := &sdktest.Host{OnRead: func(p abi.Program) abi.Answer {
		if p.Steps[0].Op != abi.OpExtract {
			return sdktest.Data()
		}
		col := p.Steps[0].Schema.Cols[0]
		if col.List {
			return sdktest.Data("it", table([]string{col.Name}, []any{[]string{"a", "b"}}))
		}
		return sdktest.Data("it", table([]string{col.Name}, []any{"Title"}))
	}}
	if _, err := sdktest.Call[struct{}](t, p, host, "t.short", struct{}{}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"Title", "a", "b"}) {
		t.Errorf("texts are %q", got)
	}
	if len(host.Programs) != 4 || host.Programs[2].Steps[0].Op != abi.OpWait {
		t.Errorf("programs are %+v", host.Programs)
	}
}

func TestResultDecoders(t *testing.T) {
	r := &sdk.Result{Answer: sdktest.Data("yes", true, "html", map[string]any{"html": "<p>x", "truncated": true})}
	if yes, err := r.Exists("yes"); !yes || err != nil {
		t.Errorf("exists: %v, %v", yes, err)
	}
	if _, err := r.Exists("html"); !errors.Is(err, abi.ErrInvalidResult) {
		t.Errorf("exists of an object: %v", err)
	}
	if html, cut, err := r.HTML("html"); html != "<p>x" || !cut || err != nil {
		t.Errorf("html: %q, %v, %v", html, cut, err)
	}
	if _, _, err := r.HTML("absent"); !errors.Is(err, abi.ErrInvalidResult) {
		t.Errorf("html of no step: %v", err)
	}
}

func TestRowWantsOne(t *testing.T) {
	r := &sdk.Result{Answer: sdktest.Data("t", table([]string{"id"}, []any{1}, []any{2}))}
	if _, err := sdk.Row[issue](r, "t"); !errors.Is(err, abi.ErrInvalidResult) {
		t.Errorf("two rows: %v", err)
	}
	if _, err := sdk.Rows[string](r, "t"); !errors.Is(err, abi.ErrInvalidResult) {
		t.Errorf("rows into strings: %v", err)
	}
}

func TestFetchAndProgress(t *testing.T) {
	p := sdk.Plugin{sdk.Tool("t.fetch", func(ctx *sdk.Context, _ struct{}) (map[string]any, error) {
		ctx.Progress(1, 2, "half")
		ans, err := ctx.Fetch(abi.FetchRequest{Method: "GET", Path: "/api"})
		if err != nil {
			return nil, err
		}
		ctx.Log("status " + ans.Text)
		rows, err := sdk.FetchedRows[issue](ans)
		return map[string]any{"status": ans.Status, "rows": len(rows)}, err
	})}
	host := &sdktest.Host{OnFetch: func(abi.FetchRequest) abi.FetchAnswer {
		return abi.FetchAnswer{OK: true, Status: 404, Text: "gone", Table: json.RawMessage(`{"cols":["id"],"rows":[[1]]}`)}
	}}
	out, err := sdktest.Call[map[string]int](t, p, host, "t.fetch", struct{}{})
	if err != nil || out["status"] != 404 || out["rows"] != 1 {
		t.Errorf("result is %v, %v", out, err)
	}
	if host.Fetches[0].V != abi.Version || len(host.Reports) != 1 || host.Reports[0].Total != 2 || !slices.Equal(host.Logs, []string{"status gone"}) {
		t.Errorf("host saw %+v", host)
	}
	host.OnFetch = func(abi.FetchRequest) abi.FetchAnswer {
		return abi.FetchAnswer{Error: &abi.ErrorData{Code: abi.ErrOriginDenied, Message: "not in reads"}}
	}
	if _, err := sdktest.Call[any](t, p, host, "t.fetch", struct{}{}); !errors.Is(err, abi.ErrOriginDenied) || err.Error() != "fetch /api: not in reads" {
		t.Errorf("refused fetch: %v", err)
	}
}
