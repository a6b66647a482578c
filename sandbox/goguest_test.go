package sandbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// buildEcho builds testdata/echo with the Go toolchain, which caches it.
func buildEcho(tb testing.TB) []byte {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "echo.wasm")
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", out, "./testdata/echo")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if b, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("building echo: %v\n%s", err, b)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// TestGoGuest runs a guest as the Go toolchain and the Go PDK make it.
func TestGoGuest(t *testing.T) {
	lines := &logLines{}
	s := openTestIn(t, t.TempDir(), Limits{DataBytes: testDataBytes}, slog.New(slog.NewJSONHandler(lines, nil)))
	wasm := buildEcho(t)
	c, err := s.Compile(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	if string(c.Describe) != `{"v":1,"tools":["echo.echo"]}` {
		t.Errorf("describe %s", c.Describe)
	}
	if !c.Info.WASI || !slices.Equal(c.Info.Capabilities, []abi.Capability{abi.CapRead}) {
		t.Errorf("info %+v", c.Info)
	}
	m, err := s.Module(wasm, c.Info.Capabilities)
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"v":1,"tool":"echo.echo","args":{"text":"żółć 🙂"}}`
	echo := &fakeCalls{read: func(_ context.Context, b []byte) ([]byte, error) { return b, nil }}
	for range 3 { // each in a fresh instance: the guest's counter stays 1
		out, err := m.Run(t.Context(), Call{Export: ExportCall, Input: []byte(input), Calls: echo})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			OK     bool
			Result json.RawMessage
			Calls  int
			Env    int
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if !got.OK || string(got.Result) != input || got.Calls != 1 || got.Env != 0 {
			t.Errorf("output %s", out)
		}
	}
	if got := lines.texts(t); !slices.Equal(got, []string{"read answered", "read answered", "read answered"}) {
		t.Errorf("log %q", got)
	}
}
