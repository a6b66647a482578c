package sandbox

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A kind says what a frame carries.
type kind byte

// From the host to the worker.
const (
	kindHello  kind = 'H' // a hello as JSON; always first
	kindModule kind = 'M' // the module; always second
	kindStart  kind = 'S' // make the first instance; empty
	kindCall   kind = 'C' // named: export, input
	kindAnswer kind = 'A' // answer of the host call that the worker waits for
)

// From the worker to the host.
const (
	kindCompiled kind = 'K' // machine code is loaded, no guest code has run; empty
	kindReady    kind = 'R' // an instance waits for a call; empty
	kindAsk      kind = 'Q' // named: host call, request
	kindLog      kind = 'L' // named: level, text
	kindOutput   kind = 'O' // the guest's own time as 8 bytes of nanoseconds, and what the export returned
	kindFail     kind = 'F' // named: error code, message
)

// A frame on the pipe is its kind, the length of its payload as four bytes,
// most significant first, and the payload.
type frame struct {
	kind    kind
	payload []byte
}

const frameHead = 5

// frameLimits says which kinds a side accepts, and how long each may be.
type frameLimits map[kind]int

// writeFrame writes f in one call.
func writeFrame(w io.Writer, f frame) error {
	b := make([]byte, frameHead, frameHead+len(f.payload))
	b[0] = byte(f.kind)
	binary.BigEndian.PutUint32(b[1:], uint32(len(f.payload)))
	if _, err := w.Write(append(b, f.payload...)); err != nil {
		return fmt.Errorf("writing frame %q: %w", f.kind, err)
	}
	return nil
}

// readFrame reads one frame. A kind that is not in limits or a length beyond
// its limit is an error before anything of that length is allocated. It returns
// io.EOF only where a frame could begin.
func readFrame(r io.Reader, limits frameLimits) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return frame{}, err
	}
	k := kind(head[0])
	limit, ok := limits[k]
	if !ok {
		return frame{}, fmt.Errorf("reading frame: unexpected kind %q", k)
	}
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return frame{}, fmt.Errorf("reading length of frame %q: %w", k, noEOF(err))
	}
	n := binary.BigEndian.Uint32(head[1:])
	if uint64(n) > uint64(limit) {
		return frame{}, fmt.Errorf("reading frame %q: %d bytes; at most %d are allowed", k, n, limit)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return frame{}, fmt.Errorf("reading frame %q: %w", k, noEOF(err))
	}
	return frame{kind: k, payload: payload}, nil
}

// noEOF keeps a cut frame from looking like an orderly end.
func noEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // io.ReadFull returns it bare
		return io.ErrUnexpectedEOF
	}
	return err
}

const maxNamed = 64

// named joins a short name and data: one byte of length, the name, the data.
func named(k kind, name string, data []byte) frame {
	b := make([]byte, 0, 1+len(name)+len(data))
	b = append(b, byte(len(name)))
	b = append(b, name...)
	return frame{kind: k, payload: append(b, data...)}
}

// splitNamed undoes named. A name is 1 to 64 bytes of a-z and _.
func splitNamed(payload []byte) (name string, data []byte, err error) {
	if len(payload) == 0 {
		return "", nil, fmt.Errorf("reading name: %w", errShort)
	}
	n := int(payload[0])
	if n == 0 || n > maxNamed || n > len(payload)-1 {
		return "", nil, fmt.Errorf("reading name of %d bytes: %w", n, errEncoded)
	}
	for _, c := range payload[1 : 1+n] {
		if c != '_' && (c < 'a' || c > 'z') {
			return "", nil, fmt.Errorf("reading name: byte %q: %w", c, errEncoded)
		}
	}
	return string(payload[1 : 1+n]), payload[1+n:], nil
}
