package sandbox

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// conversation is one call from hello to output, each frame with who sends it.
func conversation() []struct {
	from string
	f    frame
} {
	const told = `{"v":2,"cache":"/cache/run/1","write_cache":false,"runtime":true,"memory_pages":1024,` +
		`"data_bytes":1073741824,"module_bytes":8388608,"input_bytes":1310720,"request_bytes":2097152,` +
		`"answer_bytes":1048576,"result_bytes":4194304,"log_bytes":65536}`
	type line = struct {
		from string
		f    frame
	}
	return []line{
		{"host", frame{kindHello, []byte(told)}},
		{"host", frame{kindModule, []byte("\x00asm\x01\x00\x00\x00")}},
		{"worker", frame{kind: kindCompiled}},
		{"host", frame{kind: kindStart}},
		{"worker", frame{kind: kindReady}},
		{"host", named(kindCall, ExportCall, []byte(`{"v":1,"tool":"tracker.list","args":{}}`))},
		{"worker", named(kindLog, "info", []byte("reading"))},
		{"worker", named(kindAsk, "read", []byte(`{"v":1,"steps":[]}`))},
		{"host", frame{kindAnswer, []byte(`{"ok":true}`)}},
		{"worker", outputFrame(1500*time.Microsecond, []byte(`{"ok":true,"result":{}}`))},
		{"worker", frame{kind: kindReady}},
		{"worker", failFrame(abi.ErrGuestTrap, "wasm error: unreachable")},
	}
}

// TestFrameGolden holds the bytes on the pipe against testdata/frames.golden.
// Changing it changes protocolVersion.
func TestFrameGolden(t *testing.T) {
	var got strings.Builder
	for _, c := range conversation() {
		var b bytes.Buffer
		if err := writeFrame(&b, c.f); err != nil {
			t.Fatal(err)
		}
		got.WriteString("# from " + c.from + "\n" + hex.Dump(b.Bytes()))
	}
	golden.Check(t, filepath.Join("testdata", "frames.golden"), []byte(got.String()))
}

func TestFrameRoundTrip(t *testing.T) {
	var b bytes.Buffer
	limits := frameLimits{}
	for _, c := range conversation() {
		if err := writeFrame(&b, c.f); err != nil {
			t.Fatal(err)
		}
		limits[c.f.kind] = 1 << 20
	}
	for _, c := range conversation() {
		f, err := readFrame(&b, limits)
		if err != nil {
			t.Fatal(err)
		}
		if f.kind != c.f.kind || !bytes.Equal(f.payload, c.f.payload) {
			t.Errorf("read %q %q, want %q %q", f.kind, f.payload, c.f.kind, c.f.payload)
		}
	}
	if _, err := readFrame(&b, limits); err != io.EOF { //nolint:errorlint // bare, as documented
		t.Errorf("at the end: %v", err)
	}
}

func TestReadFrameRefuses(t *testing.T) {
	limits := frameLimits{kindOutput: 4, kindReady: 0}
	for _, tt := range []struct{ in, want string }{
		{"X\x00\x00\x00\x00", `unexpected kind 'X'`},
		{"C\x00\x00\x00\x01x", `unexpected kind 'C'`},
		{"O", "unexpected EOF"},
		{"O\x00\x00\x00", "unexpected EOF"},
		{"O\x00\x00\x00\x04abc", "unexpected EOF"},
		{"O\x00\x00\x00\x01", "unexpected EOF"},
		{"O\x00\x00\x00\x05abcde", "5 bytes; at most 4"},
		{"O\xff\xff\xff\xff", "4294967295 bytes; at most 4"},
		{"R\x00\x00\x00\x01x", "1 bytes; at most 0"},
	} {
		_, err := readFrame(strings.NewReader(tt.in), limits)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.in, err, tt.want)
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: a cut frame looks like an end", tt.in)
		}
	}
}

func TestSplitNamedRefuses(t *testing.T) {
	for _, in := range []string{
		"", "\x00", "\x00x", "\x01", "\x05read", "\x04Read", "\x04re d", "\x04re\x00d", "\x02\xc3\xa9", "\x41" + strings.Repeat("a", 65), "\xff",
	} {
		if name, _, err := splitNamed([]byte(in)); err == nil {
			t.Errorf("%q: name %q", in, name)
		}
	}
	name, data, err := splitNamed([]byte("\x04read"))
	if name != "read" || len(data) != 0 || err != nil {
		t.Errorf("name %q, data %q, %v", name, data, err)
	}
}

func TestReadFail(t *testing.T) {
	for _, code := range []abi.Code{abi.ErrGuestTrap, abi.ErrLimitExceeded, abi.ErrInvalidResult, abi.ErrUntrusted} {
		wantError(t, readFail(failFrame(code, "why").payload), code)
	}
	for _, code := range abi.Codes() {
		switch code { //nolint:exhaustive // the four above are a worker's
		case abi.ErrGuestTrap, abi.ErrLimitExceeded, abi.ErrInvalidResult, abi.ErrUntrusted:
			continue
		}
		if err := readFail(failFrame(code, "why").payload); err == nil || isABI(err) {
			t.Errorf("a worker may claim %s: %v", code, err)
		}
	}
	err := readFail(failFrame(abi.ErrGuestTrap, "\x1b[2J\u202e").payload)
	if got := err.Error(); got != `guest: \x1b[2J\u{202e}` {
		t.Errorf("message %q", got)
	}
}

func TestReadHelloRefuses(t *testing.T) {
	for _, in := range []string{`{"v":1}`, `{"v":3}`, `{}`, `{"v":2,"more":1}`, `[]`, ``} {
		var b bytes.Buffer
		if err := writeFrame(&b, frame{kindHello, []byte(in)}); err != nil {
			t.Fatal(err)
		}
		if _, err := readHello(&b); err == nil {
			t.Errorf("hello %q is accepted", in)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, c := range conversation() {
		var b bytes.Buffer
		if err := writeFrame(&b, c.f); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	limits := testLimits().withDefaults().fromWorker()
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		got, err := readFrame(r, limits)
		if err != nil {
			return
		}
		if limit, ok := limits[got.kind]; !ok || len(got.payload) > limit {
			t.Errorf("kind %q with %d bytes", got.kind, len(got.payload))
		}
		var b bytes.Buffer
		if err := writeFrame(&b, got); err != nil || !bytes.Equal(b.Bytes(), in[:len(in)-r.Len()]) {
			t.Errorf("%q is written as %q", in, b.Bytes())
		}
		if name, data, err := splitNamed(got.payload); err == nil {
			if back := named(got.kind, name, data); !bytes.Equal(back.payload, got.payload) {
				t.Errorf("%q is written as %q", got.payload, back.payload)
			}
		}
		_ = readFail(got.payload)
	})
}
