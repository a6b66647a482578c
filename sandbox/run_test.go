package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/wasmtest"
)

func TestRunCallsTheExport(t *testing.T) {
	s := openTest(t, testLimits())
	m := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Output(`{"ok":true,"result":{}}`)))
	for range 3 {
		out, err := m.Run(t.Context(), Call{Export: ExportCall})
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != `{"ok":true,"result":{}}` {
			t.Fatalf("output %s", out)
		}
	}
	out, err := m.Run(t.Context(), Call{Export: ExportDescribe, OwnWorker: true})
	if err != nil || string(out) != "{}" {
		t.Fatalf("describe: %s, %v", out, err)
	}
}

func TestRunCarriesHostCalls(t *testing.T) {
	s := openTest(t, testLimits())
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, `{"v":1}`), wasmtest.OutputAnswer()))
	calls := &fakeCalls{read: func(context.Context, []byte) ([]byte, error) {
		return []byte(`{"ok":true,"text":"żółć"}`), nil
	}}
	out, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != `{"ok":true,"text":"żółć"}` {
		t.Fatalf("output %s", out)
	}
	if len(calls.seen) != 1 || calls.seen[0] != `read {"v":1}` {
		t.Fatalf("host saw %q", calls.seen)
	}
}

func TestHostCallErrorsAreData(t *testing.T) {
	s := openTest(t, Limits{DataBytes: testDataBytes, AnswerBytes: 200})
	wasm := wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, `{}`), wasmtest.OutputAnswer()).Bytes()
	granted := mustModule(t, s, wasm)
	denied, err := s.Module(wasm, []abi.Capability{abi.CapAct})
	if err != nil {
		t.Fatal(err)
	}
	fail := func(err error) *fakeCalls {
		return &fakeCalls{read: func(context.Context, []byte) ([]byte, error) { return nil, err }}
	}
	long := &fakeCalls{read: func(context.Context, []byte) ([]byte, error) {
		return []byte(`{"ok":true,"x":"` + strings.Repeat("x", 200) + `"}`), nil
	}}
	tests := []struct {
		name  string
		m     *Module
		calls HostCalls
		want  string
	}{
		{"not granted", denied, &fakeCalls{}, `{"ok":false,"error":{"code":"capability_denied","message":"read: capability \"read\" is not granted"}}`},
		{"no handler", granted, nil, `{"ok":false,"error":{"code":"capability_denied","message":"read: capability \"read\" is not granted"}}`},
		{
			"abi error", granted, fail(abi.Errorf(abi.ErrNotFound, "navigate", "no ticket %q", "7")),
			`{"ok":false,"error":{"code":"not_found","message":"navigate: no ticket \"7\""}}`,
		},
		{
			"other error", granted, fail(errors.New("dial tcp 10.0.0.1: secret detail")),
			`{"ok":false,"error":{"code":"internal","message":"internal error"}}`,
		},
		{"long answer", granted, long, `{"ok":false,"error":{"code":"limit_exceeded","message":"read: an answer of 218 bytes; at most 200 are allowed"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := tt.m.Run(t.Context(), Call{Export: ExportCall, Calls: tt.calls})
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != tt.want {
				t.Errorf("got  %s\nwant %s", out, tt.want)
			}
		})
	}
	if calls := (&fakeCalls{}); true {
		if _, err := denied.Run(t.Context(), Call{Export: ExportCall, Calls: calls}); err != nil || len(calls.seen) > 0 {
			t.Errorf("a call that is not granted reached its handler: %q, %v", calls.seen, err)
		}
	}
}

// TestHostileGuests runs guests that are valid modules and misbehave. After each,
// the next call of the same module and one of another work.
func TestHostileGuests(t *testing.T) {
	s := openTest(t, Limits{GuestCPU: 600 * time.Millisecond, DataBytes: testDataBytes, ResultBytes: 1 << 20})
	good := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Output(`{"ok":true}`)))
	g := func(ins ...[]byte) wasmtest.Module { return wasmtest.Guest([]string{"read", "progress"}, ins...) }
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	withTable := g(wasmtest.Loop(wasmtest.GrowTable(1 << 20)))
	withTable.Table = &wasmtest.Limits{Min: 1}
	tests := []struct {
		name string
		m    wasmtest.Module
		want abi.Code
	}{
		{"endless loop", g(wasmtest.Loop()), abi.ErrLimitExceeded},
		{"exponential calls", wasmtest.Explode(), abi.ErrLimitExceeded},
		{"straight line of fills", wasmtest.FillForLong(900), abi.ErrLimitExceeded},
		{"growing memory for ever", g(wasmtest.Loop(wasmtest.Grow(16), wasmtest.Fill(1<<16))), abi.ErrLimitExceeded},
		{"growing a table for ever", withTable, abi.ErrLimitExceeded},
		{"allocating for ever", g(wasmtest.Loop(wasmtest.I64(1<<20), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop())), abi.ErrLimitExceeded},
		{"unreachable", g(wasmtest.Trap()), abi.ErrGuestTrap},
		{"division by zero", g(wasmtest.DivideByZero()), abi.ErrGuestTrap},
		{"load out of bounds", g(wasmtest.Load(-4)), abi.ErrGuestTrap},
		{"error of Extism", g(wasmtest.Block("no"), wasmtest.Get(0), wasmtest.Call(wasmtest.ErrorSet)), abi.ErrGuestTrap},
		{"host calls for ever", g(wasmtest.Loop(wasmtest.Ask(0, "{}"))), abi.ErrLimitExceeded},
		{"progress for ever", g(wasmtest.Loop(wasmtest.Ask(1, "{}"))), abi.ErrLimitExceeded},
		{"host call without a block", g(wasmtest.I64(1<<40), wasmtest.Call(wasmtest.Host), wasmtest.Drop()), abi.ErrGuestTrap},
		{
			"host call with 3 MiB", g(wasmtest.I64(3<<20), wasmtest.Call(wasmtest.Alloc), wasmtest.Call(wasmtest.Host), wasmtest.Drop()),
			abi.ErrGuestTrap,
		},
		{"no output", g(), abi.ErrInvalidResult},
		{"output of zeros", g(wasmtest.OutputSize(16)), abi.ErrInvalidResult},
		{"output that is cut", g(wasmtest.Output(`{"ok":tr`)), abi.ErrInvalidResult},
		{"output and more", g(wasmtest.Output(`{"ok":true} x`)), abi.ErrInvalidResult},
		{"output not an object", g(wasmtest.Output(`[1]`)), abi.ErrInvalidResult},
		{"output not UTF-8", g(wasmtest.Output("{\"a\":\"\xff\"}")), abi.ErrInvalidResult},
		{"output too deep", g(wasmtest.Output(`{"a":` + deep + `}`)), abi.ErrInvalidResult},
		{"output of 16 MiB", g(wasmtest.OutputSize(16 << 20)), abi.ErrLimitExceeded},
		{"output of 1 GiB", g(wasmtest.OutputSize(1 << 30)), abi.ErrInvalidResult},
		{"1 GiB of output in parts", g(wasmtest.Times(64, 1, wasmtest.OutputSize(16<<20))), abi.ErrLimitExceeded},
		{"output out of range", g(wasmtest.I64(8), wasmtest.I64(1<<31), wasmtest.Call(wasmtest.OutputSet)), abi.ErrInvalidResult},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := guestModule(t, s, tt.m)
			defer m.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := m.Run(ctx, Call{Export: ExportCall, Calls: &fakeCalls{}})
			wantError(t, err, tt.want)
			if tt.want == abi.ErrInvalidResult {
				_, err := m.Run(ctx, Call{Export: ExportCall, Output: new(abi.CallOutput)})
				wantError(t, err, tt.want)
			}
			if out, err := m.Run(t.Context(), Call{Export: ExportDescribe}); err != nil || string(out) != "{}" {
				t.Errorf("next call: %s, %v", out, err)
			}
			if _, err := good.Run(t.Context(), Call{Export: ExportCall}); err != nil {
				t.Errorf("another module's call: %v", err)
			}
		})
	}
}

// TestMemoryKills sets the CPU limit out of reach: memory alone ends these, by
// the host's guard or by the kernel's limit.
func TestMemoryKills(t *testing.T) {
	table := wasmtest.Guest(nil, wasmtest.Loop(wasmtest.GrowTable(1<<20)))
	table.Table = &wasmtest.Limits{Min: 1}
	tests := []struct {
		name string
		lim  Limits
		m    wasmtest.Module
		want string
	}{
		{"table, guard", Limits{RunBytes: 150 << 20}, table, "more than 150 MiB of memory running"},
		{"table, kernel", Limits{RunBytes: 1 << 40, DataBytes: 256 << 20}, table, "the worker ran out of memory"},
		{"recursion, guard", Limits{RunBytes: 60 << 20}, wasmtest.Recurse(), "more than 60 MiB of memory running"},
		{"recursion, kernel", Limits{RunBytes: 1 << 40, DataBytes: 128 << 20}, wasmtest.Recurse(), "the worker ran out of memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testDataBytes < 0 {
				t.Skip("the race detector needs more memory than these limits")
			}
			tt.lim.GuestCPU = time.Hour
			s := openTest(t, tt.lim)
			m := guestModule(t, s, tt.m)
			_, err := m.Run(t.Context(), Call{Export: ExportCall})
			wantError(t, err, abi.ErrLimitExceeded)
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
}

// TestRecursion overflows the stack that the engine gives a guest.
func TestRecursion(t *testing.T) {
	s := openTest(t, Limits{GuestCPU: time.Hour, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Recurse())
	_, err := m.Run(t.Context(), Call{Export: ExportCall})
	wantError(t, err, abi.ErrGuestTrap)
}

// TestDeadlineKills sets the CPU limit out of reach: the context alone ends the
// guests that nothing inside the process can stop, while another call completes.
func TestDeadlineKills(t *testing.T) {
	s := openTest(t, Limits{GuestCPU: time.Hour, DataBytes: testDataBytes})
	good := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Output(`{"ok":true}`)))
	for name, g := range map[string]wasmtest.Module{
		"loop":    wasmtest.Guest(nil, wasmtest.Loop()),
		"explode": wasmtest.Explode(),
		"fill":    wasmtest.FillForLong(2000),
	} {
		t.Run(name, func(t *testing.T) {
			m := guestModule(t, s, g)
			defer m.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := m.Run(ctx, Call{Export: ExportCall})
				done <- err
			}()
			if _, err := good.Run(t.Context(), Call{Export: ExportCall}); err != nil {
				t.Errorf("another module's call: %v", err)
			}
			err := <-done
			wantError(t, err, abi.ErrTimeout)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cause %v is not in the chain", err)
			}
		})
	}
}

// TestCallTime ends a call whose caller set no deadline.
func TestCallTime(t *testing.T) {
	s := openTest(t, Limits{GuestCPU: time.Hour, CallTime: 200 * time.Millisecond, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Loop()))
	_, err := m.Run(t.Context(), Call{Export: ExportCall})
	wantError(t, err, abi.ErrTimeout)
}

// TestNap sleeps for a year, or a second.
func TestNap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for ns, want := range map[int64]time.Duration{-1: 0, 0: 0, 1000: time.Microsecond, 1 << 60: time.Second} {
			start := time.Now()
			nap(ns)
			if got := time.Since(start); got != want {
				t.Errorf("nap(%d) took %s, want %s", ns, got, want)
			}
		}
	})
}

func TestCancelledInAHostCall(t *testing.T) {
	s := openTest(t, testLimits())
	m := guestModule(t, s, wasmtest.Guest([]string{"act"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()))
	ctx, cancel := context.WithCancel(t.Context())
	calls := &fakeCalls{act: func(ctx context.Context, _ []byte) ([]byte, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err := m.Run(ctx, Call{Export: ExportCall, Calls: calls, OwnWorker: true})
	wantError(t, err, abi.ErrTimeout)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cause %v is not in the chain", err)
	}
}

// TestHostCallsCostNoCPU waits in a host call for longer than the guest's CPU.
func TestHostCallsCostNoCPU(t *testing.T) {
	s := openTest(t, Limits{GuestCPU: 300 * time.Millisecond, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()))
	calls := &fakeCalls{read: func(context.Context, []byte) ([]byte, error) {
		<-time.After(700 * time.Millisecond)
		return []byte(`{"ok":true}`), nil
	}}
	if _, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: calls}); err != nil {
		t.Fatal(err)
	}
}

// TestKilledCallsAreAlone runs one call that is killed between others of the same
// module: they complete.
func TestKilledCallsAreAlone(t *testing.T) {
	s := openTest(t, testLimits())
	// Asks first; loops if the answer is longer than 20 bytes.
	m := guestModule(t, s, wasmtest.Guest([]string{"read"},
		wasmtest.Ask(0, "{}"),
		[]byte{0x02, 0x40}, wasmtest.Get(2), wasmtest.Call(wasmtest.Length), wasmtest.I64(20), []byte{0x54}, // block; i64.lt_u
		[]byte{0x0d, 0}, wasmtest.Loop(), []byte{0x0b}, // br_if; end
		wasmtest.OutputAnswer()))
	arrived := make(chan struct{}, 3)
	release := make(chan struct{})
	answer := func(s string) *fakeCalls {
		return &fakeCalls{read: func(context.Context, []byte) ([]byte, error) {
			arrived <- struct{}{}
			<-release
			return []byte(s), nil
		}}
	}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, s := range []string{`{"ok":true}`, `{"ok":true,"long":"long long long"}`, `{"ok":true}`} {
		wg.Go(func() {
			_, errs[i] = m.Run(t.Context(), Call{Export: ExportCall, Calls: answer(s)})
		})
	}
	for range 3 {
		<-arrived
	}
	close(release)
	wg.Wait()
	wantError(t, errs[1], abi.ErrLimitExceeded)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("other calls: %v, %v", errs[0], errs[2])
	}
}

func TestOwnWorkerWaitsForNobody(t *testing.T) {
	s := openTest(t, Limits{Workers: 1, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()))
	arrived, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{
			read: func(context.Context, []byte) ([]byte, error) {
				close(arrived)
				<-release
				return []byte(`{"ok":true}`), nil
			},
		}})
		first <- err
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := m.Run(ctx, Call{Export: ExportCall, Calls: &fakeCalls{}})
	wantError(t, err, abi.ErrTimeout) // the pool has one worker, which is busy
	if _, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{}, OwnWorker: true}); err != nil {
		t.Errorf("a call with a worker of its own: %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// A prepared worker is the one that the next call gets, whether it waited for it or
// not; giving up leaves nothing behind, and a closed sandbox prepares nothing.
func TestPrepare(t *testing.T) {
	s := openTest(t, Limits{Workers: 4, DataBytes: testDataBytes})
	m := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Output(`{}`)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Prepare(ctx) // nobody wants it any more
	for range 3 {
		m.Prepare(t.Context())
		if _, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil {
			t.Fatal(err)
		}
		if n := s.liveWorkers(); n != 1 {
			t.Fatalf("%d workers run, want 1", n)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.Prepare(t.Context())
	if n := s.liveWorkers(); n != 0 {
		t.Errorf("a closed sandbox has %d workers", n)
	}
}

func TestGuestLog(t *testing.T) {
	lines := &logLines{}
	s := openTestIn(t, t.TempDir(), Limits{DataBytes: testDataBytes, LogBytes: 100}, slog.New(slog.NewJSONHandler(lines, nil)))
	m := guestModule(t, s, wasmtest.Guest(nil,
		wasmtest.Log("\x1b]0;pwn\x07\x1b[2J\nINFO approved by user"),
		wasmtest.Log("right\u202eleft"),
		wasmtest.Log("bad \xff byte"),
		wasmtest.Log("żółć"),
		wasmtest.Log(strings.Repeat("x", 80)),
		wasmtest.Log("after the end"),
		wasmtest.Log("after the end"),
		wasmtest.Output("{}")))
	if _, err := m.Run(t.Context(), Call{Export: ExportCall}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`\x1b]0;pwn\x07\x1b[2J\x0aINFO approved by user`, `right\u{202e}left`, `bad \xff byte`, `żółć`, logTruncated,
	}
	got := lines.texts(t)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("log\n%q\nwant\n%q", got, want)
	}
}

func TestLogForEver(t *testing.T) {
	lines := &logLines{}
	s := openTestIn(t, t.TempDir(), testLimits(), slog.New(slog.NewJSONHandler(lines, nil)))
	m := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Loop(wasmtest.Log("again"))))
	_, err := m.Run(t.Context(), Call{Export: ExportCall})
	wantError(t, err, abi.ErrLimitExceeded)
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if n := lines.b.Len(); n > 8<<20 {
		t.Errorf("%d bytes of log", n)
	}
}

func TestRunRefuses(t *testing.T) {
	s := openTest(t, Limits{DataBytes: testDataBytes, InputBytes: 100})
	m := guestModule(t, s, wasmtest.Guest(nil, wasmtest.Output(`{}`)))
	for _, export := range []string{"", ExportHealth, "memory", exportInitialize} {
		_, err := m.Run(t.Context(), Call{Export: export})
		wantError(t, err, abi.ErrInvalidArgs)
	}
	_, err := m.Run(t.Context(), Call{Export: ExportCall, Input: make([]byte, 101)})
	wantError(t, err, abi.ErrLimitExceeded)
	if s.liveWorkers() != 0 {
		t.Error("a refused call started a worker")
	}
}

func TestClosedSandbox(t *testing.T) {
	s := openTest(t, testLimits())
	wasm := wasmtest.Guest([]string{"read"}, wasmtest.Ask(0, "{}"), wasmtest.OutputAnswer()).Bytes()
	m := mustModule(t, s, wasm)
	inCall, closed := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := m.Run(t.Context(), Call{Export: ExportCall, Calls: &fakeCalls{
			read: func(context.Context, []byte) ([]byte, error) {
				close(inCall)
				<-closed
				return []byte(`{}`), nil
			},
		}})
		done <- err
	}()
	<-inCall
	go func() {
		defer close(closed)
		poll(t, "closing", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closed })
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-done, abi.ErrInternal)
	_, err := m.Run(t.Context(), Call{Export: ExportCall})
	wantError(t, err, abi.ErrInternal)
	_, err = s.Module(wasm, nil)
	wantError(t, err, abi.ErrInternal)
	_, err = s.Compile(t.Context(), wasm)
	wantError(t, err, abi.ErrInternal)
}

func (s *Sandbox) liveWorkers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.workers)
}
