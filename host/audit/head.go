package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// The head file has two slots of one line each, written in turn, so that a
// crash in the middle of one leaves the other: the number of the last row, its
// link, and an HMAC of both. It is written after the row is on disk and not
// waited for, so that it may lag behind the log and never runs ahead of it.
const slotSize = 160

// A head is the last row that is known to have been written. The zero value is
// none.
type head struct {
	seq  int64
	link link
}

// A headFile is the open head file.
type headFile struct {
	f *os.File
	k keys
}

func openHead(path string, k keys) (*headFile, error) {
	if err := platform.CreateFile(path); err != nil {
		return nil, fmt.Errorf("opening audit head: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, platform.FileMode)
	if err != nil {
		return nil, fmt.Errorf("opening audit head: %w", err)
	}
	return &headFile{f: f, k: k}, nil
}

func (h *headFile) write(to head) error {
	if _, err := h.f.WriteAt(to.encode(h.k), (to.seq%2)*slotSize); err != nil {
		return fmt.Errorf("writing audit head: %w", err)
	}
	return nil
}

func (h *headFile) close() error {
	return errors.Join(h.f.Sync(), h.f.Close())
}

// readHead returns the head in the file at path. It is none if there is no
// file, or an empty one; an error if neither slot holds one.
func readHead(path string, k keys) (head, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, nil
	}
	if err != nil {
		return head{}, fmt.Errorf("reading audit head: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 2*slotSize+1))
	if err != nil {
		return head{}, fmt.Errorf("reading audit head: %w", err)
	}
	return parseHead(data, k)
}

func parseHead(data []byte, k keys) (head, error) {
	if len(data) == 0 {
		return head{}, nil
	}
	var best head
	for i := range 2 {
		if len(data) < (i+1)*slotSize {
			break
		}
		if h, ok := decodeHead(data[i*slotSize:(i+1)*slotSize], k); ok && h.seq > best.seq {
			best = h
		}
	}
	if best.seq == 0 {
		return head{}, errors.New("reading audit head: it is damaged")
	}
	return best, nil
}

// encode writes a slot: the parts, spaces, and a line feed at the end.
func (h head) encode(k keys) []byte {
	text := fmt.Sprintf("%d %x %x", h.seq, h.link, h.mac(k))
	return fmt.Appendf(nil, "%-*s\n", slotSize-1, text)
}

func decodeHead(slot []byte, k keys) (head, bool) {
	var h head
	var linkText, macText string
	if n, err := fmt.Sscanf(string(slot), "%d %64s %64s", &h.seq, &linkText, &macText); err != nil || n != 3 {
		return head{}, false
	}
	raw, err := hex.DecodeString(linkText)
	if err != nil || len(raw) != len(h.link) || h.seq <= 0 {
		return head{}, false
	}
	h.link = link(raw)
	mac, err := hex.DecodeString(macText)
	if err != nil || !hmac.Equal(mac, h.mac(k)) || string(slot) != string(h.encode(k)) {
		return head{}, false
	}
	return h, true
}

func (h head) mac(k keys) []byte {
	m := hmac.New(sha256.New, k.head)
	fmt.Fprintf(m, "%s%d %x", domainHead, h.seq, h.link)
	return m.Sum(nil)
}
