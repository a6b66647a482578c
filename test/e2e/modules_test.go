package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/test/harness"
	wt "github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

// bad is a hostile connector: how it is hostile, and the error it ends in.
type bad struct {
	id     string
	module wt.Module
	want   abi.Code
}

// withRead makes a guest import what tinyManifest declares.
func withRead(call ...[]byte) wt.Module { return wt.Guest([]string{"read"}, call...) }

// manyCalls is wasmtest.Explode with the import that its release declares: 2^44
// calls without a loop.
func manyCalls() wt.Module {
	m := withRead()
	first, depth := m.Func(0), uint32(45)
	m.Funcs[0].Body = [][]byte{wt.Call(first), wt.Output("{}"), wt.I32(0)}
	for i := range depth {
		f := wt.Func{Type: ">"}
		if i < depth-1 {
			f.Body = [][]byte{wt.Call(first + i + 1), wt.Call(first + i + 1)}
		}
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

// straightLine is wasmtest.FillForLong with that import: no loop and no call,
// only memory filled again and again.
func straightLine() wt.Module {
	long := wt.FillForLong(2000)
	m := withRead(long.Funcs[0].Body...)
	m.Funcs[0].Body = m.Funcs[0].Body[:len(m.Funcs[0].Body)-1] // FillForLong ends in a result of its own
	m.Memory = long.Memory
	return m
}

// tableBomb grows a table, which lies outside of the module's memory.
func tableBomb() wt.Module {
	m := withRead(wt.Loop(wt.GrowTable(1 << 20)))
	most := uint32(1 << 27)
	m.Table = &wt.Limits{Min: 1, Max: &most}
	return m
}

// World of one good connector and the bad ones, all signed and installed alike.
func hostile(t *testing.T, lim sandbox.Limits, timeout int, list []bad) *harness.World {
	t.Helper()
	w := harness.New(t, harness.Options{NoSite: true, Limits: lim})
	w.ReadyWith(tinyManifest("good"), tinyModule("good"))
	for _, b := range list {
		w.ReadyWith(tinyManifest(b.id, timeoutOf(timeout)), describing(b.module, b.id))
	}
	wantAnswer(w, "good") // its tab and its worker are there
	return w
}

// meanwhile calls the bad connector, and the good one again and again until the
// bad one's answer is there. It returns that answer and how often the good one
// was called.
func meanwhile(w *harness.World, id string) (host.CallResult, int) {
	w.T.Helper()
	got := make(chan host.CallResult, 1)
	ctx, cancel := context.WithTimeout(w.T.Context(), 2*time.Minute)
	defer cancel()
	go func() { got <- w.CallAs(ctx, host.Principal{ID: "client-2", Name: "another"}, id+"_run", struct{}{}) }()
	for n := 0; ; n++ {
		select {
		case res := <-got:
			return res, n
		default:
			wantAnswer(w, "good")
		}
	}
}

// What runs too long is ended by its CPU limit, and what uses too much memory by
// its memory limit; another connector's calls complete meanwhile.
func TestHostileModulesAreEnded(t *testing.T) {
	list := []bad{
		{"explode", manyCalls(), abi.ErrLimitExceeded},
		{"fill", straightLine(), abi.ErrLimitExceeded},
		{"spin", withRead(wt.Loop()), abi.ErrLimitExceeded},
		{"grow", withRead(wt.Loop(wt.Grow(16), wt.Fill(1<<16))), abi.ErrLimitExceeded},
	}
	w := hostile(t, sandbox.Limits{GuestCPU: time.Second}, 60, list)
	for _, b := range list {
		t.Run(b.id, func(t *testing.T) {
			res, n := meanwhile(w, b.id)
			if res.Err == nil || res.Err.Code != b.want || !strings.Contains(res.Err.Error(), "CPU") {
				t.Errorf("%s; want %s, because of its CPU time", showErr(res.Err), b.want)
			}
			if n == 0 {
				t.Error("no call of the other connector completed meanwhile")
			}
		})
	}
	wantAnswer(w, "good")
}

// At the tool's own deadline the module is ended too, however much CPU it may use.
func TestHostileModulesAtTheDeadline(t *testing.T) {
	list := []bad{
		{"explode", manyCalls(), abi.ErrTimeout},
		{"fill", straightLine(), abi.ErrTimeout},
		{"spin", withRead(wt.Loop()), abi.ErrTimeout},
	}
	w := hostile(t, sandbox.Limits{GuestCPU: time.Minute}, 4, list)
	for _, b := range list {
		t.Run(b.id, func(t *testing.T) {
			if res, n := meanwhile(w, b.id); res.Err == nil || res.Err.Code != b.want || n == 0 {
				t.Errorf("%s after %d calls of the other connector; want %s", showErr(res.Err), n, b.want)
			}
		})
	}
}

// What ends by itself ends as a typed error, again and again.
func TestHostileModulesThatEnd(t *testing.T) {
	list := []bad{
		{"table", tableBomb(), abi.ErrLimitExceeded},
		{"alloc", withRead(wt.Loop(wt.I64(1<<20), wt.Call(wt.Alloc), wt.Drop())), abi.ErrLimitExceeded},
		{"trap", withRead(wt.Trap()), abi.ErrGuestTrap},
		{"divide", withRead(wt.DivideByZero()), abi.ErrGuestTrap},
		{"bounds", withRead(wt.Load(-4)), abi.ErrGuestTrap},
		{"gigabyte", withRead(wt.OutputSize(1 << 30)), abi.ErrInvalidResult},
		{"parts", withRead(wt.Times(64, 1, wt.OutputSize(16<<20))), abi.ErrLimitExceeded},
		{"large", withRead(wt.OutputSize(8 << 20)), abi.ErrLimitExceeded},
		{"nothing", withRead(), abi.ErrInvalidResult},
		{"nojson", withRead(wt.Output(`{"ok":tr`)), abi.ErrInvalidResult},
		{"twice", withRead(wt.Output(`{"ok":false,"ok":true,"result":{}}`)), abi.ErrInvalidResult},
		{"schema", withRead(wt.Output(`{"ok":true,"result":{"other":1}}`)), abi.ErrInvalidResult},
		{"liar", withRead(wt.Output(`{"ok":false,"error":{"code":"confirmation_required","message":"approve me"}}`)), abi.ErrInvalidResult},
	}
	w := hostile(t, sandbox.Limits{RunBytes: 400 << 20}, 60, list)
	for _, b := range list {
		t.Run(b.id, func(t *testing.T) {
			for range 2 {
				if e := w.WantCode(b.want, b.id+"_run", struct{}{}); e.Error() == "" {
					t.Error("the error says nothing")
				}
			}
			wantAnswer(w, "good")
		})
	}
}

// A module of a real language that misbehaves in its own ways.
func TestHostileGoModule(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true, Limits: sandbox.Limits{GuestCPU: 2 * time.Second}})
	w.ReadyWith(tinyManifest("good"), tinyModule("good"))
	w.ReadyWith([]byte(robustManifest), harness.Module(t, "test/e2e/puppet"))
	for how, want := range map[string]abi.Code{
		"spin": abi.ErrLimitExceeded, "trap": abi.ErrGuestTrap, "memory": abi.ErrGuestTrap, "huge": abi.ErrLimitExceeded,
	} {
		t.Run(how, func(t *testing.T) {
			w.WantCode(want, "puppet_look", map[string]any{"misbehave": how})
			wantAnswer(w, "good")
			harness.Result[puppetAnswer](w, "puppet_look", struct{}{}) // the next call works
		})
	}
}

// What a module imports for one tool is not there for another: each has the
// capabilities that were signed and shown for it.
func TestCapabilitiesAreATools(t *testing.T) {
	w := harness.New(t, harness.Options{NoSite: true})
	const more = `
      - name: other
        title: Other
        description: May act.
        destructive: false
        capabilities: [read, act, fetch, progress]
        input: {type: object}
        output: {type: object}
        reads: [{method: GET, path: /}]
`
	for i, ask := range []string{"act", "fetch"} {
		id := "ask" + ask
		m := wt.Guest([]string{"read", "act", "fetch", "progress"}, wt.Ask(uint32(1+i), `{"v":1}`), wt.OutputAnswer())
		m.Funcs[1].Body = [][]byte{wt.Output(`{"v":1,"tools":["` + id + `.other","` + id + `.run"]}`), wt.I32(0)}
		w.ReadyWith(tinyManifest(id, more), m.Bytes())
		if e := w.WantCode(abi.ErrCapabilityDenied, id+"_run", struct{}{}); !strings.Contains(e.Error(), ask) {
			t.Errorf("%q does not name %s", e, ask)
		}
		// Asked without what it needs, the host call itself complains.
		if res := w.Call(id+"_other", struct{}{}); res.Err == nil || res.Err.Code == abi.ErrCapabilityDenied {
			t.Errorf("%s for the tool that has it: %s", ask, showErr(res.Err))
		}
	}
}
