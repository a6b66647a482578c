package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// protocolVersion changes with anything that frames mean. Host and worker are
// the same program, so a mismatch is refused rather than bridged.
const protocolVersion = 2

// A hello is the first thing that a worker is told.
type hello struct {
	V            int    `json:"v"`
	Cache        string `json:"cache"`       // private directory with machine code
	WriteCache   bool   `json:"write_cache"` // whether compiling is what it is for
	Runtime      bool   `json:"runtime"`     // the guest has a language runtime: WASI, or an _initialize
	MemoryPages  uint32 `json:"memory_pages"`
	DataBytes    int64  `json:"data_bytes"` // 0: no limit
	ModuleBytes  int    `json:"module_bytes"`
	InputBytes   int    `json:"input_bytes"`
	RequestBytes int    `json:"request_bytes"`
	AnswerBytes  int    `json:"answer_bytes"`
	ResultBytes  int    `json:"result_bytes"`
	LogBytes     int    `json:"log_bytes"`
}

const (
	maxHelloBytes = 64 << 10
	maxLogLine    = 4 << 10
	maxFailBytes  = 4 << 10
	maxRefusal    = 64 << 10 // message and hint of maxFailBytes each, escaped
)

// readHello reads the first frame.
func readHello(r io.Reader) (hello, error) {
	f, err := readFrame(r, frameLimits{kindHello: maxHelloBytes})
	if err != nil {
		return hello{}, err
	}
	d := json.NewDecoder(bytes.NewReader(f.payload))
	d.DisallowUnknownFields()
	var h hello
	if err := d.Decode(&h); err != nil {
		return hello{}, fmt.Errorf("reading hello: %w", err)
	}
	if h.V != protocolVersion {
		return hello{}, fmt.Errorf("reading hello: version %d; this worker speaks %d", h.V, protocolVersion)
	}
	return h, nil
}

// fromHost is what a worker accepts after hello.
func (h hello) fromHost() frameLimits {
	return frameLimits{
		kindModule: h.ModuleBytes,
		kindStart:  0,
		kindCall:   1 + maxNamed + h.InputBytes,
		kindAnswer: h.AnswerBytes + maxRefusal,
	}
}

// fromWorker is what the host accepts.
func (l Limits) fromWorker() frameLimits {
	return frameLimits{
		kindCompiled: 0,
		kindReady:    0,
		kindAsk:      1 + maxNamed + l.RequestBytes,
		kindLog:      1 + maxNamed + maxLogLine,
		kindOutput:   outputHead + l.ResultBytes,
		kindFail:     1 + maxNamed + maxFailBytes,
	}
}

const outputHead = 8

// outputFrame carries what an export returned and how long the guest ran for it.
func outputFrame(took time.Duration, out []byte) frame {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, outputHead+len(out)), uint64(max(took, 0)))
	return frame{kind: kindOutput, payload: append(b, out...)}
}

// readOutput undoes outputFrame. The time is the worker's word, and no more.
func readOutput(payload []byte) (took time.Duration, out []byte, err error) {
	if len(payload) < outputHead {
		return 0, nil, fmt.Errorf("reading output: %w", errShort)
	}
	ns := binary.BigEndian.Uint64(payload)
	return time.Duration(min(ns, uint64(abi.MaxCallTimeout))), payload[outputHead:], nil
}

// failFrame says why a call or a start came to nothing.
func failFrame(code abi.Code, message string) frame {
	return named(kindFail, string(code), []byte(clip(message, maxFailBytes)))
}

// readFail turns a fail frame into an error. A worker may only claim the codes
// that it is there to find.
func readFail(payload []byte) error {
	name, text, err := splitNamed(payload)
	if err != nil {
		return fmt.Errorf("reading failure: %w", err)
	}
	switch code := abi.Code(name); code { //nolint:exhaustive // every other code is the host's to give
	case abi.ErrGuestTrap, abi.ErrLimitExceeded, abi.ErrInvalidResult, abi.ErrUntrusted:
		e := abi.Errorf(code, "guest", "%s", visible(string(text)))
		if code == abi.ErrUntrusted {
			e.Reason = abi.ReasonMalformed
		}
		return e
	default:
		return fmt.Errorf("reading failure: code %q is not a worker's", name)
	}
}
