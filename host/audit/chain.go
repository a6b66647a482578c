package audit

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
)

// A link is a row's place in the chain: HMAC-SHA256 over
//
//	"drawbridge audit row v1\n" previous(32) seq(8) at(8) length(8) row
//
// with numbers in big endian; at is Unix time in nanoseconds. The first row's
// previous link is all zeros.
type link [sha256.Size]byte

// keys are derived from the key file, one for each purpose.
type keys struct {
	chain   []byte
	head    []byte
	content []byte
}

const (
	keySize      = 32
	domainRow    = "drawbridge audit row v1\n"
	domainHead   = "drawbridge audit head v1\n"
	domainArgs   = "drawbridge audit args v1\n"
	domainResult = "drawbridge audit result v1\n"
)

func deriveKeys(secret []byte) (keys, error) {
	var k keys
	for _, d := range []struct {
		to   *[]byte
		info string
	}{{&k.chain, domainRow}, {&k.head, domainHead}, {&k.content, "drawbridge audit content v1\n"}} {
		key, err := hkdf.Key(sha256.New, secret, nil, d.info, sha256.Size)
		if err != nil {
			return keys{}, fmt.Errorf("deriving audit keys: %w", err)
		}
		*d.to = key
	}
	return k, nil
}

// next returns the link of the row that follows prev.
func (k keys) next(prev link, seq, at int64, text string) link {
	h := hmac.New(sha256.New, k.chain)
	h.Write([]byte(domainRow))
	h.Write(prev[:])
	var b [24]byte
	binary.BigEndian.PutUint64(b[:8], uint64(seq))
	binary.BigEndian.PutUint64(b[8:16], uint64(at))
	binary.BigEndian.PutUint64(b[16:], uint64(len(text)))
	h.Write(b[:])
	h.Write([]byte(text))
	return link(h.Sum(nil))
}

// contentHMAC names content without telling it.
func (k keys) contentHMAC(domain string, content []byte) string {
	h := hmac.New(sha256.New, k.content)
	h.Write([]byte(domain))
	h.Write(content)
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// loadKey reads the key file. If create is set and there is none it makes one;
// for a log that has rows it must not, since they could never be verified.
func loadKey(path string, create bool) (keys, error) {
	secret, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := createKey(path); err != nil {
			return keys{}, err
		}
		secret, err = readKey(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return keys{}, &abi.Error{
			Code: abi.ErrUntrusted, Reason: abi.ReasonTampered, Err: err,
			Msg:  fmt.Sprintf("the audit log has rows, and its key %q is gone", path),
			Hint: "restore the key, or move the log aside to start a new one",
		}
	}
	if err != nil {
		return keys{}, err
	}
	return deriveKeys(secret)
}

func readKey(path string) ([]byte, error) {
	if err := platform.CheckFile(path); err != nil {
		return nil, fmt.Errorf("reading audit key: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading audit key: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 4*keySize))
	if err != nil {
		return nil, fmt.Errorf("reading audit key: %w", err)
	}
	if len(text) != 2*keySize+1 || text[2*keySize] != '\n' {
		return nil, malformedKey(path)
	}
	secret, err := hex.DecodeString(string(text[:2*keySize]))
	if err != nil {
		return nil, malformedKey(path)
	}
	return secret, nil
}

func malformedKey(path string) error {
	return &abi.Error{
		Code: abi.ErrUntrusted, Reason: abi.ReasonMalformed,
		Msg: fmt.Sprintf("audit key %q is not %d hex digits and a line feed", path, 2*keySize),
	}
}

// createKey makes the key file. A crash on the way leaves a file that readKey
// refuses, never a key that is shorter than it seems.
func createKey(path string) (err error) {
	if err := platform.CreateDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("making audit key: %w", err)
	}
	var secret [keySize]byte
	_, _ = rand.Read(secret[:]) // never returns an error: see crypto/rand
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, platform.FileMode)
	if err != nil {
		return fmt.Errorf("making audit key: %w", err)
	}
	_, err = f.WriteString(hex.EncodeToString(secret[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("making audit key: %w", err)
	}
	return nil
}
